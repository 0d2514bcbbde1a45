package behaviour_test

// Undo functions of steps that may have done something although they failed.

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
)

// lossy is a bank that is charged by steps, of which some fail behind that, and gives back by their keys.
type lossy struct {
	till
	charged map[string]int // by key: attempts; guarded by mu
	told    []string       // what undo functions were told; guarded by mu
}

var errAnswer = errors.New("the answer was lost")

// charge takes the money, and then comes to its end as how says.
func (b *lossy) charge(ctx context.Context, how string) error {
	info := stepwell.Info(ctx)
	b.mu.Lock()
	if b.charged == nil {
		b.charged = map[string]int{}
	}
	b.charged[info.IdempotencyKey]++
	b.mu.Unlock()
	switch how {
	case "fails":
		return errAnswer
	case "fails once":
		return fmt.Errorf("for a while: %w", stepwell.RetryAfter(errAnswer, time.Hour))
	case "hangs":
		<-ctx.Done()
		return errAnswer
	case "is deaf":
		<-time.After(3 * time.Minute)
		return errAnswer
	case "panics":
		panic("no such card")
	}
	return nil
}

// refund gives back what was charged under a key, whatever that was.
func (b *lossy) refund(ctx context.Context, _ any) error {
	of := stepwell.Info(ctx).Undoes
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.charged, of.IdempotencyKey)
	if of.Step != of.IdempotencyKey || of.Run == "" || of.Workflow != "order" || of.Undoes != nil {
		return stepwell.Fatal(fmt.Errorf("told %+v", of))
	}
	b.told = append(b.told, fmt.Sprintf("%s %d", of.Name, of.Attempt))
	return nil
}

func (b *lossy) says() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return fmt.Sprintf("kept %d, undid %s", len(b.charged), strings.Join(b.told, ", "))
}

// order charges, beside a step that fails where it is told to, and fails or completes.
func (b *lossy) order() (*stepwell.Workflow[string, string], []stepwell.Definition) {
	undo := stepwell.Undo("refund", b.refund, nil)
	task := stepwell.DefineStep("charge-task", func(ctx context.Context, how string) (string, error) { return "", b.charge(ctx, how) }, undo)
	wf := stepwell.Define("order", func(ctx stepwell.Context, how string) (string, error) {
		how, then, _ := strings.Cut(how, ", ")
		how, of, _ := strings.Cut(how, " as ")
		var err error
		if of == "a task" {
			_, err = task.Run(ctx, how)
		} else {
			err = stepwell.Do(ctx, "charge", func(ctx context.Context) error { return b.charge(ctx, how) }, stepwell.Retry{Base: time.Second}, stepwell.Timeout(time.Minute), undo)
		}
		switch then {
		case "goes on":
			return "sold", nil
		case "drops it":
			stepwell.DropUndo(ctx)
		}
		if err == nil {
			err = errors.New("no stock")
		}
		return "", err
	})
	return wf, []stepwell.Definition{wf, task}
}

func TestAStepThatFailedIsUndone(t *testing.T) {
	for how, want := range map[string]string{
		"works":               "kept 0, undid charge 1",
		"fails":               "kept 0, undid charge 3",
		"hangs":               "kept 0, undid charge 3",
		"panics":              "kept 0, undid charge 3",
		"fails as a task":     "kept 0, undid charge-task 3",
		"works as a task":     "kept 0, undid charge-task 1",
		"fails, goes on":      "kept 1, undid ",
		"works, goes on":      "kept 1, undid ",
		"fails, drops it":     "kept 1, undid ",
		"is deaf, cancelled":  "kept 0, undid charge 1",
		"hangs, cancelled":    "kept 0, undid charge 1",
		"fails once, waits":   "kept 0, undid charge 1",
		"hangs as a task, is": "kept 0, undid charge-task 1",
	} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			everyWay(t, func(r *rig) {
				var b lossy
				wf, defs := b.order()
				wk := r.begin(defs...)
				run := start(r, wk, wf, how)
				_, then, _ := strings.Cut(how, ", ")
				switch then {
				case "goes on":
					completes(r, run, "sold")
				case "cancelled", "waits", "is":
					r.pass(10 * time.Second)
					r.cancel(wk.App, run.ID())
					wantErr(r, run, world.Cancelled)
				default:
					wantErr(r, run, world.Failed)
				}
				if got := b.says(); got != want {
					r.dump(run.ID())
					r.Errorf("%s, want %s", got, want)
				}
				r.replays(run.ID(), defs...)
				if strings.HasPrefix(how, "is deaf") {
					r.pass(4 * time.Minute) // until its body has returned
				}
			})
		})
	}
}

// What had not begun has nothing to be undone. Of what waits in the queue for a worker nobody here knows whether it
// has.
func TestAStepThatHadNotBegunIsNotUndone(t *testing.T) {
	everywhere(t, func(r *rig) {
		var b lossy
		undo := stepwell.Undo("refund", b.refund, nil)
		elsewhere := stepwell.DefineStep("elsewhere", func(context.Context, int) (int, error) { return 0, nil })
		wf := stepwell.Define("order", func(ctx stepwell.Context, _ string) (string, error) {
			stepwell.Go(ctx, func(ctx stepwell.Context) (int, error) {
				return 0, stepwell.Do(ctx, "first", func(ctx context.Context) error { return b.charge(ctx, "hangs") }, undo)
			})
			stepwell.Go(ctx, func(ctx stepwell.Context) (int, error) {
				return 0, stepwell.Do(ctx, "second", func(ctx context.Context) error { return b.charge(ctx, "hangs") }, undo)
			})
			_, err := elsewhere.With(undo).Run(ctx, 0)
			_ = stepwell.Do(ctx, "never", nothing, undo)
			return "", err
		})
		wk := r.beginWith(stepwell.Config{Definitions: []stepwell.Definition{wf}, MaxSteps: 1})
		run := start(r, wk, wf, "")
		r.pass(10 * time.Second)
		r.cancel(wk.App, run.ID())
		wantErr(r, run, world.Cancelled)
		if got, want := b.says(), "kept 0, undid first 1, elsewhere 1"; got != want {
			r.dump(run.ID())
			r.Errorf("%s, want %s", got, want)
		}
		r.replays(run.ID(), wf)
	})
}

// A step that no worker began in time has nothing to be undone.
func TestAStepThatNobodyBeganIsNotUndone(t *testing.T) {
	everywhere(t, func(r *rig) {
		var b lossy
		elsewhere := stepwell.DefineStep("elsewhere", func(context.Context, int) (int, error) { return 0, nil })
		wf := stepwell.Define("order", func(ctx stepwell.Context, _ string) (int, error) {
			return elsewhere.With(stepwell.Undo("refund", b.refund, nil), stepwell.QueueTimeout(time.Minute)).Run(ctx, 0)
		})
		wk := r.beginWith(stepwell.Config{Definitions: []stepwell.Definition{wf}})
		run := start(r, wk, wf, "")
		wantErr(r, run, world.Failed)
		if got, want := b.says(), "kept 0, undid "; got != want {
			r.Errorf("%s, want %s", got, want)
		}
		r.replays(run.ID(), wf)
	})
}

func TestABadUndoOfAStepIsRefused(t *testing.T) {
	everywhere(t, func(r *rig) {
		var b lossy
		for want, opt := range map[string]stepwell.StepOption{
			"no function": stepwell.Undo[any]("refund", nil, nil), "undo name": stepwell.Undo("", b.refund, nil), "an undo of its own": stepwell.Undo("refund", b.refund, nil, stepwell.Undo("again", b.refund, nil)),
			"attempts": stepwell.Undo("refund", b.refund, nil, stepwell.Retry{Attempts: -3}),
		} {
			wf := stepwell.Define("bad", func(ctx stepwell.Context, _ int) (int, error) { return 0, stepwell.Do(ctx, "charge", nothing, opt) })
			wk := r.begin(wf)
			run := start(r, wk, wf, 0)
			if err := wantErr(r, run, world.Failed); !errors.Is(err, stepwell.ErrInvalid) || !strings.Contains(err.Error(), want) || r.count(run.ID(), world.StepCreated, "") != 0 {
				r.Errorf("error = %v, want %q", err, want)
			}
			wk.stop(r.T)
		}
	})
}

// TestKilledWhileAStepThatFailedIsUndone: the worker dies before or after each of its commits; whatever was charged is
// given back.
func TestKilledWhileAStepThatFailedIsUndone(t *testing.T) {
	killedAtEachCommit(t, 7, func(r *rig) (cfg stepwell.Config, id string, check func()) {
		b := &lossy{}
		wf, defs := b.order()
		run := start(r, &worker{App: r.client()}, wf, "fails")
		return stepwell.Config{Definitions: defs}, run.ID(), func() {
			wantErr(r, run, world.Failed)
			if got := b.says(); !strings.HasPrefix(got, "kept 0, undid charge ") {
				r.dump(run.ID())
				r.Error(got)
			}
			r.replays(run.ID(), defs...)
		}
	})
}
