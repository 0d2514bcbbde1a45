package behaviour_test

// The answers at the edges (docs/failures.md) about pauses and forced cancels: 18, 19.

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
)

func (r *rig) pause(app *stepwell.App, run string) {
	r.Helper()
	if err := app.Pause(r.ctx, run, "a look"); err != nil {
		r.Fatal(err)
	}
}

func (r *rig) resume(app *stepwell.App, run string) {
	r.Helper()
	if err := app.Resume(r.ctx, run); err != nil {
		r.Fatal(err)
	}
}

// types are those of a run's events of some types, with the names of what they create.
func (r *rig) types(run string, of ...world.EventType) []string {
	r.Helper()
	names := map[string]string{}
	for _, e := range r.events(run) {
		if e.Name != "" && e.ID != "" {
			names[e.ID] = e.Name
		}
	}
	var list []string
	for _, e := range r.events(run, of...) {
		s := string(e.Type)
		if e.Name != "" {
			s += " " + e.Name
		} else if names[e.ID] != "" {
			s += " " + names[e.ID]
		}
		list = append(list, s)
	}
	return list
}

func TestAnswer19ABodyInFlightEndsAndItsResultIsDeliveredAtResume(t *testing.T) {
	everyWay(t, func(r *rig) {
		task := stepwell.DefineStep("task", func(_ context.Context, n int) (int, error) {
			<-time.After(3 * time.Second)
			return n, nil
		})
		wf := stepwell.Define("in-flight", func(ctx stepwell.Context, _ struct{}) (string, error) {
			a, b := task.Start(ctx, 1), task.Start(ctx, 2) // in place and queued
			v, err := stepwell.Step(ctx, "closure", func(context.Context) (int, error) {
				<-time.After(2 * time.Second)
				return 3, nil
			})
			if err != nil {
				return "", err
			}
			seen := ctx.Now()
			x, err := a.Get(ctx)
			if err != nil {
				return "", err
			}
			y, err := b.Get(ctx)
			if err != nil {
				return "", err
			}
			err = stepwell.Do(ctx, "next", func(context.Context) error { return nil })
			return fmt.Sprintln(v, x, y, seen.Format("05")), err
		})
		wk := r.begin(wf, task)
		began := time.Now()
		run := start(r, wk, wf, struct{}{})
		until(r, "the bodies", func() bool { return r.count(run.ID(), world.StepCreated, "") == 3 })
		r.at(began, time.Second)
		r.pause(wk.App, run.ID())
		r.at(began, 30*time.Second)
		if got := r.count(run.ID(), world.StepCompleted, "closure"); got != 1 {
			r.dump(run.ID())
			r.Errorf("results recorded while it was paused = %d, want 1", got)
		}
		if got := r.count(run.ID(), world.StepCreated, "next"); got != 0 {
			r.Error("the code went on while it was paused")
		}
		if !r.free(run.ID()) {
			r.Error("the paused run is owned still")
		}
		r.resume(r.client(), run.ID())
		want(r, run, "3 1 2 02\n") // the time of the result, not of the resume
		r.replays(run.ID(), wf, task)
	})
}

// overdue waits, beside a body that may be in flight, for a number with a timeout, for a sleep and for a child, and says what it saw in which order.
func overdue(child *stepwell.Workflow[int, int]) *stepwell.Workflow[int, []string] {
	return stepwell.Define("overdue", func(ctx stepwell.Context, busy int) ([]string, error) {
		var order []string
		see := func(what string, f func(stepwell.Context) error) *stepwell.Future[int] {
			return stepwell.Go(ctx, func(ctx stepwell.Context) (int, error) {
				err := f(ctx)
				order = append(order, what)
				return 0, err
			})
		}
		fs := []*stepwell.Future[int]{
			see("body", func(ctx stepwell.Context) error {
				if busy == 0 {
					return nil
				}
				return stepwell.Do(ctx, "busy", func(context.Context) error { <-time.After(time.Duration(busy) * time.Second); return nil })
			}),
			see("sleep at 3", func(ctx stepwell.Context) error { return stepwell.Sleep(ctx, "nap", 3*time.Second) }),
			see("child at 4", func(ctx stepwell.Context) error { _, err := child.Child().Run(ctx, 4); return err }),
			see("signal at 5", func(ctx stepwell.Context) error { _, _, err := numbers.Wait(ctx); return err }),
			see("timeout at 6", func(ctx stepwell.Context) error {
				_, ok, err := stepwell.Event[int]("never").Wait(ctx, stepwell.Timeout(6*time.Second))
				if ok {
					return errors.New("it came")
				}
				return err
			}),
		}
		_, err := stepwell.All(ctx, fs...)
		return order, err
	})
}

func TestAnswer19WhatCameAndFellDueFollowsOnResumeInTheOrderOfItsTimes(t *testing.T) {
	everyWay(t, func(r *rig) {
		child := stepwell.Define("child-nap", func(ctx stepwell.Context, s int) (int, error) {
			return s, stepwell.Sleep(ctx, "nap", time.Duration(s)*time.Second)
		})
		wf := overdue(child)
		rest := []string{"sleep at 3", "child at 4", "signal at 5", "timeout at 6"}
		for _, c := range []struct {
			name   string
			busy   int // s that a body is in flight
			resume time.Duration
			want   []string
		}{
			{"nobody owns it", 0, 20 * time.Second, append([]string{"body"}, rest...)},
			{"a body ended before", 2, 20 * time.Second, append([]string{"body"}, rest...)},
			{"a body ended between", 8, 20 * time.Second, append([]string{"body"}, rest...)}, // what it recorded comes with the resume
			{"a body is in flight still", 30, 20 * time.Second, append(rest[:4:4], "body")},
		} {
			wk := r.begin(wf, child)
			began := time.Now()
			run := start(r, wk, wf, c.busy)
			r.at(began, time.Second)
			r.pause(wk.App, run.ID())
			r.at(began, 5*time.Second)
			if err := numbers.Send(r.ctx, r.client(), run.ID(), number{5}); err != nil {
				r.Fatal(err)
			}
			r.at(began, c.resume-time.Second)
			for _, e := range r.types(run.ID(), world.WaitCompleted) {
				r.Errorf("%s: while it was paused: %s", c.name, e)
			}
			r.at(began, c.resume)
			r.resume(wk.App, run.ID())
			got, err := run.Result(r.ctx)
			if diff := cmp.Diff(c.want, got); err != nil || diff != "" {
				r.dump(run.ID())
				r.Errorf("%s: %v, order: want -, got +:\n%s", c.name, err, diff)
			}
			r.replays(run.ID(), wf, child)
			wk.stop(r)
		}
	})
}

func TestAnswer19PausingTwiceAndResumingTwiceAreNoOps(t *testing.T) {
	everyWay(t, func(r *rig) {
		wf := stepwell.Define("twice", func(ctx stepwell.Context, busy bool) (int, error) {
			if busy {
				return stepwell.Step(ctx, "busy", func(context.Context) (int, error) { <-time.After(10 * time.Second); return 1, nil })
			}
			return 1, stepwell.Sleep(ctx, "nap", 10*time.Second)
		})
		wk := r.begin(wf)
		for _, busy := range []bool{false, true} {
			run := start(r, wk, wf, busy)
			r.resume(wk.App, run.ID()) // it is not paused
			r.pause(wk.App, run.ID())
			r.pause(r.client(), run.ID())
			r.pass(2 * time.Second)
			if q := r.get(run.ID()).Queue; q == nil || !q.Paused {
				r.dump(run.ID())
				r.Errorf("busy %t: not paused", busy)
			}
			r.resume(r.client(), run.ID())
			r.resume(wk.App, run.ID())
			want(r, run, 1)
			acts := r.types(run.ID(), world.RunPaused, world.RunResumed)
			if diff := cmp.Diff([]string{"run_paused", "run_resumed"}, acts); diff != "" {
				r.Errorf("busy %t: acts: want -, got +:\n%s", busy, diff)
			}
			if got := r.events(run.ID(), world.RunPaused)[0]; got.By == "" || got.Reason != "a look" {
				r.Errorf("busy %t: paused by %q for %q, want both", busy, got.By, got.Reason)
			}
			r.replays(run.ID(), wf)
		}
	})
}

// A run that has not begun is paused too: it begins when it is resumed.
func TestAnswer19APendingRunIsPaused(t *testing.T) {
	everyWay(t, func(r *rig) {
		wf := serial(1)
		run, err := wf.Start(r.ctx, r.client(wf), 4, stepwell.Delay(time.Second))
		if err != nil {
			r.Fatal(err)
		}
		r.pause(r.client(), run.ID())
		wk := r.begin(wf)
		r.pass(time.Minute)
		if got := r.get(run.ID()).Status; got != world.Pending {
			r.Errorf("status = %s, want pending", got)
		}
		r.resume(wk.App, run.ID())
		want(r, run, 4)
		r.replays(run.ID(), wf)
	})
}

// What came before a cancel that ends a pause is delivered before it.
func TestAnswer18ACancelThatEndsAPauseComesAfterWhatCameBefore(t *testing.T) {
	everyWay(t, func(r *rig) {
		wf := stepwell.Define("paused-then-cancelled", func(ctx stepwell.Context, busy bool) (string, error) {
			if busy {
				stepwell.Go(ctx, func(ctx stepwell.Context) (int, error) {
					return stepwell.Step(ctx, "busy", func(ctx context.Context) (int, error) { <-ctx.Done(); return 0, nil })
				})
			}
			nap := stepwell.Timer(ctx, "nap", 2*time.Second)
			n, ok, err := numbers.Wait(ctx)
			_, late := nap.Get(ctx)
			return "", fmt.Errorf("number %d %t %w, nap %v", n.N, ok, err, late)
		})
		wk := r.begin(wf)
		for _, busy := range []bool{false, true} {
			run := start(r, wk, wf, busy)
			r.pass(time.Second)
			r.pause(wk.App, run.ID())
			r.pass(4 * time.Second)
			if err := numbers.Send(r.ctx, wk.App, run.ID(), number{7}); err != nil {
				r.Fatal(err)
			}
			r.pass(4 * time.Second)
			r.cancel(r.client(), run.ID())
			wantErr(r, run, world.Cancelled)
			end := r.events(run.ID(), world.RunCancelled)[0]
			if got, want := end.Error.Message, "number 7 true %!w(<nil>), nap <nil>"; got != want {
				r.dump(run.ID())
				r.Errorf("busy %t: saw %q, want %q", busy, got, want)
			}
			r.replays(run.ID(), wf)
		}
	})
}
