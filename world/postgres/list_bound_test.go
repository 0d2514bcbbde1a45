package postgres

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stepwell/stepwell/internal/pgtest"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/rules"
)

// TestAFilterIsBounded: a page of a list that nothing fits looks at so many rows in so many statements, however many runs there are, says how far it came, and
// the next goes on behind that.
func TestAFilterIsBounded(t *testing.T) {
	t.Parallel()
	const runs = 22_000
	u := pgtest.URL(t)
	w, err := Open(t.Context(), u)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Close() })
	execute(t, u, `
INSERT INTO stepwell.runs (key, id, workflow, version, priority, created_at, retention_ns, status, ended_at)
  SELECT k, 'wrun_' || k, 'w', 1, 1, '2026-01-01T00:00:00Z'::timestamptz + k * interval '1 second', 0, 'failed', now() FROM generate_series(1, 22000) k;
INSERT INTO stepwell.log (run, seq, n, format, head, body)
  SELECT k, 1, 1, 1, '{"c":"AAAAAAAAAAAAAAAAAAAAAA","b":"b","e":[{"y":"run_created","o":0,"l":1,"b":{"w":"w"}}]}', '1' FROM generate_series(1, 22000) k;
INSERT INTO stepwell.attributes (name, value, created_at, run) SELECT 'tenant', 'sa', created_at, key FROM stepwell.runs;
UPDATE stepwell.runs SET attributes = '{"tenant":"a"}';
ANALYZE`)
	first := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	none := []json.RawMessage{json.RawMessage(`"none"`)}
	for _, test := range []struct {
		name       string
		q          world.RunQuery
		looks      int // runs that a page passes over
		rows       int64
		statements int64
		pages      int
	}{
		{"input", world.RunQuery{Input: none}, rules.MostListed, rules.MostListed, 1, 22},
		{"input of a workflow", world.RunQuery{Input: none, Workflow: "w"}, rules.MostListed, rules.MostListed, 1, 22},
		{"input beside an attribute", world.RunQuery{Input: none, Attributes: map[string]json.RawMessage{"tenant": json.RawMessage(`"a"`)}}, rules.MostListed, rules.MostListed, 2, 22},
		{"status", world.RunQuery{Status: []world.Status{world.Completed}}, rules.MostScanned, 0, 2, 2},
		{"status of a workflow", world.RunQuery{Status: []world.Status{world.Completed}, Workflow: "w"}, rules.MostScanned, 0, 2, 2},
		{"status beside those that failed", world.RunQuery{Status: []world.Status{world.Cancelled}}, rules.MostScanned, 0, 2, 2},
	} {
		left, pages := runs, 0
		for {
			before := w.counters.read()
			page, err := w.Runs(t.Context(), test.q)
			if err != nil {
				t.Fatalf("%s: %v", test.name, err)
			}
			after := w.counters.read()
			if n := after.RowsRead - before.RowsRead; n > test.rows || len(page.Runs) > 0 {
				t.Errorf("%s: page %d read %d rows and has %d runs, want %d rows at most", test.name, pages, n, len(page.Runs), test.rows)
			}
			if n := after.Statements - before.Statements; n > test.statements {
				t.Errorf("%s: page %d took %d statements, want %d at most", test.name, pages, n, test.statements)
			}
			pages++
			if test.q.Cursor = page.Cursor; page.Cursor == "" {
				break
			}
			left -= test.looks
			if want := first.Add(time.Duration(left+1) * time.Second); !page.Reached.Equal(want) {
				t.Fatalf("%s: page %d reached %s, want %s", test.name, pages, page.Reached, want)
			}
		}
		if pages != test.pages {
			t.Errorf("%s: %d pages, want %d", test.name, pages, test.pages)
		}
	}
}
