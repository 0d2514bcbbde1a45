package engine

// This file places the error of a step that could not say itself where it arose: at the line in the workflow's code that called the step.

import (
	"github.com/stepwell/stepwell/internal/replay"
	"github.com/stepwell/stepwell/world"
)

// place is rec with the call's place instead of that of the step's function, where it has that one and the code waits in the call.
func (c *course) place(rec *world.Error, step, function string) *world.Error {
	if rec == nil || rec.Where != function || c.eval.machine() == nil || c.blocked() {
		return rec
	}
	at := replay.CallOf(c.eval.machine(), step)
	if at == "" {
		return rec
	}
	placed := *rec
	placed.Where = at
	return &placed
}

// placeTask is place for what came to a session of an attempt of a registered step, wherever that ran.
func (c *course) placeTask(e *world.Event) {
	if e.Error == nil || e.Type != world.StepFailed && e.Type != world.StepRetrying {
		return
	}
	st := c.st.Step(e.ID)
	if st == nil {
		return
	}
	if def := c.e.code.step(st.Key.Name); def != nil {
		e.Error = c.place(e.Error, e.ID, def.Source)
	}
}
