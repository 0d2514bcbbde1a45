package replay

// This file holds how the code ended against how the log says that its run ended.

import (
	"fmt"
	"slices"

	"github.com/stepwell/stepwell/world"
)

// CheckEnd holds the terminal event of a run, all of whose log was fed, against the end that the code came to. It returns a
// [*DivergedError] where they differ: the code asks for more, or returned something else. What ends a run without its code (a cancel, a
// timeout, a divergence that was to fail it, that no worker knew it) fits any code.
func (m *Machine) CheckEnd(e *world.Event) error {
	out := m.outcome
	if e.Type == world.RunCancelled || e.Type == world.RunFailed && slices.Contains([]string{world.CodeTimeout, world.CodeDiverged, world.CodeNoWorker}, code(e.Error)) {
		return nil
	}
	for _, op := range m.asked.list() {
		if lasts(op) {
			return m.diverged(e, "the end of the run", op)
		}
	}
	recorded := "the end of the run, which completed with output " + clip(e.Payload)
	if e.Type == world.RunFailed {
		recorded = "the end of the run, which failed: " + failure(e.Error)
	}
	d := m.diverged(e, recorded, nil)
	switch {
	case out == nil:
		if left := m.asked.list(); len(left) > 0 {
			d.Code, d.Where = left[0].Describe(), left[0].Where()
		} else {
			d.Code, d.Where = m.blocked("", "")
		}
	case out.Continue != nil: // it says so already
	case e.Type == world.RunFailed && out.Err != nil && out.Err.Message == message(e.Error) && out.Err.Code == code(e.Error):
		return nil
	case e.Type == world.RunCompleted && out.Err == nil && world.SameValue(out.Output, e.Payload, e.Apart):
		return nil
	case out.Err != nil:
		d.Code = "to fail: " + failure(out.Err)
	default:
		d.Code = "to complete with output " + clip(out.Output)
	}
	return d
}

func message(e *world.Error) string {
	if e == nil {
		return ""
	}
	return e.Message
}

func code(e *world.Error) string {
	if e == nil {
		return ""
	}
	return e.Code
}

func failure(e *world.Error) string {
	if c := code(e); c != "" {
		return fmt.Sprintf("%s (%s)", clip([]byte(message(e))), c)
	}
	return clip([]byte(message(e)))
}
