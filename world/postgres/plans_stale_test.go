package postgres

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stepwell/stepwell/internal/pgtest"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/rules"
)

// TestPlansOfAnEmptyTable: whatever the statistics of tasks and of news say, and whenever a plan was made, what a step
// under limits goes through touches so many pages and rows for each step, however many steps there are.
func TestPlansOfAnEmptyTable(t *testing.T) {
	t.Parallel()
	for _, of := range []string{"never analyzed", "analyzed when empty", "planned when empty", "planned at the first", "analyzed when drained", "analyzed when full"} {
		t.Run(of, func(t *testing.T) {
			t.Parallel()
			testStale(t, of)
		})
	}
}

// testStale makes tasks of 8 runs and of one key: half of them stand in line, and are news; the others have their
// place.
func testStale(t *testing.T, of string) {
	const tasks, asked = 4_000, "2026-01-01T00:00:00Z"
	u := pgtest.URL(t)
	w, err := Open(t.Context(), u)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Close() })
	tables := []string{"tasks", "limit_news", "limit_line", "limit_keys", "queue", "runs"}
	for _, table := range tables {
		execute(t, u, "ALTER TABLE stepwell."+table+" SET (autovacuum_enabled = off)")
	}
	analyze := func() { execute(t, u, "ANALYZE stepwell."+strings.Join(tables, ", stepwell.")) }
	if of != "never analyzed" {
		analyze()
	}
	fill := func(from, to int) {
		t.Helper()
		execute(t, u, fmt.Sprintf(`
INSERT INTO stepwell.tasks (key, run, step, name, workflow, priority, visible_at, places, has, parked_at, asked_at)
  SELECT k, k %% 8, 'step_' || k, 'charge', 'w', 1, CASE WHEN k %% 2 = 0 THEN '%[3]s' ELSE '9999-12-31T00:00:00Z' END::timestamptz, '{l/a}', 1 - k %% 2, CASE WHEN k %% 2 = 1 THEN '%[3]s'::timestamptz END, '%[3]s'
  FROM generate_series(%[1]d, %[2]d) k;
INSERT INTO stepwell.limit_news (key, kind, id, urgency, place, run) OVERRIDING SYSTEM VALUE
  SELECT 'l/a', 2, k, 2, '%[3]s', k + %[4]d FROM generate_series(%[1]d, %[2]d) k WHERE k %% 2 = 1;
INSERT INTO stepwell.limit_line (key, urgency, place, run) SELECT key, urgency, place, run FROM stepwell.limit_news WHERE id >= %[1]d`, from, to, asked, int64(-(1<<62))))
	}
	execute(t, u, `
INSERT INTO stepwell.workers (key, id, name, build, classes, steps, lease_ns, joined_at, until) VALUES (1, 'wrkr_1', 'host:1', 'b', '[]', '[]', 10000000000, now(), now() + interval '1 day');
INSERT INTO stepwell.runs (key, id, workflow, version, priority, created_at, retention_ns) SELECT k, 'wrun_' || k, 'w', 1, 1, now(), 0 FROM generate_series(0, 7) k;
INSERT INTO stepwell.limits VALUES ('l', 2, NULL, false); INSERT INTO stepwell.limit_keys VALUES ('l/a', 2)`)
	const n = tasks / 2
	odd, even := valuesOf(n, func(i int) int64 { return int64(2*i + 1) }), valuesOf(n, func(i int) int64 { return int64(2*i + 2) })
	line := []any{same("l/a", n), same(2, n), same(asked, n), valuesOf(n, func(i int) int64 { return odd[i] - (1 << 62) })}
	calls := []struct {
		s    *statement
		args []any
	}{
		{lookLimits, []any{mostLimitKeys, mostLimitNews, tasks, int64(rules.RateSlack)}},
		{listLimitKeys, []any{"l/", "l0", 10, tasks}},
		{taskInLine, []any{"wrun_7", world.MostCounted, fmt.Sprint("step_", tasks-1)}},
		{claimTasks, []any{even, same(0, n), same(0, n), same(0, n), same[any](nil, n), same(asked, n), 1}},
		{deleteTasks, []any{valuesOf(n, func(i int) int64 { return even[i] % 8 }), valuesOf(n, func(i int) string { return fmt.Sprint("step_", even[i]) })}},
		{admitRuns, append(append([]any{}, line...), []string{"l/a"}, []int{0}, []string{}, []int64{}, []bool{})},
		{deleteNews, []any{same("l/a", n), same(2, n), odd}},
		{leaveLine, line},
	}
	p := newPlanner(t, w, "force_generic_plan")
	names := make([]string, len(calls))
	look := func(check bool) {
		for i, c := range calls {
			if names[i] == "" {
				names[i], _ = p.prepare(c.s)
			}
			const how = "ANALYZE, BUFFERS, TIMING off, COSTS off, SUMMARY off"
			plan := p.explain(c.s, how, names[i], literals(c.args))
			if !check {
				continue
			}
			pages, rows := plan.pages(), plan.rows()
			t.Logf("%s: %d pages, %d rows", c.s.name, pages, rows)
			if most := int64(40 * n); pages > most || rows > most {
				var b strings.Builder
				plan.write(&b, 1)
				t.Errorf("%s of %d tasks: %d pages, %d rows, want at most %d\n%s", c.s.name, n, pages, rows, most, b.String())
			}
		}
	}
	first := 1
	switch of {
	case "planned when empty":
		look(false)
	case "planned at the first":
		fill(1, 2)
		look(false)
		first = 3
	case "analyzed when drained":
		fill(1, tasks)
		execute(t, u, "DELETE FROM stepwell.limit_line; DELETE FROM stepwell.tasks; DELETE FROM stepwell.limit_news; DELETE FROM stepwell.limit_line")
		for _, table := range tables { // else what is dead is read or not, by who looks beside this test
			execute(t, u, "VACUUM (ANALYZE, TRUNCATE off) stepwell."+table)
		}
	}
	fill(first, tasks)
	if of == "analyzed when full" {
		analyze()
	}
	look(true)
}
