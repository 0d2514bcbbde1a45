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

// Causes for [FailOn] and [Config].FailOn: codes of what blocks a run.
const (
	Panics     = world.CodePanic    // workflow code panics
	Divergence = world.CodeDiverged // workflow code does not match the log
)

// failOnOption are codes.
type failOnOption []string

// FailOn makes runs of a workflow fail where they would otherwise be blocked: on [Panics], on
// [Divergence], or on both. A blocked run waits for a deploy that fixes the code, and loses
// nothing. A failed run ends: its error has the code and the cause, and callers that wait for its
// result get the error. FailOn overrides [Config].FailOn; FailOn() blocks.
//
// A panic counts as an error that the workflow function returned, whichever coroutine panicked. The
// run's other coroutines are cancelled, its undo functions run (see [Undo]), and the run fails.
// Diverged code, and code that called runtime.Goexit, cannot be trusted to know what was done: the
// run fails without undo, and its error names the undo functions on the stack. [App.Retry] then
// continues it in a new run, with fixed code.
//
// The definition of the worker that has the run counts, also for runs that began earlier. Other
// faults still block: a missing key, storage errors, a damaged log.
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
