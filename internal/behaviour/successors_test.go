package behaviour_test

// This file holds who is given what took the place of a run that did not complete: the table in docs/operating.md.

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
)

// unpaid is a workflow that fails until its bank is back.
func unpaid() (*stepwell.Workflow[int, int], *atomic.Int32) {
	away := new(atomic.Int32)
	return stepwell.Define("pay", func(ctx stepwell.Context, in int) (int, error) {
		return stepwell.Step(ctx, "charge", func(context.Context) (int, error) {
			if away.Add(-1) >= 0 {
				return 0, stepwell.Fatal(errNoStock)
			}
			return in + 1, nil
		})
	}), away
}

// TestHealed: after a retry a start with the key, the result, and a workflow that awaits the run have the new run.
func TestHealed(t *testing.T) {
	everywhere(t, func(r *rig) {
		pay, away := unpaid()
		awaits := stepwell.Define("awaits", func(ctx stepwell.Context, run string) (int, error) { return stepwell.AwaitRun[int](ctx, run) })
		app := r.begin(pay, awaits)
		away.Store(2)
		first := start(r, app, pay, 1, stepwell.Key("order-7"))
		wantErr(r, first, world.Failed)
		retry := func() *stepwell.Run[int] {
			t.Helper()
			made, err := app.Retry(r.ctx, first.ID())
			if err != nil {
				t.Fatal(err)
			}
			return pay.Get(app.App, made.ID())
		}
		second := retry()
		if err := wantErr(r, second, world.Failed); err.Run != second.ID() {
			t.Errorf("got the error of run %s, want that of %s", err.Run, second.ID())
		}
		third := retry() // of the newest
		want(r, third, 2)
		if again := retry(); again.ID() != third.ID() {
			t.Errorf("a retry of what is healed: got run %s, want %s", again.ID(), third.ID())
		}
		want(r, first, 2)
		if err := wantErr(r, first.Exactly(), world.Failed); err.Run != first.ID() {
			t.Errorf("got the error of run %s, want the first's own", err.Run)
		}
		same := start(r, app, pay, 1, stepwell.Key("order-7"))
		if same.ID() != third.ID() || !same.Existed() {
			t.Errorf("a start with the key: got run %s, existed %t; want %s", same.ID(), same.Existed(), third.ID())
		}
		run := start(r, app, awaits, first.ID())
		want(r, run, 2)
		r.replays(run.ID(), awaits)
		if newest, err := app.Newest(r.ctx, first.ID()); err != nil || newest.ID != third.ID() {
			t.Errorf("the newest: got %s, %v; want %s", newest.ID, err, third.ID())
		}
		for listed, err := range app.List(r.ctx, stepwell.ListFilter{Status: []world.Status{world.Failed}}) {
			if err != nil || listed.Newest == nil || *listed.Newest != (world.Heir{Run: third.ID(), Status: world.Completed}) {
				t.Errorf("run %s, in a list: got %+v, %v; want it marked with run %s", listed.ID, listed.Newest, err, third.ID())
			}
		}
	})
}

// TestRestartInPlace: a restart takes a run's place where it is asked to, and where there is one to take.
func TestRestartInPlace(t *testing.T) {
	everywhere(t, func(r *rig) {
		pay, away := unpaid()
		app := r.begin(pay)
		away.Store(2)
		first := start(r, app, pay, 1, stepwell.Key("order-7"))
		wantErr(r, first, world.Failed)
		restart := func(o stepwell.RestartOptions) string {
			t.Helper()
			made, err := app.Restart(r.ctx, first.ID(), o)
			if err != nil {
				t.Fatal(err)
			}
			return made.ID()
		}
		beside := restart(stepwell.RestartOptions{})
		wantErr(r, pay.Get(app.App, beside), world.Failed)
		if run := start(r, app, pay, 1, stepwell.Key("order-7")); run.ID() != first.ID() {
			t.Errorf("a restart beside it: the key gives run %s, want %s", run.ID(), first.ID())
		}
		instead := restart(stepwell.RestartOptions{InPlace: true})
		want(r, first, 2)
		if run := start(r, app, pay, 1, stepwell.Key("order-7")); run.ID() != instead {
			t.Errorf("a restart in place: the key gives run %s, want %s", run.ID(), instead)
		}
		if again := restart(stepwell.RestartOptions{InPlace: true}); again != instead {
			t.Errorf("once more: got run %s, want %s", again, instead)
		}
		if _, err := app.Restart(r.ctx, instead, stepwell.RestartOptions{InPlace: true}); !errors.Is(err, stepwell.ErrInvalid) {
			t.Errorf("of one that completed: %v, want it refused", err)
		}
	})
}

// TestRetryBehindAHealedChild: a workflow that failed of runs that it started or awaited is retried behind these, and has what the newest in their place
// came to; of what it did nothing is done again.
func TestRetryBehindAHealedChild(t *testing.T) {
	everywhere(t, func(r *rig) {
		pay, away := unpaid()
		var booked atomic.Int32
		parent := stepwell.Define("parent", func(ctx stepwell.Context, other string) (int, error) {
			if _, err := stepwell.Step(ctx, "book", func(context.Context) (int32, error) { return booked.Add(1), nil }); err != nil {
				return 0, err
			}
			a, b := pay.Child().Start(ctx, 10), pay.Child(stepwell.RunID("chosen-by-"+other)).Start(ctx, 20)
			sum, err := stepwell.AwaitRun[int](ctx, other)
			x, errA := a.Get(ctx)
			y, errB := b.Get(ctx)
			return sum + x + y, errors.Join(err, errA, errB)
		})
		app := r.begin(pay, parent)
		away.Store(3)
		other := start(r, app, pay, 1)
		wantErr(r, other, world.Failed)
		run := start(r, app, parent, other.ID(), stepwell.Key("k"))
		wantErr(r, run, world.Failed)
		failed := []string{other.ID()}
		for c, err := range app.List(r.ctx, stepwell.ListFilter{Parent: run.ID()}) {
			if err != nil {
				t.Fatal(err)
			}
			failed = append(failed, c.ID)
		}
		if len(failed) != 3 {
			t.Fatalf("got %q, want three that failed", failed)
		}
		for _, f := range failed {
			if _, err := app.Retry(r.ctx, run.ID()); !errors.Is(err, stepwell.ErrInvalid) {
				t.Fatalf("before run %s is healed: %v, want it refused", f, err)
			}
			made, err := app.Retry(r.ctx, f)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := made.Result(r.ctx); err != nil {
				t.Fatal(err)
			}
		}
		advice, err := app.RetryAdvice(r.ctx, run.ID())
		if err != nil || advice.Refused != "" || len(advice.Results) != 3 || len(advice.Steps) != 0 {
			t.Errorf("the advice is %+v, %v", advice, err)
		}
		made, err := app.Retry(r.ctx, run.ID())
		if err != nil {
			t.Fatal(err)
		}
		want(r, parent.Get(app.App, made.ID()), 2+11+21)
		want(r, run, 2+11+21)
		r.replays(made.ID(), parent)
		if n := booked.Load(); n != 1 {
			t.Errorf("it booked %d times", n)
		}
	})
}

// TestKeysOfRetriesAreTheirs: nobody takes the place of a run by naming a key.
func TestKeysOfRetriesAreTheirs(t *testing.T) {
	everywhere(t, func(r *rig) {
		pay, _ := unpaid()
		app := r.begin(pay)
		first := start(r, app, pay, 1)
		want(r, first, 2)
		if _, err := pay.Start(r.ctx, app.App, 5, stepwell.Key("retry:"+first.ID())); !errors.Is(err, stepwell.ErrInvalid) {
			t.Errorf("got %v, want it refused", err)
		}
	})
}

// TestRetryOfAChildAndAStepWaitsForTheChild: a retry that runs the step again, and fails of the child again, would leave what the step then did to nobody.
func TestRetryOfAChildAndAStepWaitsForTheChild(t *testing.T) {
	everywhere(t, func(r *rig) {
		pay, away := unpaid()
		var posted atomic.Int32
		parent := stepwell.Define("parent", func(ctx stepwell.Context, _ int) (int, error) {
			n, childErr := pay.Child().Run(ctx, 1)
			m, err := stepwell.Step(ctx, "post", func(context.Context) (int, error) {
				if posted.Add(1) == 1 {
					return 0, stepwell.Fatal(errNoStock)
				}
				return 10, nil
			})
			return n + m, errors.Join(childErr, err)
		})
		app := r.begin(pay, parent)
		away.Store(1)
		run := start(r, app, parent, 0)
		wantErr(r, run, world.Failed)
		var refused *stepwell.RetryRefusedError
		if _, err := app.Retry(r.ctx, run.ID()); !errors.As(err, &refused) || refused.Advice.Child == "" {
			t.Fatalf("got %v, want it refused for the child", err)
		}
		if _, err := app.Retry(r.ctx, refused.Advice.Child); err != nil {
			t.Fatal(err)
		}
		want(r, pay.Get(app.App, refused.Advice.Child), 2)
		if _, err := app.Retry(r.ctx, run.ID()); err != nil {
			t.Fatal(err)
		}
		want(r, run, 12)
	})
}

// TestRetryBehindACancelledRun: where the run in a child's place was cancelled no retry of the child helps, and what is said leads out: a restart in its place, and
// then a retry of the parent. While that goes on, the advice is to wait.
func TestRetryBehindACancelledRun(t *testing.T) {
	everywhere(t, func(r *rig) {
		var how atomic.Value
		how.Store("fails")
		child := stepwell.Define("child", func(ctx stepwell.Context, in int) (int, error) {
			switch how.Load() {
			case "fails":
				return 0, errNoStock
			case "waits":
				return in, stepwell.Sleep(ctx, "wait", time.Hour)
			}
			return in + 1, nil
		})
		parent := stepwell.Define("parent", func(ctx stepwell.Context, in int) (int, error) {
			return child.Child(stepwell.RunID("the-child")).Run(ctx, in)
		})
		app := r.begin(child, parent)
		run := start(r, app, parent, 1)
		wantErr(r, run, world.Failed)
		how.Store("waits")
		second, err := app.Retry(r.ctx, "the-child")
		if err != nil {
			t.Fatal(err)
		}
		advice := func(of string) stepwell.RetryAdvice {
			t.Helper()
			a, err := app.RetryAdvice(r.ctx, of)
			if err != nil || a.Refused == "" {
				t.Errorf("advice on run %s: %+v, %v; want it refused", of, a, err)
			}
			return a
		}
		if a := advice(run.ID()); a.Child != "the-child" || a.Peer != second.ID() || a.PeerIs != "running" && a.PeerIs != "pending" {
			t.Errorf("while the child's retry goes on: %+v", a)
		}
		if a := advice("the-child"); a.Newest != second.ID() {
			t.Errorf("of the child: %+v, want that run %s took its place", a, second.ID())
		}
		if again, err := app.Retry(r.ctx, "the-child"); err != nil || again.ID() != second.ID() || !again.Existed() {
			t.Errorf("a retry that is repeated gives %+v, %v", again, err)
		}
		r.cancel(app.App, second.ID())
		wantErr(r, child.Get(app.App, second.ID()), world.Cancelled)
		if a := advice(run.ID()); a.Peer != second.ID() || a.PeerIs != "cancelled" || !strings.Contains(a.Instead(), "restart run "+second.ID()+" in its place") {
			t.Errorf("where that was cancelled: %+v, %q", a, a.Instead())
		}
		var refused *stepwell.RetryRefusedError
		if _, err := app.Retry(r.ctx, "the-child"); !errors.As(err, &refused) || refused.Advice.Newest != second.ID() || !refused.Advice.Restart {
			t.Errorf("a retry of the child: %v, want it refused for run %s", err, second.ID())
		}
		how.Store("works")
		if _, err := app.Restart(r.ctx, second.ID(), stepwell.RestartOptions{InPlace: true}); err != nil {
			t.Fatal(err)
		}
		want(r, child.Get(app.App, "the-child"), 2)
		if _, err := app.Retry(r.ctx, run.ID()); err != nil {
			t.Fatal(err)
		}
		want(r, run, 2)
	})
}

// TestRetryAdviceOfTheNewest: what is said of a run that was retried is of the run that a retry would go to.
func TestRetryAdviceOfTheNewest(t *testing.T) {
	everywhere(t, func(r *rig) {
		pay, away := unpaid()
		app := r.begin(pay)
		away.Store(2)
		first := start(r, app, pay, 1)
		wantErr(r, first, world.Failed)
		second, err := app.Retry(r.ctx, first.ID())
		if err != nil {
			t.Fatal(err)
		}
		wantErr(r, pay.Get(app.App, second.ID()), world.Failed)
		advice, err := app.RetryAdvice(r.ctx, first.ID())
		if err != nil || advice.Refused != "" || advice.Newest != second.ID() || !strings.Contains(advice.Does(), second.ID()) {
			t.Errorf("got %+v, %v; want what a retry of run %s does", advice, err, second.ID())
		}
		if _, err := app.Retry(r.ctx, first.ID()); err != nil {
			t.Fatal(err)
		}
		want(r, first, 2)
		story, err := app.Story(r.ctx, first.ID(), false)
		if err != nil || story.Retry == nil || !strings.Contains(story.Retry.Refused, "replaced it, and is completed") {
			t.Errorf("the story says %+v, %v", story.Retry, err)
		}
	})
}
