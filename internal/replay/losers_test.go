package replay

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stepwell/stepwell/world"
)

// A child that is cancelled ends for the code at once, and is told to the engine once, live and replayed, however often and in whatever way it is cancelled.
func TestCancelledChildrenEndAtOnceAndAreToldOnce(t *testing.T) {
	body := func(x *Ctx) Outcome {
		part := x.Scope()
		alone, inPart := x.Other(world.KindChild, "alone", "", nil, nil), part.Other(world.KindChild, "in part", "", nil, nil)
		kept, over := x.Uncancelled().Other(world.KindChild, "kept", "", nil, nil), x.Other(world.KindChild, "over", "", nil, nil)
		await := x.Other(world.KindAwait, "await", "r", nil, nil)
		x.Wait(x.Sleep("nap", time.Hour))
		x.CancelFuture(alone)
		x.CancelFuture(alone)
		x.CancelFuture(over) // it has ended: nothing to cancel
		x.CancelFuture(await)
		part.Cancel()
		var ends []bool
		for _, f := range []*Future{alone, inPart, await} {
			ends = append(ends, errors.Is(f.Err(), ErrCancelled))
		}
		x.Wait(kept)
		return Outcome{Output: fmt.Append(nil, ends, kept.Payload(), over.Payload())}
	}
	l := start(t, body)
	told := func(want ...string) {
		t.Helper()
		var got []string
		for _, op := range l.m.Cancelled() {
			got = append(got, op.Key.Name)
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("told of %q, want %q", got, want)
		}
	}
	l.complete("over", 0, "1")
	told()
	l.add(world.Event{Type: world.WaitCompleted, ID: l.id("nap", 0), Outcome: world.OutcomeDue})
	told("alone", "in part")
	for _, name := range []string{"alone", "in part"} { // as the engine ends them
		l.add(world.Event{Type: world.StepFailed, ID: l.id(name, 0), Error: &world.Error{Code: world.CodeCancelled}})
	}
	l.add(world.Event{Type: world.CancelRequested})
	told()
	l.complete("kept", 0, "2")
	l.output("[true true true] [50] [49]")
	l.replayed(body)
}
