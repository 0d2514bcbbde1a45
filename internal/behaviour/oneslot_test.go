package behaviour_test

// Waiting for a child holds no slot: with one slot for runs and one for steps, everything still ends.

import (
	"context"
	"testing"
	"time"

	"github.com/stepwell/stepwell"
)

func TestOneSlotFibonacciByRecursiveChildren(t *testing.T) {
	onWorlds(t, func(r *rig) {
		var fib *stepwell.Workflow[int, int]
		fib = stepwell.Define("fibonacci", func(ctx stepwell.Context, n int) (int, error) {
			if n < 2 {
				return n, nil
			}
			a, b := fib.Child().Start(ctx, n-1), fib.Child().Start(ctx, n-2)
			parts, err := stepwell.All(ctx, a.Future, b.Future)
			if err != nil {
				return 0, err
			}
			return parts[0] + parts[1], nil
		})
		n, sum := 12, 144
		if r.slow() {
			n, sum = 7, 13
		}
		run := start(r, oneSlot(r, fib), fib, n)
		want(r, run, sum)
	})
}

// oneSlot is a worker with one slot for runs and one for steps, which does not poll.
func oneSlot(r *rig, defs ...stepwell.Definition) *worker {
	r.Helper()
	return r.beginWith(stepwell.Config{Definitions: defs, MaxRuns: 1, MaxSteps: 1, Poll: time.Hour})
}

func TestOneSlotAChainOfNestedChildrenWithSteps(t *testing.T) {
	everywhere(t, func(r *rig) {
		var g gauge
		level := stepwell.DefineStep("level", func(_ context.Context, n int) (int, error) {
			g.enter()
			defer g.leave()
			return n, nil
		})
		var chain *stepwell.Workflow[int, int]
		chain = stepwell.Define("chain", func(ctx stepwell.Context, depth int) (int, error) {
			here, err := stepwell.Step(ctx, "here", func(context.Context) (int, error) {
				g.enter()
				defer g.leave()
				return 1, nil
			})
			if err != nil || depth == 1 {
				return here, err
			}
			below, err := chain.Child().Run(ctx, depth-1)
			if err != nil {
				return 0, err
			}
			return level.Run(ctx, here+below)
		})
		n := 100
		if r.slow() {
			n = 15
		}
		run := start(r, oneSlot(r, chain, level), chain, n)
		want(r, run, n)
		if got := g.max(); got != 1 {
			r.Errorf("%d bodies at once, want 1", got)
		}
	})
}

// A body that waits for another run gives its slot back meanwhile: the run that it waits for needs it.
func TestOneSlotIsLentByABodyThatWaitsForARun(t *testing.T) {
	onWorlds(t, func(r *rig) {
		inner := serial(2)
		var app *stepwell.App
		outer := stepwell.Define("starts-and-waits", func(ctx stepwell.Context, in int) (int, error) {
			return stepwell.Step(ctx, "start and wait", func(ctx context.Context) (int, error) {
				run, err := inner.Start(ctx, app, in)
				if err != nil {
					return 0, err
				}
				return run.Result(ctx)
			})
		})
		wk := oneSlot(r, inner, outer)
		app = wk.App
		run := start(r, wk, outer, 10)
		want(r, run, 11)
	})
}
