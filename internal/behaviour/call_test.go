package behaviour_test

// Steps from functions that are there already, and items that may fail.

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
)

// cashier is what a program has: functions of a context and one argument.
type cashier struct{ taken func(any) }

func (s *cashier) charge(ctx context.Context, cents int) (string, error) {
	s.taken(cents)
	return fmt.Sprint("charged ", cents, " by ", stepwell.Info(ctx).Name, ", attempt ", stepwell.Info(ctx).Attempt), nil
}

func (s *cashier) refuse(context.Context, func() int) error { return stepwell.Fatal(errUnlucky) }

func unlucky(context.Context, int) (int, error) { return 0, errUnlucky }

func TestCallRunsAFunctionAsAStep(t *testing.T) {
	everyWay(t, func(r *rig) {
		calls := 0
		s := &cashier{func(any) { calls++ }}
		wf := stepwell.Define("call", func(ctx stepwell.Context, cents int) (string, error) {
			receipt, err := stepwell.Call(ctx, "charge", s.charge, cents)
			if err != nil {
				return "", err
			}
			// What need not be JSON goes in: a function.
			err = stepwell.Exec(ctx, "refuse", s.refuse, func() int { return cents })
			failed, _ := errors.AsType[*stepwell.StepError](err)
			if failed == nil || !failed.Permanent || !errors.Is(err, errUnlucky) && !strings.Contains(err.Error(), "no luck") {
				return "", fmt.Errorf("got %w", err)
			}
			return receipt, nil
		})
		closures := stepwell.Define("call", func(ctx stepwell.Context, _ int) (string, error) {
			receipt, err := stepwell.Step(ctx, "charge", func(context.Context) (string, error) { return "", nil })
			if err != nil {
				return "", err
			}
			_ = stepwell.Do(ctx, "refuse", func(context.Context) error { return nil })
			return receipt, nil
		})
		run := start(r, r.begin(wf), wf, 100)
		want(r, run, "charged 100 by charge, attempt 1")
		if calls != 1 {
			r.Errorf("the function ran %d times, want 1", calls)
		}
		r.replays(run.ID(), wf)
		r.replays(run.ID(), closures) // a step is a step, however it is written
	})
}

// Where a step failed is the author's function, not the library's around it; a method has no place, so the line that asked counts.
func TestCallSaysWhereItFailed(t *testing.T) {
	everyWay(t, func(r *rig) {
		wf := stepwell.Define("where", func(ctx stepwell.Context, _ struct{}) ([]string, error) {
			var all []string
			for _, err := range []error{
				second(stepwell.Call(ctx, "function", unlucky, 1, stepwell.Retry{Attempts: 1})),
				stepwell.Exec(ctx, "method", (&cashier{}).refuse, nil),
				second(stepwell.Call[int, int](ctx, "none", nil, 1)),
				stepwell.Exec[int](ctx, "none", nil, 1),
			} {
				if failed, ok := errors.AsType[*stepwell.StepError](err); ok {
					file, _, _ := strings.Cut(failed.Where, ":")
					all = append(all, file)
				} else if errors.Is(err, stepwell.ErrInvalid) {
					all = append(all, "refused")
				}
			}
			return all, nil
		})
		run := start(r, r.begin(wf), wf, struct{}{})
		want(r, run, []string{"call_test.go", "call_test.go", "refused", "refused"})
	})
}

func TestMapSettledGoesOnBehindAFailure(t *testing.T) {
	everyWay(t, func(r *rig) {
		tries := map[int]int{}
		wf := stepwell.Define("settled", func(ctx stepwell.Context, items []int) ([]string, error) {
			var rounds []string
			for range 3 {
				all, err := stepwell.MapSettled(ctx, items, 2, func(ctx stepwell.Context, n int) (int, error) {
					return stepwell.Step(ctx, "item", func(context.Context) (int, error) {
						if tries[n]++; tries[n] < n {
							return 0, stepwell.Fatal(errUnlucky)
						}
						return 10 * n, nil
					})
				})
				if err != nil {
					return nil, err
				}
				round := ""
				for _, one := range all {
					round += fmt.Sprint(one.Item, " ", one.Value, " ", one.Err != nil, "; ")
				}
				rounds, items = append(rounds, round), stepwell.Failed(all)
			}
			return rounds, nil
		})
		run := start(r, r.begin(wf), wf, []int{1, 3, 2})
		want(r, run, []string{"1 10 false; 3 0 true; 2 0 true; ", "3 0 true; 2 20 false; ", "3 30 false; "})
		r.replays(run.ID(), wf)
	})
}

// A cancel ends it, and is its error: items that have not begun never begin.
func TestMapSettledIsCancelled(t *testing.T) {
	everyWay(t, func(r *rig) {
		wf := stepwell.Define("settled-cancelled", func(ctx stepwell.Context, _ struct{}) (string, error) {
			all, err := stepwell.MapSettled(ctx, []int{1, 2, 3}, 1, func(ctx stepwell.Context, _ int) (string, error) {
				return "", stepwell.Sleep(ctx, "rest", time.Hour)
			})
			ctx = ctx.Uncancelled()
			return "", stepwell.Fatal(fmt.Errorf("%d items, cancelled %v, %w", len(all), errors.Is(err, stepwell.ErrCancelled), stepwell.Sleep(ctx, "end", time.Second)))
		})
		part := stepwell.Define("part-cancelled", func(ctx stepwell.Context, _ struct{}) (string, error) {
			ctx2, cancel := stepwell.WithCancel(ctx)
			all, err := stepwell.MapSettled(ctx2, []int{1, 2, 3}, 1, func(ctx stepwell.Context, n int) (int, error) {
				if n == 2 {
					cancel()
				}
				return n, stepwell.Sleep(ctx, "rest", time.Second)
			})
			return fmt.Sprint(all, err), nil
		})
		wk := r.begin(wf, part)
		want(r, start(r, wk, part, struct{}{}), "[] "+stepwell.ErrCancelled.Error())
		run := start(r, wk, wf, struct{}{})
		r.pass(time.Minute)
		if err := wk.Cancel(r.ctx, run.ID(), ""); err != nil {
			r.Fatal(err)
		}
		_, _ = run.Result(r.ctx)
		if got := r.count(run.ID(), world.WaitCreated, "rest"); got != 1 {
			r.Errorf("%d items began, want 1", got)
		}
	})
}

func TestEachIsMapWithoutResults(t *testing.T) {
	everyWay(t, func(r *rig) {
		wf := stepwell.Define("each", func(ctx stepwell.Context, items []int) (string, error) {
			err := stepwell.Each(ctx, items, 2, func(ctx stepwell.Context, n int) error {
				return stepwell.Do(ctx, "item", func(context.Context) error {
					if n == 3 {
						return stepwell.Fatal(errUnlucky)
					}
					return nil
				})
			})
			failed, _ := errors.AsType[*stepwell.ItemError](err)
			if failed == nil {
				return fmt.Sprint(err), nil
			}
			return fmt.Sprint("item ", failed.Index), nil
		})
		wk := r.begin(wf)
		want(r, start(r, wk, wf, []int{1, 2}), "<nil>")
		want(r, start(r, wk, wf, []int{1, 2, 3}), "item 2")
		want(r, start(r, wk, wf, []int{}), "<nil>")
	})
}

// The body of a step starts a run with the App that works on it.
func TestAppFromIsTheAppOfTheStep(t *testing.T) {
	everyWay(t, func(r *rig) {
		child := stepwell.Define("report", func(_ stepwell.Context, n int) (int, error) { return 2 * n, nil })
		begin := stepwell.DefineStep("begin", func(ctx context.Context, n int) (string, error) {
			run, err := child.Start(ctx, stepwell.AppFrom(ctx), n, stepwell.Key("report"))
			return run.ID(), err
		})
		wf := stepwell.Define("orders", func(ctx stepwell.Context, n int) (int, error) {
			id, err := begin.Run(ctx, n)
			if err != nil {
				return 0, err
			}
			return stepwell.AwaitRun[int](ctx, id)
		})
		want(r, start(r, r.begin(wf, child, begin), wf, 4), 8)
		if app := stepwell.AppFrom(r.ctx); app != nil {
			r.Errorf("outside of a step: got %v", app)
		}
	})
}

func TestRunUntilWorksUntilItsFunctionReturns(t *testing.T) {
	everyWay(t, func(r *rig) {
		wf := stepwell.Define("twice", func(_ stepwell.Context, n int) (int, error) { return 2 * n, nil })
		app, err := stepwell.New(r.world, stepwell.Config{Definitions: []stepwell.Definition{wf}})
		if err != nil {
			r.Fatal(err)
		}
		got := 0
		err = app.RunUntil(r.ctx, func(ctx context.Context) error {
			run, err := wf.Start(ctx, app, 2)
			if err == nil {
				got, err = run.Result(ctx)
			}
			return errors.Join(err, errUnlucky)
		})
		if diff := cmp.Diff([]any{4, true}, []any{got, errors.Is(err, errUnlucky)}); diff != "" {
			r.Errorf("-want +got:\n%s", diff)
		}
		// What cannot work ends the function, and is the error.
		ctx, stop := context.WithCancel(r.ctx)
		defer stop()
		if err := app.RunUntil(ctx, nil); !errors.Is(err, stepwell.ErrInvalid) {
			r.Errorf("without a function: got %v", err)
		}
		err = app.RunUntil(ctx, func(ctx context.Context) error {
			r.pass(time.Second) // the first works
			other := app.RunUntil(ctx, func(ctx context.Context) error { <-ctx.Done(); return nil })
			return fmt.Errorf("second: %w", other)
		})
		if err == nil || !strings.Contains(err.Error(), "second: ") {
			r.Errorf("an App that runs already: got %v", err)
		}
	})
}
