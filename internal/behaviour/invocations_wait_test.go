package behaviour_test

// How often a run is claimed while it waits for payloads, signals and other runs: counted by the world.

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/memory"
)

func TestCostOfAHookWithOnePayload(t *testing.T) {
	everywhere(t, func(r *rig) {
		wf := stepwell.Define("hooked", func(ctx stepwell.Context, token string) (string, error) {
			h, err := stepwell.NewHook[string](ctx, stepwell.Token(token))
			if err != nil {
				return "", err
			}
			v, _, err := h.Wait(ctx)
			return v, err
		})
		wk := r.begin(wf)
		run := start(r, wk, wf, "cost")
		until(r, "the run to hibernate", func() bool { return r.free(run.ID()) })
		if err := r.client().SendHook(r.ctx, "cost", []byte(`"paid"`)); err != nil {
			r.Fatal(err)
		}
		want(r, run, "paid")
		r.cost(run.ID(), 2, 0)
		r.replays(run.ID(), wf)
	})
}

// free reports whether a run waits and nobody owns it.
func (r *rig) free(run string) bool {
	r.Helper()
	q := r.get(run).Queue
	return q != nil && q.Owner == ""
}

// slow reports whether the world is slow under the race detector, as the pure-Go SQLite is: sizes are smaller there.
func (r *rig) slow() bool {
	_, quick := r.world.(*memory.World)
	return !quick
}

// nested runs a child within a child, so deep, and counts the levels.
func nested() *stepwell.Workflow[int, int] {
	var wf *stepwell.Workflow[int, int]
	wf = stepwell.Define("nested", func(ctx stepwell.Context, depth int) (int, error) {
		if depth == 0 {
			return 0, nil
		}
		n, err := wf.Child().Run(ctx, depth-1)
		return n + 1, err
	})
	return wf
}

func TestTwoNestedChildrenNeedNoPolling(t *testing.T) {
	everywhere(t, func(r *rig) {
		wf := nested()
		wk := r.beginWith(stepwell.Config{Definitions: []stepwell.Definition{wf}, Poll: time.Hour})
		began := time.Now()
		run := start(r, wk, wf, 2)
		want(r, run, 2)
		if took := time.Since(began); took > time.Second {
			r.Errorf("took %s without a poll, want at most 1s", took)
		}
		r.cost(run.ID(), 2, 0)
		r.replays(run.ID(), wf)
	})
}

func TestManyChildrenAndBackCostFewTakesOfTheParent(t *testing.T) {
	onWorlds(t, func(r *rig) {
		n := 1000
		if r.slow() {
			n = 100
		}
		child := stepwell.Define("one-of-many", func(ctx stepwell.Context, i int) (int, error) {
			return stepwell.Step(ctx, "work", func(context.Context) (int, error) { return i, nil })
		})
		parent := stepwell.Define("of-many", func(ctx stepwell.Context, n int) (int, error) {
			fs := make([]*stepwell.Future[int], n)
			for i := range fs {
				fs[i] = child.Child().Start(ctx, i).Future
			}
			all, err := stepwell.All(ctx, fs...)
			sum := 0
			for _, v := range all {
				sum += v
			}
			return sum, err
		})
		wk := r.begin(child, parent)
		run := start(r, wk, parent, n)
		want(r, run, n*(n-1)/2)
		r.cost(run.ID(), int64(n)/10, 0)
		if got := r.count(run.ID(), world.StepCompleted, ""); got != n {
			r.Errorf("%d results, want %d", got, n)
		}
		r.replays(run.ID(), parent, child)
	})
}

func TestCostOfASignalToAResidentRun(t *testing.T) {
	everywhere(t, func(r *rig) {
		wf := stepwell.Define("resident", func(ctx stepwell.Context, _ struct{}) (string, error) {
			f := stepwell.Go(ctx, func(ctx stepwell.Context) (int, error) {
				return stepwell.Step(ctx, "long", func(context.Context) (int, error) {
					<-time.After(10 * time.Second)
					return 1, nil
				})
			})
			n, ok, err := numbers.Wait(ctx)
			if err != nil {
				return "", err
			}
			early := !f.Done()
			m, err := f.Get(ctx)
			return fmt.Sprint(n.N, ok, early, m), err
		})
		wk := r.begin(wf)
		run := start(r, wk, wf, struct{}{})
		if err := numbers.Send(r.ctx, r.client(), run.ID(), number{7}); err != nil {
			r.Fatal(err)
		}
		want(r, run, "7 true true 1")
		r.cost(run.ID(), 1, 0)
		r.replays(run.ID(), wf)
	})
}
