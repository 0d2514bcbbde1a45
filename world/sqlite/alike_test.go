package sqlite_test

// A file answers as memory does, whatever is asked in whatever order.

import (
	"flag"
	"path/filepath"
	"testing"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/memory"
	"github.com/stepwell/stepwell/world/sqlite"
	"github.com/stepwell/stepwell/world/worldtest"
)

var (
	alikeSeed  = flag.Uint64("alike.seed", 0, "the seed of the first sequence of calls that are made on two worlds; 0: another each time")
	alikeCount = flag.Int("alike.count", 3, "how many sequences there are")
)

func TestAlike(t *testing.T) {
	calls := worldtest.Alike{Seed: *alikeSeed, Sequences: *alikeCount, Calls: 80}
	worldtest.RunAlike(t, calls, func(testing.TB) world.World { return memory.New() }, func(t testing.TB) world.World {
		w, err := sqlite.Open(filepath.Join(t.TempDir(), "runs.db"))
		if err != nil {
			t.Fatal(err)
		}
		return w
	})
}
