package postgres

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

// One million waits stand beside those that look back.
func BenchmarkLookBack(b *testing.B) {
	worldtest.BenchmarkLookBack(b, func(t testing.TB) world.World {
		w := open(t)
		stands := world.NewListen("order.paid", 0, []byte(`{"order":1}`), "", nil)
		execute(b, w.cfg.ConnString(), "INSERT INTO stepwell.listens (run, wait, shape, hash) SELECT 1000000 + n, 'w', '"+stands.Shape+"', n FROM generate_series(1, 1000000) n")
		return w
	})
}
