package postgres

import (
	"testing"

	"github.com/stepwell/stepwell/world"
)

// TestSweepOfListens: what listens of runs that are gone goes with a sweep.
func TestSweepOfListens(t *testing.T) {
	t.Parallel()
	w := open(t)
	shape := world.NewListen("a", 0, nil, "", nil)
	execute(t, w.cfg.ConnString(), "INSERT INTO stepwell.listens (run, wait, shape, hash, since, last, back) SELECT n, 'w', '"+shape.Shape+"', 1, now(), 0, false FROM generate_series(1, 1500) n")
	for _, want := range []int{500, 0, 0} {
		if _, err := w.Sweep(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		var n int
		if err := w.pool.QueryRow(t.Context(), "SELECT count(*) FROM stepwell.listens").Scan(&n); err != nil || n != want {
			t.Errorf("%d waits listen, %v, want %d", n, err, want)
		}
	}
}
