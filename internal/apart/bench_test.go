package apart

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/stepwell/stepwell/internal/pgtest"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/postgres"
	"github.com/stepwell/stepwell/world/sqlite"
)

// orders is a list of orders as JSON, of n bytes.
func orders(n int) []byte {
	type item struct {
		SKU      string  `json:"sku"`
		Quantity int     `json:"quantity"`
		Price    float64 `json:"price"`
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	cities := []string{"Lisbon", "Porto", "Braga", "Faro", "Coimbra", "Évora"}
	var b bytes.Buffer
	for b.Len() < n {
		o := struct {
			ID      string `json:"id"`
			Created string `json:"createdAt"`
			Email   string `json:"email"`
			City    string `json:"city"`
			Items   []item `json:"items"`
			Paid    bool   `json:"paid"`
		}{
			ID: fmt.Sprintf("ord_%016x", rnd.Uint64()), Created: fmt.Sprintf("2026-05-%02dT%02d:%02d:%02d.%03dZ", 1+rnd.IntN(28), rnd.IntN(24), rnd.IntN(60), rnd.IntN(60), rnd.IntN(1000)),
			Email: fmt.Sprintf("user%d@example.com", rnd.IntN(1e6)), City: cities[rnd.IntN(len(cities))], Paid: rnd.IntN(2) == 0,
		}
		for range 1 + rnd.IntN(4) {
			o.Items = append(o.Items, item{fmt.Sprintf("SKU-%05d", rnd.IntN(1e5)), 1 + rnd.IntN(9), float64(rnd.IntN(1e5)) / 100})
		}
		text, _ := json.Marshal(o)
		b.Write(append(text, ','))
	}
	return b.Bytes()[:n]
}

// picture is what does not compress, in base64 as JSON has it.
func picture(n int) []byte {
	raw := make([]byte, n)
	rand.NewChaCha8([32]byte{}).Read(raw)
	return []byte(base64.StdEncoding.EncodeToString(raw))[:n]
}

var benchKinds = []struct {
	name string
	of   func(n int) []byte
}{{"orders", orders}, {"base64", picture}, {"random", func(n int) []byte {
	raw := make([]byte, n)
	rand.NewChaCha8([32]byte{}).Read(raw)
	return raw
}}}

// BenchmarkCompress compresses, and expands, a piece.
func BenchmarkCompress(b *testing.B) {
	for _, kind := range benchKinds {
		for _, size := range []int{4 << 10, 64 << 10, world.ApartPiece} {
			piece := append([]byte{formPlain}, kind.of(size)...)
			var out []byte
			var zip squeezer
			var unzip expander
			b.Run(fmt.Sprintf("%s/%dKiB", kind.name, size>>10), func(b *testing.B) {
				b.SetBytes(int64(size))
				for b.Loop() {
					out = zip.compressed(piece)
				}
				b.ReportMetric(float64(len(out))/float64(len(piece)), "ratio")
			})
			if out[0] == formCompressed {
				b.Run(fmt.Sprintf("%s/%dKiB/expand", kind.name, size>>10), func(b *testing.B) {
					b.SetBytes(int64(size))
					for b.Loop() {
						if _, err := unzip.expanded(out[1:]); err != nil {
							b.Fatal(err)
						}
					}
				})
			}
		}
	}
}

// BenchmarkKeep keeps, and reads, a value of 16 MiB in a database.
func BenchmarkKeep(b *testing.B) {
	const size = 16 << 20
	for store, open := range map[string]func() (world.World, error){
		"sqlite":   func() (world.World, error) { return sqlite.Open(filepath.Join(b.TempDir(), "runs.db")) },
		"postgres": func() (world.World, error) { return postgres.Open(b.Context(), pgtest.URL(b)) },
	} {
		w, err := open()
		if err != nil {
			b.Fatal(err)
		}
		k := w.Values()
		for _, kind := range benchKinds {
			text := kind.of(size)
			var of world.Apart
			b.Run(store+"/"+kind.name+"/write", func(b *testing.B) {
				b.SetBytes(size)
				for b.Loop() {
					var err error
					if of, err = Keep(b.Context(), k, "run", bytes.NewReader(text), size); err != nil {
						b.Fatal(err)
					}
				}
			})
			b.Run(store+"/"+kind.name+"/read", func(b *testing.B) {
				b.SetBytes(size)
				for b.Loop() {
					got, err := Read(b.Context(), k, "run", of.JSON(), of.ID, size)
					if err != nil || !bytes.Equal(got, text) {
						b.Fatal(len(got), err)
					}
				}
			})
		}
		if err := w.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
