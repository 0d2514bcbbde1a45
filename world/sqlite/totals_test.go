package sqlite

import (
	"context"
	"database/sql/driver"
	"sync/atomic"
	"testing"
)

// wrongTotals compares the totals with a count of all runs, the terminal ones and those in the queue.
const wrongTotals = `
WITH counted (workflow, status, n) AS (
  SELECT workflow, status, count(*) FROM runs WHERE status IS NOT NULL GROUP BY 1, 2
  UNION ALL SELECT workflow, 'pending', count(*) FROM queue JOIN runs ON key = run WHERE NOT running GROUP BY 1
  UNION ALL SELECT workflow, 'running', count(*) FROM queue JOIN runs ON key = run WHERE running GROUP BY 1
  UNION ALL SELECT workflow, 'paused', count(*) FROM queue JOIN runs ON key = run WHERE paused GROUP BY 1
  UNION ALL SELECT workflow, 'blocked', count(*) FROM queue JOIN runs ON key = run WHERE blocked IS NOT NULL GROUP BY 1)
SELECT coalesce(c.workflow, t.workflow), coalesce(c.status, t.status), coalesce(c.n, 0), coalesce(t.n, 0)
FROM counted c FULL JOIN totals t ON t.workflow = c.workflow AND t.status = c.status
WHERE coalesce(c.n, 0) <> coalesce(t.n, 0)`

// checkTotals fails the test where the totals of a file are not what its runs are. Every file of every test is held to it when the
// test ends.
func checkTotals(t testing.TB, path string) {
	t.Helper()
	c, err := connect(context.Background(), dsn(path, &Options{}), new(atomic.Int64))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.close() }()
	rows, err := c.raw.(driver.QueryerContext).QueryContext(context.Background(), wrongTotals, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	for wrong := make(row, 4); rows.Next(wrong) == nil; {
		t.Errorf("workflow %s: %d runs are %s, the totals say %d", wrong.text(0), wrong.int(2), wrong.text(1), wrong.int(3))
	}
}
