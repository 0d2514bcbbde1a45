package behaviour_test

// Shutdown, slots, and what the body of a step sees: its context's causes, its info, its panics.

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/sqlite"
)

// drained runs three bodies side by side over a shutdown: one that ends in time, one that listens, one that does not.
func drained(r *rig, causes *sync.Map) (*stepwell.Workflow[struct{}, []string], stepwell.Definition) {
	body := func(how string) func(context.Context) (string, error) {
		return func(ctx context.Context) (string, error) {
			attempt := stepwell.Info(ctx).Attempt
			switch {
			case attempt > 1:
				return fmt.Sprint(how, " again"), nil
			case how == "in time":
				<-time.After(5 * time.Second)
				return how, nil
			case how == "deaf":
				<-time.After(time.Minute)
				return how, nil
			}
			<-ctx.Done()
			causes.Store(how, context.Cause(ctx))
			return "", ctx.Err()
		}
	}
	task := stepwell.DefineStep("task", func(ctx context.Context, how string) (string, error) { return body(how)(ctx) })
	return stepwell.Define("drained", func(ctx stepwell.Context, _ struct{}) ([]string, error) {
		closure := func(how string) *stepwell.Future[string] {
			return stepwell.Go(ctx, func(ctx stepwell.Context) (string, error) {
				return stepwell.Step(ctx, how, body(how), stepwell.Retry{Attempts: 1})
			})
		}
		return stepwell.All(ctx, closure("in time"), closure("listens"), closure("deaf"), task.Start(ctx, "queued", stepwell.Retry{Attempts: 1}))
	}), task
}

func TestDrainRecordsWhatEndsAndAbandonsWhatDoesNot(t *testing.T) {
	everywhere(t, func(r *rig) {
		var causes sync.Map
		wf, task := drained(r, &causes)
		wk := r.beginWith(stepwell.Config{Definitions: []stepwell.Definition{wf, task}, Drain: 10 * time.Second})
		run := start(r, wk, wf, struct{}{})
		until(r, "the bodies", func() bool { return r.count(run.ID(), world.StepCreated, "") == 4 })
		r.pass(time.Second)
		began := time.Now()
		wk.stop(r)
		if took := time.Since(began); took > 20*time.Second {
			r.Errorf("shutdown took %s, though a body did not listen", took)
		}
		for _, how := range []string{"listens", "queued"} {
			if cause, _ := causes.Load(how); cause != stepwell.ErrDraining {
				r.Errorf("%s: cause = %v, want ErrDraining", how, cause)
			}
		}
		if got := r.count(run.ID(), world.StepCompleted, "in time"); got != 1 {
			r.Error("the result of the body that ended in time is not recorded")
		}
		for _, how := range []string{"listens", "deaf"} {
			got := r.count(run.ID(), world.StepRetrying, how)
			if got != 1 {
				r.Errorf("%s: %d reports, want 1 that it was abandoned", how, got)
			}
		}
		for _, e := range r.events(run.ID(), world.StepRetrying, world.StepFailed) {
			if e.Error == nil || e.Error.Code != world.CodeAbandoned {
				r.Errorf("%s of %s: %v, want ABANDONED", e.Type, e.ID, e.Error)
			}
		}
		again := time.Now()
		r.beginWith(stepwell.Config{Definitions: []stepwell.Definition{wf, task}})
		want(r, run, []string{"in time", "listens again", "deaf again", "queued again"}) // Attempts: 1, and none was spent
		if took := time.Since(again); took > time.Second {
			r.Errorf("another worker went on after %s, want at once", took)
		}
		r.replays(run.ID(), wf, task)
		r.pass(time.Minute) // for the body that did not listen
	})
}

func TestAnotherWorkerGoesOnAtOnceWithWhatWasHandedBack(t *testing.T) {
	onWorlds(t, func(r *rig) {
		wf := stepwell.Define("long", func(ctx stepwell.Context, n int) (int, error) {
			for i := range 20 {
				if err := stepwell.Do(ctx, "tick", func(context.Context) error { <-time.After(500 * time.Millisecond); return nil }); err != nil {
					return i, err
				}
			}
			return n, nil
		})
		first := r.begin(wf)
		var runs []*stepwell.Run[int]
		for i := range 10 {
			runs = append(runs, start(r, first, wf, i))
		}
		r.pass(3 * time.Second)
		second := r.begin(wf)
		first.stop(r)
		stopped := time.Now()
		for i, run := range runs {
			want(r, run, i)
			if got := r.count(run.ID(), world.StepStarted, ""); got != 20 {
				r.Errorf("%d starts, want 20: a step ran twice", got)
			}
		}
		if took := time.Since(stopped); took > 8*time.Second {
			r.Errorf("the runs ended %s after the hand-over, want 7s", took)
		}
		second.stop(r)
	})
}

func TestSlotsAreRespected(t *testing.T) {
	everywhere(t, func(r *rig) {
		var g gauge
		body := func(context.Context, int) (int, error) {
			g.enter()
			defer g.leave()
			<-time.After(10 * time.Millisecond)
			return 1, nil
		}
		task := stepwell.DefineStep("task", body)
		wf := stepwell.Define("wide", func(ctx stepwell.Context, n int) (int, error) {
			ones, err := stepwell.Map(ctx, make([]int, n), 0, func(ctx stepwell.Context, _ int) (int, error) {
				a, err := stepwell.Step(ctx, "closure", func(c context.Context) (int, error) { return body(c, 0) })
				if err != nil {
					return 0, err
				}
				b, err := task.Run(ctx, 0)
				return a + b, err
			})
			return len(ones), err
		})
		wk := r.beginWith(stepwell.Config{Definitions: []stepwell.Definition{wf, task}, MaxRuns: 2, MaxSteps: 3})
		n := 200
		if _, file := r.world.(*sqlite.World); file {
			n = 40 // the pure-Go SQLite is slow under the race detector
		}
		wide := start(r, wk, wf, 20)
		var runs []*stepwell.Run[int]
		for range n {
			runs = append(runs, start(r, wk, wf, 2))
		}
		for _, run := range runs {
			want(r, run, 2)
		}
		want(r, wide, 20)
		if got := g.max(); got != 3 {
			r.Errorf("bodies at once = %d, want 3 at most and some time", got)
		}
	})
}

func TestSignalsWhileABodyRunsAreAppendedMeanwhile(t *testing.T) {
	everywhere(t, func(r *rig) {
		release := make(chan struct{})
		wf := stepwell.Define("busy", func(ctx stepwell.Context, _ struct{}) (int, error) {
			f := stepwell.Go(ctx, func(ctx stepwell.Context) (int, error) {
				return stepwell.Step(ctx, "busy", func(context.Context) (int, error) { <-release; return 1, nil })
			})
			sum := 0
			for range 2 {
				n, _, err := numbers.Wait(ctx)
				if err != nil {
					return 0, err
				}
				sum += n.N
			}
			n, err := f.Get(ctx)
			return sum + n, err
		})
		wk := r.begin(wf)
		run := start(r, wk, wf, struct{}{})
		for i, app := range []*stepwell.App{wk.App, r.client()} {
			if err := numbers.Send(r.ctx, app, run.ID(), number{10}, stepwell.DeliveryID(fmt.Sprint("send-", i))); err != nil {
				r.Fatal(err)
			}
			if err := numbers.Send(r.ctx, app, run.ID(), number{10}, stepwell.DeliveryID(fmt.Sprint("send-", i))); err != nil {
				r.Error(err) // the same one
			}
			sent := time.Now()
			until(r, "the signal in the log", func() bool { return r.count(run.ID(), world.SignalReceived, "") == i+1 })
			if took := time.Since(sent); took > time.Second {
				r.Errorf("the signal was appended after %s", took)
			}
		}
		close(release)
		want(r, run, 21)
		r.replays(run.ID(), wf)
	})
}

func TestACancelReachesBodiesWithinASecond(t *testing.T) {
	everywhere(t, func(r *rig) {
		seen := make(chan time.Time, 2)
		body := func(ctx context.Context, _ int) (int, error) {
			<-ctx.Done()
			seen <- time.Now()
			return 0, context.Cause(ctx)
		}
		task := stepwell.DefineStep("task", body)
		wf := stepwell.Define("two-bodies", func(ctx stepwell.Context, _ struct{}) (int, error) {
			f := stepwell.Go(ctx, func(ctx stepwell.Context) (int, error) {
				return stepwell.Step(ctx, "closure", func(c context.Context) (int, error) { return body(c, 0) })
			})
			_, err := task.Run(ctx, 0)
			_, err2 := f.Get(ctx)
			return 0, errors.Join(err, err2)
		})
		wk := r.begin(wf, task)
		run := start(r, wk, wf, struct{}{})
		r.pass(2 * time.Second)
		asked := time.Now()
		r.cancel(r.client(), run.ID())
		for range 2 {
			if took := (<-seen).Sub(asked); took > time.Second {
				r.Errorf("a body learned of the cancel after %s", took)
			}
		}
		wantErr(r, run, world.Cancelled)
		r.replays(run.ID(), wf, task)
	})
}

func TestABodyKnowsWhoItIs(t *testing.T) {
	everywhere(t, func(r *rig) {
		var mu sync.Mutex
		var infos []stepwell.StepInfo
		body := func(ctx context.Context, _ int) (int, error) {
			mu.Lock()
			defer mu.Unlock()
			infos = append(infos, stepwell.Info(ctx))
			if stepwell.Info(ctx).Attempt < 3 {
				return 0, errUnlucky
			}
			return 0, nil
		}
		task := stepwell.DefineStep("who", body)
		wf := stepwell.Define("knows", func(ctx stepwell.Context, how string) (int, error) {
			if how == "task" {
				return task.Run(ctx, 0)
			}
			return stepwell.Step(ctx, "who", func(c context.Context) (int, error) { return body(c, 0) })
		})
		wk := r.begin(wf, task)
		for _, how := range []string{"closure", "task"} {
			infos = nil
			run := start(r, wk, wf, how)
			want(r, run, 0)
			id := r.events(run.ID(), world.StepCreated)[0].ID
			var expect []stepwell.StepInfo
			for n := range 3 {
				expect = append(expect, stepwell.StepInfo{Run: run.ID(), Workflow: "knows", Step: id, Name: "who", Attempt: n + 1, IdempotencyKey: id})
			}
			if diff := cmp.Diff(expect, infos); diff != "" {
				r.Errorf("%s: want -, got +:\n%s", how, diff)
			}
		}
	})
	if got := stepwell.Info(t.Context()); got != (stepwell.StepInfo{}) {
		t.Errorf("outside a step: %+v, want zero", got)
	}
}

func TestATimeoutIsPerAttempt(t *testing.T) {
	everywhere(t, func(r *rig) {
		var calls atomic.Int32
		wf := stepwell.Define("times-out", func(ctx stepwell.Context, _ struct{}) (string, error) {
			err := stepwell.Do(ctx, "slow", func(ctx context.Context) error {
				calls.Add(1)
				<-ctx.Done()
				if context.Cause(ctx) != stepwell.ErrTimeout {
					r.Errorf("cause = %v, want ErrTimeout", context.Cause(ctx))
				}
				return ctx.Err()
			}, stepwell.Timeout(2*time.Second), stepwell.Retry{Backoff: stepwell.Fixed, Base: time.Second, Jitter: -1})
			se, _ := errors.AsType[*stepwell.StepError](err)
			return fmt.Sprint(se.Code, errors.Is(err, stepwell.ErrTimeout), errors.Is(err, context.DeadlineExceeded)), nil
		})
		began := time.Now()
		run := start(r, r.begin(wf), wf, struct{}{})
		want(r, run, "TIMEOUTtrue true")
		if took := time.Since(began); calls.Load() != 3 || took < 8*time.Second || took > 9*time.Second {
			r.Errorf("%d attempts in %s, want 3 in 8s", calls.Load(), took)
		}
		r.replays(run.ID(), wf)
	})
}

func TestPanicsAndGoexitInBodiesAreErrorsOfTheAttempt(t *testing.T) {
	everywhere(t, func(r *rig) {
		var calls atomic.Int32
		body := func(_ context.Context, how string) (int, error) {
			if calls.Add(1) < 3 {
				switch how {
				case "panic":
					panic("in the body")
				case "nil":
					var p *number
					p.N++
				case "exit":
					runtime.Goexit()
				}
			}
			return 1, nil
		}
		task := stepwell.DefineStep("task", body)
		wf := stepwell.Define("throws", func(ctx stepwell.Context, how string) (int, error) {
			if how == "exit" {
				return task.Run(ctx, how)
			}
			return stepwell.Step(ctx, "closure", func(c context.Context) (int, error) { return body(c, how) })
		})
		wk := r.begin(wf, task)
		for how, says := range map[string]string{"panic": "in the body", "nil": "nil pointer", "exit": "runtime.Goexit"} {
			calls.Store(0)
			run := start(r, wk, wf, how)
			want(r, run, 1)
			retries := r.events(run.ID(), world.StepRetrying)
			if len(retries) != 2 {
				r.Fatalf("%s: %d retries, want 2", how, len(retries))
			}
			if e := retries[0].Error; e.Code != world.CodePanic || !strings.Contains(e.Message, says) || !strings.Contains(e.Stack, "drain_test.go:") {
				r.Errorf("%s: %s %q with stack\n%s", how, e.Code, e.Message, e.Stack)
			}
		}
	})
}

// TestAnAppThatIsStoppedBeforeItBeganEndsWell: whoever shuts a worker down while it still joins gets no error for it.
func TestAnAppThatIsStoppedBeforeItBeganEndsWell(t *testing.T) {
	onWorlds(t, func(r *rig) {
		app, err := stepwell.New(r.world, stepwell.Config{})
		if err != nil {
			r.Fatal(err)
		}
		ctx, cancel := context.WithCancel(r.ctx)
		cancel()
		if err := app.Run(ctx); err != nil {
			r.Errorf("Run = %v, want nil", err)
		}
	})
}
