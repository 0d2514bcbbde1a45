package kit

// How attempts of steps go that programs in other languages run, for the server that gives them out. The root package
// sets all of it.

import (
	"time"

	"github.com/stepwell/stepwell/world"
)

// StepRule is what the definition of a remote step says of its attempts.
type StepRule struct {
	Timeout time.Duration // of an attempt; 0: none
	Silence time.Duration // how long an attempt may send no heartbeat; 0: for ever
	// Next says what follows a failed attempt: the next one after a delay, or the end. With after, that is the delay.
	Next func(f FailedStep) (delay time.Duration, again bool)
}

// FailedStep is an attempt that failed.
type FailedStep struct {
	Failures   int // with this one
	First, Now time.Time
	Final      bool           // the next attempt would not help
	After      *time.Duration // the delay that it asks for; nil: none
}

// StepRuleOf reads the rule that travels with a task.
var StepRuleOf func(options []byte) StepRule

// DeathsOf says what the deaths of a claimed task mean: it runs as its worker's only one in quarantine, or not at all
// any more. RestOf is how long one rests that is handed back: one in quarantine for which there is no place, or what
// its worker cannot read.
var (
	DeathsOf func(t *world.Task) (alone bool, over *world.Error)
	RestOf   func(t *world.Task, alone bool) time.Duration
)
