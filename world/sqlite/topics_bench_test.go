package sqlite

import (
	"testing"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/worldtest"
)

func BenchmarkPublish(b *testing.B) {
	worldtest.BenchmarkPublish(b, func(t testing.TB) world.World { return open(t) })
}

func BenchmarkSpread(b *testing.B) {
	worldtest.BenchmarkSpread(b, func(t testing.TB) world.World { return open(t) })
}
