package memory_test

import (
	"testing"
	"time"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/memory"
	"github.com/stepwell/stepwell/world/worldtest"
)

func TestWorld(t *testing.T) {
	worldtest.Run(t, func(testing.TB) world.World { return memory.New() })
}

func TestForgetting(t *testing.T) {
	worldtest.RunForgetting(t, func(testing.TB) world.World { return memory.New(memory.Options{KeepDeliveries: time.Microsecond}) })
}

// A World of memory has no storage to share: here both sides are one object, with workers of its own.
func TestWorkers(t *testing.T) {
	worldtest.RunWorkers(t, func(testing.TB) (a, b world.World) { w := memory.New(); return w, w })
}
