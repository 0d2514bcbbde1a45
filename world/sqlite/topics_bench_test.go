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

// One million waits stand beside those that look back.
func BenchmarkLookBack(b *testing.B) {
	worldtest.BenchmarkLookBack(b, func(t testing.TB) world.World {
		w := open(t, Options{})
		stands := world.NewListen("order.paid", 0, []byte(`{"order":1}`), "", nil)
		for from := 0; from < 1_000_000; from += 50_000 {
			if _, err := ask(b.Context(), w, func(g *group) (struct{}, error) {
				for n := from; n < from+50_000; n++ {
					if err := g.tx.exec(insertListen, int64(1_000_000+n), "w", stands.Shape, int64(n), int64(0), int64(0), nil); err != nil {
						return struct{}{}, err
					}
				}
				return struct{}{}, nil
			}); err != nil {
				b.Fatal(err)
			}
		}
		return w
	})
}
