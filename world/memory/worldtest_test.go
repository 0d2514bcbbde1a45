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

// bare is a world without abilities.
type bare struct{ world.World }

func (bare) Abilities() world.Abilities { return world.Abilities{} }

// A store needs no ability.
func TestWorldWithoutAbilities(t *testing.T) {
	worldtest.RunOver(t, func(t testing.TB) world.World { return bare{memory.New()} }, sample.Share(t, 6))
}

func TestForgetting(t *testing.T) {
	worldtest.RunForgetting(t, func(testing.TB) world.World { return memory.New(memory.Options{KeepDeliveries: time.Microsecond}) })
}

// A World of memory has no storage to share: here both sides are one object, with workers of its own.
func TestWorkers(t *testing.T) {
	worldtest.RunWorkers(t, func(testing.TB) (a, b world.World) { w := memory.New(); return w, w })
}
