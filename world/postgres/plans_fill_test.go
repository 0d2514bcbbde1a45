package postgres

import (
	"fmt"
	"os"
	"strconv"
	"testing"

	"github.com/stepwell/stepwell/internal/pgtest"
)

const fewSleepers = 25_000

// filledClaims is how often fill claims a run behind the snapshot.
const filledClaims = 10_000

// What fill makes: runs by key, from 1 on. First those that sleep, then these.
const (
	filledOwned = 1_000 // each with a delivery in its inbox
	filledDue   = 200
	filledEnded = 2_000 // half of them to be swept
	filledTasks = 500   // half of them held
)

// sleepers is how many runs sleep: 25,000, which takes seconds, or as STEPWELL_TEST_SLEEPERS says. All of them are looked at
// for statistics then, so that plans are the same each time.
func sleepers(t testing.TB) int {
	t.Helper()
	text := os.Getenv("STEPWELL_TEST_SLEEPERS")
	if text == "" {
		return fewSleepers
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < fewSleepers {
		t.Fatalf("STEPWELL_TEST_SLEEPERS is %q, want a number from 25000", text)
	}
	return n
}

// fill makes a database as it is after a while: n runs sleep, some are owned, due, or over. Its statistics are fresh. Then a snapshot is opened and
// held, and behind it many runs become due, are taken, and sleep again, so that their dead rows stay.
func fill(t testing.TB, n int) *World {
	t.Helper()
	u := pgtest.URL(t)
	w, err := Open(t.Context(), u)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Close() })
	for _, table := range []string{"runs", "classes", "queue", "log", "inbox", "tasks", "hooks", "awaits", "chunks", "workers", "lanes", "totals", "attributes", "publications", "due", "schedules"} {
		execute(t, u, "ALTER TABLE stepwell."+table+" SET (autovacuum_enabled = off)") // the statistics are those that are made here, whenever others run
	}
	execute(t, u, fmt.Sprintf(`
INSERT INTO stepwell.classes (key, workflow, version) VALUES (1, 'w', 1), (2, 'w', 2), (3, 'v', 1);
INSERT INTO stepwell.workers (key, id, name, build, classes, steps, lease_ns, joined_at, until)
  SELECT k, 'wrkr_' || k, 'host:' || k, 'b', '[]', '[]', 10000000000, now(), now() + interval '1 day' FROM generate_series(1, 4) k;
INSERT INTO stepwell.lanes (worker, lane) SELECT w, l FROM generate_series(1, 4) w, unnest('{0,1,100,101,102,103,104}'::int[]) l;
INSERT INTO stepwell.runs (key, id, workflow, version, idem, priority, created_at, retention_ns, status, ended_at, sweep_at)
  SELECT k, 'wrun_' || k, CASE WHEN k %% 10 = 0 THEN 'v' ELSE 'w' END, 1, CASE WHEN k %% 2 = 0 THEN 'key-' || k END, 1,
    now() - interval '30 days' + k * interval '1 second', 86400000000000,
    CASE WHEN k > %[1]d + %[2]d + %[3]d THEN 'completed' END, CASE WHEN k > %[1]d + %[2]d + %[3]d THEN now() END,
    CASE WHEN k > %[1]d + %[2]d + %[3]d THEN now() + (k %% 2 - 0.5) * interval '1 day' END
  FROM generate_series(1, %[1]d + %[2]d + %[3]d + %[4]d) k;
INSERT INTO stepwell.queue (run, class, running, priority, take, wake_at, ready_at, owner)
  SELECT k, CASE WHEN k %% 10 = 0 THEN 3 ELSE 1 END, true, CASE WHEN k %% 20 = 1 THEN 2 ELSE 1 END, 1,
    CASE WHEN k <= %[1]d THEN now() + interval '1 day' + k * interval '1 second' WHEN k > %[1]d + %[2]d THEN now() - interval '1 second' END,
    CASE WHEN k <= %[1]d THEN now() + interval '1 day' + k * interval '1 second' WHEN k > %[1]d + %[2]d THEN now() - interval '1 second' END,
    CASE WHEN k > %[1]d AND k <= %[1]d + %[2]d THEN 1 + k %% 4 END
  FROM generate_series(1, %[1]d + %[2]d + %[3]d) k;
INSERT INTO stepwell.log (run, seq, n, format, head, body)
  SELECT k, s, 3, 1, '{"c":"AAAAAAAAAAAAAAAAAAAAAA","b":"b","t":1,"e":[{"y":"run_created"},{"y":"run_started"},{"y":"signal_received","n":"s"}]}', ''
  FROM generate_series(1, %[1]d + %[2]d + %[3]d + %[4]d) k, unnest('{1,4,7}'::int[]) s;
INSERT INTO stepwell.inbox (run, delivery, arrived_at, cancel, payload, format, head, body)
  SELECT k, 'd' || k, now(), false, true, 1, '{"c":"AAAAAAAAAAAAAAAAAAAAAA","b":"","t":1,"e":[{"y":"signal_received","n":"s"}]}', '' FROM generate_series(%[1]d + 1, %[1]d + %[2]d) k;
INSERT INTO stepwell.tasks (run, step, name, workflow, priority, visible_at, worker, attempt)
  SELECT %[1]d + k, 'step_' || k, 'charge', 'w', 1, now(), CASE WHEN k %% 2 = 0 THEN 1 END, k %% 2 FROM generate_series(1, %[5]d) k;
INSERT INTO stepwell.hooks (token, run, id, created_at) SELECT 'token-' || k, k, 'hook_' || k, now() FROM generate_series(1, %[1]d / 10) k;
INSERT INTO stepwell.awaits (target, waiter, step) SELECT k, k + 1, 'step_1' FROM generate_series(1, %[1]d / 10) k;
INSERT INTO stepwell.attributes (name, value, created_at, run)
  SELECT 'tenant', CASE WHEN key %% 1000 = 0 THEN 'sb' ELSE 'sa' END, created_at, key FROM stepwell.runs;
INSERT INTO stepwell.publications (topic, at, due_at, head, body, sum) SELECT 'a.' || k %% 10, now(), now(), '{}', '1', 0 FROM generate_series(1, %[1]d) k;
INSERT INTO stepwell.schedules (name, said, sum, change, code, due_at, of_set)
  SELECT 's-' || k, '{"name":"s","says":{"workflow":"w","times":["0 3 * * *"]}}', 0, 1, '', CASE WHEN k <= %[3]d THEN now() - interval '1 second' ELSE now() + interval '1 day' + k * interval '1 second' END,
    CASE WHEN k %% 100 = 0 THEN 'set' END FROM generate_series(1, %[1]d) k;
INSERT INTO stepwell.totals (workflow, status, n) SELECT 'w', 'running', 1 FROM generate_series(1, 1000) k;
SELECT setval('stepwell.run_keys', %[1]d + %[2]d + %[3]d + %[4]d + 1);
`, n, filledOwned, filledDue, filledEnded, filledTasks))
	execute(t, u, "VACUUM ANALYZE")
	holder, err := w.pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = holder.Rollback(t.Context()) })
	if _, err := holder.Exec(t.Context(), "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ"); err != nil {
		t.Fatal(err)
	}
	if _, err := holder.Exec(t.Context(), "SELECT FROM stepwell.runs LIMIT 1"); err != nil {
		t.Fatal(err)
	}
	for _, state := range []string{
		"ready_at = now() - interval '1 hour' - run * interval '1 millisecond'",
		"ready_at = NULL, owner = 1, take = take + 1",
		"ready_at = wake_at, owner = NULL",
	} {
		execute(t, u, fmt.Sprintf("UPDATE stepwell.queue SET %s WHERE run <= %d", state, filledClaims))
	}
	execute(t, u, "ANALYZE stepwell.queue")
	return w
}
