package stepwelltest_test

// This file holds what the kit finds in code that breaks the rules of workflows: docs/rules.md has these examples.

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/stepwelltest"
	"github.com/stepwell/stepwell/world"
)

type order struct{ Lines []string }

// broken are workflows that keep state outside of steps, or are not deterministic, with what the report says of both sides.
var broken = map[string]struct {
	code func(ctx stepwell.Context, o order, calls *int) (any, error)
	want []string
}{
	"a sum over a pause": {func(ctx stepwell.Context, o order, _ *int) (any, error) {
		total := 0
		if err := stepwell.Do(ctx, "quote", func(context.Context) error { total += 2; return nil }); err != nil {
			return 0, err
		}
		return total, stepwell.Sleep(ctx, "cool-off", time.Hour)
	}, []string{"when it ran    to complete with output 2", "when replayed  to complete with output 0"}},
	"a sum, and nothing behind it": {func(ctx stepwell.Context, o order, _ *int) (any, error) {
		total := 0
		err := stepwell.Do(ctx, "quote", func(context.Context) error { total += 2; return nil })
		return total, err
	}, []string{"to complete with output 2", "to complete with output 0"}},
	"a slice that is sorted before a pause": {func(ctx stepwell.Context, o order, _ *int) (any, error) {
		if err := stepwell.Do(ctx, "sort", func(context.Context) error { slices.Sort(o.Lines); return nil }); err != nil {
			return 0, err
		}
		return o.Lines[0], stepwell.Sleep(ctx, "cool-off", time.Hour)
	}, []string{`when it ran    to complete with output "a"`, `when replayed  to complete with output "b"`}},
	"an output of no step": {func(_ stepwell.Context, _ order, calls *int) (any, error) { return *calls, nil }, []string{"output 2", "output 3"}},
	"an error": {func(_ stepwell.Context, _ order, calls *int) (any, error) {
		return nil, fmt.Errorf("call %d", *calls)
	}, []string{"to fail: call 2", "to fail: call 3"}},
	"a cause": {func(_ stepwell.Context, _ order, calls *int) (any, error) {
		return nil, fmt.Errorf("%.4w", fmt.Errorf("(cause %d)", *calls))
	}, []string{"(cause 2)", "(cause 3)"}},
	"a name": {func(ctx stepwell.Context, _ order, calls *int) (any, error) {
		return nil, stepwell.Do(ctx, fmt.Sprint("ship ", *calls), nothing)
	}, []string{`step "ship 2"   strict_test.go:`, `step "ship 3"   strict_test.go:`}},
	"a step's input": {func(ctx stepwell.Context, _ order, calls *int) (any, error) {
		return echo.Run(ctx, *calls)
	}, []string{`registered step "echo" with input 2   strict_test.go:`, `with input 3   strict_test.go:`}},
	"a step's options": {func(ctx stepwell.Context, _ order, calls *int) (any, error) {
		return echo.With(stepwell.Retry{Attempts: *calls + 1}).Run(ctx, 1)
	}, []string{`registered step "echo" with content {"attempts":3}   strict_test.go:`, `{"attempts":4}`}},
	"a child's input": {func(ctx stepwell.Context, _ order, calls *int) (any, error) {
		return child.Child().Run(ctx, *calls)
	}, []string{`child run "child" with input 2   strict_test.go:`, `with input 3   strict_test.go:`}},
	"a child's ID": {func(ctx stepwell.Context, _ order, calls *int) (any, error) {
		return child.Child(stepwell.RunID(fmt.Sprint("c", *calls))).Run(ctx, 1)
	}, []string{"with ID c2   strict_test.go:", "with ID c3   strict_test.go:"}},
	"a child's options": {func(ctx stepwell.Context, _ order, calls *int) (any, error) {
		return child.Child(stepwell.Timeout(time.Duration(*calls)*time.Hour)).Run(ctx, 1)
	}, []string{`child run "child" with content`, `"timeout":7200000000000`, `"timeout":10800000000000`, "}   strict_test.go:"}},
	"a closure's options": {func(ctx stepwell.Context, _ order, calls *int) (any, error) {
		return nil, stepwell.Do(ctx, "ship", nothing, stepwell.Retry{Attempts: *calls + 1})
	}, []string{`step "ship" with content {"attempts":3}   strict_test.go:`, `{"attempts":4}`}},
	"a closure's timeout": {func(ctx stepwell.Context, _ order, calls *int) (any, error) {
		return nil, stepwell.Do(ctx, "ship", nothing, stepwell.Timeout(time.Duration(*calls)*time.Hour))
	}, []string{`step "ship" with content {"timeout":7200000000000}   strict_test.go:`, `{"timeout":10800000000000}`}},
	"an undo": {func(ctx stepwell.Context, _ order, calls *int) (any, error) {
		stepwell.AddUndo(ctx, fmt.Sprint("undo ", *calls), func(context.Context, any) error { return nil }, nil)
		return nil, fmt.Errorf("no")
	}, []string{`step "undo 2" in undo[0]   strict_test.go:`, `step "undo 3" in undo[0]   strict_test.go:`}},
	"an attribute": {func(ctx stepwell.Context, _ order, calls *int) (any, error) {
		return nil, stepwell.SetAttribute(ctx, "n", *calls)
	}, []string{`attribute "n" with input 2   strict_test.go:`, `with input 3   strict_test.go:`}},
	"a chunk": {func(ctx stepwell.Context, _ order, calls *int) (any, error) {
		return nil, stepwell.WriteStream(ctx, "s", *calls)
	}, []string{`chunk of stream "s" with content 2   strict_test.go:`, `with content 3   strict_test.go:`}},
	"a duration": {func(ctx stepwell.Context, _ order, calls *int) (any, error) {
		return nil, stepwell.Sleep(ctx, "nap", time.Duration(*calls)*time.Hour)
	}, []string{`sleep "nap" with time in 2h0m0s   strict_test.go:`, `with time in 3h0m0s   strict_test.go:`}},
	"a deadline": {func(ctx stepwell.Context, _ order, calls *int) (any, error) {
		return nil, stepwell.SleepUntil(ctx, "nap", time.Date(2001, 1, *calls, 0, 0, 0, 0, time.UTC))
	}, []string{"with time 2001-01-02T00:00:00Z", "with time 2001-01-03T00:00:00Z"}},
	"a match": {func(ctx stepwell.Context, _ order, calls *int) (any, error) {
		_, _, err := stepwell.Event[order]("paid").Wait(ctx, stepwell.Match{"Lines": []int{*calls}})
		return nil, err
	}, []string{`wait for event "paid" with match {"Lines":[2]}`, `with match {"Lines":[3]}`}},
	"a timeout": {func(ctx stepwell.Context, _ order, calls *int) (any, error) {
		_, _, err := approval.Wait(ctx, stepwell.Timeout(time.Duration(*calls)*time.Hour))
		return nil, err
	}, []string{"with time in 2h0m0s", "with time in 3h0m0s"}},
	"a token": {func(ctx stepwell.Context, _ order, calls *int) (any, error) {
		_, err := stepwell.NewHook[string](ctx, stepwell.Token(fmt.Sprint("t", *calls)))
		return nil, err
	}, []string{"with token t2", "with token t3"}},
	"a hook's metadata": {func(ctx stepwell.Context, _ order, calls *int) (any, error) {
		h, err := stepwell.NewHook[string](ctx, stepwell.Metadata(*calls))
		if err == nil {
			_, _, err = h.Wait(ctx)
		}
		return nil, err
	}, []string{"with input 2", "with input 3"}},
	"a continuation": {func(ctx stepwell.Context, _ order, calls *int) (any, error) {
		return nil, stepwell.ContinueAsNew(ctx, order{Lines: []string{fmt.Sprint(*calls)}})
	}, []string{`to continue as new (version 0) with input {"Lines":["2"]}`, `{"Lines":["3"]}`}},
	"behind a pause": {func(ctx stepwell.Context, _ order, calls *int) (any, error) {
		n := *calls
		if err := stepwell.Sleep(ctx, "nap", time.Hour); err != nil {
			return nil, err
		}
		return n, nil
	}, []string{"when it ran    to complete with output 2", "when replayed  to complete with output 5"}},
}

var (
	echo     = stepwell.DefineStep("echo", func(_ context.Context, n int) (int, error) { return n, nil })
	echoText = stepwell.DefineStep("echo-text", func(_ context.Context, s string) (string, error) { return s, nil })
	child    = stepwell.Define("child", func(_ stepwell.Context, n int) (int, error) { return n, nil })
)

func nothing(context.Context) error { return nil }

// TestTheKitReportsTheFirstDifferenceOfARunAndItsReplay runs each of them; the count of evaluations is the state outside of steps.
func TestTheKitReportsTheFirstDifferenceOfARunAndItsReplay(t *testing.T) {
	t.Parallel()
	for name, tt := range broken {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			calls := 1
			wf := stepwell.Define("broken", func(ctx stepwell.Context, o order) (any, error) {
				calls++
				return tt.code(ctx, o, &calls)
			})
			want := append([]string{"run run-1 is blocked, DIVERGED: your code is not deterministic, or keeps state outside of its steps"}, tt.want...)
			wantFailure(t, func(t testing.TB) {
				env := newReal(t, nil, wf, child, echo)
				stepwelltest.Start(env, wf, order{Lines: []string{"b", "a"}})
				if strings.Contains(name, "pause") {
					env.Advance(time.Hour)
				}
			}, want...)
		})
	}
}

// TestWhatStrictModeBlocksStaysBlocked: a run does not go on by itself, as a replay that begins anew would, however often it is tried again.
func TestWhatStrictModeBlocksStaysBlocked(t *testing.T) {
	t.Parallel()
	sum := broken["a sum over a pause"]
	wf := stepwell.Define("broken", func(ctx stepwell.Context, o order) (any, error) { return sum.code(ctx, o, nil) })
	env := newReal(t, nil, wf)
	run := stepwelltest.Start(env, wf, order{})
	env.Advance(48 * time.Hour)
	if b := run.WantBlocked(world.CodeDiverged); b.Tries < 100 {
		t.Errorf("tried %d times", b.Tries)
	}
}

// TestWhatChanceDecidedStaysBlocked: the dice differ once, and agree ever after.
func TestWhatChanceDecidedStaysBlocked(t *testing.T) {
	t.Parallel()
	for _, differs := range []int64{1, 2} {
		var evaluation atomic.Int64
		wf := stepwell.Define("coin", func(ctx stepwell.Context, _ string) (string, error) {
			how := "mail"
			if evaluation.Add(1) == differs {
				how = "letter"
			}
			return how, stepwell.Do(ctx, how, nothing)
		})
		env := stepwelltest.New(t, wf)
		run := stepwelltest.Start(env, wf, "")
		env.Advance(2 * time.Hour)
		b := run.WantBlocked(world.CodeDiverged)
		if !strings.Contains(b.Message, `"mail"`) || !strings.Contains(b.Message, `"letter"`) {
			t.Errorf("got %s, want both sides of the difference", b.Message)
		}
		if got := evaluation.Load(); got != 2 {
			t.Errorf("evaluated %d times, want 2: the difference is known", got)
		}
	}
}

// TestABrokenRuleFailsTheTestThoughTheRunWentOn: a goroutine of its own uses the Context once.
func TestABrokenRuleFailsTheTestThoughTheRunWentOn(t *testing.T) {
	t.Parallel()
	wantFailure(t, func(t testing.TB) {
		var evaluation atomic.Int64
		wf := stepwell.Define("once", func(ctx stepwell.Context, _ string) (string, error) {
			if evaluation.Add(1) == 1 {
				var wg sync.WaitGroup
				wg.Go(func() { ctx.Now() })
				wg.Wait()
			}
			return "", stepwell.Sleep(ctx, "nap", time.Hour)
		})
		env := stepwelltest.New(t, wf)
		run := stepwelltest.Start(env, wf, "")
		env.Advance(2 * time.Hour)
		run.MustComplete()
	}, "run run-1 was blocked, FOREIGN_GOROUTINE")
}

// TestForksKeepTheSeedOfTheirLog: what a fork brings was written under its source's seed.
func TestForksKeepTheSeedOfTheirLog(t *testing.T) {
	t.Parallel()
	wf := stepwell.Define("numbered", func(ctx stepwell.Context, _ string) (string, error) {
		id, err := echoText.Run(ctx, ctx.NewID())
		if err != nil {
			return "", err
		}
		return id, stepwell.Sleep(ctx, fmt.Sprint("nap ", ctx.Rand().IntN(1_000_000)), time.Hour)
	})
	env := newReal(t, nil, wf, echoText)
	run := stepwelltest.Start(env, wf, "")
	env.Do(func(ctx context.Context, app *stepwell.App) error {
		_, err := app.Fork(ctx, "run-1", stepwell.ForkOptions{ID: "fork"})
		return err
	})
	want := run.MustComplete()
	env.Advance(2 * time.Hour)
	env.Do(func(ctx context.Context, app *stepwell.App) error {
		got, err := wf.Get(app, "fork").Result(ctx)
		if got != want {
			t.Errorf("the fork came to %q, want %q", got, want)
		}
		return err
	})
}

// TestSteadyCodeIsNotReported: what the code may do, it may do in strict mode.
func TestSteadyCodeIsNotReported(t *testing.T) {
	t.Parallel()
	wf := stepwell.Define("steady", func(ctx stepwell.Context, n int) (int, error) {
		sum, err := stepwell.Step(ctx, "quote", func(context.Context) (int, error) { return 2, nil })
		if err != nil {
			return 0, err
		}
		if err := stepwell.SetAttribute(ctx, "roll", ctx.Rand().IntN(100)); err != nil {
			return 0, err
		}
		if err := stepwell.WriteStream(ctx, "s", ctx.NewID()); err != nil {
			return 0, err
		}
		if err := stepwell.SleepUntil(ctx, "night", ctx.Now().Add(time.Hour)); err != nil {
			return 0, err
		}
		if n > 0 {
			return 0, stepwell.ContinueAsNew(ctx, n-1)
		}
		v, err := child.Child().Run(ctx, sum)
		return v + 1, err
	})
	env := newReal(t, nil, wf, child)
	if got := stepwelltest.Start(env, wf, 2).MustComplete(); got != 3 {
		t.Errorf("got %d, want 3", got)
	}
}
