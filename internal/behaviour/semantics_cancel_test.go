package behaviour_test

// The answers at the edges (docs/failures.md) about cancelled runs and bodies that do not listen: 10, 17, 18.

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
)

func (r *rig) cancel(app *stepwell.App, run string) {
	r.Helper()
	if err := app.Cancel(r.ctx, run, "no longer wanted"); err != nil {
		r.Fatal(err)
	}
}

func TestAnswer10ABodyThatIgnoresItsTimeoutIsNotOverlapped(t *testing.T) {
	everyWay(t, func(r *rig) {
		var g gauge
		wf := stepwell.Define("deaf", func(ctx stepwell.Context, _ struct{}) (int, error) {
			return stepwell.Step(ctx, "deaf", func(ctx context.Context) (int, error) {
				g.enter()
				defer g.leave()
				n := stepwell.Info(ctx).Attempt
				if n == 1 {
					<-time.After(5 * time.Second) // without a look at ctx
					return 0, errUnlucky
				}
				return n, nil
			}, stepwell.Timeout(time.Second), stepwell.Retry{Base: time.Millisecond})
		})
		quick := serial(1)
		wk := r.beginWith(stepwell.Config{Definitions: []stepwell.Definition{wf, quick}, MaxSteps: 1})
		began := time.Now()
		run := start(r, wk, wf, struct{}{})
		other := start(r, wk, quick, 0)
		want(r, other, 0)
		if took := time.Since(began); took < 5*time.Second {
			r.Errorf("another step got the only slot after %s, want it kept for 5s", took)
		}
		want(r, run, 2)
		if g.max() != 1 {
			r.Errorf("%d attempts at once, want 1", g.max())
		}
		if e := r.events(run.ID(), world.StepRetrying); len(e) != 1 || e[0].Error.Code != world.CodeTimeout {
			r.Errorf("retries = %v, want one with code TIMEOUT", e)
		}
		r.replays(run.ID(), wf)
	})
}

func TestAnswer10ABodyThatIgnoresACancelKeepsItsSlotAndItsResultIsNobodys(t *testing.T) {
	everyWay(t, func(r *rig) {
		var returned atomic.Bool
		wf := stepwell.Define("deaf-to-cancel", func(ctx stepwell.Context, _ struct{}) (string, error) {
			_, err := stepwell.Step(ctx, "deaf", func(context.Context) (string, error) {
				<-time.After(20 * time.Second)
				returned.Store(true)
				return "late", nil
			})
			return "", fmt.Errorf("seen at once: %v: %w", !returned.Load(), err)
		})
		quick := serial(1)
		wk := r.beginWith(stepwell.Config{Definitions: []stepwell.Definition{wf, quick}, MaxSteps: 1, CancelGrace: 3 * time.Second, Drain: time.Minute})
		began := time.Now()
		run := start(r, wk, wf, struct{}{})
		r.cancel(wk.App, run.ID())
		e := wantErr(r, run, world.Cancelled)
		if took := time.Since(began); took < 3*time.Second || took > 5*time.Second {
			r.Errorf("the run ended after %s, want 3s", took)
		}
		if !strings.Contains(e.Error(), "cancelled before it ended") {
			r.Errorf("error = %v, want that of the step", e)
		}
		other := start(r, wk, quick, 0)
		want(r, other, 0)
		if took := time.Since(began); took < 20*time.Second {
			r.Errorf("the slot was free after %s, want 20s", took)
		}
		if got := r.count(run.ID(), world.StepCompleted, ""); got != 0 {
			r.Error("the late result was recorded")
		}
	})
}

func TestAnswer17EveryOperationReturnsErrCancelledAtOnce(t *testing.T) {
	everyWay(t, func(r *rig) {
		task := stepwell.DefineStep("task", func(context.Context, int) (int, error) { return 1, nil })
		wf := stepwell.Define("tidy", func(ctx stepwell.Context, _ struct{}) (string, error) {
			var got []bool
			add := func(err error) { got = append(got, errors.Is(err, stepwell.ErrCancelled)) }
			beside := stepwell.Go(ctx, func(ctx stepwell.Context) (int, error) {
				_, _, err := numbers.Wait(ctx)
				return 0, err
			})
			held := stepwell.Go(ctx, func(ctx stepwell.Context) (int, error) {
				_, err := stepwell.Await(ctx, func() bool { return false })
				return 0, err
			})
			add(stepwell.Sleep(ctx, "long", time.Hour))
			_, err := beside.Get(ctx)
			add(err)
			_, err = held.Get(ctx)
			add(err)
			add(stepwell.Do(ctx, "new", func(context.Context) error { r.Error("it ran"); return nil }))
			_, err = task.Run(ctx, 1)
			add(err)
			add(stepwell.Sleep(ctx, "again", time.Second))
			_, _, err = numbers.Wait(ctx, stepwell.Timeout(time.Second))
			add(err)
			clean := ctx.Uncancelled()
			if err := stepwell.Do(clean, "clean up", func(context.Context) error { return nil }); err != nil {
				return "", err
			}
			return "", fmt.Errorf("%v: %w", got, stepwell.Sleep(clean, "breath", time.Second))
		})
		wk := r.begin(wf, task)
		run := start(r, wk, wf, struct{}{})
		until(r, "the waits", func() bool { return r.count(run.ID(), world.WaitCreated, "") == 2 })
		r.cancel(wk.App, run.ID())
		r.cancel(wk.App, run.ID()) // the same request
		e := wantErr(r, run, world.Cancelled)
		if !strings.Contains(e.Error(), "[true true true true true true true]") {
			r.Errorf("error = %v, want true for each operation", e)
		}
		var names []string
		for _, e := range r.events(run.ID(), world.StepCreated, world.StepCompleted, world.CancelRequested) {
			names = append(names, string(e.Type)+" "+e.Name)
		}
		if diff := cmp.Diff([]string{"cancel_requested ", "step_created clean up", "step_completed "}, names); diff != "" {
			r.Errorf("events: want -, got +:\n%s", diff)
		}
		if !errors.Is(e, stepwell.ErrCancelled) {
			r.Errorf("errors.Is(%v, ErrCancelled) = false", e)
		}
		r.replays(run.ID(), wf, task)
	})
}

func TestAnswer17AValueReturnedInTimeIsRecordedAndSeen(t *testing.T) {
	everyWay(t, func(r *rig) {
		task := stepwell.DefineStep("task", func(ctx context.Context, _ int) (string, error) {
			<-ctx.Done()
			return "task saw " + context.Cause(ctx).Error(), nil
		})
		wf := stepwell.Define("heard", func(ctx stepwell.Context, _ struct{}) (string, error) {
			f, g := task.Start(ctx, 1), task.Start(ctx, 2) // in place and queued
			a, err := stepwell.Step(ctx, "closure", func(ctx context.Context) (string, error) {
				<-ctx.Done()
				<-time.After(2 * time.Second)
				return "closure saw " + context.Cause(ctx).Error(), nil
			})
			if err != nil {
				return "", err
			}
			b, err := f.Get(ctx)
			if err != nil {
				return "", err
			}
			c, err := g.Get(ctx)
			return "", fmt.Errorf("%s; %s; %s: %w", a, b, c, err)
		})
		wk := r.begin(wf, task)
		run := start(r, wk, wf, struct{}{})
		until(r, "the bodies", func() bool { return r.count(run.ID(), world.StepCreated, "") == 3 })
		r.pass(time.Second)
		r.cancel(r.client(), run.ID())
		e := wantErr(r, run, world.Cancelled)
		want := "closure saw the run was cancelled; task saw the run was cancelled; task saw the run was cancelled"
		if !strings.Contains(e.Error(), want) {
			r.dump(run.ID())
			r.Errorf("error = %v, want %q", e, want)
		}
		r.replays(run.ID(), wf, task)
	})
}

func TestAnswer17WhateverTheCodeReturnsTheRunEndsCancelled(t *testing.T) {
	everyWay(t, func(r *rig) {
		wf := stepwell.Define("whatever", func(ctx stepwell.Context, how string) (string, error) {
			err := stepwell.Sleep(ctx, "long", time.Hour)
			switch how {
			case "value":
				return "fine", nil
			case "other":
				return "", errUnlucky
			}
			return "", err
		})
		wk := r.begin(wf)
		for how, kept := range map[string]string{"value": "", "other": "no luck", "cancelled": "the run was cancelled"} {
			run := start(r, wk, wf, how)
			until(r, "the sleep", func() bool { return r.count(run.ID(), world.WaitCreated, "") == 1 })
			r.cancel(wk.App, run.ID())
			e := wantErr(r, run, world.Cancelled)
			end := r.events(run.ID(), world.RunCancelled)[0]
			if (kept == "") != (end.Error == nil) || end.Error != nil && end.Error.Message != kept {
				r.Errorf("%s: kept error = %v, want %q (%v)", how, end.Error, kept, e)
			}
			if end.Reason != "no longer wanted" {
				r.Errorf("%s: reason = %q", how, end.Reason)
			}
			r.replays(run.ID(), wf)
		}
	})
}

// What cleans up is tried again like any other step.
func TestAnswer17ACleanUpThatFailsIsTriedAgain(t *testing.T) {
	everyWay(t, func(r *rig) {
		refund := stepwell.DefineStep("refund", func(ctx context.Context, _ int) (int, error) { return failOnce(ctx) })
		wf := stepwell.Define("untidy", func(ctx stepwell.Context, _ struct{}) (int, error) {
			err := stepwell.Sleep(ctx, "long", time.Hour)
			retry := stepwell.Retry{Attempts: 2, Base: time.Second}
			_, first := stepwell.Step(ctx.Uncancelled(), "release", failOnce, retry)
			_, second := refund.With(retry).Run(ctx.Uncancelled(), 0)
			return 0, errors.Join(err, first, second)
		})
		wk := r.begin(wf, refund)
		run := start(r, wk, wf, struct{}{})
		r.pass(time.Second)
		r.cancel(wk.App, run.ID())
		wantErr(r, run, world.Cancelled)
		for _, name := range []string{"release", "refund"} {
			if retried, done := r.count(run.ID(), world.StepRetrying, name), r.count(run.ID(), world.StepCompleted, name); retried != 1 || done != 1 {
				r.dump(run.ID())
				r.Errorf("%s was tried again %d times and completed %d times, want 1 and 1", name, retried, done)
			}
		}
		r.replays(run.ID(), wf, refund)
	})
}

// failOnce is a body whose first attempt fails.
func failOnce(ctx context.Context) (int, error) {
	if n := stepwell.Info(ctx).Attempt; n > 1 {
		return n, nil
	}
	return 0, errUnlucky
}

func TestAnswer18ACancelEndsAPause(t *testing.T) {
	everyWay(t, func(r *rig) {
		wf := stepwell.Define("paused", func(ctx stepwell.Context, _ struct{}) (int, error) {
			return 0, stepwell.Sleep(ctx, "long", 5*time.Second)
		})
		wk := r.begin(wf)
		run := start(r, wk, wf, struct{}{})
		pause := &world.Delivery{Run: run.ID(), ID: "pause-1", Act: true, Events: []world.Event{{Type: world.RunPaused, By: "test"}}}
		if _, err := r.world.Deliver(r.ctx, pause); err != nil {
			r.Fatal(err)
		}
		r.pass(10 * time.Second)
		if got := r.get(run.ID()); got.Queue == nil || !got.Queue.Paused {
			r.dump(run.ID())
			r.Fatal("the run is not paused: its sleep fell due")
		}
		r.cancel(wk.App, run.ID())
		wantErr(r, run, world.Cancelled)
		r.replays(run.ID(), wf)
	})
}

// A cancel that was asked for before ends no pause of the clean-up, and nothing falls due in it.
func TestAnswer18ACancelThatSaysNothingNewEndsNoPause(t *testing.T) {
	everyWay(t, func(r *rig) {
		wf := stepwell.Define("tidy", func(ctx stepwell.Context, _ struct{}) (int, error) {
			err := stepwell.Sleep(ctx, "long", 10*time.Second)
			return 0, errors.Join(err, stepwell.Sleep(ctx.Uncancelled(), "clean-up", 5*time.Second))
		})
		wk := r.begin(wf)
		run := start(r, wk, wf, struct{}{})
		r.pass(time.Second)
		r.cancel(wk.App, run.ID())
		r.pass(time.Second)
		if err := wk.Pause(r.ctx, run.ID(), "wait"); err != nil {
			r.Fatal(err)
		}
		r.pass(20 * time.Second) // both sleeps would be over
		r.cancel(wk.App, run.ID())
		r.pass(20 * time.Second)
		if got := r.count(run.ID(), world.WaitCompleted, ""); got != 0 || !r.get(run.ID()).Queue.Paused {
			r.dump(run.ID())
			r.Errorf("%d waits ended in the pause, want none", got)
		}
		if err := wk.Resume(r.ctx, run.ID()); err != nil {
			r.Fatal(err)
		}
		wantErr(r, run, world.Cancelled)
		r.replays(run.ID(), wf)
	})
}

// TestCancelIsForWhoeverHasTheCode: beside a worker that has the code of a sleeping run, one that has not does not end it: the run cleans up.
func TestCancelIsForWhoeverHasTheCode(t *testing.T) {
	other := stepwell.Define("other", func(stepwell.Context, int) (int, error) { return 0, nil })
	everywhere(t, func(r *rig) {
		cleaned := 0
		tidy := stepwell.Define("tidy", func(ctx stepwell.Context, _ int) (int, error) {
			err := stepwell.Sleep(ctx, "long", time.Hour)
			return 0, errors.Join(err, stepwell.Do(ctx.Uncancelled(), "clean", func(context.Context) error { cleaned++; return nil }))
		})
		stranger := r.begin(other)
		app := r.begin(tidy)
		for n := 1; n <= 5; n++ {
			run := start(r, app, tidy, 0)
			synctest.Wait()
			if err := stranger.Cancel(r.ctx, run.ID(), "enough"); err != nil {
				r.Fatal(err)
			}
			wantErr(r, run, world.Cancelled)
			if cleaned != n {
				r.dump(run.ID())
				r.Fatalf("cleaned up %d times after %d cancels", cleaned, n)
			}
		}
	})
}
