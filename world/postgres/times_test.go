package postgres

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/stepwell/stepwell/internal/pgtest"
	"github.com/stepwell/stepwell/internal/sample"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/worldtest"
)

// TestOldTimes spoils each column that holds a time, as far as the server has times, and the times in the heads of rows.
func TestOldTimes(t *testing.T) {
	t.Parallel()
	first, last := time.Date(-4712, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(294246, 12, 31, 0, 0, 0, 0, time.UTC) // the last year that is whole in microseconds since 1970
	worldtest.RunOldTimesSome(t, func(t testing.TB) (world.World, func(int64, func(string))) {
		w := openAt(t, pgtest.URL(t))
		return w, func(us int64, look func(what string)) {
			do := func(text string, args ...any) {
				t.Helper()
				if _, err := w.pool.Exec(t.Context(), text, args...); err != nil {
					t.Fatalf("%s: %v", text, err)
				}
			}
			for table, sums := range map[string]string{
				"log": "sum = NULL", "inbox": "sum = NULL", "tasks": "sum = NULL", "chunks": "sum = NULL", "runs": "sum = NULL, end_sum = NULL",
			} {
				do(fmt.Sprintf("UPDATE %s.%s SET %s", w.opt.Schema, table, sums)) // as an earlier release writes rows
			}
			at := time.UnixMicro(min(max(us, first.UnixMicro()), last.UnixMicro()))
			rows, err := w.pool.Query(t.Context(), `SELECT table_name, column_name FROM information_schema.columns c JOIN information_schema.tables USING (table_schema, table_name)
				WHERE table_schema = $1 AND table_type = 'BASE TABLE' AND data_type LIKE 'timestamp%' AND c.is_generated = 'NEVER'`, w.opt.Schema)
			if err != nil {
				t.Fatal(err)
			}
			columns, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (c [2]string, err error) {
				return c, row.Scan(&c[0], &c[1])
			})
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range columns {
				do(fmt.Sprintf("UPDATE %s.%s SET %s = $1 WHERE %s IS NOT NULL", w.opt.Schema, c[0], c[1], c[1]), at)
				look(c[0] + "." + c[1])
			}
			if len(columns) < 10 {
				t.Fatalf("the schema has %d times", len(columns))
			}
			for _, table := range []string{"log", "inbox"} {
				do(fmt.Sprintf(`UPDATE %s.%s SET head = regexp_replace(head, '"(t|w|r|u|nb)":\d{16}', '"\1":%d', 'g')`, w.opt.Schema, table, max(us, -1<<63+1)))
				look("the heads of " + table)
			}
		}
	}, sample.Share(t, 4))
}

// TestFirstTimes: a run that was created before all times that people write is the last one of a list, whatever it is filtered by.
func TestFirstTimes(t *testing.T) {
	t.Parallel()
	w := openAt(t, pgtest.URL(t))
	created := []string{"'2026-01-01'", "'2001-01-01'", "'0001-01-01'", "'0044-03-15 BC'", "'-infinity'"}
	var want []string
	for i, at := range created {
		id := fmt.Sprint("r", i)
		want = append(want, id)
		must(t, w, attributed(birthOf(id, "w")))
		for _, text := range []string{
			"UPDATE {schema}.attributes SET created_at = " + at + " WHERE run = (SELECT key FROM {schema}.runs WHERE id = $1)",
			"UPDATE {schema}.runs SET created_at = " + at + ", sum = NULL WHERE id = $1",
		} {
			if _, err := w.pool.Exec(t.Context(), inSchema(text, w.opt.Schema), id); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, q := range map[string]world.RunQuery{
		"all": {}, "a workflow": {Workflow: "w"}, "a status": {Status: []world.Status{world.Pending}}, "an attribute": {Attributes: attributed(birthOf("", "w")).Events[0].Birth.Attributes},
	} {
		for _, limit := range []int{1, 2, 100} {
			var got []string
			for q.Limit, q.Cursor = limit, ""; ; {
				page, err := w.Runs(t.Context(), q)
				if err != nil {
					t.Fatal(err)
				}
				for i := range page.Runs {
					got = append(got, page.Runs[i].ID)
				}
				if q.Cursor = page.Cursor; q.Cursor == "" || len(got) > len(want) {
					break
				}
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s, %d a page: got %v, want %v", name, limit, got, want)
			}
		}
	}
	page, err := w.Runs(t.Context(), world.RunQuery{Since: time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)})
	if err != nil || len(page.Runs) != 2 {
		t.Errorf("since 2000: got %d runs, %v, want 2", len(page.Runs), err)
	}
}
