package behaviour_test

// What deferred functions of workflow code may ask for: while it panics, when it has recovered, and when its machine
// is thrown away.

import (
	"context"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
)

// deferrals are operations that workflow code defers, each as people write it.
var deferrals = map[string]func(ctx stepwell.Context){
	"Do": func(ctx stepwell.Context) {
		_ = stepwell.Do(ctx, "release", func(context.Context) error { return nil })
	},
	"Sleep":       func(ctx stepwell.Context) { _ = stepwell.Sleep(ctx, "release", time.Hour) },
	"uncancelled": func(ctx stepwell.Context) { _ = stepwell.Sleep(ctx.Uncancelled(), "release", time.Hour) },
	"AddUndo": func(ctx stepwell.Context) {
		stepwell.AddUndo(ctx, "release", func(context.Context, any) error { return nil }, nil)
	},
	"UndoAll":      func(ctx stepwell.Context) { _ = stepwell.UndoAll(ctx) },
	"DropUndo":     func(ctx stepwell.Context) { stepwell.DropUndo(ctx) },
	"SetAttribute": func(ctx stepwell.Context) { _ = stepwell.SetAttribute(ctx, "release", 1) },
	"WriteStream":  func(ctx stepwell.Context) { _ = stepwell.WriteStream(ctx, "release", 1) },
	"Child":        func(ctx stepwell.Context) { serial(1).Child(stepwell.Detached()).Start(ctx, 0) },
	"Go": func(ctx stepwell.Context) {
		_, _ = stepwell.Go(ctx, func(ctx stepwell.Context) (int, error) { return add("release", 1)(ctx) }).Get(ctx)
	},
	"Map": func(ctx stepwell.Context) {
		_, _ = stepwell.Map(ctx, []int{1}, 0, func(ctx stepwell.Context, n int) (int, error) { return add("release", n)(ctx) })
	},
	"event":         func(ctx stepwell.Context) { _, _, _ = numbers.Wait(ctx) },
	"hook":          func(ctx stepwell.Context) { _, _ = stepwell.NewHook[int](ctx) },
	"Patched":       func(ctx stepwell.Context) { stepwell.Patched(ctx, "release") },
	"ContinueAsNew": func(ctx stepwell.Context) { _ = stepwell.ContinueAsNew(ctx, struct{}{}) },
}

// TestADeferredOperationOfAPanicDoesNothing: the run is blocked for the panic at once, nothing of what its deferred
// functions ask for is in its log, and right code heals it.
func TestADeferredOperationOfAPanicDoesNothing(t *testing.T) {
	for name, operation := range deferrals {
		for place, nested := range map[string]bool{"": false, " in a coroutine": true} {
			t.Run(name+place, func(t *testing.T) {
				t.Parallel()
				everywhere(t, func(r *rig) {
					code := func(ctx stepwell.Context) (int, error) {
						defer operation(ctx)
						panic("so it goes")
					}
					bad := deploy{"bad", release(add("a", 1), func(ctx stepwell.Context) (int, error) {
						if nested {
							return stepwell.Go(ctx, code).Get(ctx)
						}
						return code(ctx)
					})}
					wf := bad.define()
					wk := r.begin(wf, serial(1))
					run := start(r, wk, wf, struct{}{})
					b := r.blocked(run.ID())
					if b.Code != world.CodePanic || !strings.Contains(b.Message, "workflow code panicked: so it goes") || !strings.Contains(b.Message, "deferred_test.go") {
						r.Errorf("blocked = %s: %s, want the panic with its stack", b.Code, b.Message)
					}
					for _, e := range r.events(run.ID()) {
						if e.Creation() && e.Name != "a" {
							r.Errorf("the log has %s %q", e.Type, e.Name)
						}
					}
					wk.stop(r)
					good := goodDeploy.define()
					wk = r.begin(good)
					if err := numbers.Send(r.ctx, wk.App, run.ID(), number{100}); err != nil {
						r.Fatal(err)
					}
					want(r, run, 111)
					r.replays(run.ID(), good)
				})
			})
		}
	}
}

// TestARecoveredPanicMayAskAgain: code that recovers goes on, in the deferred function too, live and replayed, and
// killed anywhere.
func TestARecoveredPanicMayAskAgain(t *testing.T) {
	everywhere(t, func(r *rig) {
		wf := stepwell.Define("recovers", func(ctx stepwell.Context, _ int) (sum int, err error) {
			defer func() {
				if recover() == nil {
					return
				}
				n, e := add("undo", 10)(ctx)
				if sum, err = sum+n, e; err == nil {
					err = stepwell.Sleep(ctx, "rest", time.Minute)
				}
			}()
			if sum, err = add("work", 1)(ctx); err != nil {
				return sum, err
			}
			panic("so it goes")
		})
		run := start(r, r.begin(wf), wf, 0)
		want(r, run, 11)
		r.replays(run.ID(), wf)
	})
}

// TestTearDownIsSilent: when a machine is thrown away deferred functions run, ask for nothing, and their log says
// nothing.
func TestTearDownIsSilent(t *testing.T) {
	across(t, kinds, modes[1:2], func(r *rig) {
		var ran, went atomic.Int32
		said := &strings.Builder{}
		wf := stepwell.Define("torn", func(ctx stepwell.Context, _ int) (int, error) {
			defer func() {
				ran.Add(1)
				ctx.Logger().Info("the deferred function")
				_ = stepwell.Do(ctx, "release", func(context.Context) error { return nil })
				went.Add(1)
			}()
			return 1, stepwell.Sleep(ctx, "nap", 10*time.Minute)
		})
		wk := r.beginWith(stepwell.Config{Definitions: []stepwell.Definition{wf}, Logger: slog.New(slog.NewTextHandler(said, nil))})
		run := start(r, wk, wf, 0)
		until(r, "the tear-down", func() bool { return ran.Load() == 1 })
		if n := r.count(run.ID(), world.StepCreated, ""); n != 0 || went.Load() != 0 {
			r.Errorf("%d steps, went on %d times; want none", n, went.Load())
		}
		want(r, run, 1)
		wk.stop(r)
		if n := strings.Count(said.String(), "the deferred function"); n != 1 {
			r.Errorf("the log has it %d times, want once, of the end:\n%s", n, said)
		}
		if n := r.count(run.ID(), world.StepCreated, "release"); n != 1 {
			r.Errorf("%d steps, want the one of the end", n)
		}
	})
}
