package server

// A server's clock that steps, under a remote worker.

import (
	"path/filepath"
	"testing"

	"github.com/stepwell/stepwell/internal/clocktest"
	"github.com/stepwell/stepwell/internal/pgtest"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/postgres"
	"github.com/stepwell/stepwell/world/remote"
	"github.com/stepwell/stepwell/world/sqlite"
)

// The clock of a server steps under its remote worker, which keeps its lease and wakes its runs.
func TestTheServersClockSteps(t *testing.T) {
	for name, open := range map[string]func(t *testing.T, clock *clocktest.Clock) (world.World, error){
		"sqlite": func(t *testing.T, clock *clocktest.Clock) (world.World, error) {
			return sqlite.Open(filepath.Join(t.TempDir(), "runs.db"), sqlite.Options{Now: clock.Now})
		},
		"postgres": func(t *testing.T, clock *clocktest.Clock) (world.World, error) {
			return postgres.Open(t.Context(), pgtest.URL(t), postgres.Options{Now: clock.Now})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var clock clocktest.Clock
			below, err := open(t, &clock)
			if err != nil {
				t.Fatal(err)
			}
			w, err := remote.Open(t.Context(), serveWorld(t, below, Options{}))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = w.Close() })
			clocktest.Scene{Clock: &clock, World: w, Follows: name == "sqlite"}.Play(t)
		})
	}
}
