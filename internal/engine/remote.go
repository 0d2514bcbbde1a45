package engine

// This file says how attempts of queued steps go that another program runs, for the server between them: as they do
// here.

import (
	"time"

	"github.com/stepwell/stepwell/world"
)

// PolicyOf is the policy of a queued step that is defined as remote: all of it travels with the task.
func PolicyOf(options []byte) Policy { return taskPolicy(Policy{}, options) }

// DeathsOf says what the deaths of a task that was claimed mean: it runs as its worker's only one in quarantine, or
// not at all any more.
func DeathsOf(t *world.Task) (alone bool, over *world.Error) {
	n := taskDeaths(t)
	if n >= companyDeaths+aloneDeaths {
		over = crashLoop("the step", n)
	}
	return n >= companyDeaths, over
}

// PauseOf is how long a task rests that its worker hands back: one in quarantine as another one is there, or one that
// it cannot read.
func PauseOf(t *world.Task, alone bool) time.Duration {
	if alone {
		return quarantineRest(t)
	}
	return min(time.Second<<min(t.Abandoned, 5), mostEncryptedPause)
}
