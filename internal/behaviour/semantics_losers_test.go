package behaviour_test

// The answers at the edges (docs/failures.md) about what nobody waits for any more: 8 (error types), 14 (losers), 15 (items), 17 (bodies in flight).

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

type declined struct{ Reason string }

func (e *declined) Error() string { return "declined: " + e.Reason }

type busyError struct{}

func (busyError) Error() string { return "busy" }

func TestAnswer08ErrorTypesThatAreNotRetriedCountThroughJoinedErrors(t *testing.T) {
	everyWay(t, func(r *rig) {
		var mu sync.Mutex
		calls := map[string]int{}
		fails := map[string]error{
			"plain":   errUnlucky,
			"itself":  &declined{"no"},
			"wrapped": fmt.Errorf("charge: %w", &declined{"no"}),
			"joined":  errors.Join(errUnlucky, fmt.Errorf("deep: %w", errors.Join(errUnlucky, &declined{"no"}))),
			"second":  fmt.Errorf("a: %w", busyError{}),
		}
		body := func(name string) (int, error) {
			mu.Lock()
			defer mu.Unlock()
			calls[name]++
			return 0, fails[name]
		}
		opts := []stepwell.StepOption{
			stepwell.Retry{Attempts: 3, Base: time.Millisecond}, stepwell.NonRetryable[*declined](), stepwell.NonRetryable[busyError](),
		}
		task := stepwell.DefineStep("task", func(_ context.Context, name string) (int, error) { return body(name) }, defining(opts)...)
		wf := stepwell.Define("declines", func(ctx stepwell.Context, name string) (string, error) {
			_, err := stepwell.Step(ctx, "step", func(context.Context) (int, error) { return body(name) }, opts...)
			_, too := task.Run(ctx, name)
			return "", errors.Join(err, too)
		})
		wk := r.begin(wf, task)
		for name := range fails {
			run := start(r, wk, wf, name)
			wantErr(r, run, world.Failed)
			if want := map[bool]int{true: 6, false: 2}[name == "plain"]; calls[name] != want {
				r.Errorf("%s: %d attempts of both steps, want %d", name, calls[name], want)
			}
			r.replays(run.ID(), wf, task)
		}
	})
}

// asked waits for a step's body to be told that it is cancelled, and says why.
func asked(ctx context.Context) (string, error) {
	select {
	case <-ctx.Done():
		return context.Cause(ctx).Error(), nil
	case <-time.After(time.Minute):
		return "never told", nil
	}
}

func TestAnswer14WithCancelEndsWhatASelectWaitsForNoLonger(t *testing.T) {
	everyWay(t, func(r *rig) {
		task := stepwell.DefineStep("task", func(ctx context.Context, _ int) (string, error) { return asked(ctx) })
		wf := stepwell.Define("losers", func(ctx stepwell.Context, _ struct{}) ([]string, error) {
			var got []string
			see := func(what string, err error) {
				got = append(got, fmt.Sprint(what, " ", errors.Is(err, stepwell.ErrCancelled)))
			}
			part, cancel := stepwell.WithCancel(ctx)
			inner := stepwell.Go(part, func(ctx stepwell.Context) (string, error) {
				v, err := stepwell.Step(ctx, "closure", asked)
				see("closure: "+v, err)
				_, err = stepwell.Step(ctx, "after", asked)
				see("after", err)
				return v, err
			})
			a, b := task.Start(part, 1), task.Start(part, 2) // in place and queued
			timer, event := stepwell.Timer(part, "long", time.Hour), numbers.Start(part)
			winner := stepwell.Timer(part, "short", time.Second)
			fs := []stepwell.Awaitable{inner, a, b, timer, event, winner}
			first, err := stepwell.Select(ctx, fs...)
			if err != nil || first != 5 {
				return nil, fmt.Errorf("select: %d, %w", first, err)
			}
			cancel()
			cancel() // again: nothing new
			_, err = timer.Get(ctx)
			see("timer", err)
			_, err = event.Get(ctx)
			see("event", err)
			_, err = winner.Get(ctx)
			see("winner", err)
			for i, f := range []*stepwell.Future[string]{a, b} {
				v, err := f.Get(ctx)
				see(fmt.Sprintf("task %d: %s", i+1, v), err)
			}
			_, err = inner.Get(ctx)
			see("inner", err)
			_, err = stepwell.Step(ctx, "goes on", func(context.Context) (int, error) { return 1, nil })
			see("goes on", err)
			slices.Sort(got) // bodies end in any order
			return got, nil
		})
		wk := r.begin(wf, task)
		began := time.Now()
		run := start(r, wk, wf, struct{}{})
		why := "the workflow no longer waits for this step"
		want(r, run, []string{
			"after true", "closure: " + why + " false", "event true", "goes on false", "inner true", "task 1: " + why + " false",
			"task 2: " + why + " false", "timer true", "winner false",
		})
		if took := time.Since(began); took > 5*time.Second {
			r.Errorf("took %s, want a little over 1s", took)
		}
		r.replays(run.ID(), wf, task)
	})
}

func TestAnswer15MapCancelsItemsThatWaitAndSaysWhichFailed(t *testing.T) {
	everyWay(t, func(r *rig) {
		wf := stepwell.Define("map-of-waits", func(ctx stepwell.Context, _ struct{}) ([]string, error) {
			var ends []string
			_, err := stepwell.Map(ctx, []string{"sleep", "event", "child", "fails", "never"}, 4, func(ctx stepwell.Context, how string) (int, error) {
				var err error
				switch how {
				case "sleep":
					err = stepwell.Sleep(ctx, "long", time.Hour)
				case "event":
					_, _, err = numbers.Wait(ctx)
				case "child":
					_, err = sleeper.Child().Run(ctx, time.Hour)
				default:
					if err = stepwell.Sleep(ctx, "short", time.Second); err == nil {
						err = errUnlucky
					}
				}
				ends = append(ends, fmt.Sprint(how, " ", errors.Is(err, stepwell.ErrCancelled)))
				return 0, err
			})
			item, ok := errors.AsType[*stepwell.ItemError](err)
			if !ok {
				return nil, fmt.Errorf("got %w, want an ItemError", err)
			}
			ends = append(ends, fmt.Sprintln(item.Index, errors.Is(err, errUnlucky)))
			return ends, stepwell.Sleep(ctx, "rest", time.Second)
		})
		wk := r.begin(wf, sleeper)
		run := start(r, wk, wf, struct{}{})
		got, err := run.Result(r.ctx)
		if diff := cmp.Diff([]string{"fails false", "3 true\n", "sleep true", "event true", "child true"}, got); err != nil || diff != "" {
			r.Errorf("%v, ends: want -, got +:\n%s", err, diff)
		}
		r.replays(run.ID(), wf, sleeper)
	})
}

func TestAnswer17ABodyIsGivenTenSecondsByDefault(t *testing.T) {
	everyWay(t, func(r *rig) {
		wf := stepwell.Define("graceful", func(ctx stepwell.Context, seconds int) (string, error) {
			v, err := stepwell.Step(ctx, "slow to end", func(ctx context.Context) (string, error) {
				<-ctx.Done()
				<-time.After(time.Duration(seconds) * time.Second)
				return "in time", nil
			})
			return "", fmt.Errorf("saw %q, %t", v, errors.Is(err, stepwell.ErrCancelled))
		})
		wk := r.beginWith(stepwell.Config{Definitions: []stepwell.Definition{wf}, Drain: time.Minute})
		for seconds, saw := range map[int]string{9: `saw "in time", false`, 12: `saw "", true`} {
			run := start(r, wk, wf, seconds)
			r.pass(time.Second)
			began := time.Now()
			r.cancel(wk.App, run.ID())
			wantErr(r, run, world.Cancelled)
			if took := time.Since(began); took < 8*time.Second || took > 11*time.Second {
				r.Errorf("body of %d s: the run ended after %s, want %d s", seconds, took, min(seconds, 10))
			}
			end := r.events(run.ID(), world.RunCancelled)[0]
			if end.Error == nil || end.Error.Message != saw {
				r.Errorf("body of %d s: kept error %v, want %q", seconds, end.Error, saw)
			}
			r.replays(run.ID(), wf)
		}
	})
}

func TestAnswer17HooksChildrenAndAwaitsEndAtOnceAndUnstartedStepsNeverBegin(t *testing.T) {
	everyWay(t, func(r *rig) {
		wf := stepwell.Define("all-cancelled", func(ctx stepwell.Context, target string) (string, error) {
			h, err := stepwell.NewHook[int](ctx)
			if err != nil {
				return "", err
			}
			ops := []func(ctx stepwell.Context) error{
				func(ctx stepwell.Context) error { _, _, err := h.Wait(ctx); return err },
				func(ctx stepwell.Context) error { _, err := sleeper.Child().Run(ctx, time.Hour); return err },
				func(ctx stepwell.Context) error { _, err := stepwell.AwaitRun[string](ctx, target); return err },
				func(ctx stepwell.Context) error {
					return stepwell.Do(ctx, "first", func(ctx context.Context) error { _, err := asked(ctx); return err })
				},
				func(ctx stepwell.Context) error {
					return stepwell.Do(ctx, "no slot", func(context.Context) error { r.Error("it began"); return nil })
				},
			}
			ended, begun := []bool{}, ctx.Now()
			var fs []*stepwell.Future[int]
			for _, op := range ops {
				fs = append(fs, stepwell.Go(ctx, func(ctx stepwell.Context) (int, error) { return 0, op(ctx) }))
			}
			for _, f := range fs {
				_, err := f.Get(ctx)
				ended = append(ended, errors.Is(err, stepwell.ErrCancelled))
			}
			_, err = stepwell.NewHook[int](ctx)
			ended = append(ended, errors.Is(err, stepwell.ErrCancelled))
			_, err = sleeper.Child().Run(ctx, time.Hour)
			ended = append(ended, errors.Is(err, stepwell.ErrCancelled))
			return "", fmt.Errorf("%v after %s", ended, ctx.Now().Sub(begun).Round(time.Second))
		})
		wk := r.beginWith(stepwell.Config{Definitions: []stepwell.Definition{wf, sleeper}, MaxSteps: 1})
		target := start(r, wk, sleeper, 20*time.Minute)
		run := start(r, wk, wf, target.ID())
		r.pass(5 * time.Second)
		r.cancel(wk.App, run.ID())
		wantErr(r, run, world.Cancelled)
		end := r.events(run.ID(), world.RunCancelled)[0]
		if want := "[true true true false true true true] after 5s"; end.Error.Message != want { // the first step's value counts
			r.Errorf("kept error = %v, want %q", end.Error, want)
		}
		if got := r.count(run.ID(), world.StepStarted, "no slot"); got != 0 {
			r.Errorf("%d starts of a step that had no slot, want none", got)
		}
		if got := r.get(target.ID()).Status; got != world.Running {
			r.Errorf("the awaited run is %s, want running", got)
		}
		r.replays(run.ID(), wf, sleeper)
	})
}
