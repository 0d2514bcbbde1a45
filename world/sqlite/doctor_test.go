package sqlite

import (
	"context"
	"database/sql/driver"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stepwell/stepwell/world"
)

// Each trouble is found, by its own check and by no other, and each advice says something.
func TestExamine(t *testing.T) {
	t.Parallel()
	const (
		old  = "(unixepoch() - 120) * 1000000"
		soon = "(unixepoch() + 3600) * 1000000"
		run  = `INSERT INTO runs (key, id, workflow, version, priority, created_us, retention_ns) VALUES (1, 'r1', 'w', 1, 1, 1, 0);
		INSERT INTO classes VALUES (7, 'w', 1); INSERT INTO totals VALUES ('w', 'running', 1);`
		worker = `INSERT INTO workers (key, id, name, build, classes, steps, lease_ns, joined_us, until_us) VALUES
		(5, 'wrkr_5', 'five', 'b', '[{"workflow":"w","version":1}]', '["charge"]', 1, 1, ` + soon + `);`
	)
	const front = `{"c":"AAAAAAAAAAAAAAAAAAAAAA","e":[{"y":"signal_received","n":"e"}]}` // of mail
	const live = "INSERT INTO queue (run, class, running, priority, owner) VALUES (1, 7, 1, 1, 5);"
	batch := func(values string) string {
		return "INSERT INTO chunks (run, stream, idx, n, kind, step, attempt, pos, at_us, data) VALUES (" + values + ", '', 0, 0, 1, '');"
	}
	for name, c := range map[string]struct {
		script string
		check  string // "": no trouble
		health world.Health
		found  string
	}{
		"nothing":          {worker, "", "", ""},
		"an idle file":     {"", "workers", world.HealthWarning, "none is alive"},
		"no such workflow": {worker + run + "UPDATE classes SET version = 2; INSERT INTO queue (run, class, running, priority, wake_us) VALUES (1, 7, 1, 1, " + old + ")", "overdue runs", world.HealthBad, "w version 2, for 2m"},
		"a full worker":    {worker + run + "INSERT INTO queue (run, class, running, priority, wake_us) VALUES (1, 7, 1, 1, " + old + ")", "overdue runs", world.HealthWarning, "w version 1"},
		"due later":        {worker + run + "INSERT INTO queue (run, class, running, priority, wake_us) VALUES (1, 7, 1, 1, " + soon + ")", "", "", ""},
		"no such step": {worker + run + "INSERT INTO queue (run, class, running, priority) VALUES (1, 7, 1, 1);" +
			"INSERT INTO tasks (run, step, name, workflow, priority, visible_us) VALUES (1, 'step_1', 'ship', 'w', 1, " + old + ")", "overdue steps", world.HealthBad, "ship"},
		"steps wait": {worker + run + "INSERT INTO queue (run, class, running, priority) VALUES (1, 7, 1, 1);" +
			"INSERT INTO tasks (run, step, name, workflow, priority, visible_us) VALUES (1, 'step_1', 'charge', 'w', 1, " + old + ")", "overdue steps", world.HealthWarning, "charge"},
		"old mail": {worker + run + "INSERT INTO queue (run, class, running, priority, owner) VALUES (1, 7, 1, 1, 5);" +
			"INSERT INTO inbox (run, arrived_us, cancel, payload, format, head, body) VALUES (1, " + old + ", 0, 1, 1, '" + front + "', '')", "old mail", world.HealthWarning, "run r1"},
		"a worker just lost":  {worker + run + live + "UPDATE workers SET until_us = (unixepoch() - 10) * 1000000", "workers", world.HealthWarning, "none is alive"},
		"a lost worker":       {worker + run + "INSERT INTO queue (run, class, running, priority, owner) VALUES (1, 7, 1, 1, 5); UPDATE workers SET until_us = " + old, "workers", world.HealthWarning, "1 that hold work"},
		"chunks of no run":    {worker + batch("9, 's', 0, 3, 'data'"), "streams", world.HealthWarning, "1 batches"},
		"chunks that overlap": {worker + run + live + batch("1, 's', 0, 3, 'data'") + batch("1, 's', 2, 3, 'data'"), "streams", world.HealthBad, "run r1"},
		"a gap":               {worker + run + live + batch("1, 's', 0, 3, 'data'") + batch("1, 's', 4, 1, 'data'") + batch("1, 't', 0, 1, 'reset'"), "streams", world.HealthBad, "run r1"},
		"a gap that was made": {worker + run + live + batch("1, 's', 0, 3, 'data'") + batch("1, 's', 5, 1, 'reset'") + batch("1, 's', 6, 2, 'data'") + batch("1, 't', 0, 1, 'data'"), "", "", ""},
		"pieces of no run":    {worker + "INSERT INTO apart_pieces VALUES ('valu_1', 0, '', 0), ('valu_1', 1, '', 0)", "large values", world.HealthWarning, "1 large values"},
		"no pieces":           {worker + "INSERT INTO apart (run, value) VALUES ('r1', 'valu_1')", "large values", world.HealthBad, "1 of 1"},
		"blocked runs":        {worker + "INSERT INTO totals VALUES ('a', 'blocked', 1), ('v', 'running', 7), ('w', 'blocked', 3)", "blocked runs", world.HealthWarning, "3 of workflow w, 1 of workflow a"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "runs.db")
			w, err := Open(path)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = w.Close() })
			conn, err := connect(context.Background(), dsn(path, &Options{}), new(atomic.Int64))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := conn.raw.(driver.ExecerContext).ExecContext(t.Context(), c.script, nil); err != nil {
				t.Fatal(err)
			}
			if err := conn.close(); err != nil {
				t.Fatal(err)
			}
			all, err := world.Findings(t.Context(), w)
			if err != nil {
				t.Fatal(err)
			}
			seen := false
			for _, f := range all {
				switch {
				case f.Check == c.check:
					seen = true
					if f.Health != c.health || !strings.Contains(f.Found, c.found) || f.Advice == "" {
						t.Errorf("got %+v, want %s with %q, and advice", f, c.health, c.found)
					}
				case f.Check == "rows of no run" && name == "chunks of no run":
				case f.Check == "counts" && c.check == "blocked runs": // they are counted, and not there
				case f.Health != world.HealthGood || f.Found == "" || f.Advice != "":
					t.Errorf("got %+v, want nothing to be said", f)
				}
			}
			if seen != (c.check != "") {
				t.Errorf("no check is named %q", c.check)
			}
		})
	}
}
