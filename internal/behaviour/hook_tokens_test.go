package behaviour_test

// This file holds what a run gets that asks for several things at once of which only the world can say what they come to.

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/faults"
	"github.com/stepwell/stepwell/world"
)

// TestHooksWithChosenTokensOfOneTurn: several coroutines ask for tokens at once, and each goes on with a step when it has its answer.
func TestHooksWithChosenTokensOfOneTurn(t *testing.T) {
	everywhere(t, func(r *rig) {
		wf := stepwell.Define("desks", func(ctx stepwell.Context, tokens []string) ([]string, error) {
			return stepwell.Map(ctx, tokens, 0, func(ctx stepwell.Context, token string) (string, error) {
				h, err := stepwell.NewHook[string](ctx, stepwell.Token(token))
				if conflict, ok := errors.AsType[*stepwell.HookConflictError](err); ok {
					return "held by " + conflict.Holder, nil
				}
				if err == nil {
					err = stepwell.Do(ctx, "note "+token, func(context.Context) error { return nil })
				}
				if err != nil {
					return "", err
				}
				v, _, err := h.Wait(ctx)
				return v, err
			})
		})
		wk := r.begin(wf)
		holder := start(r, wk, wf, []string{"b"}, stepwell.RunID("holder"))
		run := start(r, wk, wf, []string{"a", "b", "c"}, stepwell.RunID("asker"))
		for _, token := range []string{"a", "b", "c"} {
			until(r, "hook "+token, func() bool { return len(r.hooksWith(token)) == 1 })
			if err := wk.SendHook(r.ctx, token, fmt.Appendf(nil, "%q", "to "+token)); err != nil {
				r.Errorf("send to %s: %v", token, err)
			}
		}
		want(r, run, []string{"to a", "held by holder", "to c"})
		want(r, holder, []string{"to b"})
		if got := r.count("asker", world.HookCreated, "") + r.count("asker", world.HookConflict, ""); got != 3 {
			r.dump("asker")
			r.Errorf("%d answers about tokens, want 3", got)
		}
		r.replays("asker", wf)
	})
}

func (r *rig) hooksWith(token string) []world.HookRow {
	rows, err := r.world.Hooks(r.ctx, world.HookQuery{Token: token})
	if err != nil {
		r.Fatal(err)
	}
	return rows
}

// TestTimesDoNotGoBackWhereATokenIsAskedForEarly: what the code asks for after a commit that took long stands behind events of a later time.
func TestTimesDoNotGoBackWhereATokenIsAskedForEarly(t *testing.T) {
	inBubble(t, func(b *bench) {
		wf := stepwell.Define("early", func(ctx stepwell.Context, _ int) (int, error) {
			if _, err := stepwell.AwaitRun[int](ctx, "nobody"); !errors.Is(err, stepwell.ErrNotFound) {
				return 0, fmt.Errorf("await of nobody: %w", err)
			}
			hook := stepwell.Go(ctx, func(ctx stepwell.Context) (int, error) {
				_, err := stepwell.NewHook[int](ctx, stepwell.Token("early"))
				return 1, err
			})
			step := stepwell.Go(ctx, func(ctx stepwell.Context) (int, error) {
				return stepwell.Step(ctx, "work", func(context.Context) (int, error) { return 2, nil })
			})
			vs, err := stepwell.All(ctx, hook, step)
			return len(vs), err
		})
		w := faults.New(b.below, faults.At(faults.Commit, 1, faults.Fault{Late: time.Second}))
		app, _ := b.worker(w, stepwell.Config{Definitions: []stepwell.Definition{wf}})
		if _, err := wf.Start(context.Background(), app, 0, stepwell.RunID(benchRun)); err != nil {
			b.Fatal(err)
		}
		if info := b.over(); info.Status != world.Completed {
			b.Errorf("the run is %s, %v, want completed", info.Status, info.Error)
		}
		b.log() // holds the log against the laws
	})
}

// TestPatchedBetweenTheAnswersOfOneCommitIsTheSameReplayed: two awaits are answered by the commit that asks, and the code asks for a patch between
// the two answers.
func TestPatchedBetweenTheAnswersOfOneCommitIsTheSameReplayed(t *testing.T) {
	everywhere(t, func(r *rig) {
		wf := stepwell.Define("between", func(ctx stepwell.Context, _ int) ([]bool, error) {
			return stepwell.Map(ctx, []int{0, 1, 2}, 2, func(ctx stepwell.Context, i int) (bool, error) {
				if i == 2 {
					on := stepwell.Patched(ctx, "new")
					return on, stepwell.Sleep(ctx, fmt.Sprint("new ", on), time.Second)
				}
				_, err := stepwell.AwaitRun[int](ctx, fmt.Sprint("nobody-", i))
				return errors.Is(err, stepwell.ErrNotFound), nil
			})
		})
		wk := r.begin(wf)
		run := start(r, wk, wf, 0)
		if _, err := run.Result(r.ctx); err != nil {
			r.dump(run.ID())
			r.Fatal(err)
		}
		r.replays(run.ID(), wf)
	})
}
