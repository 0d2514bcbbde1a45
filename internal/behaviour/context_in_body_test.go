package behaviour_test

// The workflow's Context in the body of a step: the body is not believed, the run is blocked, and mended code makes the step anew.

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
)

func TestTheWorkflowsContextInABody(t *testing.T) {
	uses := map[string]func(wctx stepwell.Context) (string, error){
		"NewID": func(wctx stepwell.Context) (string, error) { return wctx.NewID(), nil },
		"Now":   func(wctx stepwell.Context) (string, error) { return wctx.Now().String(), nil },
		"Rand":  func(wctx stepwell.Context) (string, error) { return strings.Repeat("x", wctx.Rand().IntN(6)), nil },
		"a step": func(wctx stepwell.Context) (string, error) {
			return stepwell.Step(wctx, "inner", func(context.Context) (string, error) { return "inner", nil })
		},
		"and it fails": func(wctx stepwell.Context) (string, error) { wctx.Now(); return "", stepwell.Fatal(errors.New("no")) },
		"and it panics": func(wctx stepwell.Context) (string, error) {
			panic(wctx.NewID())
		},
		"on a goroutine of its own": func(wctx stepwell.Context) (id string, _ error) {
			var wg sync.WaitGroup
			wg.Go(func() { id = wctx.NewID() })
			wg.Wait()
			return id, nil
		},
	}
	for name, use := range uses {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			everywhere(t, func(r *rig) {
				var mended atomic.Bool
				wf := stepwell.Define("misuse", func(ctx stepwell.Context, _ struct{}) (string, error) {
					return stepwell.Step(ctx, "made", func(context.Context) (string, error) {
						if mended.Load() {
							return "right", nil
						}
						return use(ctx)
					}, stepwell.Retry{Attempts: 1})
				})
				wk := r.begin(wf)
				run := start(r, wk, wf, struct{}{})
				b := r.blocked(run.ID())
				if b.Code != world.CodeForeign || !strings.Contains(b.Message, `the body of step "made" used the workflow's Context`) ||
					!strings.Contains(b.Message, "context_in_body_test.go:") {
					r.Errorf("blocked = %s: %s, want FOREIGN_GOROUTINE, the step and the line", b.Code, b.Message)
				}
				head, stack, _ := strings.Cut(b.Message, "\n")
				if nests := strings.HasPrefix(head, "steps cannot be nested: "); nests != (name == "a step") || !strings.Contains(head, "context_in_body_test.go:") {
					r.Errorf("the first line is %q, want the line, and of a step in a step that steps do not nest", head)
				}
				if strings.ContainsAny(stack, "\t") || !strings.Contains(strings.SplitN(stack, "\n", 2)[0], "context_in_body_test.go:") {
					r.Errorf("the stack does not begin with the author's own:\n%s", stack)
				}
				until(r, "another try", func() bool { q := r.get(run.ID()).Queue; return q.Blocked != nil && q.Blocked.Tries >= 2 })
				if r.count(run.ID(), world.StepCompleted, "") != 0 || r.count(run.ID(), world.StepFailed, "") != 0 {
					r.dump(run.ID())
					r.Error("the step has ended, with what the body came to")
				}
				for _, e := range r.events(run.ID(), world.StepRetrying) {
					if e.Error.Code != world.CodeForeign {
						r.Errorf("attempt %d ended with %v", e.Attempt, e.Error)
					}
				}
				mended.Store(true)
				want(r, run, "right")
				r.replays(run.ID(), wf)
			})
		})
	}
}

// TestTheBodyIsNamedWhenItEnds: a use of the Context on a goroutine that a body started is seen while that body runs,
// and then nobody knows whose it was.
func TestTheBodyIsNamedWhenItEnds(t *testing.T) {
	everywhere(t, func(r *rig) {
		used, ended := make(chan struct{}), make(chan struct{})
		wf := stepwell.Define("misuse", func(ctx stepwell.Context, _ struct{}) ([]string, error) {
			honest := stepwell.Go(ctx, func(ctx stepwell.Context) (string, error) {
				return stepwell.Step(ctx, "honest", func(context.Context) (string, error) { <-used; return "honest", nil })
			})
			guilty := stepwell.Go(ctx, func(ctx stepwell.Context) (string, error) {
				return stepwell.Step(ctx, "guilty", func(context.Context) (id string, _ error) {
					var wg sync.WaitGroup
					wg.Go(func() { id = ctx.NewID() })
					wg.Wait()
					select {
					case <-used: // of an earlier try
					default:
						close(used)
					}
					<-ended
					return id, nil
				})
			})
			return stepwell.All(ctx, honest, guilty)
		})
		run := start(r, r.begin(wf), wf, struct{}{})
		until(r, "the honest body to end", func() bool { return r.count(run.ID(), world.StepCompleted, "honest") > 0 })
		close(ended)
		if b := r.blocked(run.ID()); b.Code != world.CodeForeign || !strings.Contains(b.Message, `the body of step "guilty" used the workflow's Context`) {
			r.Errorf("blocked = %s: %s, want FOREIGN_GOROUTINE and the step", b.Code, b.Message)
		}
	})
}

// TestTheBodyBesideIsBelieved: of several bodies that run side by side only the one that used the workflow's Context runs again, whichever of them ends first.
func TestTheBodyBesideIsBelieved(t *testing.T) {
	for _, first := range []string{"honest", "guilty"} {
		t.Run(first+" ends first", func(t *testing.T) {
			t.Parallel()
			everywhere(t, func(r *rig) {
				var mended atomic.Bool
				var ran, budget atomic.Int32
				used, ended := make(chan struct{}), make(chan struct{})
				wf := stepwell.Define("misuse", func(ctx stepwell.Context, _ struct{}) ([]string, error) {
					honest := stepwell.Go(ctx, func(ctx stepwell.Context) (string, error) {
						return stepwell.Step(ctx, "honest", func(context.Context) (string, error) {
							ran.Add(1)
							<-used
							if first == "guilty" {
								<-ended
							}
							return "honest", nil
						})
					})
					guilty := stepwell.Go(ctx, func(ctx stepwell.Context) (string, error) {
						return stepwell.Step(ctx, "guilty", func(context.Context) (string, error) {
							if mended.Load() {
								if budget.Add(1) == 1 {
									return "", errors.New("a failure of its own, which has an attempt left")
								}
								return "right", nil
							}
							id := ctx.NewID()
							close(used)
							if first == "honest" {
								<-ended
							}
							return id, nil
						}, stepwell.Retry{Attempts: 2})
					})
					return stepwell.All(ctx, honest, guilty)
				})
				wk := r.begin(wf)
				run := start(r, wk, wf, struct{}{})
				<-used
				mended.Store(true)
				what, name := world.StepCompleted, "honest"
				if first == "guilty" {
					what, name = world.StepRetrying, "guilty"
					r.pass(1)
					close(ended)
				}
				until(r, "the first to end", func() bool { return r.count(run.ID(), what, name) > 0 })
				if first == "honest" {
					close(ended)
				}
				want(r, run, []string{"honest", "right"})
				if n := ran.Load(); n != 1 {
					r.Errorf("the honest body ran %d times, want once", n)
				}
				r.replays(run.ID(), wf)
			})
		})
	}
}
