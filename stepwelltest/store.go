package stepwelltest

// This file holds where the world of an environment is kept: in memory, unless a test says otherwise.

import (
	"context"
	"testing"
	"time"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/memory"
)

// Store makes the worlds of an environment: see [Options]. Packages sqlitetest and postgrestest have those of SQLite
// and PostgreSQL, so that a test links the drivers that it uses, and no other. Each call prepares a place for one
// more world, which is new and empty: [Env.CrashEverywhere] needs one for each death.
//
// All of the kit is there on each store, and time is virtual: the store is told what time it is. What a test costs is
// what the store costs: each commit is one of the database's. A world of a Store has no transactions for steps: fake
// those that are [stepwell.Transactional].
type Store func(t testing.TB) (Place, error)

// Place is where one world is kept.
type Place struct {
	// Open opens the world. It is called once.
	Open func() (world.World, error)

	// Remove removes what the world has left, when it is closed. Nil: nothing has to be removed.
	Remove func() error

	// SetTime is nil for a world that takes its time from package time and waits for nothing but files: it lives in
	// the bubble of the test, under its clock. Any other world, as one that waits on sockets, is opened and called
	// outside of the bubble, and is told the time with SetTime before a call: it must take that for its own, until it
	// is told another. The bubble's clock stands still meanwhile.
	SetTime func(ctx context.Context, now time.Time) error
}

// inMemory is the store where Options have none.
func inMemory(testing.TB) (Place, error) {
	return Place{Open: func() (world.World, error) { return memory.New(), nil }}, nil
}
