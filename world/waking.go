package world

import (
	"fmt"
	"strings"
)

// Waking is a kind of waiting for a time, which an operator ends.
type Waking string

// What a run may wait for that is nothing but time.
const (
	WakeRetries Waking = "retries" // the next attempt of a step that failed, in place or queued; and the next try of a blocked run
	WakeStarts  Waking = "starts"  // the start of a run that was started with a delay
	WakeSleeps  Waking = "sleeps"  // the sleeps and timers of its code
)

// Woken is what an operator has ended of one run.
type Woken struct {
	Retries int // delays before the next attempts of steps
	Starts  int
	Sleeps  int

	Tried bool // it was blocked, and is tried again
}

// Total is how many delays were ended.
func (w Woken) Total() int { return w.Retries + w.Starts + w.Sleeps }

// String says what was ended, as in "2 retry delays and 1 sleep".
func (w Woken) String() string {
	var parts []string
	add := func(n int, what string) {
		if n > 1 {
			what += "s"
		}
		if n > 0 {
			parts = append(parts, fmt.Sprint(n, " ", what))
		}
	}
	add(w.Retries, "retry delay")
	add(w.Starts, "start delay")
	add(w.Sleeps, "sleep")
	if len(parts) == 0 {
		return "nothing"
	}
	return strings.Join(parts, " and ")
}
