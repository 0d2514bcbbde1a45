package behaviour_test

// This file holds what runs come to that wait for one which fails and is healed while they cannot be told: they are
// paused, and the end lies in their inboxes.

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
)

// TestWhoIsPausedGetsTheHealedResult: a parent, and a run that awaits another, are paused while that fails. When they
// are resumed its retry is over, or works still, or has failed and was retried in turn: they have what the newest
// came to, and no failure.
func TestWhoIsPausedGetsTheHealedResult(t *testing.T) {
	for name, test := range map[string]struct {
		failures int
		later    bool // the retry works still when they are resumed
		again    bool // they are paused once more while the retry fails
	}{
		"over":                          {failures: 1},
		"works still":                   {failures: 1, later: true},
		"retried twice":                 {failures: 2},
		"fails while they wait for it":  {failures: 2, later: true},
		"and while they are paused too": {failures: 2, later: true, again: true},
	} {
		t.Run(name, func(t *testing.T) {
			across(t, kinds, modes, func(r *rig) {
				var failures atomic.Int32
				failures.Store(int32(test.failures))
				work := stepwell.Define("work", func(ctx stepwell.Context, in int) (int, error) {
					if err := stepwell.Sleep(ctx, "first", time.Minute); err != nil {
						return 0, err
					}
					return stepwell.Step(ctx, "charge", func(ctx context.Context) (int, error) {
						if test.later && failures.Load() < int32(test.failures) {
							select {
							case <-time.After(10 * time.Second):
							case <-ctx.Done():
								return 0, ctx.Err()
							}
						}
						if failures.Add(-1) >= 0 {
							return 0, stepwell.Fatal(errNoStock)
						}
						return in + 1, nil
					})
				})
				parent := stepwell.Define("parent", func(ctx stepwell.Context, _ int) (int, error) {
					return work.Child(stepwell.RunID("child")).Run(ctx, 1)
				})
				awaits := stepwell.Define("awaits", func(ctx stepwell.Context, run string) (int, error) { return stepwell.AwaitRun[int](ctx, run) })
				app := r.begin(work, parent, awaits)
				waits := []*stepwell.Run[int]{start(r, app, parent, 0)}
				r.pass(time.Second)
				waits = append(waits, start(r, app, awaits, "child"))
				r.pass(time.Second)
				all := func(act func(run string) error) {
					t.Helper()
					for _, run := range waits {
						if err := act(run.ID()); err != nil {
							t.Fatal(err)
						}
					}
				}
				pause := func(run string) error { return app.Pause(r.ctx, run, "a test") }
				resume := func(run string) error { return app.Resume(r.ctx, run) }
				retry := func() *stepwell.Run[int] {
					t.Helper()
					made, err := app.Retry(r.ctx, "child")
					if err != nil {
						t.Fatal(err)
					}
					return work.Get(app.App, made.ID()).Exactly()
				}
				all(pause)
				wantErr(r, work.Get(app.App, "child"), world.Failed)
				newest := retry()
				switch {
				case test.again:
					all(resume)
					r.pass(time.Second)
					all(pause)
					wantErr(r, newest, world.Failed)
					newest = retry()
				case test.failures > 1 && !test.later:
					wantErr(r, newest, world.Failed)
					newest = retry()
				}
				if !test.later {
					want(r, newest, 2)
				}
				all(resume)
				for _, run := range waits {
					if test.failures > 1 && test.later && !test.again { // nobody has retried it once more
						wantErr(r, run, world.Failed)
						continue
					}
					want(r, run, 2)
					if n := len(r.events(run.ID(), world.StepFailed)); n != 0 {
						t.Errorf("run %s was told of %d failures", run.ID(), n)
					}
				}
				for _, run := range waits {
					r.replays(run.ID(), parent, awaits)
				}
			})
		})
	}
}

// TestWhyNamesTheHealedRun: who waits on for the newest run in the place of its child is told of by that, and how it
// stands.
func TestWhyNamesTheHealedRun(t *testing.T) {
	onWorlds(t, func(r *rig) {
		var failures atomic.Int32
		failures.Store(1)
		work := stepwell.Define("work", func(ctx stepwell.Context, _ int) (int, error) {
			if err := stepwell.Sleep(ctx, "first", time.Minute); err != nil {
				return 0, err
			}
			if _, err := stepwell.Step(ctx, "charge", func(context.Context) (int, error) {
				if failures.Add(-1) >= 0 {
					return 0, stepwell.Fatal(errNoStock)
				}
				return 1, nil
			}); err != nil {
				return 0, err
			}
			n, _, err := stepwell.Event[int]("go").Wait(ctx)
			return n, err
		})
		parent := stepwell.Define("parent", func(ctx stepwell.Context, _ int) (int, error) {
			return work.Child(stepwell.RunID("child")).Run(ctx, 1)
		})
		app := r.begin(work, parent)
		run := start(r, app, parent, 0)
		r.pass(time.Second)
		if err := app.Pause(r.ctx, run.ID(), "a test"); err != nil {
			r.Fatal(err)
		}
		wantErr(r, work.Get(app.App, "child"), world.Failed)
		made, err := app.Retry(r.ctx, "child")
		if err != nil {
			r.Fatal(err)
		}
		if err := app.Resume(r.ctx, run.ID()); err != nil {
			r.Fatal(err)
		}
		why := r.wantWhy(app.App, run.ID(), stepwell.WhyChild, "waiting for child run "+made.ID()+" (work, running) to end")
		if why.Peer != made.ID() || why.PeerIs != "running" {
			r.Errorf("got run %s, %s; want run %s, running", why.Peer, why.PeerIs, made.ID())
		}
		story, err := app.Story(r.ctx, run.ID(), false)
		if got := story.Peers["child"]; err != nil || got != "retried as "+made.ID()+", running" {
			r.Errorf("the child is %q, %v", got, err)
		}
		if err := app.Signal(r.ctx, made.ID(), "go", []byte("7")); err != nil {
			r.Fatal(err)
		}
		want(r, run, 7)
	})
}
