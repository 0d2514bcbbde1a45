package behaviour_test

// Working on demand: what one message does, how long it works, and what is left behind.

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/push"
	"github.com/stepwell/stepwell/world"
)

// onDemand is an App that works when it is told to, until the test ends.
func (r *rig) onDemand(cfg stepwell.Config, defs ...stepwell.Definition) *stepwell.App {
	r.Helper()
	r.mode(&cfg)
	cfg.Definitions = defs
	app, err := stepwell.New(r.world, cfg)
	if err != nil {
		r.Fatal(err)
	}
	r.Cleanup(func() {
		if err := app.Close(); err != nil {
			r.Errorf("Close = %v", err)
		}
	})
	return app
}

// invoke sends a message and checks what became of it.
func (r *rig) invoke(app *stepwell.App, m push.Message, slice time.Duration, want push.Outcome) {
	r.Helper()
	got, err := app.Invoke(r.ctx, m, slice)
	if err != nil || got != want {
		r.dump(m.Run)
		r.Fatalf("Invoke(%+v) = %q, %v; want %q", m, got, err, want)
	}
}

// created starts a run by a client, so that it waits for who claims it.
func created[In, Out any](r *rig, wf *stepwell.Workflow[In, Out], in In) *stepwell.Run[Out] {
	r.Helper()
	run, err := wf.Start(r.ctx, r.client(wf), in)
	if err != nil {
		r.Fatal(err)
	}
	return run
}

func TestOneMessageForTenSteps(t *testing.T) {
	everywhere(t, func(r *rig) {
		wf := serial(10)
		run := created(r, wf, 100)
		app := r.onDemand(stepwell.Config{}, wf)
		r.invoke(app, push.Message{Run: run.ID()}, 0, push.Done)
		want(r, run, 145)
		r.cost(run.ID(), 1, 12)
		r.invoke(app, push.Message{Run: run.ID()}, 0, push.Done) // once more: it is over
		r.replays(run.ID(), wf)
	})
}

// slow has steps of 40 s each, and counts the bodies that began, and those whose context ended.
func slow(n int, begun, cut *atomic.Int32) *stepwell.Workflow[int, int] {
	return stepwell.Define("slow", func(ctx stepwell.Context, in int) (int, error) {
		for i := range n {
			err := stepwell.Do(ctx, fmt.Sprint("step-", i), func(ctx context.Context) error {
				begun.Add(1)
				select {
				case <-time.After(40 * time.Second):
				case <-ctx.Done():
					cut.Add(1)
				}
				return nil
			})
			if err != nil {
				return 0, err
			}
		}
		return in + n, nil
	})
}

// The slice is looked at between turns: with 110 s and bodies of 40 s it ends behind the third, which is not cut.
func TestASliceYieldsBetweenTurns(t *testing.T) {
	everywhere(t, func(r *rig) {
		var begun, cut atomic.Int32
		wf := slow(10, &begun, &cut)
		run := created(r, wf, 1)
		app := r.onDemand(stepwell.Config{}, wf)
		for i := range 3 {
			r.invoke(app, push.Message{Run: run.ID()}, push.DefaultSlice, push.Yielded)
			if got, want := int(begun.Load()), 3*(i+1); got != want {
				r.Fatalf("after message %d: %d bodies, want %d", i+1, got, want)
			}
			if q := r.get(run.ID()).Queue; q.Owner != "" {
				r.Fatalf("after message %d the run is owned by %s", i+1, q.Owner)
			}
		}
		r.invoke(app, push.Message{Run: run.ID()}, 0, push.Done)
		want(r, run, 11)
		r.cost(run.ID(), 4, 0)
		if begun.Load() != 10 || cut.Load() != 0 {
			r.Errorf("%d bodies, %d of them cut; want 10, 0", begun.Load(), cut.Load())
		}
		r.replays(run.ID(), wf)
	})
}

// A caller that goes away ends the slice, and cuts no body.
func TestACallerThatGoesAway(t *testing.T) {
	everywhere(t, func(r *rig) {
		var begun, cut atomic.Int32
		wf := slow(2, &begun, &cut)
		run := created(r, wf, 1)
		app := r.onDemand(stepwell.Config{}, wf)
		ctx, cancel := context.WithTimeout(r.ctx, time.Second)
		defer cancel()
		if got, err := app.Invoke(ctx, push.Message{Run: run.ID()}, 0); err != nil || got != push.Yielded {
			r.Fatalf("Invoke = %q, %v; want %q", got, err, push.Yielded)
		}
		if begun.Load() != 1 || cut.Load() != 0 {
			r.Errorf("%d bodies, %d of them cut; want 1, 0", begun.Load(), cut.Load())
		}
		r.invoke(app, push.Message{Run: run.ID()}, 0, push.Done)
		want(r, run, 3)
	})
}

// A run that continues for ever without a step is let go when its slice is over, and is ready again at once.
func TestASliceOfARunThatContinuesForEver(t *testing.T) {
	everywhere(t, func(r *rig) {
		var last, stop atomic.Int64 // the newest segment, and the one that is to be the last
		stop.Store(math.MaxInt64)
		ctx, cancel := context.WithCancel(r.ctx)
		defer cancel()
		wf := stepwell.Define("forever", func(ctx stepwell.Context, in int) (int, error) {
			last.Store(int64(in))
			if int64(in) >= stop.Load() { // not deterministic, but for segments that have begun
				return in, nil
			}
			if in == 5 {
				cancel() // time does not pass in such code
			}
			return 0, stepwell.ContinueAsNew(ctx, in+1)
		})
		run := created(r, wf, 0)
		app := r.onDemand(stepwell.Config{}, wf)
		if got, err := app.Invoke(ctx, push.Message{Run: run.ID()}, 0); err != nil || got != push.Yielded {
			r.Fatalf("Invoke = %q, %v; want %q", got, err, push.Yielded)
		}
		stop.Store(last.Load() + 1)
		r.invoke(app, push.Message{Run: run.ID()}, 0, push.Done)
		if n, err := run.Result(r.ctx); err != nil || n < 5 {
			r.Fatalf("result = %d, %v", n, err)
		}
	})
}

// A run that waits is done for now; what wakes it is another message.
func TestAMessageForARunThatWaits(t *testing.T) {
	everywhere(t, func(r *rig) {
		wf := stepwell.Define("nap", func(ctx stepwell.Context, in int) (int, error) {
			return in, stepwell.Sleep(ctx, "nap", 5*time.Minute)
		})
		run := created(r, wf, 7)
		app := r.onDemand(stepwell.Config{}, wf)
		r.invoke(app, push.Message{Run: run.ID()}, 0, push.Done)
		r.invoke(app, push.Message{Run: run.ID()}, 0, push.Busy) // it sleeps
		until(r, "the worker to leave", func() bool { return workers(r, r.world) == 0 })
		r.pass(5 * time.Minute)
		r.invoke(app, push.Message{Run: run.ID()}, 0, push.Done)
		want(r, run, 7)
		r.cost(run.ID(), 2, 0)
	})
}

// The message for a queued step runs it, delivers what it came to, and goes on with the run.
func TestAMessageForAQueuedStep(t *testing.T) {
	everywhere(t, func(r *rig) {
		var bodies atomic.Int32
		double := stepwell.DefineStep("double", func(_ context.Context, n int) (int, error) {
			bodies.Add(1)
			return 2 * n, nil
		})
		wf := stepwell.Define("pair", func(ctx stepwell.Context, in int) (int, error) {
			all, err := stepwell.All(ctx, double.Start(ctx, in), double.Start(ctx, in+1))
			if err != nil {
				return 0, err
			}
			return all[0] + all[1], nil
		})
		run := created(r, wf, 10)
		knows := r.onDemand(stepwell.Config{MaxSteps: 1}, wf) // of the two steps it knows none: both are queued
		r.invoke(knows, push.Message{Run: run.ID()}, 0, push.Done)
		tasks, err := r.world.Tasks(r.ctx, run.ID())
		if err != nil || len(tasks) != 2 {
			r.Fatalf("tasks: %+v, %v; want 2", tasks, err)
		}
		other := r.onDemand(stepwell.Config{}, double)
		m := push.Message{Run: run.ID(), Step: tasks[0].Step, StepName: "double"}
		r.invoke(other, m, 0, push.Done) // it does not know the workflow
		r.invoke(other, m, 0, push.Busy) // the step is over
		both := r.onDemand(stepwell.Config{}, wf, double)
		m.Step = tasks[1].Step
		r.invoke(both, m, 0, push.Done)
		want(r, run, 42)
		r.cost(run.ID(), 2, 0)
		if bodies.Load() != 2 {
			r.Errorf("%d bodies, want 2", bodies.Load())
		}
		r.replays(run.ID(), wf, double)
	})
}

// Many messages for one run at once: one works on it, the others say that they did nothing.
func TestManyMessagesForOneRun(t *testing.T) {
	everywhere(t, func(r *rig) {
		var begun, cut atomic.Int32
		wf := slow(1, &begun, &cut)
		run := created(r, wf, 1)
		app := r.onDemand(stepwell.Config{}, wf)
		var outcomes sync.Map
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				got, err := app.Invoke(r.ctx, push.Message{Run: run.ID()}, 0)
				if err != nil {
					r.Errorf("Invoke = %v", err)
				}
				n, _ := outcomes.LoadOrStore(got, new(atomic.Int32))
				n.(*atomic.Int32).Add(1)
			})
		}
		synctest.Wait()
		if n := workers(r, r.world); n != 1 {
			r.Errorf("%d workers, want 1 for all messages of a process", n)
		}
		wg.Wait()
		for outcome, want := range map[push.Outcome]int32{push.Done: 1, push.Busy: 7} {
			n, _ := outcomes.Load(outcome)
			if c, _ := n.(*atomic.Int32); c == nil || c.Load() != want {
				r.Errorf("%s: not %d times", outcome, want)
			}
		}
		want(r, run, 2)
		r.cost(run.ID(), 1, 0)
	})
}

// While anything is owned the worker sends heartbeats: a body of many leases stays its own. Then it leaves, and comes back with the next message.
func TestAWorkerOnDemandBeatsAndLeaves(t *testing.T) {
	everywhere(t, func(r *rig) {
		var begun, cut atomic.Int32
		wf := slow(1, &begun, &cut)
		run := created(r, wf, 1)
		app := r.onDemand(stepwell.Config{Lease: 3 * time.Second, Idle: 10 * time.Second}, wf)
		for range 2 {
			r.invoke(app, push.Message{Run: run.ID()}, 0, push.Done)
			if n := workers(r, r.world); n != 1 {
				r.Fatalf("%d workers behind a message, want 1", n)
			}
			r.pass(11 * time.Second)
			synctest.Wait()
			if n := workers(r, r.world); n != 0 {
				r.Fatalf("%d workers after a while without messages, want 0", n)
			}
		}
		r.cost(run.ID(), 1, 0)
		if begun.Load() != 1 || cut.Load() != 0 {
			r.Errorf("%d bodies, %d of them cut; want 1, 0", begun.Load(), cut.Load())
		}
	})
}

// A cancel reaches the body of a worker on demand within two heartbeats, with no notice at all.
func TestACancelReachesAWorkerOnDemand(t *testing.T) {
	everywhere(t, func(r *rig) {
		cause := make(chan error, 1)
		wf := stepwell.Define("long", func(ctx stepwell.Context, _ int) (int, error) {
			return 0, stepwell.Do(ctx, "wait", func(ctx context.Context) error {
				<-ctx.Done()
				cause <- context.Cause(ctx)
				return ctx.Err()
			})
		})
		run := created(r, wf, 0)
		app, err := stepwell.New(counted{World: r.world}, stepwell.Config{Definitions: []stepwell.Definition{wf}})
		if err != nil {
			r.Fatal(err)
		}
		defer func() { _ = app.Close() }()
		ended := make(chan push.Outcome, 1)
		go func() {
			came, _ := app.Invoke(r.ctx, push.Message{Run: run.ID()}, 0)
			ended <- came
		}()
		until(r, "the body", func() bool { return r.count(run.ID(), world.StepStarted, "") == 1 })
		r.pass(10 * time.Second)
		asked := time.Now()
		if err := r.client().Cancel(r.ctx, run.ID(), "enough"); err != nil {
			r.Fatal(err)
		}
		if err := <-cause; !errors.Is(err, stepwell.ErrCancelled) {
			r.Errorf("the body's context ended with %v", err)
		}
		if d := time.Since(asked); d > 2*time.Second { // virtual: two heartbeats
			r.Errorf("the body heard of it after %s, want two heartbeats at most", d)
		}
		if got := <-ended; got != push.Done {
			r.Errorf("Invoke = %q, want %q", got, push.Done)
		}
		wantErr(r, run, world.Cancelled)
	})
}

// counted is a world that tells of nothing by itself.
type counted struct{ world.World }

func TestClosingAWorkerOnDemandHandsBack(t *testing.T) {
	everywhere(t, func(r *rig) {
		var begun, cut atomic.Int32
		wf := slow(2, &begun, &cut)
		run := created(r, wf, 1)
		first := r.onDemand(stepwell.Config{Drain: 5 * time.Second}, wf)
		var wg sync.WaitGroup
		wg.Go(func() {
			if got, err := first.Invoke(r.ctx, push.Message{Run: run.ID()}, 0); err != nil || got != push.Yielded {
				r.Errorf("Invoke = %q, %v; want %q", got, err, push.Yielded)
			}
		})
		until(r, "the body", func() bool { return begun.Load() == 1 })
		for range 2 {
			if err := first.Close(); err != nil {
				r.Errorf("Close = %v", err)
			}
		}
		wg.Wait()
		if _, err := first.Invoke(r.ctx, push.Message{Run: run.ID()}, 0); !errors.Is(err, stepwell.ErrClosed) {
			r.Errorf("Invoke after Close = %v, want ErrClosed", err)
		}
		if n := workers(r, r.world); n != 0 {
			r.Errorf("%d workers, want none", n)
		}
		if q := r.get(run.ID()).Queue; q.Owner != "" {
			r.Errorf("the run is owned by %s", q.Owner)
		}
		r.invoke(r.onDemand(stepwell.Config{}, wf), push.Message{Run: run.ID()}, 0, push.Done)
		want(r, run, 3)
	})
}

// What an App on demand starts is not carried out on the side: its process may be frozen when the message has its answer.
func TestAWorkerOnDemandTakesNothingByItself(t *testing.T) {
	everywhere(t, func(r *rig) {
		inner := serial(3)
		var id atomic.Value
		var app *stepwell.App
		outer := stepwell.Define("outer", func(ctx stepwell.Context, in int) (int, error) {
			return stepwell.Step(ctx, "start", func(ctx context.Context) (int, error) {
				run, err := inner.Start(ctx, app, in)
				if err == nil {
					id.Store(run.ID())
				}
				return in, err
			})
		})
		run := created(r, outer, 5)
		app = r.onDemand(stepwell.Config{}, outer, inner)
		r.invoke(app, push.Message{Run: run.ID()}, 0, push.Done)
		synctest.Wait()
		other := r.get(id.Load().(string))
		if other.Status != world.Pending || other.Queue.Owner != "" {
			r.Fatalf("the run that was started is %s, owned by %q; want pending, in the queue", other.Status, other.Queue.Owner)
		}
		r.invoke(app, push.Message{Run: other.ID}, 0, push.Done)
		r.cost(other.ID, 1, 0)
	})
}

func TestMessagesThatAreRefused(t *testing.T) {
	onWorlds(t, func(r *rig) {
		var begun, cut atomic.Int32
		wf := slow(1, &begun, &cut)
		app := r.onDemand(stepwell.Config{MaxRuns: 1}, wf)
		for _, c := range []struct {
			name  string
			m     push.Message
			slice time.Duration
			want  error
		}{
			{"an unknown run", push.Message{Run: "wrun_none"}, 0, stepwell.ErrNotFound},
			{"a step of one", push.Message{Run: "wrun_none", Step: "step_1"}, 0, stepwell.ErrNotFound},
			{"no run", push.Message{}, 0, stepwell.ErrInvalid},
			{"a name that none has", push.Message{Run: "no run/"}, 0, stepwell.ErrInvalid},
			{"a negative slice", push.Message{Run: "wrun_none"}, -1, stepwell.ErrInvalid},
		} {
			if _, err := app.Invoke(r.ctx, c.m, c.slice); !errors.Is(err, c.want) {
				r.Errorf("%s: Invoke = %v, want %v", c.name, err, c.want)
			}
		}
		a, b := created(r, wf, 1), created(r, wf, 2)
		var wg sync.WaitGroup
		wg.Go(func() { r.invoke(app, push.Message{Run: a.ID()}, 0, push.Done) })
		until(r, "the body", func() bool { return begun.Load() == 1 })
		if _, err := app.Invoke(r.ctx, push.Message{Run: b.ID()}, 0); !errors.Is(err, stepwell.ErrFull) {
			r.Errorf("Invoke beyond MaxRuns = %v, want ErrFull", err)
		}
		if err := app.Run(r.ctx); !errors.Is(err, stepwell.ErrInvalid) {
			r.Errorf("Run of an App that works on demand = %v, want ErrInvalid", err)
		}
		wg.Wait()
		wk := r.begin(serial(1))
		if _, err := wk.Invoke(r.ctx, push.Message{Run: b.ID()}, 0); !errors.Is(err, stepwell.ErrInvalid) {
			r.Errorf("Invoke of an App that runs = %v, want ErrInvalid", err)
		}
	})
}
