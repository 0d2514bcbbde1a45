package behaviour_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stepwell/stepwell"
)

func TestHookReceivesPayloadsInOrder(t *testing.T) {
	everywhere(t, func(r *rig) {
		approve := stepwell.Define("approve", func(ctx stepwell.Context, token string) (string, error) {
			h, err := stepwell.NewHook[string](ctx, stepwell.Token(token))
			if err != nil {
				var conflict *stepwell.HookConflictError
				if errors.As(err, &conflict) {
					return "conflict", nil
				}
				return "", err
			}
			a, _, err := h.Wait(ctx)
			if err != nil {
				return "", err
			}
			b, _, err := h.Wait(ctx)
			return a + b, errors.Join(err, h.Dispose(ctx))
		})
		app := r.beginWith(stepwell.Config{Definitions: []stepwell.Definition{approve}}).App
		one, err := approve.Start(r.ctx, app, "token-1")
		if err != nil {
			r.Fatal(err)
		}
		two, err := approve.Start(r.ctx, app, "token-1")
		if err != nil {
			r.Fatal(err)
		}
		if got, err := two.Result(r.ctx); got != "conflict" || err != nil {
			r.Errorf("second hook with the token: %q, %v, want conflict", got, err)
		}
		for _, p := range []string{`"a"`, `"b"`} {
			if err := app.SendHook(r.ctx, "token-1", []byte(p)); err != nil {
				r.Fatal(err)
			}
		}
		if got, err := one.Result(r.ctx); got != "ab" || err != nil {
			r.Errorf("result = %q, %v, want ab", got, err)
		}
		if err := app.SendHook(r.ctx, "token-1", []byte(`"c"`)); !errors.Is(err, stepwell.ErrTerminal) {
			r.Errorf("send after the end: %v, want ErrTerminal", err)
		}
	})
}

func TestChildrenReturnTheirResults(t *testing.T) {
	everywhere(t, func(r *rig) {
		var fib *stepwell.Workflow[int, int]
		fib = stepwell.Define("fib", func(ctx stepwell.Context, n int) (int, error) {
			if n < 2 {
				return n, nil
			}
			a, b := fib.Child().Start(ctx, n-1), fib.Child().Start(ctx, n-2)
			x, err := a.Get(ctx)
			if err != nil {
				return 0, err
			}
			y, err := b.Get(ctx)
			return x + y, err
		})
		app := r.beginWith(stepwell.Config{Definitions: []stepwell.Definition{fib}, MaxRuns: 1, MaxSteps: 1}).App
		run, err := fib.Start(r.ctx, app, 8)
		if err != nil {
			r.Fatal(err)
		}
		if got, err := run.Result(r.ctx); got != 21 || err != nil {
			r.Errorf("fib(8) = %d, %v, want 21", got, err)
		}
	})
}

func TestAttachedChildIsCancelledWithItsParent(t *testing.T) {
	everyWay(t, func(r *rig) {
		child := stepwell.Define("child", func(ctx stepwell.Context, _ string) (string, error) {
			return "", stepwell.Sleep(ctx, "long", 100*time.Hour)
		})
		parent := stepwell.Define("parent", func(ctx stepwell.Context, _ string) ([]string, error) {
			a := child.Child().Start(ctx, "")
			b := child.Child(stepwell.Detached()).Start(ctx, "")
			c := child.Child(stepwell.RunID("taken")).Start(ctx, "")
			_, err := c.Get(ctx)
			if !errors.Is(err, stepwell.ErrRunExists) {
				return nil, fmt.Errorf("third child: %v", err)
			}
			return []string{a.ID(), b.ID()}, stepwell.Sleep(ctx, "short", time.Second)
		})
		app := r.beginWith(stepwell.Config{Definitions: []stepwell.Definition{child, parent}}).App
		if _, err := child.Start(r.ctx, app, "", stepwell.RunID("taken")); err != nil {
			r.Fatal(err)
		}
		run, err := parent.Start(r.ctx, app, "")
		if err != nil {
			r.Fatal(err)
		}
		ids, err := run.Result(r.ctx)
		if err != nil {
			r.Fatal(err)
		}
		if _, err := child.Get(app, ids[0]).Result(r.ctx); !errors.Is(err, stepwell.ErrCancelled) {
			r.Errorf("attached child: %v, want ErrCancelled", err)
		}
		if info, err := app.Get(r.ctx, ids[1]); err != nil || info.Status != "running" {
			r.Errorf("detached child is %s, %v, want running", info.Status, err)
		}
	})
}

func TestAwaitRunOfRunningOverAndUnknown(t *testing.T) {
	everyWay(t, func(r *rig) {
		target := stepwell.Define("target", func(ctx stepwell.Context, in string) (string, error) {
			return "out " + in, stepwell.Sleep(ctx, "nap", 10*time.Minute)
		})
		waiter := stepwell.Define("waiter", func(ctx stepwell.Context, id string) (string, error) {
			return stepwell.AwaitRun[string](ctx, id)
		})
		app := r.beginWith(stepwell.Config{Definitions: []stepwell.Definition{target, waiter}}).App
		tr, err := target.Start(r.ctx, app, "x", stepwell.RunID("t"))
		if err != nil {
			r.Fatal(err)
		}
		early, _ := waiter.Start(r.ctx, app, "t")
		if got, err := early.Result(r.ctx); got != "out x" || err != nil {
			r.Errorf("awaited while it ran: %q, %v", got, err)
		}
		if _, err := tr.Result(r.ctx); err != nil {
			r.Fatal(err)
		}
		late, _ := waiter.Start(r.ctx, app, "t")
		if got, err := late.Result(r.ctx); got != "out x" || err != nil {
			r.Errorf("awaited when it was over: %q, %v", got, err)
		}
		never, _ := waiter.Start(r.ctx, app, "nobody")
		if _, err := never.Result(r.ctx); err == nil {
			r.Errorf("awaited an unknown run: no error")
		}
	})
}

func TestPauseHoldsAndResumeFollows(t *testing.T) {
	everyWay(t, func(r *rig) {
		ev := stepwell.Event[string]("go")
		wf := stepwell.Define("paused", func(ctx stepwell.Context, _ string) (string, error) {
			s, _, err := ev.Wait(ctx)
			if err != nil {
				return "", err
			}
			_, err = stepwell.Step(ctx, "after", func(context.Context) (string, error) { return s, nil })
			return s, err
		})
		app := r.beginWith(stepwell.Config{Definitions: []stepwell.Definition{wf}}).App
		run, _ := wf.Start(r.ctx, app, "")
		if err := app.Pause(r.ctx, run.ID(), "why not"); err != nil {
			r.Fatal(err)
		}
		if err := ev.Send(r.ctx, app, run.ID(), "x"); err != nil {
			r.Fatal(err)
		}
		time.Sleep(time.Minute) //lint:allow virtual time of the bubble
		if info, _ := app.Get(r.ctx, run.ID()); info.Status != "running" {
			r.Fatalf("paused run is %s", info.Status)
		}
		if err := app.Resume(r.ctx, run.ID()); err != nil {
			r.Fatal(err)
		}
		if got, err := run.Result(r.ctx); got != "x" || err != nil {
			r.Errorf("result = %q, %v, want x", got, err)
			r.dump(run.ID())
		}
	})
}
