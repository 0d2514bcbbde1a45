package world

// Which times there are. JSON and SQL have no others, so one that got through would fail whatever it is read with.

import (
	"fmt"
	"time"
)

// MaxTime is the latest time that a run may contain: the last microsecond of the year 9999. The
// earliest is the zero time, which means no time.
var MaxTime = time.Date(9999, time.December, 31, 23, 59, 59, 999_999_000, time.UTC)

var (
	firstSecond = time.Time{}.Unix()
	lastSecond  = MaxTime.Unix()
	firstMicro  = time.Time{}.UnixMicro()
	lastMicro   = MaxTime.UnixMicro()
)

// CheckTime returns [ErrInvalid] for a time before the year 1 or after [MaxTime]. what names the
// time in the error. Fractions of a microsecond are ignored.
func CheckTime(what string, t time.Time) error {
	if inBounds(t) {
		return nil
	}
	return fmt.Errorf("%w: %s %s: want a time from 0001-01-01T00:00:00Z to %s", ErrInvalid, what, t.UTC().Format(time.RFC3339), MaxTime.Format(time.RFC3339Nano))
}

func inBounds(t time.Time) bool {
	s := t.Unix()
	return s >= firstSecond && s <= lastSecond
}

// Within returns t, or the nearest valid time that is not zero.
func Within(t time.Time) time.Time {
	switch s := t.Unix(); {
	case s < firstSecond:
		return FromMicro(firstMicro + 1)
	case s > lastSecond, s == lastSecond && t.After(MaxTime):
		return MaxTime
	}
	return t
}

// After returns t + d, at most [MaxTime].
func After(t time.Time, d time.Duration) time.Time { return Within(t.Add(d)) }

// FromMicro returns the UTC time at a number of microseconds since 1970, limited as by [Within].
func FromMicro(us int64) time.Time {
	if us < firstMicro {
		us = firstMicro + 1
	}
	return time.UnixMicro(min(us, lastMicro)).UTC()
}

// checkTimes refuses an event with a time that there is not.
func (e *Event) checkTimes() error {
	if inBounds(e.Time) && inBounds(e.OccurredAt) && inBounds(e.RetryAt) && inBounds(e.Until) && (e.Birth == nil || inBounds(e.Birth.NotBefore)) {
		return nil
	}
	for _, f := range []struct {
		name string
		t    time.Time
	}{{"time", e.Time}, {"occurredAt", e.OccurredAt}, {"retryAt", e.RetryAt}, {"until", e.Until}} {
		if err := CheckTime(string(e.Type)+": "+f.name, f.t); err != nil {
			return err
		}
	}
	return CheckTime(string(e.Type)+": notBefore", e.Birth.NotBefore)
}

// Check returns [ErrInvalid] for invalid times and ID prefixes. Stores call it first.
func (q *RunQuery) Check() error {
	if q.Prefix != "" {
		if err := CheckRunID(q.Prefix + "x"); err != nil { // "." may begin one
			return fmt.Errorf("what an ID begins with: %w", err)
		}
	}
	if err := CheckTime("since", q.Since); err != nil {
		return err
	}
	return CheckTime("until", q.Until)
}
