package answers

// Answers about cancels and pauses: 17, 18, 19.

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
)

var (
	counted = stepwell.Event[int]("counted")
	errLuck = errors.New("no luck")
)

var sharedToActs = map[string]func(*answers){
	"answer 17: a run that has not begun is cancelled without its code": answerCancelPending,
	"answer 18: a forced cancel runs nothing more":                      answerForced,
}

var answersToActs = map[string]func(*answers){
	"answer 17: every operation of a cancelled run returns ErrCancelled at once":  answerEveryOperation,
	"answer 17: a value that a body returns in time is recorded and seen":         answerValueInTime,
	"answer 18: a cancel ends a pause, after what came before it":                 answerCancelEndsPause,
	"answer 19: a body in flight ends, and its result is delivered at the resume": answerPauseInFlight,
	"answer 19: what came and fell due in a pause follows in order":               answerPauseOrder,
	"answer 19: pausing twice and resuming twice are no-ops":                      answerPauseTwice,
}

func answerEveryOperation(r *answers) {
	nap := stepwell.Define("a17-nap", func(ctx stepwell.Context, d time.Duration) (int, error) { return 0, stepwell.Sleep(ctx, "nap", d) })
	task := stepwell.DefineStep("a17-task", func(context.Context, int) (int, error) { r.Error("the task ran"); return 1, nil })
	wf := stepwell.Define("a17-every", func(ctx stepwell.Context, _ int) (string, error) {
		hook, err := stepwell.NewHook[int](ctx)
		if err != nil {
			return "", err
		}
		var fs []*stepwell.Future[int]
		for _, op := range []func(ctx stepwell.Context) error{
			func(ctx stepwell.Context) error { return stepwell.Sleep(ctx, "long", time.Hour) },
			func(ctx stepwell.Context) error { _, _, err := counted.Wait(ctx); return err },
			func(ctx stepwell.Context) error { _, _, err := hook.Wait(ctx); return err },
			func(ctx stepwell.Context) error { _, err := nap.Child().Run(ctx, time.Hour); return err },
			func(ctx stepwell.Context) error {
				_, err := stepwell.Await(ctx, func() bool { return false })
				return err
			},
		} {
			fs = append(fs, stepwell.Go(ctx, func(ctx stepwell.Context) (int, error) { return 0, op(ctx) }))
		}
		var got []bool
		add := func(err error) { got = append(got, errors.Is(err, stepwell.ErrCancelled)) }
		for _, f := range fs {
			_, err := f.Get(ctx)
			add(err)
		}
		add(stepwell.Do(ctx, "new", func(context.Context) error { r.Error("a new step ran"); return nil }))
		_, err = task.Run(ctx, 1)
		add(err)
		_, err = nap.Child().Run(ctx, time.Hour)
		add(err)
		err = stepwell.Do(ctx.Uncancelled(), "clean up", func(context.Context) error { return nil })
		return "", fmt.Errorf("%v, clean-up %v", got, err)
	})
	wk := r.begin(wf, nap, task)
	run := begun(r, wk.App, wf, 0)
	r.has(run.ID(), 2, world.WaitCreated)
	child := r.has(run.ID(), 1, world.StepCreated)[0].Peer
	for range 2 { // the second is the same request
		r.must(wk.Cancel(r.ctx, run.ID(), "enough"))
	}
	e := endsAs(r, run, world.Cancelled)
	if want := "[true true true true true true true true], clean-up <nil>"; !strings.Contains(e.Error(), want) {
		r.dump(run.ID())
		r.Errorf("error = %v, want %s in it", e, want)
	}
	if n := len(r.events(run.ID(), world.CancelRequested)); n != 1 {
		r.Errorf("%d requests recorded, want 1", n)
	}
	if child != "" {
		endsAs(r, nap.Get(wk.App, child), world.Cancelled)
	}
}

// untilDone is a body that says that it runs, and ends when it is told to, with the reason.
func untilDone(runs chan<- struct{}) func(ctx context.Context, _ int) (string, error) {
	return func(ctx context.Context, _ int) (string, error) {
		runs <- struct{}{}
		<-ctx.Done()
		return context.Cause(ctx).Error(), nil
	}
}

func answerValueInTime(r *answers) {
	runs := make(chan struct{}, 3)
	body := untilDone(runs)
	task := stepwell.DefineStep("a17-heeds", body)
	wf := stepwell.Define("a17-heard", func(ctx stepwell.Context, _ int) (string, error) {
		f, g := task.Start(ctx, 1), task.Start(ctx, 2) // in place and queued
		a, err := stepwell.Step(ctx, "closure", func(ctx context.Context) (string, error) { return body(ctx, 0) })
		if err != nil {
			return "", err
		}
		b, err := f.Get(ctx)
		if err != nil {
			return "", err
		}
		c, err := g.Get(ctx)
		return "", fmt.Errorf("%s; %s; %s; %w", a, b, c, err)
	})
	wk := r.begin(wf, task)
	run := begun(r, wk.App, wf, 0)
	for range 3 {
		<-runs
	}
	r.must(r.client().Cancel(r.ctx, run.ID(), "enough"))
	e := endsAs(r, run, world.Cancelled)
	if want := "the run was cancelled; the run was cancelled; the run was cancelled; "; !strings.Contains(e.Error(), want) {
		r.dump(run.ID())
		r.Errorf("error = %v, want %q in it", e, want)
	}
}

func answerCancelPending(r *answers) {
	wf := stepwell.Define("a17-never", func(stepwell.Context, int) (int, error) { r.Error("its code ran"); return 0, nil })
	r.begin(wf)
	client := r.client(wf)
	unknown, err := client.Start(r.ctx, "a17-unknown", []byte("0"))
	r.must(err)
	delayed := begun(r, client, wf, 0, stepwell.Delay(time.Hour))
	r.must(client.Cancel(r.ctx, unknown.ID(), ""))
	r.must(client.Cancel(r.ctx, delayed.ID(), ""))
	endsAs(r, unknown, world.Cancelled)
	endsAs(r, delayed, world.Cancelled)
}

func answerForced(r *answers) {
	cause, runs := make(chan error, 1), make(chan struct{}, 1)
	wf := stepwell.Define("a18-forced", func(ctx stepwell.Context, how string) (int, error) {
		if how == "in a step" {
			_ = stepwell.Do(ctx, "busy", func(ctx context.Context) error {
				runs <- struct{}{}
				<-ctx.Done()
				cause <- context.Cause(ctx)
				return ctx.Err()
			})
		} else if err := stepwell.Sleep(ctx, "long", time.Hour); err == nil {
			r.Error("the sleep ended")
		}
		return 0, stepwell.Do(ctx.Uncancelled(), "clean up", func(context.Context) error { r.Error("it cleaned up"); return nil })
	})
	wk := r.begin(wf)
	for _, how := range []string{"in a step", "asleep", "paused"} {
		run := begun(r, wk.App, wf, how)
		if how == "in a step" {
			<-runs
		} else {
			r.has(run.ID(), 1, world.WaitCreated)
		}
		if how == "paused" {
			r.must(wk.Pause(r.ctx, run.ID(), "a look"))
		}
		if how != "in a step" {
			r.free(run.ID())
		}
		for range 2 { // the second says nothing new
			r.must(r.client().ForceCancel(r.ctx, run.ID(), "at once"))
		}
		if e := endsAs(r, run, world.Cancelled); !errors.Is(e, stepwell.ErrCancelled) {
			r.Errorf("%s: errors.Is(%v, ErrCancelled) = false", how, e)
		}
		if how == "in a step" {
			if got := <-cause; !errors.Is(got, stepwell.ErrLeaseLost) && !errors.Is(got, stepwell.ErrRunOver) {
				r.Errorf("the body's cause = %v, want ErrLeaseLost or ErrRunOver", got)
			}
		}
		end := r.events(run.ID())
		if last := end[len(end)-1]; last.Type != world.RunCancelled || last.Reason != "at once" {
			r.Errorf("%s: last event = %s %q, want run_cancelled at once", how, last.Type, last.Reason)
		}
	}
}

func answerCancelEndsPause(r *answers) {
	wf := stepwell.Define("a18-paused", func(ctx stepwell.Context, _ int) (int, error) {
		n, ok, err := counted.Wait(ctx)
		_, _, late := counted.Wait(ctx)
		return 0, fmt.Errorf("got %d %t %v, then %t", n, ok, err, errors.Is(late, stepwell.ErrCancelled))
	})
	wk := r.begin(wf)
	run := begun(r, wk.App, wf, 0)
	r.has(run.ID(), 1, world.WaitCreated)
	r.must(wk.Pause(r.ctx, run.ID(), "a look"))
	r.has(run.ID(), 1, world.RunPaused)
	r.must(counted.Send(r.ctx, wk.App, run.ID(), 7))
	r.must(r.client().Cancel(r.ctx, run.ID(), "enough"))
	if e := endsAs(r, run, world.Cancelled); !strings.Contains(e.Error(), "got 7 true <nil>, then true") {
		r.dump(run.ID())
		r.Errorf("error = %v, want the number, then the cancel", e)
	}
}

func answerPauseInFlight(r *answers) {
	runs, open := make(chan struct{}, 1), make(chan struct{})
	wf := stepwell.Define("a19-in-flight", func(ctx stepwell.Context, _ int) (int, error) {
		n, err := stepwell.Step(ctx, "busy", func(context.Context) (int, error) { runs <- struct{}{}; <-open; return 3, nil })
		if err != nil {
			return 0, err
		}
		return n, stepwell.Do(ctx, "next", func(context.Context) error { return nil })
	})
	wk := r.begin(wf)
	run := begun(r, wk.App, wf, 0)
	<-runs
	r.must(wk.Pause(r.ctx, run.ID(), "a look"))
	r.has(run.ID(), 1, world.RunPaused)
	close(open)
	r.has(run.ID(), 1, world.StepCompleted)
	r.free(run.ID())
	if n := len(r.events(run.ID(), world.StepCreated)); n != 1 {
		r.dump(run.ID())
		r.Error("the code went on while it was paused")
	}
	r.must(r.client().Resume(r.ctx, run.ID()))
	gives(r, run, 3)
}

func answerPauseOrder(r *answers) {
	child := stepwell.Define("a19-child", func(ctx stepwell.Context, _ int) (int, error) { n, _, err := counted.Wait(ctx); return n, err })
	wf := overdueThings("a19-order", child)
	wk := r.begin(wf, child)
	run := begun(r, wk.App, wf, "a19-the-child")
	nap := r.nap(run.ID())
	r.must(wk.Pause(r.ctx, run.ID(), "a look"))
	r.comeInOrder(run.ID(), "a19-the-child", nap, child)
	r.must(wk.Resume(r.ctx, run.ID()))
	gives(r, run, "[nap 9 child 15]")
	paused := false
	for _, e := range r.events(run.ID()) {
		if e.Type == world.RunPaused || e.Type == world.RunResumed {
			paused = e.Type == world.RunPaused
		} else if paused {
			r.Errorf("%s while it was paused", e.Type)
		}
	}
}

func answerPauseTwice(r *answers) {
	wf := stepwell.Define("a19-twice", func(ctx stepwell.Context, _ int) (int, error) { n, _, err := counted.Wait(ctx); return n, err })
	wk := r.begin(wf)
	run := begun(r, wk.App, wf, 0)
	r.must(wk.Resume(r.ctx, run.ID())) // it is not paused
	r.has(run.ID(), 1, world.WaitCreated)
	for range 2 {
		r.must(r.client().Pause(r.ctx, run.ID(), "a look"))
	}
	r.has(run.ID(), 1, world.RunPaused)
	for range 2 {
		r.must(r.client().Resume(r.ctx, run.ID()))
	}
	r.must(counted.Send(r.ctx, wk.App, run.ID(), 1))
	gives(r, run, 1)
	if diff := cmp.Diff([]string{"run_paused", "run_resumed"}, r.types(run.ID(), world.RunPaused, world.RunResumed)); diff != "" {
		r.Errorf("acts: want -, got +:\n%s", diff)
	}
}
