package stepwell

// What fails a run where it would be blocked.

import (
	"fmt"
	"slices"
	"strings"

	"github.com/stepwell/stepwell/internal/codec"
	"github.com/stepwell/stepwell/internal/engine"
	"github.com/stepwell/stepwell/internal/replay"
	"github.com/stepwell/stepwell/world"
)

// What [FailOn] and [Config].FailOn take: the codes of what blocks a run.
const (
	Panics     = world.CodePanic    // workflow code panics
	Divergence = world.CodeDiverged // workflow code does not match the log
)

// failOnOption are codes.
type failOnOption []string

// FailOn lets runs of a workflow fail where they would be blocked: of [Panics], of [Divergence], or of both. Without
// it, and where [Config].FailOn says nothing either, such a run waits for the deploy that mends it, and nothing is
// lost; with it, the run ends, its error has the code and the cause, and whoever waits for it hears of that. FailOn()
// blocks, whatever Config.FailOn says.
//
// A panic counts as an error that the workflow's function returned, wherever in its code it was: what the code left
// behind is cancelled, undo functions run (see [Undo]), and then the run fails. Where code diverged, or called
// runtime.Goexit, nothing is undone, as it cannot be trusted to know what was done: the run's error names the undo
// functions that were registered up to there. [App.Retry] makes a new run that goes on with mended code, where nothing
// was undone.
//
// It is what the worker says that has the run: runs that were started before have it too. Faults that are none of the
// code's block all the same: a missing key, storage, a damaged log.
func FailOn(causes ...string) WorkflowOption { return failOnOption(append([]string{}, causes...)) }

func (f failOnOption) workflowOption(o *workflowOptions) {
	if err := checkFailOn("FailOn", f); err != nil {
		o.faults = append(o.faults, err)
	}
	o.failOn = f
}

func checkFailOn(what string, causes []string) error {
	can := []string{Panics, Divergence}
	for _, c := range causes {
		if !slices.Contains(can, c) {
			return fmt.Errorf("%w: %s: %.40q: want %s", ErrInvalid, what, c, strings.Join(can, " or "))
		}
	}
	return nil
}

// crashed is the error of a run whose code has panicked, where that fails it; nil: it has not.
func crashed(x *replay.Ctx, known *codec.Registry) error {
	crash := x.Crash()
	if crash == nil {
		return nil
	}
	return engine.Crashed(crash, func(err error) *world.Error { return codec.FromError(err, known) })
}
