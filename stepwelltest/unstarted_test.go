package stepwelltest_test

// This file holds what the kit does with steps that no worker has.

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
	}, "run run-1 is not over, and no time can move it", "elsewhere")
}
