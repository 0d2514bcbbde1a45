package engine

// This file is about what the code asks for in the turn in which it comes to its end: it returns, fails, or continues
// as new.
//
//  1. What needs nobody to wait for it is in the commit that ends the run or the segment: detached children, chunks of
//     streams, attributes, payloads set aside, waits whose event was there; before a continuation hooks too, as they stay open.
//  2. Where only the world knows what becomes of it, as of a child whose chosen ID may be claimed, or of what is sent to another run, it is in a commit just
//     before: the end follows when that is decided.
//  3. What would end with the run before it had begun is not created: a step, a wait, an attached child, a wait for another
//     run. The reason of the event that ends the run or the segment says so, and the worker's log.

import (
	"fmt"
	"strings"

	"github.com/stepwell/stepwell/internal/replay"
	"github.com/stepwell/stepwell/world"
)

// lasts reports whether something that the code asked for while it came to its end is created.
func lasts(state *world.State, m *replay.Machine, op *replay.Op) bool {
	switch op.Type {
	case world.AttrSet:
		return true
	case world.WaitCreated:
		return op.Future().Received()
	case world.WaitCompleted: // its wait is in the log, or goes there with it
		return state.Wait(op.ID) != nil
	case world.HookCreated:
		return m.Outcome().Continue != nil && !op.Chosen && !op.Disposed()
	case world.StepCreated:
		return op.Key.Kind == world.KindStream || op.Key.Kind.Posts() || op.Key.Kind == world.KindAside || op.Key.Kind == world.KindSend || detachedOp(op)
	}
	return false
}

// detachedOp reports whether an operation is a child that lives on when the run ends.
func detachedOp(op *replay.Op) bool {
	child, ok := op.Spec.(*ChildSpec)
	return ok && child.Detached
}

// mostUncreated is how many are named of what was not created.
const mostUncreated = 10

// uncreated says what the code asked for last and what was not created, after a text; one that is only a wait for
// nothing is no reason for a warning.
func uncreated(says *teller, run runName, m *replay.Machine, reason string) string {
	var names []string
	warn := false
	for _, op := range m.Asked() {
		switch op.Type {
		case world.StepCreated, world.HookCreated, world.WaitCreated:
		default:
			continue
		}
		if op.Cancelled() || op.Disposed() || op.Key.Kind == world.KindPatch || op.Type == world.WaitCreated && op.Future().Done() {
			continue // the code itself is through with it
		}
		warn = warn || op.Type != world.WaitCreated
		names = append(names, op.Describe())
	}
	if len(names) == 0 {
		return reason
	}
	if warn {
		of, args := run.about()
		says.Warn("workflow code ended without waiting for something it had just asked for, which was not created", of,
			append(args, "asked", names[:min(len(names), mostUncreated)], "hint", "Wait for it before the code returns.")...)
	}
	text := strings.Join(names[:min(len(names), mostUncreated)], ", ")
	if n := len(names) - mostUncreated; n > 0 {
		text += fmt.Sprintf(" and %d more", n)
	}
	return world.WithNotCreated(reason, text)
}

// warnUnheard tells of children whose chosen IDs were taken, and of what was sent to runs that are over, where the code has ended and hears it no more.
func warnUnheard(says *teller, run runName, m *replay.Machine, decided []world.Event) {
	if m.Outcome() == nil {
		return
	}
	for i := range decided {
		if e := &decided[i]; e.Type == world.StepFailed {
			of, args := run.about()
			what := "a detached child was not started, and nothing waits for it"
			if e.Error != nil && e.Error.Code != world.CodeRunExists {
				what = "an event that was sent to another run did not arrive, and nothing waits for it"
			}
			says.Warn(what, of, append(args, "step.id", e.ID, "err", e.Error)...)
		}
	}
}
