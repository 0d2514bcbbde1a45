package behaviour_test

// Waiting for results.

import (
	"sync"
	"testing"
	"time"

	"github.com/stepwell/stepwell"
)

// TestResultsAreToldAtOnce: whoever asks for the result of a run that has just ended in the same process gets it at once, and not at its next look, a
// second later.
func TestResultsAreToldAtOnce(t *testing.T) {
	onWorlds(t, func(r *rig) {
		wf := stepwell.Define("echo", func(_ stepwell.Context, n int) (int, error) { return n, nil })
		app := r.begin(wf)
		began := time.Now()
		var wg sync.WaitGroup
		for range 40 {
			wg.Go(func() {
				for n := range 50 {
					run, err := wf.Start(r.ctx, app.App, n)
					if err != nil {
						r.Error(err)
						return
					}
					if got, err := run.Result(r.ctx); got != n || err != nil {
						r.Errorf("result = %d, %v, want %d", got, err, n)
					}
				}
			})
		}
		wg.Wait()
		if took := time.Since(began); took >= 500*time.Millisecond { // of virtual time: nothing here has to wait for anything but work
			r.Errorf("2,000 results were there after %s, want no wait", took)
		}
	})
}
