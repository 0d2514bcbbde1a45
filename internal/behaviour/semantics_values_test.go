package behaviour_test

// The answers of semantics.md about recorded values: 9, 12, 13.

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

func TestAnswer09AResultThatCannotBeKeptFailsTheStepAtOnce(t *testing.T) {
	everyWay(t, func(r *rig) {
		var calls atomic.Int32
		long := strings.Repeat("x", 2000)
		regStep := stepwell.DefineStep("registered", func(context.Context, int) (string, error) { calls.Add(1); return long, nil })
		wf := stepwell.Define("results", func(ctx stepwell.Context, how string) (string, error) {
			var err error
			switch how {
			case "channel":
				_, err = stepwell.Step(ctx, "s", func(context.Context) (chan int, error) { calls.Add(1); return make(chan int), nil })
			case "cycle":
				type node struct{ Next *node }
				_, err = stepwell.Step(ctx, "s", func(context.Context) (*node, error) {
					calls.Add(1)
					n := new(node)
					n.Next = n
					return n, nil
				})
			case "large":
				_, err = stepwell.Step(ctx, "s", func(context.Context) (string, error) { calls.Add(1); return long, nil })
			case "large, registered":
				_, err = regStep.Run(ctx, 1)
			}
			se, ok := errors.AsType[*stepwell.StepError](err)
			if !ok {
				return "", fmt.Errorf("no StepError: %w", err)
			}
			return fmt.Sprintf("%s %v %v", se.Code, se.Permanent, errors.Is(err, stepwell.ErrTooLarge)), nil
		})
		wk := r.beginWith(stepwell.Config{Definitions: []stepwell.Definition{wf, regStep}, MaxPayload: 1000})
		for how, code := range map[string]string{
			"channel": "ENCODE true false", "cycle": "ENCODE true false", "large": "TOO_LARGE true true", "large, registered": "TOO_LARGE true true",
		} {
			calls.Store(0)
			run := start(r, wk, wf, how)
			want(r, run, code)
			if got := calls.Load(); got != 1 {
				r.Errorf("%s: attempts = %d, want 1", how, got)
			}
			r.replays(run.ID(), wf, regStep)
		}
	})
}

func TestAnswer09AnErrorThatIsTooLargeIsCutAndSaysSo(t *testing.T) {
	everyWay(t, func(r *rig) {
		wf := stepwell.Define("loud", func(ctx stepwell.Context, _ struct{}) (string, error) {
			err := stepwell.Do(ctx, "shout", func(context.Context) error {
				return stepwell.Fatal(errors.New(strings.Repeat("a", 1<<20)))
			})
			se, _ := errors.AsType[*stepwell.StepError](err)
			return se.Message, nil
		})
		run := start(r, r.begin(wf), wf, struct{}{})
		got, err := run.Result(r.ctx)
		if err != nil || len(got) > 10_000 || !strings.HasSuffix(got, "… (cut from 1048576 bytes)") {
			r.Errorf("message has %d bytes and ends in %q, %v", len(got), got[max(0, len(got)-40):], err)
		}
		r.replays(run.ID(), wf)
	})
}

func TestAnswer09ALowerLimitHoldsForNewWritesOnly(t *testing.T) {
	everyWay(t, func(r *rig) {
		long := strings.Repeat("x", 2000)
		wf := stepwell.Define("limit", func(ctx stepwell.Context, in string) (string, error) {
			body := func(context.Context) (string, error) { return in, nil }
			before, err := stepwell.Step(ctx, "before", body)
			if err != nil {
				return "", err
			}
			if err := stepwell.Sleep(ctx, "deploy", 10*time.Second); err != nil {
				return "", err
			}
			_, err = stepwell.Step(ctx, "after", body)
			return fmt.Sprint(len(before), errors.Is(err, stepwell.ErrTooLarge)), nil
		})
		wk := r.begin(wf)
		run := start(r, wk, wf, long)
		until(r, "the sleep", func() bool { return r.count(run.ID(), world.WaitCreated, "") == 1 })
		wk.stop(r)
		r.beginWith(stepwell.Config{Definitions: []stepwell.Definition{wf}, MaxPayload: 1000})
		want(r, run, "2000 true")
		r.replays(run.ID(), wf)
	})
}

// withInput asks for a registered step, twice side by side, with the input of one deploy: one runs in place, one is queued.
func withInput(n int, calls *atomic.Int32) (*stepwell.Workflow[struct{}, []int], stepwell.Definition) {
	double := stepwell.DefineStep("double", func(_ context.Context, n int) (int, error) {
		if calls.Add(1) <= 2 {
			return 0, errUnlucky
		}
		return 2 * n, nil
	}, stepwell.Retry{Base: 30 * time.Second})
	return stepwell.Define("with-input", func(ctx stepwell.Context, _ struct{}) ([]int, error) {
		return stepwell.All(ctx, double.Start(ctx, n), double.Start(ctx, n+1))
	}), double
}

// Strict mode has the next test: there this is an error.
func TestAnswer12TheRecordedInputOfAStepStands(t *testing.T) {
	across(t, kinds, modes[:2], func(r *rig) {
		var calls atomic.Int32
		wf, double := withInput(10, &calls)
		wk := r.begin(wf, double)
		run := start(r, wk, wf, struct{}{})
		until(r, "both attempts", func() bool { return calls.Load() == 2 })
		wk.stop(r)
		wf, double = withInput(100, &calls)
		r.begin(wf, double)
		want(r, run, []int{20, 22})
	})
}

func TestAnswer12StrictModeReportsAnotherInput(t *testing.T) {
	everyWay(t, func(r *rig) {
		var calls atomic.Int32
		wf, double := withInput(10, &calls)
		wk := r.begin(wf, double)
		run := start(r, wk, wf, struct{}{})
		until(r, "both attempts", func() bool { return calls.Load() == 2 })
		wk.stop(r)
		other, double2 := withInput(100, &calls)
		wk = r.beginWith(stepwell.Config{Definitions: []stepwell.Definition{other, double2}, Strict: true})
		b := r.blocked(run.ID())
		if b.Code != world.CodeDiverged || !strings.Contains(b.Message, "with input 10") {
			r.Errorf("blocked = %s: %s, want DIVERGED and the recorded input", b.Code, b.Message)
		}
		wk.stop(r)
		r.begin(wf, double)
		want(r, run, []int{20, 22})
	})
}

// typed is a workflow that keeps what a step returned over a sleep, as the type of one deploy.
func typed[T any](body func(context.Context) (T, error)) *stepwell.Workflow[struct{}, string] {
	return stepwell.Define("typed", func(ctx stepwell.Context, _ struct{}) (string, error) {
		v, err := stepwell.Step(ctx, "value", body)
		if err != nil {
			return "", err
		}
		if err := stepwell.Sleep(ctx, "deploy", 10*time.Second); err != nil {
			return "", err
		}
		return fmt.Sprintf("%v", v), nil
	})
}

func TestAnswer13AValueThatTodaysTypeCannotHoldBlocksTheRun(t *testing.T) {
	never := errors.New("the step ran again")
	badWorkflows := map[string]*stepwell.Workflow[struct{}, string]{
		"another type":   typed(func(context.Context) (number, error) { return number{}, never }),
		"a smaller type": typed(func(context.Context) (uint8, error) { return 0, never }),
	}
	for name, bad := range badWorkflows {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			everyWay(t, func(r *rig) {
				good := typed(func(context.Context) (int, error) { return 300, nil })
				wk := r.begin(good)
				run := start(r, wk, good, struct{}{})
				until(r, "the sleep", func() bool { return r.count(run.ID(), world.WaitCreated, "") == 1 })
				wk.stop(r)
				wk = r.begin(bad)
				if b := r.blocked(run.ID()); b.Code != world.CodeDecode || !strings.Contains(b.Message, `step "value"`) || !strings.HasPrefix(b.Step, world.PrefixStep) {
					r.Errorf("blocked = %s: %s, step %q; want DECODE and the step", b.Code, b.Message, b.Step)
				}
				wk.stop(r)
				r.begin(good)
				want(r, run, "300")
				r.replays(run.ID(), good)
			})
		})
	}
}

func TestAnswer13ANilResultIsAResult(t *testing.T) {
	maybe := stepwell.Event[*number]("maybe")
	everyWay(t, func(r *rig) {
		var calls atomic.Int32
		wf := stepwell.Define("nil", func(ctx stepwell.Context, _ struct{}) (string, error) {
			p, err := stepwell.Step(ctx, "pointer", func(context.Context) (*number, error) { calls.Add(1); return nil, nil })
			if err != nil {
				return "", err
			}
			list, err := stepwell.Step(ctx, "list", func(context.Context) ([]int, error) { calls.Add(1); return nil, nil })
			if err != nil {
				return "", err
			}
			n, ok, err := maybe.Wait(ctx, stepwell.Timeout(time.Minute))
			if err != nil {
				return "", err
			}
			_, late, err := maybe.Wait(ctx, stepwell.Timeout(time.Second))
			return fmt.Sprint(p == nil, list == nil, n == nil, ok, late), err
		})
		wk := r.begin(wf)
		run := start(r, wk, wf, struct{}{})
		if err := maybe.Send(r.ctx, wk.App, run.ID(), nil); err != nil {
			r.Fatal(err)
		}
		want(r, run, "true true true true false")
		if got := calls.Load(); got != 2 {
			r.Errorf("steps ran %d times, want 2", got)
		}
		r.replays(run.ID(), wf)
	})
}
