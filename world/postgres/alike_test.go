package postgres_test

// A database answers as memory does: a sample, as sequences of calls are tried on files by the dozen.

import (
	"flag"
	"testing"

	"github.com/stepwell/stepwell/internal/pgtest"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/memory"
	"github.com/stepwell/stepwell/world/postgres"
	"github.com/stepwell/stepwell/world/worldtest"
)

var (
	alikeSeed  = flag.Uint64("alike.seed", 0, "the seed of the first sequence of calls that are made on two worlds; 0: another each time")
	alikeCount = flag.Int("alike.count", 1, "how many sequences there are")
)

func TestAlike(t *testing.T) {
	calls := worldtest.Alike{Seed: *alikeSeed, Sequences: *alikeCount, Calls: 80, Slow: true}
	worldtest.RunAlike(t, calls, func(testing.TB) world.World { return memory.New() }, func(t testing.TB) world.World {
		w, err := postgres.Open(t.Context(), pgtest.URL(t))
		if err != nil {
			t.Fatal(err)
		}
		return w
	})
}
