package behaviour_test

// Steps that no worker begins within their QueueTimeout.

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/faults"
	"github.com/stepwell/stepwell/world"
)

// starving asks for a step that its own workers do not have, beside one that holds their slot, and says what it came to and when.
func starving(opts ...stepwell.StepDefinitionOption) (*stepwell.Workflow[int, string], *stepwell.RegisteredStep[int, int]) {
	task := stepwell.DefineStep("far", func(_ context.Context, in int) (int, error) { return in, nil }, opts...)
	wf := stepwell.Define("starving", func(ctx stepwell.Context, _ int) (string, error) {
		began := ctx.Now()
		_, err := task.Run(ctx, 1)
		var e *stepwell.StepError
		if !errors.As(err, &e) {
			return "no error", err
		}
		return fmt.Sprint(ctx.Now().Sub(began), " ", e.Code, " ", errors.Is(err, stepwell.ErrNotStarted), ": ", e.Message), nil
	})
	return wf, task
}

// TestQueueTimeoutWithoutAWorker: at that moment, not before, in a run that rests meanwhile; the log has the latest start, and the error says that nobody has it.
func TestQueueTimeoutWithoutAWorker(t *testing.T) {
	everywhere(t, func(r *rig) {
		wf, _ := starving(stepwell.QueueTimeout(5 * time.Minute))
		run := start(r, r.begin(wf), wf, 0)
		want(r, run, `5m0s NOT_STARTED true: no worker began step "far" in time: none of the 1 live workers has it; deploy one that does`)
		e := r.events(run.ID(), world.StepCreated)
		if len(e) != 1 || !e[0].Until.Equal(e[0].Time.Add(5*time.Minute)) || !e[0].Queued {
			r.Errorf("step_created = %+v, want a queued one with its latest start", e)
		}
		if n := r.count(run.ID(), world.StepStarted, "far"); n != 0 {
			r.Errorf("%d attempts began", n)
		}
		r.replays(run.ID(), wf)
	})
}

// TestQueueTimeoutOfAStepThatBegins, a moment before: it may take as long as it likes, and be tried again.
func TestQueueTimeoutOfAStepThatBegins(t *testing.T) {
	everywhere(t, func(r *rig) {
		task := stepwell.DefineStep("far", func(ctx context.Context, _ int) (int, error) {
			<-time.After(5 * time.Minute)
			if n := stepwell.Info(ctx).Attempt; n > 1 {
				return n, nil
			}
			return 0, errors.New("once more")
		}, stepwell.QueueTimeout(time.Minute))
		wf := stepwell.Define("far-off", func(ctx stepwell.Context, _ int) (int, error) { return task.Run(ctx, 1) })
		first := r.begin(wf)
		run := start(r, first, wf, 0)
		r.pass(time.Minute - time.Second)
		r.beginWith(stepwell.Config{Definitions: []stepwell.Definition{task}})
		want(r, run, 2)
		r.replays(run.ID(), wf, task)
	})
}

// TestQueueTimeoutWithoutASlot: of a step that runs in place and of a queued one, where all slots are taken.
func TestQueueTimeoutWithoutASlot(t *testing.T) {
	everywhere(t, func(r *rig) {
		open := make(chan struct{})
		hold := stepwell.Define("hold", func(ctx stepwell.Context, _ int) (int, error) {
			return 1, stepwell.Do(ctx, "hold", func(context.Context) error { <-open; return nil })
		})
		wf, task := starving(stepwell.QueueTimeout(time.Minute))
		wk := r.beginWith(stepwell.Config{Definitions: []stepwell.Definition{hold, wf, task}, MaxSteps: 1})
		held := start(r, wk, hold, 0)
		r.pass(time.Second)
		run := start(r, wk, wf, 0)
		got, err := run.Result(r.ctx)
		if err != nil || !strings.HasPrefix(got, `1m0s NOT_STARTED true: no worker began step "far" in time: 1 of the 1 live workers could run it, but had no free step slot`) {
			r.Errorf("result = %q, %v", got, err)
		}
		close(open)
		want(r, held, 1)
		r.replays(run.ID(), wf, task)
	})
}

// TestQueueTimeoutWithinATurn: the turn that queues the step takes longer than the step may wait.
func TestQueueTimeoutWithinATurn(t *testing.T) {
	everywhere(t, func(r *rig) {
		far := stepwell.DefineStep("far", func(context.Context, int) (int, error) { return 1, nil }, stepwell.QueueTimeout(time.Millisecond))
		wf := stepwell.Define("slow-turn", func(ctx stepwell.Context, _ int) (string, error) {
			f := far.Start(ctx, 1)
			<-time.After(20 * time.Millisecond) // as a machine under load
			_, err := f.Get(ctx)
			return fmt.Sprint(errors.Is(err, stepwell.ErrNotStarted)), nil
		})
		run, err := wf.Start(r.ctx, r.client(wf), 0)
		if err != nil {
			r.Fatal(err)
		}
		r.begin(wf)
		want(r, run, "true")
	})
}

// TestQueueTimeoutAtEveryKill: the worker dies before and after each commit, delivery and take: the step fails once, and not early.
func TestQueueTimeoutAtEveryKill(t *testing.T) {
	t.Parallel()
	for _, op := range []faults.Op{faults.Commit, faults.Deliver, faults.Claim} {
		for _, after := range []bool{false, true} {
			for k := 1; k < 100; k++ {
				died := true
				bubble(t, kinds[0].open, modes[1].set, func(r *rig) {
					wf, _ := starving(stepwell.QueueTimeout(time.Minute))
					run, err := wf.Start(r.ctx, r.client(wf), 0)
					if err != nil {
						r.Fatal(err)
					}
					if died = diesAt(r, stepwell.Config{Definitions: []stepwell.Definition{wf}, CacheRuns: -1}, run.ID(), op, k, after); died {
						r.begin(wf)
					}
					got, err := run.Result(r.ctx)
					if err != nil || !strings.Contains(got, " NOT_STARTED true") {
						r.Errorf("%s %d, after %t: result = %q, %v", op, k, after, got, err)
					}
					failed := r.events(run.ID(), world.StepFailed)
					created := r.events(run.ID(), world.StepCreated)
					if len(failed) != 1 || len(created) != 1 || failed[0].Time.Before(created[0].Until) {
						r.dump(run.ID())
						r.Errorf("%s %d, after %t: not failed once, and in time", op, k, after)
					}
				})
				if !died {
					if k < 2 {
						t.Errorf("%s: the worker never died", op)
					}
					break
				}
			}
		}
	}
}
