package sqlite

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/stepwell/stepwell/internal/sample"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/worldtest"
)

func TestWorld(t *testing.T) {
	worldtest.RunSome(t, func(t testing.TB) world.World { return open(t) }, sample.Share(t, 3))
}

// Two Worlds of one file share it as two processes do: the first to join is the worker process, the other a client.
func TestWorldShared(t *testing.T) {
	worldtest.RunShared(t, func(t testing.TB) (a, b world.World) {
		path := filepath.Join(t.TempDir(), "runs.db")
		return openAt(t, path), openAt(t, path)
	})
}

// One World has all workers of a file; here both sides are that one.
func TestWorkers(t *testing.T) {
	worldtest.RunWorkers(t, func(t testing.TB) (a, b world.World) { w := open(t); return w, w })
}

func TestForgetting(t *testing.T) {
	worldtest.RunForgetting(t, func(t testing.TB) world.World { return open(t, Options{KeepDeliveries: time.Microsecond}) })
}
