package behaviour_test

// Children and awaited runs: results, failures, cancels, many at once.

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
)

type coded struct{ code string }

func (e coded) Error() string { return "it failed" }
func (e coded) Code() string  { return e.code }

func TestChildFailureIsAStepErrorWithCodeAndMessage(t *testing.T) {
	everywhere(t, func(r *rig) {
		child := stepwell.Define("fails", func(ctx stepwell.Context, deep bool) (string, error) {
			if deep {
				return "", stepwell.Do(ctx, "charge", func(context.Context) error { return stepwell.Fatal(coded{"NO_FUNDS"}) })
			}
			return "", coded{"NO_FUNDS"}
		})
		wf := stepwell.Define("of-failing", func(ctx stepwell.Context, deep bool) (string, error) {
			_, err := child.Child(stepwell.RunID(fmt.Sprint("failing-", deep))).Run(ctx, deep)
			e, ok := errors.AsType[*stepwell.StepError](err)
			if !ok {
				return "", fmt.Errorf("got %w, want a StepError", err)
			}
			return e.Step + ": " + e.Message + " " + e.Code, nil
		})
		wk := r.begin(wf, child)
		for deep, saw := range map[bool]string{false: "fails: it failed NO_FUNDS", true: `fails: step "charge": it failed NO_FUNDS`} {
			run := start(r, wk, wf, deep)
			got, err := run.Result(r.ctx)
			if err != nil || got != saw {
				r.Errorf("deep %t: %q, %v, want %q", deep, got, err, saw)
			}
			r.replays(run.ID(), wf, child)
		}
	})
}

func TestChildFanOutAndFanInOfTwoHundred(t *testing.T) {
	everywhere(t, func(r *rig) {
		child := stepwell.Define("square", func(ctx stepwell.Context, n int) (int, error) { return n * n, nil })
		wf := stepwell.Define("squares", func(ctx stepwell.Context, n int) (int, error) {
			items := make([]int, n)
			for i := range items {
				items[i] = i
			}
			all, err := stepwell.Map(ctx, items, 0, func(ctx stepwell.Context, i int) (int, error) { return child.Child().Run(ctx, i) })
			sum := 0
			for i, v := range all {
				if v != i*i {
					return 0, fmt.Errorf("item %d = %d", i, v)
				}
				sum += v
			}
			return sum, err
		})
		n, sum := 200, 2646700
		if r.slow() {
			n, sum = 20, 2470
		}
		run := start(r, r.begin(wf, child), wf, n)
		want(r, run, sum)
		r.replays(run.ID(), wf, child)
	})
}

func TestAwaitRunTellsAllWhoWaitHoweverTheRunEnds(t *testing.T) {
	everywhere(t, func(r *rig) {
		target := stepwell.Define("target", func(ctx stepwell.Context, how string) (string, error) {
			err := stepwell.Sleep(ctx, "nap", time.Minute)
			if how == "fail" {
				err = coded{"BROKEN"}
			}
			return "out", err
		})
		waiter := stepwell.Define("waiter", func(ctx stepwell.Context, id string) (string, error) {
			v, err := stepwell.AwaitRun[string](ctx, id)
			code := ""
			if e, ok := errors.AsType[*stepwell.StepError](err); ok {
				code = e.Code
			}
			return fmt.Sprint(v, code, errors.Is(err, stepwell.ErrCancelled)), nil
		})
		wk := r.begin(target, waiter)
		for how, saw := range map[string]string{"complete": "outfalse", "fail": "BROKENfalse", "cancel": "CANCELLEDtrue", "force": "CANCELLEDtrue"} {
			tr := start(r, wk, target, how, stepwell.RunID(how))
			waiters := []*stepwell.Run[string]{start(r, wk, waiter, how), start(r, wk, waiter, how)}
			r.pass(time.Second)
			switch how {
			case "cancel":
				r.cancel(wk.App, how)
			case "force":
				if err := wk.ForceCancel(r.ctx, how, ""); err != nil {
					r.Fatal(err)
				}
			}
			_, _ = tr.Result(r.ctx)
			waiters = append(waiters, start(r, wk, waiter, how)) // it is over
			for _, w := range waiters {
				want(r, w, saw)
				r.cost(w.ID(), 2, 0)
				r.replays(w.ID(), waiter)
			}
		}
	})
}

func TestAwaitRunOfItselfIsRefused(t *testing.T) {
	everywhere(t, func(r *rig) {
		wf := stepwell.Define("navel", func(ctx stepwell.Context, _ struct{}) (bool, error) {
			_, first := stepwell.AwaitRun[string](ctx, ctx.RunID())
			if err := stepwell.Sleep(ctx, "nap", time.Second); err != nil {
				return false, err
			}
			_, later := stepwell.AwaitRun[string](ctx, ctx.RunID())
			return errors.Is(first, stepwell.ErrInvalid) && errors.Is(later, stepwell.ErrInvalid), nil
		})
		wk := r.begin(wf)
		run := start(r, wk, wf, struct{}{})
		ctx, cancel := context.WithTimeout(r.ctx, time.Minute)
		defer cancel()
		if got, err := run.Result(ctx); !got || err != nil {
			r.Errorf("result = %t, %v, want ErrInvalid seen: it would wait for ever", got, err)
		}
		r.replays(run.ID(), wf)
	})
}

// Two runs that wait for one and the same take its end in one turn each; a parent and a stranger see the same.
func TestAwaitRunOfAnothersChild(t *testing.T) {
	everywhere(t, func(r *rig) {
		parent := stepwell.Define("parent", func(ctx stepwell.Context, _ struct{}) (string, error) {
			return sleeper.Child(stepwell.RunID("shared")).Run(ctx, time.Minute)
		})
		waiter := stepwell.Define("waiter", func(ctx stepwell.Context, id string) (string, error) { return stepwell.AwaitRun[string](ctx, id) })
		wk := r.begin(parent, waiter, sleeper)
		a := start(r, wk, parent, struct{}{})
		until(r, "the child", func() bool { _, err := r.world.Run(r.ctx, "shared"); return err == nil })
		b := start(r, wk, waiter, "shared")
		want(r, a, "slept")
		want(r, b, "slept")
		if got := r.get("shared").Parent; got == nil || got.Run != a.ID() {
			r.Errorf("parent = %v, want %s", got, a.ID())
		}
		if got := r.get(b.ID()).Status; got != world.Completed {
			r.Errorf("the stranger is %s", got)
		}
	})
}
