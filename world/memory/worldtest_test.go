package memory_test

import (
	"testing"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/memory"
	"github.com/stepwell/stepwell/world/worldtest"
)

func TestWorld(t *testing.T) {
	worldtest.Run(t, func(testing.TB) world.World { return memory.New() })
}
