package postgres

import (
	"testing"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/worldtest"
)

func TestWorld(t *testing.T) {
	worldtest.Run(t, func(t testing.TB) world.World { return open(t) })
}

// Two Worlds of one schema share it as two processes do.
func TestWorldShared(t *testing.T) {
	worldtest.RunShared(t, func(t testing.TB) (a, b world.World) {
		schema := newSchema(t)
		return openAt(t, schema), openAt(t, schema)
	})
}
