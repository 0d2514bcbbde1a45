package sqlite_test

import (
	"path/filepath"
	"testing"

	"github.com/stepwell/stepwell/internal/clocktest"
	"github.com/stepwell/stepwell/world/sqlite"
)

// The process's clock steps: leases and naps go on.
func TestTheProcessClockSteps(t *testing.T) {
	t.Parallel()
	var clock clocktest.Clock
	w, err := sqlite.Open(filepath.Join(t.TempDir(), "runs.db"), sqlite.Options{Now: clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	clocktest.Scene{Clock: &clock, World: w, Follows: true}.Play(t)
	if err := w.Close(); err != nil {
		t.Error(err)
	}
}
