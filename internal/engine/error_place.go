package engine

// This file places the error of a step that could not say itself where it arose: at the line in the workflow's code that called the step.

import (
	"github.com/stepwell/stepwell/internal/replay"
	"github.com/stepwell/stepwell/world"
)

// place gives rec the place of the call instead of that of the step's function: the line where the
// code waits for the step, or, if it waits for something else, the line that asked for the step.
func (c *course) place(rec *world.Error, step, function string) *world.Error {
	if rec == nil || rec.Where != function || c.eval.machine() == nil || c.blocked() {
		return rec
	}
	at := replay.CallOf(c.eval.machine(), step)
	if spec := c.spec(step); at == "" && spec != nil {
		at = Place(spec.Asked)
	}
	if at == "" {
		return rec
	}
	placed := *rec
	placed.Where = at
	return &placed
}

// placeTask is place for what came to a session of an attempt of a registered step, wherever that ran.
// The function's place is that of the code here: this worker need not run such steps itself.
func (c *course) placeTask(e *world.Event) {
	if e.Error == nil || e.Type != world.StepFailed && e.Type != world.StepRetrying {
		return
	}
	if spec := c.spec(e.ID); spec != nil && spec.Task {
		e.Error = c.place(e.Error, e.ID, Source(spec.Source))
	}
}

// spec is what the code asked for with an open step; nil: it asked for none.
func (c *course) spec(step string) *StepSpec {
	if c.eval.machine() == nil {
		return nil
	}
	op := c.eval.machine().Op(step)
	if op == nil {
		return nil
	}
	spec, _ := op.Spec.(*StepSpec)
	return spec
}
