package behaviour_test

// A body that waits for another run yields its slots: what it waits for gets them, and the limits hold all the same.

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
)

// waits makes a workflow whose one step's body waits for a run of another one, which it starts.
func waits[In, Out any](app **stepwell.App, inner *stepwell.Workflow[In, Out], opts ...stepwell.StepOption) *stepwell.Workflow[In, Out] {
	return stepwell.Define("waits", func(ctx stepwell.Context, in In) (Out, error) {
		return stepwell.Step(ctx, "start and wait", func(ctx context.Context) (Out, error) {
			run, err := inner.Start(ctx, *app, in, stepwell.Key(stepwell.Info(ctx).IdempotencyKey))
			if err != nil {
				var none Out
				return none, err
			}
			return run.Result(ctx)
		}, opts...)
	})
}

func TestOneSlotIsLentTwentyDeep(t *testing.T) {
	onWorlds(t, func(r *rig) {
		var g gauge
		var app *stepwell.App
		var deep *stepwell.Workflow[int, int]
		deep = stepwell.Define("deep", func(ctx stepwell.Context, depth int) (int, error) {
			return stepwell.Step(ctx, "level", func(ctx context.Context) (int, error) {
				below := 0
				if depth > 1 {
					run, err := deep.Start(ctx, app, depth-1)
					if err != nil {
						return 0, err
					}
					if below, err = run.Result(ctx); err != nil {
						return 0, err
					}
				}
				g.enter()
				defer g.leave()
				<-time.After(time.Millisecond)
				return below + 1, nil
			})
		})
		wk := oneSlot(r, deep)
		app = wk.App
		run := start(r, wk, deep, 20)
		want(r, run, 20)
		if got := g.max(); got != 1 {
			r.Errorf("%d bodies went on at once, want 1", got)
		}
		r.replays(run.ID(), deep)
	})
}

// Whatever waits and comes back meanwhile, no more bodies work at once than there are slots.
func TestASlotThatWasLentIsTakenAgainBeforeTheBodyGoesOn(t *testing.T) {
	onWorlds(t, func(r *rig) {
		var g gauge
		work := func(d time.Duration) {
			g.enter()
			defer g.leave()
			<-time.After(d)
		}
		inner := stepwell.Define("inner", func(ctx stepwell.Context, n int) (int, error) {
			return n, stepwell.Do(ctx, "inside", func(context.Context) error { work(time.Duration(n) * time.Millisecond); return nil })
		})
		var app *stepwell.App
		outer := stepwell.Define("outer", func(ctx stepwell.Context, n int) (int, error) {
			return stepwell.Step(ctx, "outside", func(ctx context.Context) (int, error) {
				work(time.Millisecond)
				run, err := inner.Start(ctx, app, n)
				if err != nil {
					return 0, err
				}
				v, err := run.Result(ctx)
				work(3 * time.Millisecond)
				return v, err
			})
		})
		wk := r.beginWith(stepwell.Config{Definitions: []stepwell.Definition{inner, outer}, MaxRuns: 4, MaxSteps: 2})
		app = wk.App
		var runs []*stepwell.Run[int]
		for n := range 12 {
			runs = append(runs, start(r, wk, outer, n))
		}
		for n, run := range runs {
			want(r, run, n)
		}
		if got := g.max(); got != 2 {
			r.Errorf("%d bodies at once, want 2", got)
		}
	})
}

func TestTheResultOfARunThatIsOverIsReadWithoutLending(t *testing.T) {
	onWorlds(t, func(r *rig) {
		quick := stepwell.Define("quick", func(stepwell.Context, int) (int, error) { return 7, nil })
		var order []string // written in bodies, of which one runs at a time
		waiting := make(chan struct{})
		var app *stepwell.App
		reader := stepwell.Define("reader", func(ctx stepwell.Context, id string) (int, error) {
			return stepwell.Step(ctx, "read", func(ctx context.Context) (int, error) {
				<-waiting // another step queues for the slot now
				v, err := quick.Get(app, id).Result(ctx)
				order = append(order, "read")
				return v, err
			})
		})
		other := stepwell.Define("other", func(ctx stepwell.Context, _ int) (int, error) {
			return stepwell.Step(ctx, "other", func(context.Context) (int, error) { order = append(order, "other"); return 1, nil })
		})
		wk := r.beginWith(stepwell.Config{Definitions: []stepwell.Definition{quick, reader, other}, MaxSteps: 1})
		app = wk.App
		over := start(r, wk, quick, 0)
		want(r, over, 7)
		run, queued := start(r, wk, reader, over.ID()), start(r, wk, other, 0)
		until(r, "the other step to queue", func() bool { return r.count(queued.ID(), world.StepCreated, "other") == 1 })
		close(waiting)
		want(r, run, 7)
		want(r, queued, 1)
		if diff := cmp.Diff([]string{"read", "other"}, order); diff != "" {
			r.Errorf("order: want -, got +:\n%s", diff)
		}
	})
}

func TestTwoGoroutinesOfABodyWaitWithOneSlot(t *testing.T) {
	onWorlds(t, func(r *rig) {
		inner := stepwell.Define("inner", func(ctx stepwell.Context, n int) (int, error) {
			for range n { // the second ends later, and needs the slot when the first has ended
				if err := stepwell.Do(ctx, "part", func(context.Context) error { <-time.After(time.Second); return nil }); err != nil {
					return 0, err
				}
			}
			return n, nil
		})
		var app *stepwell.App
		outer := stepwell.Define("outer", func(ctx stepwell.Context, _ int) ([]int, error) {
			return stepwell.Step(ctx, "both", func(ctx context.Context) ([]int, error) {
				var wg sync.WaitGroup
				got, errs := make([]int, 3), make([]error, 3)
				for i := range got {
					wg.Go(func() {
						run, err := inner.Start(ctx, app, i+1, stepwell.RunID(fmt.Sprint(stepwell.Info(ctx).Run, ".", i)))
						if err != nil {
							errs[i] = err
							return
						}
						got[i], errs[i] = run.Result(ctx)
					})
				}
				wg.Wait()
				return got, errors.Join(errs...)
			})
		})
		wk := oneSlot(r, inner, outer)
		app = wk.App
		run := start(r, wk, outer, 0)
		want(r, run, []int{1, 2, 3})
		want(r, start(r, wk, inner, 1), 1) // the slot is there again, once
		r.replays(run.ID(), outer)
	})
}

// Registered steps yield as closures do: one that runs in place, one that is queued, and those of another worker.
func TestRegisteredStepsThatWaitForRunsLendTheirSlot(t *testing.T) {
	onWorlds(t, func(r *rig) {
		inner := stepwell.Define("inner", func(ctx stepwell.Context, n int) (int, error) {
			return stepwell.Step(ctx, "inside", func(context.Context) (int, error) { return 10 * n, nil })
		})
		var app *stepwell.App
		ask := stepwell.DefineStep("ask", func(ctx context.Context, n int) (int, error) {
			run, err := inner.Start(ctx, app, n)
			if err != nil {
				return 0, err
			}
			return run.Result(ctx)
		})
		outer := stepwell.Define("outer", func(ctx stepwell.Context, n int) ([]int, error) {
			var fs []*stepwell.Future[int]
			for i := range n {
				fs = append(fs, ask.Start(ctx, i))
			}
			return stepwell.All(ctx, fs...)
		})
		wk := oneSlot(r, inner, outer, ask)
		app = wk.App
		run := start(r, wk, outer, 4)
		want(r, run, []int{0, 10, 20, 30})
		r.replays(run.ID(), outer, ask)
	})
}

// holder takes the only slot for a long time, and heeds nothing but its time.
var holder = stepwell.Define("holder", func(ctx stepwell.Context, d time.Duration) (int, error) {
	return stepwell.Step(ctx, "hold", func(context.Context) (int, error) { <-time.After(d); return 1, nil })
})

// busyWhileItWaits starts a run whose body waits for one that naps, and then one that holds all slots meanwhile.
func busyWhileItWaits(r *rig, wk *worker, outer *stepwell.Workflow[time.Duration, string], nap time.Duration) (waiting *stepwell.Run[string], busy *stepwell.Run[int]) {
	r.Helper()
	waiting = start(r, wk, outer, nap)
	until(r, "the inner run", func() bool { // it naps: the slots are free
		row := r.get(waiting.ID())
		for other, err := range wk.List(r.ctx, stepwell.ListFilter{Workflow: sleeper.Name()}) {
			if err == nil && other.Queue != nil && other.Queue.Owner == "" && row.Status == world.Running {
				return true
			}
		}
		return false
	})
	busy = start(r, wk, holder, 15*time.Minute)
	until(r, "the slots to be taken", func() bool { return r.count(busy.ID(), world.StepStarted, "hold") == 1 })
	return waiting, busy
}

// The body is told at once, and returns without a slot. The run itself goes on when it is its turn.
func TestACancelReachesABodyThatWaitsForARunThoughAllSlotsAreTaken(t *testing.T) {
	onWorlds(t, func(r *rig) {
		var app *stepwell.App
		told := make(chan error, 1)
		outer := stepwell.Define("waits", func(ctx stepwell.Context, nap time.Duration) (string, error) {
			return stepwell.Step(ctx, "wait", func(ctx context.Context) (string, error) {
				run, err := sleeper.Start(ctx, app, nap)
				if err != nil {
					return "", err
				}
				v, err := run.Result(ctx)
				told <- context.Cause(ctx)
				return v, err
			})
		})
		wk := oneSlot(r, sleeper, holder, outer)
		app = wk.App
		run, busy := busyWhileItWaits(r, wk, outer, 10*time.Hour)
		began := time.Now()
		r.cancel(wk.App, run.ID())
		if got := <-told; !errors.Is(got, stepwell.ErrCancelled) {
			r.Errorf("the body's cause = %v, want ErrCancelled", got)
		}
		if took := time.Since(began); took > time.Second {
			r.Errorf("the body was told after %s, want within 1s", took)
		}
		if got := r.count(busy.ID(), world.StepCompleted, "hold"); got != 0 {
			r.Error("the slots were free: this shows nothing")
		}
		wantErr(r, run, world.Cancelled)
		want(r, busy, 1)
		want(r, start(r, wk, holder, time.Second), 1)
		r.replays(run.ID(), outer)
	})
}

// An attempt whose time is up while it waits for a slot goes on with its answer.
func TestAnAttemptWhoseTimeIsUpWhileItWaitsForASlotGoesOn(t *testing.T) {
	onWorlds(t, func(r *rig) {
		var app *stepwell.App
		outer := waits(&app, sleeper, stepwell.Timeout(5*time.Minute))
		wk := r.beginWith(stepwell.Config{Definitions: []stepwell.Definition{sleeper, holder, outer}, MaxRuns: 2, MaxSteps: 1})
		app = wk.App
		began := time.Now()
		run, busy := busyWhileItWaits(r, wk, outer, 2*time.Minute)
		want(r, run, "slept")
		if took := time.Since(began); took < 5*time.Minute || took > 6*time.Minute {
			r.Errorf("the run ended after %s, want 5m: its answer came after 2m, its time was up after 5m", took)
		}
		want(r, busy, 1)
		want(r, start(r, wk, holder, time.Second), 1)
	})
}

func TestADrainEndsABodyThatWaitsForARun(t *testing.T) {
	onWorlds(t, func(r *rig) {
		var app *stepwell.App
		outer := waits(&app, sleeper)
		wk := oneSlot(r, sleeper, outer)
		app = wk.App
		run := start(r, wk, outer, 20*time.Minute)
		until(r, "the inner run", func() bool { return r.get(run.ID()).Claims == 1 && r.count(run.ID(), world.StepStarted, "") == 1 })
		r.pass(time.Second)
		wk.stop(r)
		if got := r.count(run.ID(), world.StepRetrying, ""); got != 1 {
			r.Errorf("%d abandoned attempts, want 1", got)
		}
		second := oneSlot(r, sleeper, outer)
		app = second.App
		want(r, outer.Get(app, run.ID()), "slept")
		if n := len(slices.Collect(names(r, sleeper.Name()))); n != 1 {
			r.Errorf("%d inner runs, want 1: the step's ID is the key of both starts", n)
		}
		r.replays(run.ID(), outer)
	})
}

func TestALostLeaseEndsABodyThatWaitsForARun(t *testing.T) {
	onWorlds(t, func(r *rig) {
		var app *stepwell.App
		causes := make(chan error, 4)
		outer := stepwell.Define("waits", func(ctx stepwell.Context, nap time.Duration) (string, error) {
			return stepwell.Step(ctx, "wait", func(ctx context.Context) (string, error) {
				run, err := sleeper.Start(ctx, app, nap, stepwell.Key(stepwell.Info(ctx).IdempotencyKey))
				if err != nil {
					return "", err
				}
				v, err := run.Result(ctx)
				causes <- context.Cause(ctx)
				return v, err
			})
		})
		wk := oneSlot(r, sleeper, outer)
		app = wk.App
		run := start(r, wk, outer, 20*time.Minute)
		r.pass(5 * time.Second)
		stats, err := r.world.Stats(r.ctx)
		if err != nil || len(stats.Workers) != 1 {
			r.Fatalf("workers: %v, %v, want one", stats.Workers, err)
		}
		if err := r.world.Leave(r.ctx, stats.Workers[0].ID); err != nil { // as if it had died
			r.Fatal(err)
		}
		if got := <-causes; !errors.Is(got, stepwell.ErrLeaseLost) {
			r.Errorf("cause = %v, want ErrLeaseLost", got)
		}
		want(r, run, "slept")
		if got := <-causes; got != nil {
			r.Errorf("cause of the next attempt = %v, want none", got)
		}
		want(r, start(r, wk, sleeper, time.Second), "slept")
	})
}

// names yields the IDs of a workflow's runs.
func names(r *rig, workflow string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for run, err := range r.client().List(r.ctx, stepwell.ListFilter{Workflow: workflow}) {
			if err != nil {
				r.Fatal(err)
			}
			if !yield(run.ID) {
				return
			}
		}
	}
}
