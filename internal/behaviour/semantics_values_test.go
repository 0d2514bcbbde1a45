package behaviour_test

// The answers at the edges (docs/failures.md) about recorded values: 12.

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
)

// withInput asks for a registered step, twice side by side, with the input of one deploy: one runs in place, one is queued.
func withInput(n int, calls *atomic.Int32) (*stepwell.Workflow[struct{}, []int], stepwell.Definition) {
	double := stepwell.DefineStep("double", func(_ context.Context, n int) (int, error) {
		if calls.Add(1) <= 2 {
			return 0, errUnlucky
		}
		return 2 * n, nil
	}, stepwell.Retry{Base: 30 * time.Second})
	return stepwell.Define("with-input", func(ctx stepwell.Context, _ struct{}) ([]int, error) {
		return stepwell.All(ctx, double.Start(ctx, n), double.Start(ctx, n+1))
	}), double
}

// Strict mode has the next test: there this is an error.
func TestAnswer12TheRecordedInputOfAStepStands(t *testing.T) {
	across(t, kinds, modes[:2], func(r *rig) {
		var calls atomic.Int32
		wf, double := withInput(10, &calls)
		wk := r.begin(wf, double)
		run := start(r, wk, wf, struct{}{})
		until(r, "both attempts", func() bool { return calls.Load() == 2 })
		wk.stop(r)
		wf, double = withInput(100, &calls)
		r.begin(wf, double)
		want(r, run, []int{20, 22})
	})
}

func TestAnswer12StrictModeReportsAnotherInput(t *testing.T) {
	everyWay(t, func(r *rig) {
		var calls atomic.Int32
		wf, double := withInput(10, &calls)
		wk := r.begin(wf, double)
		run := start(r, wk, wf, struct{}{})
		until(r, "both attempts", func() bool { return calls.Load() == 2 })
		wk.stop(r)
		other, double2 := withInput(100, &calls)
		wk = r.beginWith(stepwell.Config{Definitions: []stepwell.Definition{other, double2}, Strict: true})
		b := r.blocked(run.ID())
		if b.Code != world.CodeDiverged || !strings.Contains(b.Message, "with input 10") {
			r.Errorf("blocked = %s: %s, want DIVERGED and the recorded input", b.Code, b.Message)
		}
		wk.stop(r)
		r.begin(wf, double)
		want(r, run, []int{20, 22})
	})
}
