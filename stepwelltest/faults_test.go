package stepwelltest_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/blob"
	"github.com/stepwell/stepwell/stepwelltest"
)

// TestARunMayStandInLine: of a limit, or for the only slot, however long the run before it takes.
func TestARunMayStandInLine(t *testing.T) {
	t.Parallel()
	anHour := func(context.Context, int) (int, error) { <-time.After(time.Hour); return 1, nil }
	work := func(ctx stepwell.Context, n int) (int, error) { return stepwell.Call(ctx, "work", anHour, n) }
	limit := stepwell.Limit{AtOnce: 1}
	queued, limited := stepwell.DefineStep("queued", anHour), stepwell.DefineStep("limited", anHour, limit)
	start := func(step *stepwell.RegisteredStep[int, int]) func(stepwell.Context, int) (int, error) {
		return func(ctx stepwell.Context, n int) (int, error) { return step.Start(ctx, n).Get(ctx) }
	}
	for name, test := range map[string]struct {
		slow   *stepwell.Workflow[int, int]
		config stepwell.Config
	}{
		"a limit of runs":      {stepwell.Define("slow", work, limit), stepwell.Config{}},
		"a limit of steps":     {stepwell.Define("slow", start(limited)), stepwell.Config{}},
		"one run at once":      {stepwell.Define("slow", work), stepwell.Config{MaxRuns: 1}},
		"one step at once":     {stepwell.Define("slow", start(queued)), stepwell.Config{MaxSteps: 1}},
		"one run, and a limit": {stepwell.Define("slow", work, limit), stepwell.Config{MaxRuns: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			everywhere(t, func(t *testing.T, on stepwelltest.Store) {
				config := test.config
				config.Definitions = []stepwell.Definition{test.slow, queued, limited}
				env := stepwelltest.NewWith(t, stepwelltest.Options{Config: config, Store: on, RealSteps: true})
				first, second, third := stepwelltest.Start(env, test.slow, 1), stepwelltest.Start(env, test.slow, 1), stepwelltest.Start(env, test.slow, 1)
				if got := third.MustComplete() + second.MustComplete() + first.MustComplete(); got != 3 {
					t.Errorf("got %d, want 3", got)
				}
			})
		})
	}
}

// TestATestMayEndWhileABodySleeps: one that does not heed its context.
func TestATestMayEndWhileABodySleeps(t *testing.T) {
	t.Parallel()
	deaf := stepwell.Define("deaf", func(ctx stepwell.Context, n int) (int, error) {
		return n, stepwell.Do(ctx, "sleep", func(context.Context) error { <-time.After(24 * time.Hour); return nil })
	})
	stepwelltest.Start(newReal(t, nil, deaf), deaf, 1)
}

// TestABlobIsTheSameWhereverAWorkerDies: its ID is chance, and its bytes are not.
func TestABlobIsTheSameWhereverAWorkerDies(t *testing.T) {
	t.Parallel()
	report := stepwell.Define("report", func(ctx stepwell.Context, n int) (blob.Ref, error) {
		return stepwell.Step(ctx, "write", func(ctx context.Context) (blob.Ref, error) {
			return blob.From(ctx, strings.NewReader(fmt.Sprint("report ", n)))
		})
	})
	env := newReal(t, nil, report)
	stepwelltest.Start(env, report, 1).MustComplete()
	env.CrashEverywhere()
}
