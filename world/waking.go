package world

import (
	"fmt"
	"strings"
)

// Waking is a kind of wait for time that an operator can end.
type Waking string

// Kinds of waits for time.
const (
	// WakeRetries: retry delays of steps, in place or queued, and of a blocked run.
	WakeRetries Waking = "retries"
	WakeStarts  Waking = "starts" // the delay of a start
	WakeSleeps  Waking = "sleeps" // sleeps and timers of workflow code
)

// Woken is what an operator's wake ended.
type Woken struct {
	Retries int // retry delays of steps
	Starts  int
	Sleeps  int

	Tried bool // the run was blocked, and is tried again
}

// Total returns the number of ended waits.
func (w Woken) Total() int { return w.Retries + w.Starts + w.Sleeps }

// String describes what was ended, as in "2 retry delays and 1 sleep".
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
