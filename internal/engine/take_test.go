package engine

import (
	"testing"

	"github.com/stepwell/stepwell/world"
)

// A worker that joined anew asks what it holds. What it lost before, and has not let go yet, is not what it holds now: else a run that a lost answer gave to it would be nobody's.
func TestWhatWasLostIsNotHeld(t *testing.T) {
	e := &holdings{owned: map[string]owner{"run": {session: &session{worker: "one"}}}, tasks: map[taskKey]*heldTask{{"run", "step"}: {worker: "one"}}}
	for _, held := range []world.Held{{Runs: []string{"run"}}, {Tasks: []world.TaskKey{{Run: "run", Step: "step"}}}} {
		if !e.hasAll("one", &held) || e.hasAll("two", &held) {
			t.Errorf("%+v: worker one has it: %t, want true; worker two: %t, want false", held, e.hasAll("one", &held), e.hasAll("two", &held))
		}
	}
}
