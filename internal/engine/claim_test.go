package engine

import (
	"testing"

	"github.com/stepwell/stepwell/world"
)

// A worker whose take got no answer asks what it holds. What it lost or released before, and has not let go yet, is not what it holds now: else a run that the lost answer gave
// to it would be nobody's.
func TestWhatWasLostIsNotHeld(t *testing.T) {
	e := &holdings{
		owned: map[string]owner{"run": {session: &session{own: title{worker: "one", claim: 2}}}}, tasks: map[taskKey]*heldTask{{"run", "step"}: {worker: "one", attempt: 2}},
	}
	for number := range 4 {
		for _, worker := range []string{"one", "two"} {
			for _, held := range []world.Account{
				{Runs: []world.OwnedRun{{Run: "run", Claim: int64(number)}}}, {Tasks: []world.TaskKey{{Run: "run", Step: "step", Attempt: number}}},
			} {
				if got, want := e.hasAll(worker, &held), worker == "one" && number == 2; got != want {
					t.Errorf("worker %s, %+v: it has all: %t, want %t", worker, held, got, want)
				}
			}
		}
	}
}
