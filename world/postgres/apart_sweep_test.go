package postgres

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/stepwell/stepwell/world"
)

// TestSweepOfOrphans: of what was written for runs that are not there a sweep deletes what is old, and no fresh value
// of the same run; and not what was named, or whose run came to be, since it looked.
func TestSweepOfOrphans(t *testing.T) {
	t.Parallel()
	w := open(t)
	ids := map[string]string{}
	runs, values := []string{}, []string{}
	for _, p := range [][2]string{{"twice", "old"}, {"twice", "fresh"}, {"late", "named"}, {"born", "held"}, {"never", "gone"}} {
		id := world.NewID(world.PrefixApart, world.Now())
		if err := w.Values().KeepPiece(t.Context(), &world.Piece{Run: p[0], Value: id, Data: []byte{0}}); err != nil {
			t.Fatal(err)
		}
		ids[p[1]], runs, values = id, append(runs, p[0]), append(values, id)
	}
	db := w.cfg.ConnString()
	execute(t, db, "UPDATE stepwell.apart SET at = at - interval '25 hours' WHERE value <> '"+ids["fresh"]+"'")
	execute(t, db, "UPDATE stepwell.apart SET at = NULL WHERE run = 'late'")
	execute(t, db, `INSERT INTO stepwell.runs (key, id, workflow, version, priority, created_at, retention_ns, status, sweep_at)
		VALUES (1, 'born', 'w', 1, 1, now(), 0, NULL, NULL)`)
	there := func(when string, want ...string) {
		t.Helper()
		for name, id := range ids {
			rows, n := 0, 0
			if err := w.pool.QueryRow(t.Context(), `SELECT (SELECT count(*) FROM stepwell.apart WHERE value = $1),
				(SELECT count(*) FROM stepwell.apart_pieces WHERE value = $1)`, id).Scan(&rows, &n); err != nil {
				t.Fatal(err)
			}
			if is := slices.Contains(want, name); is != (n == 1) || is != (rows == 1) {
				t.Errorf("%s: the value %q is held by %d, in %d pieces", when, name, rows, n)
			}
		}
	}
	before := w.now().Add(-world.ApartOrphan)
	if err := w.change(t.Context(), func(ctx context.Context, tx pgx.Tx) error { // as by a look before all that
		return deletePieces(ctx, w.in(tx), dropOrphans, before, runs[1:], values[1:])
	}); err != nil {
		t.Fatal(err)
	}
	there("a deletion that comes late", "old", "fresh", "named", "held")
	if err := sweepOrphans(t.Context(), &w.keeper); err != nil {
		t.Fatal(err)
	}
	there("a sweep", "fresh", "named", "held")
	execute(t, db, "DELETE FROM stepwell.runs WHERE id = 'born'") // it is no whole run
}

// TestALostValue: a value that a run holds, and of which nothing is there, is told from one that it does not hold.
func TestALostValue(t *testing.T) {
	t.Parallel()
	w := open(t)
	id := world.NewID(world.PrefixApart, world.Now())
	if err := w.Values().KeepPiece(t.Context(), &world.Piece{Run: "r", Value: id, Data: []byte{0}}); err != nil {
		t.Fatal(err)
	}
	execute(t, w.cfg.ConnString(), "DELETE FROM stepwell.apart_pieces")
	for number, want := range []error{world.ErrCorrupt, world.ErrNotFound} {
		if _, err := w.Values().Piece(t.Context(), "r", id, number); !errors.Is(err, want) {
			t.Errorf("piece %d: %v, want %v", number, err, want)
		}
	}
	if _, err := w.Values().Piece(t.Context(), "other", id, 0); !errors.Is(err, world.ErrNotFound) {
		t.Errorf("of a run that does not hold it: %v", err)
	}
	execute(t, w.cfg.ConnString(), "DELETE FROM stepwell.apart") // it is no whole value
}
