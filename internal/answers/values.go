package answers

// Answers about recorded values: 12, 13.

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
)

var sharedOfValues = map[string]func(*answers){
	"answer 13: what today's type cannot hold blocks, and nil is a result": answerTypes,
	"answer 13: a nil result is a result":                                  answerNil,
}

var answersOfValues = map[string]func(*answers){
	"answer 12: the recorded input of a step stands": answerInput,
}

// withInputs asks for a registered step, in place and queued, with the input of one deploy; only today's body succeeds.
func withInputs(n int, today bool, calls *atomic.Int32) (*stepwell.Workflow[int, []int], stepwell.Definition) {
	double := stepwell.DefineStep("a12-double", func(_ context.Context, n int) (int, error) {
		if calls.Add(1); !today {
			return 0, errLuck
		}
		return 2 * n, nil
	}, stepwell.Retry{Attempts: stepwell.Unlimited, Backoff: stepwell.Fixed, Base: 50 * time.Millisecond})
	return stepwell.Define("a12-input", func(ctx stepwell.Context, _ int) ([]int, error) {
		return stepwell.All(ctx, double.Start(ctx, n), double.Start(ctx, n+1))
	}), double
}

func answerInput(r *answers) {
	var calls atomic.Int32
	wf, double := withInputs(10, false, &calls)
	wk := r.begin(wf, double)
	run := begun(r, wk.App, wf, 0)
	r.until("attempts", func() bool { return calls.Load() >= 2 })
	wk.stop()
	wf, double = withInputs(100, true, &calls)
	r.begin(wf, double)
	gives(r, run, []int{20, 22})
}

// typedAs is a workflow that keeps what a step returned over a wait, as the type of one deploy.
func typedAs[T any](body func(context.Context) (T, error)) *stepwell.Workflow[int, string] {
	return stepwell.Define("a13-typed", func(ctx stepwell.Context, _ int) (string, error) {
		v, err := stepwell.Step(ctx, "value", body)
		if err != nil {
			return "", err
		}
		n, err := stepwell.Step(ctx, "nil", func(context.Context) (*int, error) { return nil, nil })
		if err != nil {
			return "", err
		}
		p, ok, err := stepwell.Event[*int]("maybe").Wait(ctx)
		return fmt.Sprint(v, n == nil, p == nil, ok), err
	})
}

func answerTypes(r *answers) {
	again := errors.New("the step ran again")
	for name, bad := range map[string]*stepwell.Workflow[int, string]{
		"another type":   typedAs(func(context.Context) (struct{ N int }, error) { return struct{ N int }{}, again }),
		"a smaller type": typedAs(func(context.Context) (uint8, error) { return 0, again }),
	} {
		good := typedAs(func(context.Context) (int, error) { return 300, nil })
		wk := r.begin(good)
		run := begun(r, wk.App, good, 0)
		r.has(run.ID(), 1, world.WaitCreated)
		wk.stop()
		r.must(stepwell.Event[*int]("maybe").Send(r.ctx, r.client(), run.ID(), nil))
		wk = r.begin(bad)
		var b *world.Block
		r.until("the run to be blocked", func() bool {
			row, err := r.world.Run(r.ctx, run.ID())
			r.must(err)
			if row.Queue == nil {
				r.Fatalf("the run is %s, want it blocked", row.Status)
			}
			b = row.Queue.Blocked
			return b != nil
		})
		if b.Code != world.CodeDecode || !strings.Contains(b.Message, `step "value"`) || !strings.HasPrefix(b.Step, world.PrefixStep) {
			r.Errorf("%s: blocked = %s: %s, step %q; want DECODE and the step", name, b.Code, b.Message, b.Step)
		}
		wk.stop()
		wk = r.begin(good)
		gives(r, run, "300 true true true")
		wk.stop()
		r.replays(run.ID(), good)
	}
}

func answerNil(r *answers) {
	maybe := stepwell.Event[*int]("maybe")
	var calls atomic.Int32
	wf := stepwell.Define("a13-nil", func(ctx stepwell.Context, _ int) (string, error) {
		p, err := stepwell.Step(ctx, "pointer", func(context.Context) (*int, error) { calls.Add(1); return nil, nil })
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
		_, late, err := maybe.Wait(ctx, stepwell.Timeout(50*time.Millisecond))
		return fmt.Sprint(p == nil, list == nil, n == nil, ok, late), err
	})
	wk := r.begin(wf)
	run := begun(r, wk.App, wf, 0)
	r.must(maybe.Send(r.ctx, wk.App, run.ID(), nil))
	gives(r, run, "true true true true false")
	if got := calls.Load(); got != 2 {
		r.Errorf("steps ran %d times, want 2", got)
	}
	r.replays(run.ID(), wf)
}
