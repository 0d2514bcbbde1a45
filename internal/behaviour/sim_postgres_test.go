//go:build unix

package behaviour_test

// This file has the simulation on PostgreSQL: the same programs, faults, laws and oracle, on a real server, which has no virtual time. So all times are
// divided by forty, workers are processes as far as the database sees them, and a seed gives the same plan, but not the same order of events.

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/stepwell/stepwell/internal/pgtest"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/postgres"
)

var (
	simPostgres     = flag.Int("sim.postgres", 4, "how many seeds the simulation runs on PostgreSQL, new ones each time")
	simPostgresSeed = flag.Uint64("sim.postgres.seed", 0, "the one seed to run instead")
)

// simAtOnce is how many seeds run at once on PostgreSQL: they wait more than they work.
const simAtOnce = 6

// TestSimulationOnPostgres runs generated programs under generated faults on a real server. Half of the seeds encrypt.
func TestSimulationOnPostgres(t *testing.T) {
	t.Parallel()
	cluster := pgtest.New(t, pgtest.Config{NoSync: true})
	seeds := make([]uint64, *simPostgres)
	for i := range seeds {
		seeds[i] = rand.Uint64()
	}
	if *simPostgresSeed != 0 {
		seeds = []uint64{*simPostgresSeed}
	}
	ring := keysOf(t, "k1")
	var all sync.WaitGroup
	room := make(chan struct{}, simAtOnce)
	for i, seed := range seeds {
		room <- struct{}{}
		all.Go(func() {
			defer func() { <-room }()
			on, end := onPostgres(t, cluster.URL(t))
			defer end()
			if i%2 == 1 {
				simulate(t, on, seed, ring, &simCoverage{})
			} else {
				simulate(t, on, seed, nil, &simCoverage{})
			}
		})
	}
	all.Wait()
}

// onPostgres is the stage of a database, and what ends it.
func onPostgres(t *testing.T, url string) (on *simStage, end func()) {
	open := func() *postgres.World {
		w, err := postgres.Open(context.Background(), url, postgres.Options{Conns: 4})
		if err != nil {
			t.Error(err)
		}
		return w
	}
	below := open()
	on = &simStage{
		below: below, haste: 40, late: 2 * time.Second, lease: 3 * time.Second, poll: 250 * time.Millisecond, again: "-run TestSimulationOnPostgres -sim.postgres.seed",
		process: func() (world.World, func()) {
			w := open()
			return w, func() { _ = w.Close() }
		},
		remains: func() (left []string) {
			ctx := context.Background()
			if _, err := below.Sweep(ctx, 1000); err != nil { // mail that came after its run's end is the sweeper's
				return []string{err.Error()}
			}
			conn, err := pgx.Connect(ctx, url)
			if err != nil {
				return []string{err.Error()}
			}
			defer func() { _ = conn.Close(ctx) }()
			for _, table := range []string{"queue", "inbox", "tasks", "hooks", "awaits"} {
				var n int
				if err := conn.QueryRow(ctx, "select count(*) from stepwell."+table).Scan(&n); err != nil || n > 0 {
					left = append(left, fmt.Sprintf("all runs are over, and table %s has %d rows, %v", table, n, err))
				}
			}
			return left
		},
	}
	return on, func() { _ = below.Close() }
}
