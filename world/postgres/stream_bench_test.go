package postgres

import (
	"testing"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/worldtest"
)

func BenchmarkAppend(b *testing.B) {
	worldtest.BenchmarkAppend(b, func(t testing.TB) world.World { return open(t) })
}

func BenchmarkDeliver(b *testing.B) {
	worldtest.BenchmarkDeliver(b, func(t testing.TB) world.World { return open(t, Options{InboxLimit: 1 << 30}) })
}
