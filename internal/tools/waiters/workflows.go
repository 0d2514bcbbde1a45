package main

// This file holds the workflows. What their runs come to is in kill_wait_test.go and kill_continue_test.go of
// internal/behaviour.

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/stepwell/stepwell"
)

var (
	goes = stepwell.Event[string]("go")
	note = stepwell.Event[string]("note")

	errAway = errors.New("the bank is away")
)

// tour is the input of the gatherer.
type tour struct {
	Left int    `json:"left"`
	Got  string `json:"got,omitempty"`
}

// gatherer goes on after each two notes, until it is told to stop.
var gatherer = stepwell.Define("gatherer", func(ctx stepwell.Context, in tour) (string, error) {
	for range 2 {
		s, _, err := note.Wait(ctx)
		if err != nil {
			return "", err
		}
		if s == "stop" {
			return strings.TrimSpace(in.Got), nil
		}
		in.Got += s + " "
	}
	return "", stepwell.ContinueAsNew(ctx, in)
})

// step is a body that dies where it is told to, on its first attempt.
func (v *victim) step(ctx stepwell.Context, name string) (string, error) {
	return stepwell.Step(ctx, name, func(c context.Context) (string, error) {
		if v.body == name && stepwell.Info(c).Attempt == 1 {
			die()
		}
		return name, nil
	})
}

func (v *victim) definitions() []stepwell.Definition {
	leaf := stepwell.Define("leaf", func(ctx stepwell.Context, n int) (int, error) {
		_, err := v.step(ctx, "leaf")
		return n, err
	})
	mid := stepwell.Define("mid", func(ctx stepwell.Context, n int) (int, error) {
		got, err := leaf.Child().Run(ctx, n)
		if err != nil {
			return 0, err
		}
		_, err = v.step(ctx, "mid")
		return 10 * got, err
	})
	target := stepwell.Define("target", func(ctx stepwell.Context, _ int) (string, error) {
		s, _, err := goes.Wait(ctx)
		return "target got " + s, err
	})
	top := stepwell.Define("top", func(ctx stepwell.Context, _ int) (string, error) {
		h, err := stepwell.NewHook[string](ctx, stepwell.Token("tok"))
		if err != nil {
			return "", err
		}
		a, b := mid.Child().Start(ctx, 1), mid.Child(stepwell.RunID("chosen")).Start(ctx, 2)
		awaited, err := stepwell.AwaitRun[string](ctx, "target")
		if err != nil {
			return "", err
		}
		out := awaited
		for range 2 {
			s, _, err := h.Wait(ctx)
			if err != nil {
				return "", err
			}
			out += " " + s
		}
		for _, f := range []*stepwell.ChildRun[int]{a, b} {
			n, err := f.Get(ctx)
			if err != nil {
				return "", err
			}
			out += fmt.Sprint(" ", n)
		}
		if err := h.Dispose(ctx); err != nil {
			return "", err
		}
		s, err := v.step(ctx, "end")
		return out + " " + s, err
	})
	doomed := stepwell.Define("doomed", func(ctx stepwell.Context, nested bool) (string, error) {
		if nested {
			return "", stepwell.Sleep(ctx, "long", time.Hour)
		}
		h, err := stepwell.NewHook[string](ctx, stepwell.Token("doomed-tok"))
		if err != nil {
			return "", err
		}
		child := stepwell.Define("doomed", func(stepwell.Context, bool) (string, error) { return "", nil }).Child(stepwell.RunID("doomed-child"))
		kid := child.Start(ctx, true)
		_, _, err = h.Wait(ctx)
		if errors.Is(err, stepwell.ErrCancelled) {
			_, clean := v.step(ctx.Uncancelled(), "clean-up")
			return "", errors.Join(err, clean)
		}
		_, err = kid.Get(ctx)
		return "", err
	})
	held := stepwell.Define("held", func(ctx stepwell.Context, _ int) (string, error) {
		s, _, err := goes.Wait(ctx)
		if err != nil {
			return "", err
		}
		end, err := v.step(ctx, "held")
		return s + " " + end, err
	})
	late := func(ctx context.Context, name string) (string, error) { // fails as long as nobody has woken it
		if stepwell.Info(ctx).Attempt == 1 {
			return "", stepwell.RetryAfter(errAway, time.Hour)
		}
		return name, nil
	}
	charge := stepwell.DefineStep("charge", late)
	delayed := stepwell.Define("delayed", func(ctx stepwell.Context, _ int) (string, error) {
		place := stepwell.Go(ctx, func(ctx stepwell.Context) (string, error) {
			return stepwell.Step(ctx, "in-place", func(c context.Context) (string, error) { return late(c, "place") })
		})
		queued := stepwell.Go(ctx, func(ctx stepwell.Context) (string, error) { return charge.Run(ctx, "queue") })
		both, err := stepwell.All(ctx, place, queued)
		return strings.Join(both, " "), err
	})
	pay := stepwell.Define("pay", func(ctx stepwell.Context, _ int) (string, error) { // the first fails
		if _, err := v.step(ctx, "reserve"); err != nil {
			return "", err
		}
		return stepwell.Step(ctx, "pay", func(c context.Context) (string, error) {
			if stepwell.Info(c).Run == "first-pay" {
				return "", stepwell.Fatal(errAway)
			}
			return "paid", nil
		})
	})
	payer := stepwell.Define("payer", func(ctx stepwell.Context, _ int) (string, error) {
		return pay.Child(stepwell.RunID("first-pay")).Run(ctx, 0)
	})
	follower := stepwell.Define("follower", func(ctx stepwell.Context, _ int) (string, error) {
		if _, _, err := goes.Wait(ctx); err != nil {
			return "", err
		}
		return stepwell.AwaitRun[string](ctx, "first-pay")
	})
	return []stepwell.Definition{leaf, mid, target, top, doomed, held, gatherer, delayed, charge, pay, payer, follower}
}
