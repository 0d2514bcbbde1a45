// Package sqlitetest lets the test kit, package stepwelltest, keep its runs in SQLite files.
package sqlitetest

import (
	"context"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stepwell/stepwell/stepwelltest"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/sqlite"
)

// Store keeps the runs of a test in a file of a directory of the test's, which is removed with it: for
// [stepwelltest.Options]. The file's clock is the test's. [stepwelltest.Env.CrashEverywhere] makes a file for each
// death.
func Store() stepwelltest.Store {
	return func(t testing.TB) (stepwelltest.Place, error) {
		path := filepath.Join(t.TempDir(), "runs.db")
		var now atomic.Pointer[time.Time]
		return stepwelltest.Place{
			Open: func() (world.World, error) {
				return sqlite.Open(path, sqlite.Options{Now: func() time.Time { return *now.Load() }})
			},
			// A world of SQLite looks all the time for others that write. So it is not in the bubble, where that
			// would be for years.
			SetTime: func(_ context.Context, t time.Time) error {
				t = t.Round(0)
				now.Store(&t)
				return nil
			},
		}, nil
	}
}
