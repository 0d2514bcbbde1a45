package stepwelltest_test

import (
	"context"
	"testing"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/stepwelltest"
	"github.com/stepwell/stepwell/world"
)

// On each store a run whose registered step no live worker has fails when it is told to, and not before.
func TestWhatNobodyKnowsFails(t *testing.T) {
	everywhere(t, func(t *testing.T, on stepwelltest.Store) {
		foreign := stepwell.DefineStep("resize", func(context.Context, int) (int, error) { return 1, nil }) // no worker has it
		picture := stepwell.Define("picture", func(ctx stepwell.Context, in int) (int, error) { return foreign.Run(ctx, in) })
		env := stepwelltest.NewWith(t, stepwelltest.Options{
			Config: stepwell.Config{Definitions: []stepwell.Definition{picture}, FailUnknown: 10 * time.Minute},
			Store:  on,
		})
		run := stepwelltest.Start(env, picture, 1)
		env.Advance(9 * time.Minute)
		if s := run.Status(); s != world.Running {
			t.Errorf("after 9 minutes: %s", s)
		}
		env.Advance(4 * time.Minute)
		if err := run.MustFail(); err.Code != world.CodeNoWorker {
			t.Errorf("error = %v (%s)", err, err.Code)
		}
	})
}
