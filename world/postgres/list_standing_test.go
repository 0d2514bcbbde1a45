package postgres

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stepwell/stepwell/internal/pgtest"
	"github.com/stepwell/stepwell/world"
)

// TestListsOfFewAmongMany: what lives, and what failed, is found among many runs that completed, whether there are some or none,
// with a look at no more rows than that. The newest and the oldest are found alike.
func TestListsOfFewAmongMany(t *testing.T) {
	t.Parallel()
	const runs = 30_000
	u := pgtest.URL(t)
	w, err := Open(t.Context(), u)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Close() })
	fill := func(from, to int, status string) {
		execute(t, u, fmt.Sprintf(`
INSERT INTO stepwell.runs (key, id, workflow, version, priority, created_at, retention_ns, status, ended_at)
  SELECT k, 'wrun_' || k, CASE WHEN k %% 2 = 0 THEN 'even' ELSE 'odd' END, 1, 1, '2026-01-01T00:00:00Z'::timestamptz + k * interval '1 second', 0, %[3]s, now()
  FROM generate_series(%[1]d, %[2]d) k;
INSERT INTO stepwell.log (run, seq, n, format, head, body)
  SELECT k, 1, 1, 1, '{"c":"AAAAAAAAAAAAAAAAAAAAAA","b":"b","e":[{"y":"run_created","o":0,"l":1,"b":{"w":"w"}}]}', '1' FROM generate_series(%[1]d, %[2]d) k;
INSERT INTO stepwell.totals (workflow, status, n)
  SELECT workflow, coalesce(status, 'pending'), count(*) FROM stepwell.runs WHERE key BETWEEN %[1]d AND %[2]d GROUP BY 1, 2`, from, to, status))
	}
	fill(10, runs, "'completed'")
	execute(t, u, `INSERT INTO stepwell.classes (workflow, version) VALUES ('even', 1), ('odd', 1); ANALYZE`)
	failed, live := []world.Status{world.Failed}, []world.Status{world.Pending, world.Running}
	want := func(when string, q world.RunQuery, ids ...string) {
		t.Helper()
		before := w.counters.read()
		page, err := w.Runs(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for i := range page.Runs {
			got = append(got, page.Runs[i].ID)
		}
		after := w.counters.read()
		if !slices.Equal(got, ids) || page.Cursor != "" {
			t.Errorf("%s: %v of %q: got %v and the cursor %q, want %v at once", when, q.Status, q.Workflow, got, page.Cursor, ids)
		}
		if n := after.Statements - before.Statements; n > 4 {
			t.Errorf("%s: %v of %q took %d statements", when, q.Status, q.Workflow, n)
		}
	}
	for _, workflow := range []string{"", "even", "none"} {
		for _, status := range [][]world.Status{failed, live, {world.Cancelled}, {world.Pending}, {world.StandsBlocked}, {world.StandsRetrying}} {
			want("none", world.RunQuery{Status: status, Workflow: workflow})
		}
	}
	fill(1, 2, "'failed'") // the oldest,
	fill(3, 4, "NULL")
	fill(runs+1, runs+2, "'failed'") // and the newest
	fill(runs+3, runs+4, "NULL")
	execute(t, u, `INSERT INTO stepwell.queue (run, class, running, priority)
		SELECT r.key, c.key, r.workflow = 'odd', 1 FROM stepwell.runs r JOIN stepwell.classes c USING (workflow) WHERE r.status IS NULL`)
	id := func(k int) string { return fmt.Sprint("wrun_", k) }
	want("some", world.RunQuery{Status: failed}, id(runs+2), id(runs+1), id(2), id(1))
	want("some", world.RunQuery{Status: failed, Workflow: "even"}, id(runs+2), id(2))
	want("some", world.RunQuery{Status: failed, Workflow: "even", Roots: true}, id(runs+2), id(2))
	want("some", world.RunQuery{Status: failed, Version: 2})
	want("some", world.RunQuery{Status: live}, id(runs+4), id(runs+3), id(4), id(3))
	want("some", world.RunQuery{Status: live, Workflow: "odd"}, id(runs+3), id(3))
	want("some", world.RunQuery{Status: []world.Status{world.Running}}, id(runs+3), id(3))
	want("some", world.RunQuery{Status: []world.Status{world.Pending}, Workflow: "even"}, id(runs+4), id(4))
}
