package postgres

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"
)

// wrongTotals compares the totals with a count of all runs, the terminal ones and those in the queue.
const wrongTotals = `
WITH counted (workflow, status, n) AS (
  SELECT workflow, status, count(*) FROM {schema}.runs WHERE status IS NOT NULL GROUP BY 1, 2
  UNION ALL SELECT workflow, 'pending', count(*) FROM {schema}.queue JOIN {schema}.runs ON key = run WHERE NOT running GROUP BY 1
  UNION ALL SELECT workflow, 'running', count(*) FROM {schema}.queue JOIN {schema}.runs ON key = run WHERE running GROUP BY 1
  UNION ALL SELECT workflow, 'paused', count(*) FROM {schema}.queue JOIN {schema}.runs ON key = run WHERE paused GROUP BY 1
  UNION ALL SELECT workflow, 'blocked', count(*) FROM {schema}.queue JOIN {schema}.runs ON key = run WHERE blocked IS NOT NULL GROUP BY 1),
totals AS (SELECT workflow, status, sum(n) AS n FROM {schema}.totals GROUP BY 1, 2)
SELECT coalesce(c.workflow, t.workflow), coalesce(c.status, t.status), coalesce(c.n, 0), coalesce(t.n, 0)::bigint
FROM counted c FULL JOIN totals t ON t.workflow = c.workflow AND t.status = c.status
WHERE coalesce(c.n, 0) <> coalesce(t.n, 0)`

// checkTotals fails the test where the totals of a database are not what its runs are, or a run has a status and a place in the queue, or
// neither. Every database of every test is held to it when the test ends.
func checkTotals(t testing.TB, w *World) {
	t.Helper()
	ctx := context.Background()
	c, err := pgx.ConnectConfig(ctx, w.cfg.ConnConfig)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close(ctx) }()
	var workflow, status string
	var want, got int64
	rows, err := c.Query(ctx, inSchema(wrongTotals, w.opt.Schema), pgx.QueryExecModeExec)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := pgx.ForEachRow(rows, []any{&workflow, &status, &want, &got}, func() error {
		t.Errorf("workflow %s: %d runs are %s, the totals say %d", workflow, want, status, got)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	var lost int
	if err := c.QueryRow(ctx, inSchema(`SELECT count(*) FROM {schema}.runs LEFT JOIN {schema}.queue ON run = key
		WHERE (run IS NULL) = (status IS NULL)`, w.opt.Schema), pgx.QueryExecModeExec).Scan(&lost); err != nil || lost > 0 {
		t.Errorf("%d runs are over and queued, or neither (%v)", lost, err)
	}
}
