package behaviour_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
)

// TestARunTimeoutInARetryDelayNamesTheLastError: of the step that would have been tried again.
func TestARunTimeoutInARetryDelayNamesTheLastError(t *testing.T) {
	wf := stepwell.Define("declined", func(ctx stepwell.Context, _ int) (int, error) {
		return 0, stepwell.Do(ctx, "charge", func(context.Context) error { return errors.New("card declined") },
			stepwell.Retry{Attempts: 5, Base: time.Minute, Backoff: stepwell.Fixed, Jitter: -1})
	}, stepwell.Timeout(90*time.Second))
	everywhere(t, func(r *rig) {
		run := start(r, r.begin(wf), wf, 0)
		err := wantErr(r, run, world.Failed)
		if err.Code != world.CodeTimeout || !errors.Is(err, stepwell.ErrTimeout) {
			r.Errorf("error = %v, want the timeout", err)
		}
		row := r.get(run.ID())
		last := row.Error // what it came of, and that of what
		for len(last.Causes) == 1 {
			last = last.Causes[0]
		}
		if last.Message != "card declined" {
			r.Errorf("causes = %+v, want the step's last error", row.Error.Causes)
		}
	})
}
