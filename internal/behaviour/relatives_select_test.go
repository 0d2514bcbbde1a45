package behaviour_test

// Select, Race, Await over whatever a run can wait for; Wake.

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

// mixed waits for a registered step, a timer, an event, a hook, a child and a coroutine at once, until each has ended, and says in which order.
func mixed(child *stepwell.Workflow[int, int], step *stepwell.RegisteredStep[int, int]) *stepwell.Workflow[struct{}, []string] {
	return stepwell.Define("mixed", func(ctx stepwell.Context, _ struct{}) ([]string, error) {
		h, err := stepwell.NewHook[int](ctx, stepwell.Token("mixed"))
		if err != nil {
			return nil, err
		}
		names := []string{"step", "timer", "event", "hook", "child", "go"}
		fs := []stepwell.Awaitable{
			step.Start(ctx, 5), stepwell.Timer(ctx, "timer", 2*time.Second), numbers.Start(ctx), h.Start(ctx), child.Child().Start(ctx, 3),
			stepwell.Go(ctx, func(ctx stepwell.Context) (int, error) { return 0, stepwell.Sleep(ctx, "own", time.Second) }),
		}
		var order []string
		for len(fs) > 0 {
			i, err := stepwell.Select(ctx, fs...)
			if err != nil {
				return nil, err
			}
			order = append(order, names[i])
			names = append(names[:i:i], names[i+1:]...)
			fs = append(fs[:i:i], fs[i+1:]...)
		}
		return order, nil
	})
}

func TestSelectOverMixedFuturesGoesByTheirOrder(t *testing.T) {
	everywhere(t, func(r *rig) {
		step := stepwell.DefineStep("slow", func(_ context.Context, seconds int) (int, error) {
			<-time.After(time.Duration(seconds) * time.Second)
			return seconds, nil
		})
		child := stepwell.Define("napping", func(ctx stepwell.Context, seconds int) (int, error) {
			return seconds, stepwell.Sleep(ctx, "nap", time.Duration(seconds)*time.Second)
		})
		wf := mixed(child, step)
		wk := r.begin(wf, child, step)
		began := time.Now()
		run := start(r, wk, wf, struct{}{})
		r.hookOf(run.ID())
		r.at(began, 4*time.Second)
		if err := numbers.Send(r.ctx, wk.App, run.ID(), number{1}); err != nil {
			r.Fatal(err)
		}
		r.at(began, 7*time.Second)
		r.sendHook("mixed", "1")
		want(r, run, []string{"go", "timer", "child", "event", "step", "hook"})
		r.replays(run.ID(), wf, child, step)
	})
}

func TestSelectAndRaceOfWhatHasEndedAlready(t *testing.T) {
	everywhere(t, func(r *rig) {
		wf := stepwell.Define("ended", func(ctx stepwell.Context, _ struct{}) (string, error) {
			slow, quick := stepwell.Timer(ctx, "slow", 2*time.Second), stepwell.Timer(ctx, "quick", time.Second)
			if err := stepwell.Sleep(ctx, "both", 3*time.Second); err != nil {
				return "", err
			}
			first, err := stepwell.Select(ctx, slow, quick) // by the order in which they ended, not of the arguments
			if err != nil {
				return "", err
			}
			failed := stepwell.Go(ctx, func(stepwell.Context) (int, error) { return 0, errUnlucky })
			later := stepwell.Go(ctx, func(stepwell.Context) (int, error) { return 2, nil })
			_, raced := stepwell.Race(ctx, later, failed)
			_, none := stepwell.Select(ctx)
			_, nobody := stepwell.Race[int](ctx)
			invalid := errors.Is(none, stepwell.ErrInvalid) && errors.Is(nobody, stepwell.ErrInvalid)
			return fmt.Sprintln(first, errors.Is(raced, errUnlucky), invalid), nil
		})
		run := start(r, r.begin(wf), wf, struct{}{})
		want(r, run, "1 true true\n")
		r.replays(run.ID(), wf)
	})
}

func TestAwaitEndsWithItsConditionOrItsTime(t *testing.T) {
	everywhere(t, func(r *rig) {
		wf := stepwell.Define("patient", func(ctx stepwell.Context, _ struct{}) ([]bool, error) {
			got, n := []bool{}, 0
			stepwell.Go(ctx, func(ctx stepwell.Context) (int, error) {
				for range 3 {
					if err := stepwell.Sleep(ctx, "tick", 10*time.Second); err != nil {
						return 0, err
					}
					n++
				}
				return n, nil
			})
			await := func(d time.Duration, cond func() bool) error {
				ok, err := stepwell.Await(ctx, cond, stepwell.Timeout(d))
				got = append(got, ok)
				return err
			}
			err := errors.Join(
				await(time.Hour, func() bool { return true }), await(0, func() bool { return false }),
				await(-time.Second, func() bool { return false }), await(0, func() bool { return true }),
				await(5*time.Second, func() bool { return n == 1 }),  // at 5 s
				await(time.Hour, func() bool { return n == 1 }),      // at 10 s
				await(15*time.Second, func() bool { return n == 2 }), // at 20 s
				await(30*time.Second, func() bool { return n == 9 }), // at 50 s
			)
			return got, err
		})
		began := time.Now()
		run := start(r, r.begin(wf), wf, struct{}{})
		want(r, run, []bool{true, false, false, true, false, true, true, false})
		if took := time.Since(began).Round(time.Second); took != 50*time.Second {
			r.Errorf("took %s, want 50s", took)
		}
		r.replays(run.ID(), wf)
	})
}

// Where a condition and its time come true in one turn the condition wins, though the log has the end of the time.
func TestAwaitTheConditionWinsInOneTurn(t *testing.T) {
	everywhere(t, func(r *rig) {
		wf := stepwell.Define("photo-finish", func(ctx stepwell.Context, _ struct{}) (bool, error) {
			held := false
			end := ctx.Now().Add(10 * time.Second)
			ok, err := stepwell.Await(ctx, func() bool { return held || !ctx.Now().Before(end) }, stepwell.Timeout(10*time.Second))
			return ok, err
		})
		run := start(r, r.begin(wf), wf, struct{}{})
		want(r, run, true)
		r.replays(run.ID(), wf)
	})
}

func TestAwaitThatHoldsAlreadyWritesNothing(t *testing.T) {
	everywhere(t, func(r *rig) {
		wf := stepwell.Define("holds", func(ctx stepwell.Context, _ struct{}) (bool, error) {
			a, err := stepwell.Await(ctx, func() bool { return true }, stepwell.Timeout(time.Hour))
			if err != nil {
				return false, err
			}
			b, err := stepwell.Await(ctx, func() bool { return true }, stepwell.Timeout(-time.Hour))
			return a && b, err
		})
		run := start(r, r.begin(wf), wf, struct{}{})
		want(r, run, true)
		r.cost(run.ID(), 1, 1)
		if got := len(r.events(run.ID())); got != 3 {
			r.Errorf("%d events, want birth, start and end", got)
		}
	})
}

// woken sleeps twice side by side and once more behind, beside a wait for an event.
var woken = stepwell.Define("woken", func(ctx stepwell.Context, _ struct{}) ([]string, error) {
	var order []string
	nap := func(name string, d time.Duration) *stepwell.Future[int] {
		return stepwell.Go(ctx, func(ctx stepwell.Context) (int, error) {
			err := stepwell.Sleep(ctx, name, d)
			order = append(order, name)
			return 0, err
		})
	}
	a, b := nap("first", 10*time.Minute), nap("second", 5*time.Minute)
	event := numbers.Start(ctx, stepwell.Timeout(8*time.Minute))
	if _, err := stepwell.All(ctx, a, b); err != nil {
		return nil, err
	}
	order = append(order, fmt.Sprint("event ", event.Done()))
	err := stepwell.Sleep(ctx, "third", 2*time.Minute)
	return append(order, fmt.Sprint("event ", event.Done())), err
})

func TestWakeEndsSleepsNowOnceAndLeavesEventsAlone(t *testing.T) {
	everywhere(t, func(r *rig) {
		wk := r.begin(woken)
		began := time.Now()
		run := start(r, wk, woken, struct{}{})
		until(r, "the run to hibernate", func() bool { return r.free(run.ID()) })
		if n, err := r.client().Wake(r.ctx, run.ID()); n.Sleeps != 2 || n.Total() != 2 || err != nil {
			r.Errorf("Wake = %+v, %v, want 2", n, err)
		}
		until(r, "the third sleep", func() bool { return r.count(run.ID(), world.WaitCreated, "third") == 1 })
		if took := time.Since(began); took > time.Second {
			r.Errorf("woken after %s, want at once", took)
		}
		want(r, run, []string{"first", "second", "event false", "event false"})
		if took := time.Since(began); took < 2*time.Minute {
			r.Errorf("the sleep after the wake ended after %s, want 2m: one wake is for what sleeps now", took)
		}
		var outcomes []world.Outcome
		for _, e := range r.events(run.ID(), world.WaitCompleted) {
			outcomes = append(outcomes, e.Outcome)
		}
		if diff := cmp.Diff([]world.Outcome{world.OutcomeWoken, world.OutcomeWoken, world.OutcomeDue}, outcomes); diff != "" {
			r.Errorf("ends of waits: want -, got +:\n%s", diff)
		}
		r.replays(run.ID(), woken)
	})
}

func TestWakeOfWhatIsDueAtOnceEndsItOnce(t *testing.T) {
	everywhere(t, func(r *rig) {
		nap := stepwell.Define("nap", func(ctx stepwell.Context, _ struct{}) (int, error) { return 1, stepwell.Sleep(ctx, "nap", time.Minute) })
		began := time.Now()
		wk := r.begin(nap)
		run := start(r, wk, nap, struct{}{})
		until(r, "the run to hibernate", func() bool { return r.free(run.ID()) })
		wk.stop(r)
		r.at(began, 2*time.Minute) // due, and nobody there
		for range 2 {
			if n, err := r.client().Wake(r.ctx, run.ID()); n.Sleeps != 1 || n.Total() != 1 || err != nil {
				r.Errorf("Wake = %+v, %v, want 1", n, err)
			}
		}
		r.begin(nap)
		want(r, run, 1)
		ends := r.events(run.ID(), world.WaitCompleted)
		if len(ends) != 1 || ends[0].Outcome != world.OutcomeDue {
			r.Errorf("ends = %v, want one, due: its deadline came before the wake", ends)
		}
		r.replays(run.ID(), nap)
	})
}
