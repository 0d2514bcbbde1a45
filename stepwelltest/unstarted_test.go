package stepwelltest_test

// This file holds what the kit does with steps that no worker has, and with those that stand in line.

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/stepwelltest"
)

// TestMustFailWaitsForTheQueueTimeout of a step that no worker has: an hour passes, and the run ends by itself.
func TestMustFailWaitsForTheQueueTimeout(t *testing.T) {
	t.Parallel()
	elsewhere := stepwell.DefineStep("elsewhere", func(context.Context, int) (int, error) { return 0, nil }, stepwell.QueueTimeout(time.Hour))
	wf := stepwell.Define("hopeful", func(ctx stepwell.Context, _ string) (int, error) { return elsewhere.Start(ctx, 1).Get(ctx) })
	e := stepwelltest.Start(stepwelltest.New(t, wf), wf, "").MustFail()
	if !errors.Is(e, stepwell.ErrNotStarted) {
		t.Errorf("it ended with %v, want ErrNotStarted", e)
	}
}

func TestMustCompleteSaysThatNobodyHasTheStep(t *testing.T) {
	t.Parallel()
	wantFailure(t, func(t testing.TB) {
		elsewhere := stepwell.DefineStep("elsewhere", func(context.Context, int) (int, error) { return 0, nil })
		wf := stepwell.Define("hopeful", func(ctx stepwell.Context, _ string) (int, error) { return elsewhere.Start(ctx, 1).Get(ctx) })
		stepwelltest.Start(stepwelltest.New(t, wf), wf, "").MustComplete()
	}, "run run-1 is not over, and advancing the time cannot move it", "elsewhere")
}

// TestMustCompleteWaitsForARate: time passes for a step that stands in the line of a rate, however long that is.
func TestMustCompleteWaitsForARate(t *testing.T) {
	t.Parallel()
	call := stepwell.DefineStep("call", func(_ context.Context, n int) (int, error) { return n, nil }, stepwell.Limit{Rate: 4, Per: time.Minute})
	wf := stepwell.Define("caller", func(ctx stepwell.Context, n int) (int, error) { return call.Start(ctx, n).Get(ctx) })
	env := newReal(t, nil, wf, call)
	var runs []*stepwelltest.Run[int]
	for n := range 12 {
		runs = append(runs, stepwelltest.Start(env, wf, n))
	}
	for n, run := range runs {
		if got := run.MustComplete(); got != n {
			t.Errorf("run %d came to %d", n, got)
		}
	}
}
