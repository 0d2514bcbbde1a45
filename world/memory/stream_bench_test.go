package memory_test

import (
	"testing"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/memory"
	"github.com/stepwell/stepwell/world/worldtest"
)

func BenchmarkAppend(b *testing.B) {
	worldtest.BenchmarkAppend(b, func(t testing.TB) world.World { return memory.New() })
}
