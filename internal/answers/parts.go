package answers

// Parts of a run that are cancelled by themselves, and what undoes a run that failed in other ways than by an error of
// a step that was done.

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
)

var answersOfParts = map[string]func(*answers){
	"answer 14: a part that is cancelled ends, and the rest goes on":   answerPart,
	"answer 25: a step that failed is undone, and a run that panicked": answerUndoAll,
	"answer 25: code that diverged undoes nothing where it is to fail": answerDivergedFails,
}

func answerPart(r *answers) {
	child := stepwell.Define("a14-child-of-part", func(ctx stepwell.Context, _ int) (int, error) { return 0, stepwell.Sleep(ctx, "long", time.Hour) })
	wf := stepwell.Define("a14-part", func(ctx stepwell.Context, _ int) (string, error) {
		part, cancel := stepwell.WithCancel(ctx)
		other := child.Child(stepwell.RunID("a14-child-of-part")).Start(part, 0)
		body := stepwell.Go(part, func(ctx stepwell.Context) (string, error) {
			return stepwell.Step(ctx, "obeys", func(ctx context.Context) (string, error) { <-ctx.Done(); return "told", nil })
		})
		nap := stepwell.Timer(part, "long", time.Hour)
		if err := stepwell.Sleep(ctx, "short", 50*time.Millisecond); err != nil {
			return "", err
		}
		cancel()
		said, err := body.Get(ctx)
		_, lost := other.Get(ctx)
		_, late := nap.Get(ctx)
		if err != nil || !errors.Is(lost, stepwell.ErrCancelled) || !errors.Is(late, stepwell.ErrCancelled) {
			return "", fmt.Errorf("came to %v, %v, %v", err, lost, late)
		}
		return said, stepwell.Do(ctx, "after", func(context.Context) error { return nil })
	})
	wk := r.begin(wf, child)
	run := begun(r, wk.App, wf, 0)
	gives(r, run, "told")
	r.until("the child's end", func() bool {
		info, err := wk.Get(r.ctx, "a14-child-of-part")
		return err == nil && info.Status == world.Cancelled
	})
	if r.stage.Replays != nil {
		r.stage.Replays(run.ID(), wf, child)
	}
}

func answerUndoAll(r *answers) {
	var refunds atomic.Int32
	wf := stepwell.Define("a25-undo-all", func(ctx stepwell.Context, _ int) (string, error) {
		charged := ""
		err := stepwell.Do(ctx, "charge", func(ctx context.Context) error {
			return stepwell.Fatal(errors.New("key " + stepwell.Info(ctx).IdempotencyKey))
		}, stepwell.Undo("refund", func(ctx context.Context, _ any) error {
			of := stepwell.Info(ctx).Undoes
			if of.Attempt != 1 || charged != `step "charge": key `+of.IdempotencyKey {
				return stepwell.Fatal(fmt.Errorf("told %+v, it was %s", of, charged))
			}
			refunds.Add(1)
			return nil
		}, nil))
		charged = fmt.Sprint(err)
		panic("no such city")
	}, stepwell.FailOn(stepwell.Panics))
	run := begun(r, r.begin(wf).App, wf, 0)
	if err := endsAs(r, run, world.Failed); err.Code != world.CodePanic || refunds.Load() != 1 {
		r.Errorf("error = %v (%s), %d refunds", err, err.Code, refunds.Load())
	}
	if r.stage.Replays != nil {
		r.stage.Replays(run.ID(), wf)
	}
}

func answerDivergedFails(r *answers) {
	code := func(name string) *stepwell.Workflow[int, string] {
		return stepwell.Define("a25-diverges", func(ctx stepwell.Context, _ int) (string, error) {
			stepwell.AddUndo(ctx, "undo", func(context.Context, any) error { return errors.New("it ran") }, nil)
			return "", stepwell.Sleep(ctx, name, 300*time.Millisecond)
		}, stepwell.FailOn(stepwell.Divergence))
	}
	before := code("before")
	wk := r.begin(before)
	run := begun(r, wk.App, before, 0)
	r.has(run.ID(), 1, world.WaitCreated)
	wk.stop()
	r.begin(code("after"))
	if err := endsAs(r, run, world.Failed); err.Code != world.CodeDiverged {
		r.Errorf("error = %v (%s)", err, err.Code)
	}
}
