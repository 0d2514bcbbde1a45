package postgres

import (
	"strings"
	"testing"

	"github.com/stepwell/stepwell/internal/pgtest"
	"github.com/stepwell/stepwell/world"
)

// Each trouble is found, by its own check and by no other, and each advice says something.
func TestExamine(t *testing.T) {
	t.Parallel()
	const run = `INSERT INTO stepwell.runs (key, id, workflow, version, priority, created_at, retention_ns, status, sweep_at) VALUES (1, 'r1', 'w', 1, 1, now(), 0, NULL, NULL);
		INSERT INTO stepwell.totals VALUES ('w', 'running', 1); INSERT INTO stepwell.classes (key, workflow, version) VALUES (7, 'w', 1);`
	const worker = `INSERT INTO stepwell.workers (key, id, name, build, classes, steps, lease_ns, joined_at, until) VALUES
		(5, 'wrkr_5', 'five', 'b', '[{"workflow":"w","version":1}]', '["charge"]', 1, now(), now() + interval '1 hour');`
	const live = "INSERT INTO stepwell.queue (run, class, running, priority, owner) VALUES (1, 7, true, 3, 5);"
	batch := func(values string) string {
		return "INSERT INTO stepwell.chunks (run, stream, idx, n, kind, step, attempt, pos, at, data, segment) VALUES (" + values + ", '', 0, 0, now(), '', 0);"
	}
	const head = `{"c":"AAAAAAAAAAAAAAAAAAAAAA","e":[{"y":"signal_received","n":"e"}]}` // of mail
	for name, c := range map[string]struct {
		script string
		check  string // "": no trouble
		health world.Health
		found  string
	}{
		"nothing":          {worker, "", "", ""},
		"an idle database": {"", "workers", world.HealthWarning, "none is alive"},
		"a lost index":     {worker + "DROP INDEX stepwell.queue_ready", "indexes", world.HealthBad, "queue_ready is missing"},
		"a lost key":       {worker + "ALTER TABLE stepwell.trims DROP CONSTRAINT trims_pkey", "indexes", world.HealthBad, "trims_pkey is missing"},
		"no autovacuum":    {worker + "ALTER TABLE stepwell.queue SET (autovacuum_enabled = false)", "dead rows", world.HealthBad, "queue"},
		"an old schema":    {worker + "DELETE FROM stepwell.versions WHERE version > 0", "schema", world.HealthBad, "version 0"},
		"a newer schema":   {worker + "INSERT INTO stepwell.versions (version, name) SELECT max(version) + 1, 'next' FROM stepwell.versions", "schema", world.HealthWarning, "version"},
		"no such workflow": {worker + run + `UPDATE stepwell.classes SET version = 2;
			INSERT INTO stepwell.queue (run, class, running, priority, ready_at) VALUES (1, 7, true, 1, now() - interval '2 minutes')`, "overdue runs", world.HealthBad, "w version 2, for 2m"},
		"too few workers": {worker + run + `
			INSERT INTO stepwell.queue (run, class, running, priority, ready_at) VALUES (1, 7, true, 3, now() - interval '2 minutes')`, "overdue runs", world.HealthWarning, "w version 1"},
		"due a moment ago": {worker + run + "INSERT INTO stepwell.queue (run, class, running, priority, ready_at) VALUES (1, 7, true, 3, now())", "", "", ""},
		"no such step": {worker + run + `INSERT INTO stepwell.queue (run, class, running, priority) VALUES (1, 7, true, 3);
			INSERT INTO stepwell.tasks (run, step, name, workflow, priority, visible_at) VALUES (1, 'step_1', 'ship', 'w', 1, now() - interval '2 minutes')`, "overdue steps", world.HealthBad, "ship"},
		"steps wait": {worker + run + `INSERT INTO stepwell.queue (run, class, running, priority) VALUES (1, 7, true, 3);
			INSERT INTO stepwell.tasks (run, step, name, workflow, priority, visible_at) VALUES (1, 'step_1', 'charge', 'w', 1, now() - interval '2 minutes')`, "overdue steps", world.HealthWarning, "charge"},
		"old mail": {worker + run + `INSERT INTO stepwell.queue (run, class, running, priority, owner) VALUES (1, 7, true, 3, 5);
			INSERT INTO stepwell.inbox (run, arrived_at, cancel, payload, format, head, body) VALUES (1, now() - interval '2 minutes', false, true, 1, '` + head + `', '')`, "old mail", world.HealthWarning, "run r1"},
		"an owner that is not there": {worker + run + `INSERT INTO stepwell.queue (run, class, running, priority, owner) VALUES (1, 7, true, 3, 6)`, "runs without a worker", world.HealthBad, "r1"},
		"a lost worker": {worker + run + `INSERT INTO stepwell.queue (run, class, running, priority, owner) VALUES (1, 7, true, 3, 6);
			INSERT INTO stepwell.workers (key, id, name, build, classes, steps, lease_ns, joined_at, until) VALUES (6, 'wrkr_6', 'six', 'b', '[]', '[]', 1, now(), now() - interval '1 hour')`, "workers", world.HealthWarning, "1 that hold work"},
		"a wrong clock":       {worker + "UPDATE stepwell.workers SET skew_ns = -3000000000", "clocks", world.HealthWarning, "five is off by -3s"},
		"chunks of no run":    {worker + batch("9, 's', 0, 3, 'data'"), "streams", world.HealthWarning, "1 batches"},
		"chunks that overlap": {worker + run + live + batch("1, 's', 0, 3, 'data'") + batch("1, 's', 2, 3, 'data'"), "streams", world.HealthBad, "run r1"},
		"a gap":               {worker + run + live + batch("1, 's', 0, 3, 'data'") + batch("1, 's', 4, 1, 'data'") + batch("1, 't', 0, 1, 'reset'"), "streams", world.HealthBad, "run r1"},
		"a gap that was made": {worker + run + live + batch("1, 's', 0, 3, 'data'") + batch("1, 's', 5, 1, 'reset'") + batch("1, 's', 6, 2, 'data'") + batch("1, 't', 0, 1, 'data'"), "", "", ""},
		"pieces of no run":    {worker + "INSERT INTO stepwell.apart_pieces VALUES ('valu_1', 0, '', 0), ('valu_1', 1, '', 0)", "large values", world.HealthWarning, "1 large values"},
		"no pieces":           {worker + "INSERT INTO stepwell.apart (run, value) VALUES ('r1', 'valu_1')", "large values", world.HealthBad, "1 of 1"},
		"blocked runs":        {worker + "INSERT INTO stepwell.totals VALUES ('w', 'blocked', 2), ('w', 'blocked', 1), ('w', 'running', 3), ('a', 'blocked', 1)", "blocked runs", world.HealthWarning, "3 of workflow w, 1 of workflow a"},
		"nobody sweeps":       {worker + "INSERT INTO stepwell.totals SELECT 'w', 'running', 1 FROM generate_series(1, 100001)", "housekeeping", world.HealthWarning, "100001"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := pgtest.URL(t)
			w, err := Open(t.Context(), u)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = w.Close() })
			execute(t, u, c.script)
			all, err := world.Findings(t.Context(), w)
			if err != nil {
				t.Fatal(err)
			}
			seen := false
			for _, f := range all {
				switch {
				case f.Check == "server" && f.Health == world.HealthBad && f.Found == "fsync is off": // as the test's cluster is
				case f.Check == c.check:
					seen = true
					if f.Health != c.health || !strings.Contains(f.Found, c.found) || f.Advice == "" {
						t.Errorf("got %+v, want %s with %q, and advice", f, c.health, c.found)
					}
				case f.Check == "rows of no run" && name == "chunks of no run":
				case f.Check == "counts" && (c.check == "blocked runs" || c.check == "housekeeping"): // they are counted, and not there
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

// A transaction that stays open is found, and a server that was set up badly.
func TestExamineServer(t *testing.T) {
	t.Parallel()
	w := open(t)
	x := &examination{w: w}
	holder, err := w.pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = holder.Rollback(t.Context()) }()
	if _, err := holder.Exec(t.Context(), "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ; SELECT 1"); err != nil {
		t.Fatal(err)
	}
	if err := holder.QueryRow(t.Context(), "SELECT xact_start + interval '10 minutes' FROM pg_stat_activity WHERE pid = pg_backend_pid()").Scan(&x.now); err != nil {
		t.Fatal(err)
	}
	f, err := x.snapshots(t.Context())
	if err != nil || f.Health != world.HealthWarning || !strings.Contains(f.Found, "for 10m0s") {
		t.Errorf("got %+v, %v; want a warning of 10 minutes", f, err)
	}
	x.now = x.now.Add(badTransaction)
	if f, err := x.snapshots(t.Context()); err != nil || f.Health != world.HealthBad {
		t.Errorf("got %+v, %v; want it to be bad", f, err)
	}
}
