package behaviour_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/sample"
	"github.com/stepwell/stepwell/world"
)

// TestPoisonedRunThatABodyWaitsFor: a body that waits for a run whose step ends the process dies with it each time, and is one in quarantine soon. It gives
// its turn to what it waits for, or neither would ever end, and is not blamed for what happens meanwhile.
func TestPoisonedRunThatABodyWaitsFor(t *testing.T) {
	for _, name := range sample.One(t, "asks", "asks-task", "task-asks") {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWard(t)
			w.start("quick", 3)
			w.start(name, 1)
			w.supervise("all runs to end", func() bool { return w.over() })
			w.innocent("quick", 3)
			w.innocent(name, 3) // two in company, and the last
			if w.deaths != 7 {
				t.Errorf("%d workers died, want 7: two in company, five alone", w.deaths)
			}
		})
	}
}

// survivors writes the log of a run whose only step was started so often and never heard of again, as if its processes had died. With again it was
// tried once more, and is to be tried at that time.
func survivors(r *rig, workflow, run, step string, deaths int, again time.Time) {
	r.Helper()
	now := world.Now()
	key := world.Key{Kind: world.KindClosure, Name: step}
	id := world.CorrelationID(run, now, key)
	events := []world.Event{
		{Type: world.RunCreated, Birth: &world.Birth{Workflow: workflow, Version: 1, Seed: 1, Priority: 1}, Payload: []byte("0")},
		{Type: world.RunStarted},
		{Type: world.StepCreated, ID: id, Kind: key.Kind, Name: step},
	}
	n := 0
	start := func() {
		n++
		events = append(events, world.Event{Type: world.StepStarted, ID: id, Attempt: n})
	}
	for range deaths {
		start()
	}
	if !again.IsZero() {
		start()
		events = append(events, world.Event{
			Type: world.StepRetrying, ID: id, Attempt: n, RetryAt: again, Error: &world.Error{Message: "not yet"},
		})
	}
	for i := range events {
		events[i].Seq, events[i].Time = int64(i+1), now
	}
	forge(r, r.world, run, events)
}

// Both are in quarantine, and the one waits for the other: it gives way, and begins anew, in the log, before it
// goes on.
func TestASuspectThatWaitsForASuspectGivesWay(t *testing.T) {
	onWorlds(t, func(r *rig) {
		inner := stepwell.Define("inner", func(ctx stepwell.Context, _ int) (int, error) {
			return stepwell.Step(ctx, "inside", func(context.Context) (int, error) { return 5, nil })
		})
		app := r.client()
		outer := stepwell.Define("outer", func(ctx stepwell.Context, _ int) (int, error) {
			return stepwell.Step(ctx, "outside", func(ctx context.Context) (int, error) {
				return inner.Get(app, "awaited").Result(ctx)
			})
		})
		survivors(r, "inner", "awaited", "inside", 2, world.Now().Add(time.Minute))
		survivors(r, "outer", "waiting", "outside", 2, time.Time{})
		oneSlot(r, inner, outer)
		want(r, outer.Get(app, "waiting"), 5)
		var got []world.EventType
		for _, e := range r.events("waiting")[5:] {
			got = append(got, e.Type)
		}
		if diff := cmp.Diff([]world.EventType{
			world.StepStarted, world.StepRetrying, world.StepStarted, world.StepCompleted, world.RunCompleted,
		}, got); diff != "" {
			r.Errorf("the waiting step: want -, got +:\n%s", diff)
		}
		for _, e := range r.events("waiting", world.StepRetrying) {
			if e.Error.Code != world.CodeAbandoned || e.Attempt != 3 {
				r.Errorf("attempt %d ended with %v, want the third one, abandoned", e.Attempt, e.Error)
			}
		}
		r.replays("waiting", outer)
	})
}

// One in quarantine that waits does not keep a run from a pause, nor a worker from its end.
func TestASuspectThatWaitsEndsWithItsWorkerAndItsRun(t *testing.T) {
	onWorlds(t, func(r *rig) {
		app := r.client()
		outer := stepwell.Define("outer", func(ctx stepwell.Context, _ int) (string, error) {
			return stepwell.Step(ctx, "outside", func(ctx context.Context) (string, error) {
				return sleeper.Get(app, "awaited").Result(ctx)
			})
		})
		wk := oneSlot(r, sleeper, outer)
		start(r, wk, sleeper, 10*time.Minute, stepwell.RunID("awaited"))
		survivors(r, "outer", "waiting", "outside", 2, time.Time{})
		parked := func(n int) func() bool {
			return func() bool { return r.count("waiting", world.StepRetrying, "outside") == n }
		}
		until(r, "the one in quarantine to give way", parked(1))
		wk.stop(r)
		if got := r.count("waiting", world.StepStarted, "outside"); got != 4 {
			r.Errorf("%d starts, want 4: two died, one gave way, and its body came back when the worker ended", got)
		}
		second := oneSlot(r, sleeper, outer)
		until(r, "it to give way again", parked(3)) // it gave way, it was drained
		if err := second.Pause(r.ctx, "waiting", ""); err != nil {
			r.Fatal(err)
		}
		want(r, sleeper.Get(app, "awaited"), "slept")
		until(r, "the body to end", func() bool { return r.count("waiting", world.StepCompleted, "outside") == 1 })
		if err := second.Resume(r.ctx, "waiting"); err != nil {
			r.Fatal(err)
		}
		want(r, outer.Get(app, "waiting"), "slept")
		if got := r.count("waiting", world.StepFailed, ""); got != 0 {
			r.Errorf("%d failed steps, want none", got)
		}
		r.replays("waiting", outer)
	})
}
