package behaviour_test

import (
	"context"
	"sync"
	"testing"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world/memory"
)

// TestStartWhileTheWorkerJoins: a start that meets the moment in which its App begins to work is plain or eager, and nothing between: its step is begun once.
func TestStartWhileTheWorkerJoins(t *testing.T) {
	wf := stepwell.Define("flow", func(ctx stepwell.Context, n int) (int, error) {
		return stepwell.Step(ctx, "step", func(ctx context.Context) (int, error) { return n + stepwell.Info(ctx).Attempt, nil })
	})
	for range 300 {
		w := memory.New()
		app, err := stepwell.New(w, stepwell.Config{Definitions: []stepwell.Definition{wf}})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- app.Run(ctx) }()
		var starts sync.WaitGroup
		for range 4 {
			starts.Go(func() {
				for i := range 5 {
					run, err := wf.Start(ctx, app, i)
					if err != nil {
						t.Error(err)
						return
					}
					if got, err := run.Result(ctx); got != i+1 || err != nil {
						t.Errorf("got %d, %v, want %d at the first attempt", got, err, i+1)
					}
				}
			})
		}
		starts.Wait()
		stop()
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
