package behaviour_test

// The answers at the edges (docs/failures.md) about retries: 6, 7, 8.

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
)

var errUnlucky = errors.New("no luck")

// failing defines a workflow with one step that fails n times before it succeeds.
func failing(name string, n int, opts ...stepwell.StepOption) (*stepwell.Workflow[struct{}, int], *atomic.Int32) {
	calls := new(atomic.Int32)
	return stepwell.Define(name, func(ctx stepwell.Context, _ struct{}) (int, error) {
		return stepwell.Step(ctx, "try", func(context.Context) (int, error) {
			if k := int(calls.Add(1)); k > n {
				return k, nil
			}
			return 0, errUnlucky
		}, opts...)
	}), calls
}

func TestAnswer06AttemptsZeroIsThreeUnlimitedIsNoLimit(t *testing.T) {
	everyWay(t, func(r *rig) {
		third, _ := failing("third", 2)
		fourth, calls := failing("fourth", 3, stepwell.Retry{Base: time.Second})
		stubborn, _ := failing("stubborn", 11, stepwell.Retry{Attempts: stepwell.Unlimited, Cap: 2 * time.Second})
		wk := r.begin(third, fourth, stubborn)
		a, b, c := start(r, wk, third, struct{}{}), start(r, wk, fourth, struct{}{}), start(r, wk, stubborn, struct{}{})
		want(r, a, 3)
		failure := wantErr(r, b, world.Failed)
		if se, ok := errors.AsType[*world.Error](failure); ok {
			r.Errorf("a raw record %v reached the client", se)
		}
		if !strings.Contains(failure.Error(), errUnlucky.Error()) || calls.Load() != 3 {
			r.Errorf("error = %v after %d calls, want %q after 3", failure, calls.Load(), errUnlucky)
		}
		want(r, c, 12)
		for _, run := range []string{a.ID(), b.ID(), c.ID()} {
			r.replays(run, third, fourth, stubborn)
		}
	})
}

func TestAnswer06FewerAttemptsThanNoneIsAnErrorAtDefinition(t *testing.T) {
	const bad = -2
	step := stepwell.DefineStep("bad-step", func(context.Context, int) (int, error) { return 0, nil }, stepwell.Retry{Attempts: bad})
	everyWay(t, func(r *rig) {
		if _, err := stepwell.New(r.world, stepwell.Config{Definitions: []stepwell.Definition{step}}); !errors.Is(err, stepwell.ErrInvalid) || !strings.Contains(err.Error(), `"bad-step"`) {
			r.Errorf("New = %v, want ErrInvalid and the step's name", err)
		}
		wf := stepwell.Define("bad-closure", func(ctx stepwell.Context, _ struct{}) (bool, error) {
			err := stepwell.Do(ctx, "never", func(context.Context) error { return nil }, stepwell.Retry{Attempts: bad})
			return errors.Is(err, stepwell.ErrInvalid), nil
		})
		wk := r.begin(wf)
		run := start(r, wk, wf, struct{}{})
		want(r, run, true)
		if got := r.count(run.ID(), world.StepCreated, ""); got != 0 {
			r.Errorf("steps created = %d, want 0", got)
		}
	})
}

func TestAnswer06ATotalTimeCountsFromTheFirstAttemptAndTheFirstLimitEndsIt(t *testing.T) {
	everyWay(t, func(r *rig) {
		every := stepwell.Retry{Attempts: stepwell.Unlimited, Backoff: stepwell.Fixed, Base: 4 * time.Second, Jitter: -1, Total: 10 * time.Second}
		timed, calls := failing("timed", 100, every) // at 0, 4 and 8 s
		every.Attempts = 2
		counted, calls2 := failing("counted", 100, every)
		wk := r.begin(timed, counted)
		a, b := start(r, wk, timed, struct{}{}), start(r, wk, counted, struct{}{})
		wantErr(r, a, world.Failed)
		wantErr(r, b, world.Failed)
		if got, got2 := calls.Load(), calls2.Load(); got != 3 || got2 != 2 {
			r.Errorf("attempts = %d within the total time, %d within the count; want 3, 2", got, got2)
		}
	})
}

func TestAnswer06BudgetsArePerOccurrence(t *testing.T) {
	everyWay(t, func(r *rig) {
		var calls atomic.Int32
		wf := stepwell.Define("twice", func(ctx stepwell.Context, _ struct{}) (last int, err error) {
			for range 2 {
				last, err = stepwell.Step(ctx, "same", func(context.Context) (int, error) {
					if n := calls.Add(1); n%3 == 0 {
						return int(n), nil
					}
					return 0, errUnlucky
				})
				if err != nil {
					return 0, err
				}
			}
			return last, nil
		})
		run := start(r, r.begin(wf), wf, struct{}{})
		want(r, run, 6)
		r.replays(run.ID(), wf)
	})
}

// deployed is a workflow whose step always fails, with the policy of one deploy: as a closure, as a registered step in place, or queued.
func deployed(how string, attempts int, calls *atomic.Int32) (*stepwell.Workflow[struct{}, string], stepwell.Definition) {
	retry := stepwell.Retry{Attempts: attempts, Backoff: stepwell.Fixed, Base: 30 * time.Second, Jitter: -1}
	fail := func(context.Context, int) (int, error) { calls.Add(1); return 0, errUnlucky }
	step := stepwell.DefineStep("fail", fail, retry)
	pass := func(context.Context) error { return nil }
	return stepwell.Define("deployed", func(ctx stepwell.Context, _ struct{}) (string, error) {
		var err error
		switch how {
		case "closure":
			_, err = stepwell.Step(ctx, "fail", func(c context.Context) (int, error) { return fail(c, 0) }, retry)
		case "in place":
			_, err = step.Run(ctx, 0)
		case "queued":
			f := stepwell.Go(ctx, func(ctx stepwell.Context) (int, error) { return 0, stepwell.Do(ctx, "pass", pass) })
			if _, err = stepwell.Await(ctx, func() bool { return true }); err == nil {
				g := stepwell.Go(ctx, func(ctx stepwell.Context) (int, error) { return step.Run(ctx, 0) })
				if _, err = f.Get(ctx); err == nil {
					_, err = g.Get(ctx)
				}
			}
		}
		return fmt.Sprint(err), nil
	}), step
}

func TestAnswer07TodaysCodeRulesAnAttemptThatStartsToday(t *testing.T) {
	for _, how := range []string{"closure", "in place", "queued"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			everyWay(t, func(r *rig) {
				var calls atomic.Int32
				wf, step := deployed(how, 10, &calls)
				wk := r.begin(wf, step)
				run := start(r, wk, wf, struct{}{})
				until(r, "the second attempt", func() bool { return calls.Load() == 2 })
				wk.stop(r)
				wf, step = deployed(how, 4, &calls) // two attempts more
				r.begin(wf, step)
				want(r, run, `step "fail": no luck`)
				if got := calls.Load(); got != 4 {
					r.Errorf("attempts = %d, want 4: those made before count", got)
				}
				if how == "queued" != eventQueued(r, run.ID()) {
					r.Errorf("queued = %v for a step that is meant to be %s", how != "queued", how)
				}
				r.replays(run.ID(), wf, step)
			})
		})
	}
}

func eventQueued(r *rig, run string) bool {
	for _, e := range r.events(run, world.StepCreated) {
		if e.Queued {
			return true
		}
	}
	return false
}

func TestAnswer08RetryAfterSetsTheDelayAndUsesUpAnAttempt(t *testing.T) {
	wf := stepwell.Define("later", func(ctx stepwell.Context, _ struct{}) (string, error) {
		return "", stepwell.Do(ctx, "fail", func(ctx context.Context) error {
			return stepwell.RetryAfter(fmt.Errorf("attempt %d", stepwell.Info(ctx).Attempt), 7*time.Second)
		}, stepwell.Retry{Attempts: 3, Base: time.Millisecond})
	})
	everyWay(t, func(r *rig) {
		run := start(r, r.begin(wf), wf, struct{}{})
		if e := wantErr(r, run, world.Failed); !strings.Contains(e.Error(), "attempt 3") {
			r.Errorf("error = %v, want that of attempt 3", e)
		}
		starts := r.events(run.ID(), world.StepStarted)
		if len(starts) != 3 {
			r.Fatalf("attempts = %d, want 3", len(starts))
		}
		for i := 1; i < len(starts); i++ {
			if d := starts[i].Time.Sub(starts[i-1].Time); d < 7*time.Second || d > 8*time.Second {
				r.Errorf("attempt %d began after %s, want 7s", i+1, d)
			}
		}
		r.replays(run.ID(), wf)
	})
}
