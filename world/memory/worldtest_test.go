package memory_test

import (
	"testing"
	"time"

	"github.com/stepwell/stepwell/internal/sample"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/memory"
	"github.com/stepwell/stepwell/world/worldtest"
)

func TestWorld(t *testing.T) {
	worldtest.Run(t, func(testing.TB) world.World { return memory.New() })
}

// bare is a world without abilities: what it has inside is not to be found.
type bare struct{ world.World }

// A store needs no ability.
func TestWorldWithoutAbilities(t *testing.T) {
	worldtest.RunOver(t, func(t testing.TB) world.World {
		w := bare{memory.New()}
		if got := world.AbilitiesOf(w); got != (world.Abilities{}) {
			t.Fatalf("got %+v, want a world without abilities", got)
		}
		return w
	}, sample.Share(t, 6))
}

func TestForgetting(t *testing.T) {
	worldtest.RunForgetting(t, func(testing.TB) world.World { return memory.New(memory.Options{KeepDeliveries: time.Microsecond}) })
}

// A World of memory has no storage to share: here both sides are one object, with workers of its own.
func TestWorkers(t *testing.T) {
	worldtest.RunWorkers(t, func(testing.TB) (a, b world.World) { w := memory.New(); return w, w })
}
