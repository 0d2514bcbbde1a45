package behaviour_test

// This file has the simulation on SQLite, in virtual time, as in memory.

import (
	"database/sql"
	"flag"
	"fmt"
	"path/filepath"
	"testing"
	"testing/synctest"

	"github.com/stepwell/stepwell/internal/clocktest"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/sqlite"
)

var (
	simSQLite     = flag.Uint64("sim.sqlite", 24, "how many seeds the simulation runs on SQLite, from 1")
	simSQLiteSeed = flag.Uint64("sim.sqlite.seed", 0, "the one seed to run instead")
)

// TestSimulationOnSQLite runs generated programs under generated faults on a file. One seed in three encrypts.
func TestSimulationOnSQLite(t *testing.T) {
	t.Parallel()
	ring := keysOf(t, "k1")
	from, to := uint64(1), *simSQLite
	if *simSQLiteSeed != 0 {
		from, to = *simSQLiteSeed, *simSQLiteSeed
	}
	for seed := from; seed <= to && !t.Failed(); seed++ {
		synctest.Test(t, func(t *testing.T) {
			if seed%3 == 0 {
				simulate(t, onSQLite(t, seed), seed, ring, &simCoverage{})
			} else {
				simulate(t, onSQLite(t, seed), seed, nil, &simCoverage{})
			}
		})
	}
}

// onSQLite is the stage of a file. Its clock steps where merged starts are all that happens; else it is the system's,
// by which a file also knows when its process stood still.
func onSQLite(t *testing.T, seed uint64) *simStage {
	path := filepath.Join(t.TempDir(), "runs.db")
	var clock *clocktest.Clock
	var opts sqlite.Options
	if _, alone := simGathers(seed); alone {
		clock = &clocktest.Clock{}
		opts.Now = clock.Now
	}
	w := openFile(t, path, opts)
	return &simStage{
		below: w, clock: clock, haste: 1, again: "-run TestSimulationOnSQLite -sim.sqlite.seed",
		process: func() (world.World, func()) { return w, func() {} },
		remains: func() (left []string) {
			if _, err := w.Sweep(t.Context(), 1000); err != nil { // mail that came after its run's end is the sweeper's
				return []string{err.Error()}
			}
			db, err := sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(10000)")
			if err != nil {
				return []string{err.Error()}
			}
			defer func() { _ = db.Close() }()
			for _, table := range []string{"queue", "inbox", "tasks", "hooks", "awaits", "limit_keys WHERE live > 0 OR used > 0 OR due_us IS NULL", "limit_line"} {
				n := 0
				if err := db.QueryRowContext(t.Context(), "SELECT count(*) FROM "+table).Scan(&n); err != nil || n > 0 {
					left = append(left, fmt.Sprintf("all runs are over, and table %s has %d rows, %v", table, n, err))
				}
			}
			return left
		},
	}
}
