package behaviour_test

// The answers at the edges (docs/failures.md) about what runs side by side: 14, 15.

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
)

// raced runs five steps, of so many seconds each, against each other, and goes on after the first until long after the last.
var raced = stepwell.Define("raced", func(ctx stepwell.Context, seconds []int) (int, error) {
	fs := make([]stepwell.Awaitable, len(seconds))
	for i, s := range seconds {
		fs[i] = stepwell.Go(ctx, func(ctx stepwell.Context) (int, error) {
			return stepwell.Step(ctx, fmt.Sprintf("racer-%d", i), func(ctx context.Context) (int, error) {
				select {
				case <-time.After(time.Duration(s) * time.Second):
					return i, nil
				case <-ctx.Done():
					return 0, fmt.Errorf("cancelled: %w", context.Cause(ctx))
				}
			})
		})
	}
	first, err := stepwell.Select(ctx, fs...)
	if err != nil {
		return 0, err
	}
	return first, stepwell.Sleep(ctx, "rest", 10*time.Second)
})

func permutations(list []int) (all [][]int) {
	if len(list) < 2 {
		return [][]int{slices.Clone(list)}
	}
	for i := range list {
		rest := slices.Delete(slices.Clone(list), i, i+1)
		for _, p := range permutations(rest) {
			all = append(all, append([]int{list[i]}, p...))
		}
	}
	return all
}

func TestAnswer14ASelectCancelsNobodyInEveryOrderOfCompletion(t *testing.T) {
	everyWay(t, func(r *rig) {
		wk := r.beginWith(stepwell.Config{Definitions: []stepwell.Definition{raced}, MaxRuns: 200, MaxSteps: 1000})
		orders := permutations([]int{1, 2, 3, 4, 5})
		runs := make([]*stepwell.Run[int], len(orders))
		for i, order := range orders {
			runs[i] = start(r, wk, raced, order)
		}
		for i, order := range orders {
			want(r, runs[i], slices.Index(order, 1))
			if got := r.count(runs[i].ID(), world.StepCompleted, ""); got != 5 {
				r.dump(runs[i].ID())
				r.Errorf("order %v: %d results recorded, want those of all 5", order, got)
			}
			if i%20 == 0 {
				r.replays(runs[i].ID(), raced)
			}
		}
	})
}

func TestAnswer14StepsThatStillRunWhenTheRunEndsLearnIt(t *testing.T) {
	everyWay(t, func(r *rig) {
		cause := make(chan error, 1)
		slow := stepwell.DefineStep("slow-task", func(ctx context.Context, _ int) (int, error) {
			<-ctx.Done()
			cause <- context.Cause(ctx)
			return 0, ctx.Err()
		})
		wf := stepwell.Define("early", func(ctx stepwell.Context, how string) (string, error) {
			begun := stepwell.Go(ctx, func(ctx stepwell.Context) (int, error) {
				if how == "registered" {
					return slow.Run(ctx, 0)
				}
				return stepwell.Step(ctx, "slow", func(c context.Context) (int, error) { return slow2(c, cause) })
			})
			err := stepwell.Do(ctx, "quick", func(context.Context) error { <-time.After(time.Second); return nil })
			stepwell.Go(ctx, func(ctx stepwell.Context) (int, error) {
				return stepwell.Step(ctx, "too late", func(context.Context) (int, error) { r.Error("it ran"); return 0, nil })
			})
			return fmt.Sprint(begun.Done()), err
		})
		wk := r.begin(wf, slow)
		for _, how := range []string{"closure", "registered"} {
			run := start(r, wk, wf, how)
			want(r, run, "false")
			if got := <-cause; !errors.Is(got, stepwell.ErrRunOver) {
				r.Errorf("%s: cause = %v, want ErrRunOver", how, got)
			}
			if got := r.count(run.ID(), world.StepCreated, "too late"); got != 0 {
				r.Error("what was asked for in the last turn was created")
			}
			r.replays(run.ID(), wf, slow)
		}
	})
}

func slow2(ctx context.Context, cause chan<- error) (int, error) {
	<-ctx.Done()
	cause <- context.Cause(ctx)
	return 0, ctx.Err()
}

// gauge counts what runs at once.
type gauge struct {
	mu        sync.Mutex
	now, most int
}

func (g *gauge) enter() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.now++
	g.most = max(g.most, g.now)
}

func (g *gauge) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.now--
}

func (g *gauge) max() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.most
}

func TestAnswer15MapKeepsItsLimitAndTheOrderOfItems(t *testing.T) {
	everyWay(t, func(r *rig) {
		var g gauge
		items := []int{5, 3, 1, 4, 2, 5, 1, 1}
		wf := stepwell.Define("map", func(ctx stepwell.Context, limit int) ([]int, error) {
			return stepwell.Map(ctx, items, limit, func(ctx stepwell.Context, n int) (int, error) {
				return stepwell.Step(ctx, "item", func(context.Context) (int, error) {
					g.enter()
					defer g.leave()
					<-time.After(time.Duration(n) * time.Second)
					return 10 * n, nil
				})
			})
		})
		wk := r.begin(wf)
		for _, c := range []struct{ limit, most int }{{1, 1}, {3, 3}, {0, len(items)}} {
			g.most = 0
			run := start(r, wk, wf, c.limit)
			want(r, run, []int{50, 30, 10, 40, 20, 50, 10, 10})
			if got := g.max(); got != c.most {
				r.Errorf("limit %d: %d at once, want %d", c.limit, got, c.most)
			}
			r.replays(run.ID(), wf)
		}
	})
}

func TestAnswer15MapStopsAtTheFirstError(t *testing.T) {
	everyWay(t, func(r *rig) {
		var mu sync.Mutex
		ended := map[int]string{}
		wf := stepwell.Define("map-fails", func(ctx stepwell.Context, _ struct{}) (string, error) {
			_, err := stepwell.Map(ctx, []int{9, 1, 9, 9, 9}, 3, func(ctx stepwell.Context, n int) (int, error) {
				return stepwell.Step(ctx, "item", func(ctx context.Context) (int, error) {
					end := "ended"
					defer func() { mu.Lock(); defer mu.Unlock(); ended[len(ended)] = end }()
					select {
					case <-ctx.Done():
						end = context.Cause(ctx).Error()
						return 0, ctx.Err()
					case <-time.After(time.Duration(n) * time.Second):
						return 0, stepwell.Fatal(errUnlucky)
					}
				})
			})
			item, _ := errors.AsType[*stepwell.ItemError](err)
			if item == nil {
				return "", err
			}
			return fmt.Sprintf("%d: %v", item.Index, item.Err), stepwell.Sleep(ctx, "rest", time.Second)
		})
		run := start(r, r.begin(wf), wf, struct{}{})
		want(r, run, `1: step "item": no luck`)
		scope := "the workflow no longer waits for this step"
		if diff := cmp.Diff(map[int]string{0: "ended", 1: scope, 2: scope}, ended); diff != "" {
			r.Errorf("bodies: want -, got +:\n%s", diff)
		}
		if got := r.count(run.ID(), world.StepCreated, "item"); got != 3 {
			r.Errorf("items begun = %d, want 3", got)
		}
		r.replays(run.ID(), wf)
	})
}

func TestAnswer15ANegativeLimitIsAnError(t *testing.T) {
	everyWay(t, func(r *rig) {
		wf := stepwell.Define("map-negative", func(ctx stepwell.Context, _ struct{}) (bool, error) {
			_, err := stepwell.Map(ctx, []int{1}, -1, func(stepwell.Context, int) (int, error) { return 0, nil })
			return errors.Is(err, stepwell.ErrInvalid), nil
		})
		want(r, start(r, r.begin(wf), wf, struct{}{}), true)
	})
}
