package sqlite

import (
	"errors"
	"testing"
	"time"

	"github.com/stepwell/stepwell/world"
)

// TestOutcomeWhileItIsWritten: whoever asks after a commit that is just being written hears that it is not there yet, or that it is; never that the run is lost.
func TestOutcomeWhileItIsWritten(t *testing.T) {
	w := open(t)
	wk := join(t, w, time.Hour)
	must(t, w, eager("r", "greet", wk.ID))
	asked := 0
	for n := range int64(200) {
		c := stepCommit("r", wk.ID, n)
		written := make(chan error, 1)
		go func() {
			_, err := w.Commit(t.Context(), c)
			written <- err
		}()
		for there := false; !there; asked++ {
			_, err := w.Outcome(t.Context(), c)
			if there = err == nil; !there && !errors.Is(err, world.ErrNotFound) {
				t.Fatalf("commit %d: got %v, want it written, or not found", n, err)
			}
		}
		if err := <-written; err != nil {
			t.Fatal(err)
		}
	}
	if asked < 400 {
		t.Errorf("asked %d times in 200 commits: they were not under way", asked)
	}
}
