package behaviour_test

// This file holds whom the deaths of a worker are blamed on: not on runs that were merely there when something outside ended it.

import (
	"context"
	"sync/atomic"
	"testing"

	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/faults"
	"github.com/stepwell/stepwell/world"
)

// accused is a run whose workers die, and a worker of something else that is there all the time, so that it is known that they are dead.
type accused struct {
	*rig
	run    *stepwell.Run[int]
	evals  atomic.Int32 // how often its code began
	deadly atomic.Bool  // it ends its process
	kill   func()       // ends the process of now
	flow   *stepwell.Workflow[int, int]
}

func newAccused(r *rig) *accused {
	a := &accused{rig: r}
	a.flow = stepwell.Define("accused", func(stepwell.Context, int) (int, error) {
		a.evals.Add(1)
		if a.deadly.Load() {
			a.kill()
		}
		return 1, nil
	})
	r.begin(stepwell.Define("bystander", func(stepwell.Context, int) (int, error) { return 0, nil }))
	var err error
	if a.run, err = a.flow.Start(r.ctx, r.client(), 0); err != nil {
		r.Fatal(err)
	}
	return a
}

// life is one process; it is killed by its code, or at its k-th commit if that comes before; 0: at none.
func (a *accused) life(k int) {
	a.Helper()
	var died atomic.Bool
	var w *faults.World
	a.kill = func() { died.Store(true); w.Kill() }
	w = faults.New(a.world, faults.At(faults.Commit, k, faults.Fault{Before: a.kill}))
	app, err := stepwell.New(w, stepwell.Config{Definitions: []stepwell.Definition{a.flow}, Build: "one"})
	if err != nil {
		a.Fatal(err)
	}
	ctx, cancel := context.WithCancel(a.ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = app.Run(ctx) // its world dies
	}()
	until(a, "the process to die", died.Load)
	cancel()
	<-ended
	until(a, "its death to be known", func() bool { return a.get(a.run.ID()).Queue.Owner == "" })
}

// quarantined gives it three claims that come to nothing: the next one is in quarantine.
func (a *accused) quarantined() {
	a.Helper()
	for range 3 {
		a.life(1)
	}
	if n := a.evals.Load(); n != 3 {
		a.Fatalf("evaluated %d times, want 3", n)
	}
}

func (a *accused) block() world.Block {
	a.Helper()
	if b := a.get(a.run.ID()).Queue.Blocked; b != nil {
		return *b
	}
	return world.Block{}
}

// TestKillsFromOutsideBlameNobody: a worker that is killed again and again before it has lived for a second evaluates none in quarantine, so that none can be
// blamed, whatever it was doing; the next one that lives evaluates it, once.
func TestKillsFromOutsideBlameNobody(t *testing.T) {
	onWorlds(t, func(r *rig) {
		a := newAccused(r)
		a.quarantined()
		for i := range 12 {
			a.life(1 + i%3) // as soon as it is taken; or a little later
		}
		if b := a.block(); b.Tries != 0 || a.evals.Load() != 3 {
			r.Errorf("blocked %+v after %d evaluations, want no tries and 3: suspects rest while workers are killed", b, a.evals.Load())
		}
		r.begin(a.flow)
		want(r, a.run, 1)
		if n := a.evals.Load(); n != 4 {
			r.Errorf("evaluated %d times, want 4: once alone", n)
		}
	})
}

// TestAnOperatorHasABlockedRunTriedAtOnce: the same build does not try code again that ended its process twice when it was alone, but for an operator it does, alone.
func TestAnOperatorHasABlockedRunTriedAtOnce(t *testing.T) {
	for name, act := range map[string]func(context.Context, *stepwell.App, string) error{
		"resume": func(ctx context.Context, app *stepwell.App, run string) error { return app.Resume(ctx, run) },
		"wake": func(ctx context.Context, app *stepwell.App, run string) error {
			_, err := app.Wake(ctx, run)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onWorlds(t, func(r *rig) {
				a := newAccused(r)
				a.deadly.Store(true)
				for range 5 { // three times in company, twice alone
					a.life(0)
				}
				a.deadly.Store(false)
				wk := r.beginWith(stepwell.Config{Definitions: []stepwell.Definition{a.flow}, Build: "one"})
				until(r, "it to be blocked for long", func() bool { return a.block().Tries > 2 })
				r.pass(10 * time.Second)
				if n := a.evals.Load(); n != 5 {
					r.Fatalf("evaluated %d times, want 5: the same build is not to try it again soon", n)
				}
				if err := act(r.ctx, wk.App, a.run.ID()); err != nil {
					r.Fatal(err)
				}
				r.pass(time.Second)
				if n := a.evals.Load(); n != 6 {
					r.Errorf("evaluated %d times, want 6: at once", n)
				}
				want(r, a.run, 1)
			})
		})
	}
}
