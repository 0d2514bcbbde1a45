package world

// Rates: how many runs may begin in a period.

import (
	"errors"
	"fmt"
	"time"
)

// Bounds of rates.
const (
	MinPeriod = time.Millisecond
	MaxPeriod = 366 * 24 * time.Hour
	LeastGap  = time.Microsecond // between two begins
)

// CheckRate returns [ErrInvalid] for an invalid rate.
func CheckRate(number int, per time.Duration, burst int) error {
	switch {
	case number < 1 || number > MaxLimit:
		return fmt.Errorf("%w: rate of %d: want 1 to %d", ErrInvalid, number, MaxLimit)
	case per < MinPeriod || per > MaxPeriod:
		return fmt.Errorf("%w: rate of %d in %s: want a period of %s to %s", ErrInvalid, number, per, MinPeriod, MaxPeriod)
	case per/time.Duration(number) < LeastGap:
		return fmt.Errorf("%w: rate of %d in %s: the most is one in a microsecond", ErrInvalid, number, per)
	case burst < 0 || burst > number:
		return fmt.Errorf("%w: rate of %d in %s with a burst of %d: want 1 to %d", ErrInvalid, number, per, burst, number)
	}
	return nil
}

// ErrRateLimited means that a rate refuses the start for now. A [*RateError] says when to try
// again.
var ErrRateLimited = errors.New("rate limited")

// RateError says which rate refused a start. It matches [ErrRateLimited].
type RateError struct {
	Limit, Key string
	Number     int
	Per        time.Duration
	At         time.Time     // when it lets in the next, by the database's clock
	After      time.Duration // time from now until At
}

func (e *RateError) Error() string {
	key := ""
	if e.Key != "" {
		key = fmt.Sprintf(", key %q", e.Key)
	}
	if e.Number <= 0 {
		return fmt.Sprintf("%v: limit %s%s lets in no runs, because its number was set to 0. To change it: stepwell limits set %s NUMBER, or code to restore the number in the code", ErrRateLimited, e.Limit, key, e.Limit)
	}
	return fmt.Sprintf("%v: limit %s%s lets in %d in %s: try again in %s", ErrRateLimited, e.Limit, key, e.Number, e.Per, e.After)
}

// Is matches [ErrRateLimited].
func (e *RateError) Is(target error) bool { return target == ErrRateLimited }

// Refused returns the error of a start under a rate that lets in the next at a time; zero: never,
// because its number is 0.
func Refused(p *Place, number int, at, now time.Time) error {
	e := &RateError{Limit: p.Limit, Key: p.Key, Number: number, Per: p.Per, At: at.UTC(), After: MaxPeriod}
	if !at.IsZero() {
		e.After = max(at.Sub(now), LeastGap)
	}
	return e
}
