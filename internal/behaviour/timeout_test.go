package behaviour_test

// This file holds the timeout of a whole run: answer 3 of the edges.

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
)

// TestRunTimeout ends a run that waits, after its code has cleaned up; the code and a body see why.
func TestRunTimeout(t *testing.T) {
	everyWay(t, func(r *rig) {
		cause := make(chan error, 1)
		wf := stepwell.Define("slow", func(ctx stepwell.Context, _ int) (string, error) {
			if stepwell.CancelCause(ctx) != nil {
				return "", errors.New("cancelled at birth")
			}
			f := stepwell.Go(ctx, func(ctx stepwell.Context) (int, error) {
				return stepwell.Step(ctx, "body", func(c context.Context) (int, error) {
					<-c.Done()
					cause <- context.Cause(c)
					return 0, c.Err()
				})
			})
			if err := stepwell.Sleep(ctx, "long", time.Hour); !errors.Is(err, stepwell.ErrCancelled) {
				return "", fmt.Errorf("the sleep ended with %w", err)
			}
			_, _ = f.Get(ctx)
			why := stepwell.CancelCause(ctx)
			if !errors.Is(why, stepwell.ErrTimeout) || !errors.Is(why, stepwell.ErrCancelled) {
				return "", fmt.Errorf("the cause is %w", why)
			}
			err := stepwell.Do(ctx.Uncancelled(), "clean-up", func(context.Context) error { return nil })
			return "", errors.Join(err, errors.New("gave up"))
		}, stepwell.Timeout(time.Minute))
		run := start(r, r.begin(wf), wf, 0)
		created := time.Now()
		e := wantErr(r, run, world.Failed)
		if e.Code != world.CodeTimeout || !errors.Is(e, stepwell.ErrTimeout) {
			r.Errorf("failed with code %s: %v, want TIMEOUT", e.Code, e)
		}
		if got := time.Since(created); got < 59*time.Second || got > 70*time.Second {
			r.Errorf("it took %s, want a minute", got)
		}
		if err := <-cause; !errors.Is(err, stepwell.ErrTimeout) || !errors.Is(err, stepwell.ErrCancelled) {
			r.Errorf("the body's context ended with %v, want ErrTimeout", err)
		}
		if end := r.get(run.ID()); len(end.Error.Causes) != 1 || r.count(run.ID(), world.StepCompleted, "clean-up") != 1 {
			r.Errorf("error %+v: want what the code returned as its cause, and one clean-up", end.Error)
		}
		r.replays(run.ID(), wf)
	})
}

// TestRunTimeoutCountsFromTheStart of the run's code: not from birth, and not anew in a new segment. A start may say otherwise than the workflow.
func TestRunTimeoutCountsFromTheStart(t *testing.T) {
	everyWay(t, func(r *rig) {
		wf := stepwell.Define("segments", func(ctx stepwell.Context, n int) (int, error) {
			if err := stepwell.Sleep(ctx, "rest", 20*time.Second); err != nil {
				return n, err
			}
			if n < 5 {
				return 0, stepwell.ContinueAsNew(ctx, n+1)
			}
			return n, nil
		}, stepwell.Timeout(50*time.Second))
		app := r.begin(wf)
		late := start(r, app, wf, 0, stepwell.Delay(5*time.Minute))
		e := wantErr(r, late, world.Failed)
		log := r.events(late.ID(), world.RunStarted, world.RunContinued, world.RunFailed)
		if took := log[len(log)-1].Time.Sub(log[0].Time); e.Code != world.CodeTimeout || len(log) != 4 || took < 50*time.Second || took > 52*time.Second {
			r.Errorf("failed with %s after %s and %d segments, want TIMEOUT after 50s and 3", e.Code, took, len(log)-1)
		}
		want(r, start(r, app, wf, 0, stepwell.Timeout(5*time.Minute)), 5)
		want(r, start(r, app, wf, 0, stepwell.Timeout(stepwell.Forever)), 5)
		if _, err := wf.Start(r.ctx, app.App, 0, stepwell.Timeout(-time.Second)); !errors.Is(err, stepwell.ErrInvalid) {
			r.Errorf("start with a negative timeout = %v, want invalid", err)
		}
		byName, err := app.Start(r.ctx, "segments", []byte("0"))
		if err != nil {
			r.Fatal(err)
		}
		if _, err := byName.Result(r.ctx); !errors.Is(err, stepwell.ErrTimeout) {
			r.Errorf("a run that was started by name ended with %v, want its workflow's timeout", err)
		}
	})
}

// TestRunTimeoutWhileNoWorkerIsThere: what came before the deadline is handled first, then the deadline, and no step starts after it.
func TestRunTimeoutWhileNoWorkerIsThere(t *testing.T) {
	everyWay(t, func(r *rig) {
		wf := stepwell.Define("left-alone", func(ctx stepwell.Context, _ int) (string, error) {
			s, _, err := note.Wait(ctx)
			if err != nil {
				return "", err
			}
			_, _, err = note.Wait(ctx)
			if e := stepwell.Do(ctx, "after", func(context.Context) error { return nil }); !errors.Is(e, stepwell.ErrCancelled) {
				return "", fmt.Errorf("a step after the deadline: %w", e)
			}
			return "", fmt.Errorf("got %s, then %w", s, err)
		}, stepwell.Timeout(time.Minute))
		first := r.begin(wf)
		run := start(r, first, wf, 0)
		r.pass(time.Second)
		first.stop(r)
		client := r.client(wf)
		for range 2 {
			if err := note.Send(r.ctx, client, run.ID(), "one"); err != nil {
				r.Fatal(err)
			}
			r.pass(2 * time.Minute) // the second comes too late
		}
		if got := r.get(run.ID()).Status; got != world.Running {
			r.Errorf("with no worker it is %s, want running", got)
		}
		r.begin(wf)
		if e := wantErr(r, run, world.Failed); e.Code != world.CodeTimeout || r.get(run.ID()).Error.Causes[0].Message != "got one, then the run was cancelled" {
			r.Errorf("failed with %s: %+v", e.Code, r.get(run.ID()).Error)
		}
	})
}

// TestRunTimeoutAfterACancel changes nothing: the run was asked to end, and is cancelled.
func TestRunTimeoutAfterACancel(t *testing.T) {
	everyWay(t, func(r *rig) {
		wf := stepwell.Define("cancelled-first", func(ctx stepwell.Context, _ int) (int, error) {
			err := stepwell.Sleep(ctx, "long", time.Hour)
			_ = stepwell.Sleep(ctx.Uncancelled(), "clean-up", 2*time.Minute)
			return 0, err
		})
		app := r.begin(wf)
		run := start(r, app, wf, 0, stepwell.Timeout(time.Minute))
		if err := app.Cancel(r.ctx, run.ID(), "no"); err != nil {
			r.Fatal(err)
		}
		wantErr(r, run, world.Cancelled)
		if n := r.count(run.ID(), world.CancelRequested, ""); n != 1 {
			r.Errorf("%d cancels in the log, want 1", n)
		}
	})
}
