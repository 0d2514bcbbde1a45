package answers

// Answers about what runs side by side: 14 to 16.

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
)

var answersSideBySide = map[string]func(*answers){
	"answer 14: a Race cancels nobody, and results of losers are recorded": answerRace,
	"answer 14: steps that still run when the run ends learn it":           answerRunOver,
	"answer 14: WithCancel ends what a Select waits for no longer":         answerLosers,
	"answer 15: a Map stops at the first error and says which item it was": answerMap,
}

var sharedSideBySide = map[string]func(*answers){
	"answer 16: the first coroutine in order that ends the run counts":       answerFirstEnd,
	"answer 16: two that wait for one result end in coroutine order as well": answerFirstOfTwo,
}

func answerRace(r *answers) {
	gates := []chan struct{}{make(chan struct{}), make(chan struct{}), make(chan struct{})}
	wf := stepwell.Define("a14-race", func(ctx stepwell.Context, _ int) (int, error) {
		fs := make([]stepwell.Awaitable, len(gates))
		for i, gate := range gates {
			fs[i] = stepwell.Go(ctx, func(ctx stepwell.Context) (int, error) {
				return stepwell.Step(ctx, fmt.Sprint("racer ", i), func(ctx context.Context) (int, error) {
					select {
					case <-gate:
						return i, nil
					case <-ctx.Done():
						return 0, stepwell.Fatal(context.Cause(ctx))
					}
				})
			})
		}
		first, err := stepwell.Select(ctx, fs...)
		if err != nil {
			return 0, err
		}
		_, _, err = counted.Wait(ctx)
		return first, err
	})
	wk := r.begin(wf)
	run := begun(r, wk.App, wf, 0)
	for n, i := range []int{1, 2, 0} {
		close(gates[i])
		r.has(run.ID(), n+1, world.StepCompleted)
	}
	r.must(counted.Send(r.ctx, wk.App, run.ID(), 1))
	gives(r, run, 1)
}

func answerRunOver(r *answers) {
	cause, runs := make(chan error, 1), make(chan struct{}, 1)
	body := func(ctx context.Context, _ int) (int, error) {
		runs <- struct{}{}
		<-ctx.Done()
		cause <- context.Cause(ctx)
		return 0, ctx.Err()
	}
	slow := stepwell.DefineStep("a14-slow", body)
	wf := stepwell.Define("a14-early", func(ctx stepwell.Context, how string) (bool, error) {
		f := stepwell.Go(ctx, func(ctx stepwell.Context) (int, error) {
			if how == "registered" {
				return slow.Run(ctx, 0)
			}
			return stepwell.Step(ctx, "slow", func(ctx context.Context) (int, error) { return body(ctx, 0) })
		})
		_, _, err := counted.Wait(ctx)
		stepwell.Go(ctx, func(ctx stepwell.Context) (int, error) {
			return 0, stepwell.Do(ctx, "too late", func(context.Context) error { r.Error("it ran"); return nil })
		})
		return f.Done(), err
	})
	wk := r.begin(wf, slow)
	for _, how := range []string{"closure", "registered"} {
		run := begun(r, wk.App, wf, how)
		<-runs
		r.must(counted.Send(r.ctx, wk.App, run.ID(), 1))
		gives(r, run, false)
		if got := <-cause; !errors.Is(got, stepwell.ErrRunOver) {
			r.Errorf("%s: cause = %v, want ErrRunOver", how, got)
		}
		if got := r.types(run.ID(), world.StepCreated); len(got) != 1 {
			r.Errorf("%s: %v, want the slow step alone", how, got)
		}
	}
}

func answerLosers(r *answers) {
	runs := make(chan struct{}, 3)
	body := untilDone(runs)
	task := stepwell.DefineStep("a14-task", body)
	nap := stepwell.Define("a14-nap", func(ctx stepwell.Context, d time.Duration) (string, error) { return "", stepwell.Sleep(ctx, "nap", d) })
	wf := stepwell.Define("a14-losers", func(ctx stepwell.Context, _ int) ([]string, error) {
		var got []string
		see := func(what string, err error) {
			got = append(got, fmt.Sprint(what, " ", errors.Is(err, stepwell.ErrCancelled)))
		}
		part, cancel := stepwell.WithCancel(ctx)
		closure := stepwell.Go(part, func(ctx stepwell.Context) (string, error) {
			return stepwell.Step(ctx, "closure", func(ctx context.Context) (string, error) { return body(ctx, 0) })
		})
		child := stepwell.Go(part, func(ctx stepwell.Context) (string, error) { return nap.Child().Run(ctx, time.Hour) })
		a, b := task.Start(part, 1), task.Start(part, 2) // in place and queued
		timer, event, winner := stepwell.Timer(part, "long", time.Hour), stepwell.Event[int]("never").Start(part), counted.Start(part)
		fs := []stepwell.Awaitable{closure, child, a, b, timer, event, winner}
		first, err := stepwell.Select(ctx, fs...)
		if err != nil || first != 6 {
			return nil, fmt.Errorf("select: %d, %w", first, err)
		}
		cancel()
		for i, f := range []*stepwell.Future[string]{closure, child, a, b} {
			v, err := f.Get(ctx)
			see(fmt.Sprint(i, v), err)
		}
		_, err = timer.Get(ctx)
		see("timer", err)
		_, err = event.Get(ctx)
		see("event", err)
		return got, stepwell.Do(ctx, "goes on", func(context.Context) error { return nil })
	})
	wk := r.begin(wf, task, nap)
	run := begun(r, wk.App, wf, 0)
	for range 3 {
		<-runs
	}
	r.must(counted.Send(r.ctx, wk.App, run.ID(), 1))
	why := "the workflow no longer waits for this step false"
	gives(r, run, []string{"0" + why, "1 true", "2" + why, "3" + why, "timer true", "event true"})
	for _, e := range r.events(run.ID(), world.StepCreated) {
		if e.Peer != "" {
			endsAs(r, nap.Get(wk.App, e.Peer), world.Cancelled)
		}
	}
}

func answerMap(r *answers) {
	runs, causes := make(chan struct{}, 5), make(chan string, 5)
	wf := stepwell.Define("a15-map", func(ctx stepwell.Context, _ int) (string, error) {
		_, err := stepwell.Map(ctx, []int{0, 1, 2, 3, 4}, 3, func(ctx stepwell.Context, n int) (int, error) {
			return stepwell.Step(ctx, "item", func(ctx context.Context) (int, error) {
				if n != 1 {
					runs <- struct{}{}
					<-ctx.Done()
					causes <- context.Cause(ctx).Error()
					return 0, ctx.Err()
				}
				<-runs
				<-runs
				return 0, stepwell.Fatal(errLuck)
			})
		})
		item, _ := errors.AsType[*stepwell.ItemError](err)
		if item == nil {
			return "", fmt.Errorf("got %w, want an ItemError", err)
		}
		_, _, err = counted.Wait(ctx)
		return fmt.Sprint(item.Index), err
	})
	wk := r.begin(wf)
	run := begun(r, wk.App, wf, 0)
	for range 2 {
		if got := <-causes; got != "the workflow no longer waits for this step" {
			r.Errorf("cause = %q", got)
		}
	}
	r.must(counted.Send(r.ctx, wk.App, run.ID(), 1))
	gives(r, run, "1")
	if n := len(r.events(run.ID(), world.StepCreated)); n != 3 {
		r.Errorf("%d items begun, want 3", n)
	}
}

func answerFirstEnd(r *answers) {
	wf := stepwell.Define("a16-two-ends", func(ctx stepwell.Context, first string) (string, error) {
		if first == "next" {
			return "continued", nil
		}
		gate := counted.Start(ctx)
		stepwell.Go(ctx, func(ctx stepwell.Context) (int, error) {
			if _, err := gate.Get(ctx); err != nil {
				return 0, err
			}
			return 0, stepwell.ContinueAsNew(ctx, "next")
		})
		if first == "other" { // it runs until it waits
			if _, err := stepwell.Go(ctx, func(stepwell.Context) (int, error) { return 0, nil }).Get(ctx); err != nil {
				return "", err
			}
		}
		_, err := gate.Get(ctx)
		return "returned", err
	})
	wk := r.begin(wf)
	for first, want := range map[string]string{"main": "returned", "other": "continued"} {
		run := begun(r, wk.App, wf, first)
		r.has(run.ID(), 1, world.WaitCreated)
		r.must(counted.Send(r.ctx, wk.App, run.ID(), 1))
		gives(r, run, want)
		r.replays(run.ID(), wf)
	}
}

func answerFirstOfTwo(r *answers) {
	wf := stepwell.Define("a16-in-order", func(ctx stepwell.Context, _ int) ([]int, error) {
		gate := counted.Start(ctx)
		var order []int
		var fs []*stepwell.Future[int]
		for i := range 4 {
			fs = append(fs, stepwell.Go(ctx, func(ctx stepwell.Context) (int, error) {
				_, err := gate.Get(ctx)
				order = append(order, i)
				return i, err
			}))
		}
		_, err := stepwell.All(ctx, fs...)
		return slices.Clone(order), err
	})
	wk := r.begin(wf)
	run := begun(r, wk.App, wf, 0)
	r.has(run.ID(), 1, world.WaitCreated)
	r.must(counted.Send(r.ctx, wk.App, run.ID(), 1))
	gives(r, run, []int{0, 1, 2, 3})
	r.replays(run.ID(), wf)
}
