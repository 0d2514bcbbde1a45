package sqlite

// Rows that were changed behind the world's back: see worldtest.RunDamage.

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stepwell/stepwell/internal/sample"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/worldtest"
)

// damagedFile is a file that is changed past the world.
type damagedFile struct {
	path string
	kept []byte
}

func (d *damagedFile) Open(t testing.TB) world.World {
	t.Helper()
	w, err := Open(d.path)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func (d *damagedFile) Keep(t testing.TB) {
	t.Helper()
	d.do(t, "PRAGMA wal_checkpoint(TRUNCATE)")
	var err error
	if d.kept, err = os.ReadFile(d.path); err != nil {
		t.Fatal(err)
	}
}

func (d *damagedFile) Restore(t testing.TB) {
	t.Helper()
	for _, behind := range []string{"-wal", "-shm"} {
		_ = os.Remove(d.path + behind)
	}
	if err := os.WriteFile(d.path, d.kept, 0o600); err != nil {
		t.Fatal(err)
	}
}

func (d *damagedFile) with(t testing.TB, f func(db *sql.DB)) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+d.path+"?_pragma=busy_timeout(10000)")
	if err != nil {
		t.Fatal(err)
	}
	f(db)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

func (d *damagedFile) do(t testing.TB, query string, args ...any) (n int64) {
	t.Helper()
	d.with(t, func(db *sql.DB) {
		r, err := db.Exec(query, args...)
		if err != nil {
			t.Fatalf("%s: %v", query, err)
		}
		n, _ = r.RowsAffected()
	})
	return n
}

func (d *damagedFile) Columns(t testing.TB) (all [][2]string) {
	t.Helper()
	d.with(t, func(db *sql.DB) {
		all = pairs(t, db, `SELECT m.name, c.name FROM sqlite_schema m, pragma_table_info(m.name) c WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite%' ORDER BY 1, 2`)
	})
	return all
}

func (d *damagedFile) Spoil(t testing.TB, table, column, how, run string) (done bool) {
	t.Helper()
	where := "1"
	d.with(t, func(db *sql.DB) {
		columns := pairs(t, db, "SELECT name, '' FROM pragma_table_info('"+table+"')")
		switch has := func(name string) bool { return slices.Contains(columns, [2]string{name, ""}) }; {
		case table == "runs":
			where = "id = '" + run + "'"
		case table == "apart":
			where = "run = '" + run + "'"
		case table == "apart_pieces":
			where = "value IN (SELECT value FROM apart WHERE run = '" + run + "')"
		case table == "queues":
			where = "name = (SELECT workflow FROM runs WHERE id = '" + run + "')"
		case table == "messages", table == "dedupes":
			where = "queue = (SELECT q.key FROM queues q JOIN runs r ON r.workflow = q.name WHERE r.id = '" + run + "')"
		case table == "message_bodies":
			where = "key IN (SELECT m.key FROM messages m JOIN queues q ON q.key = m.queue JOIN runs r ON r.workflow = q.name WHERE r.id = '" + run + "')"
		case table == "publications":
			where = "topic = (SELECT workflow FROM runs WHERE id = '" + run + "')"
		case table == "due":
			where = "publication IN (SELECT p.key FROM publications p JOIN runs r ON r.workflow = p.topic WHERE r.id = '" + run + "')"
		case table == "subscriptions":
			where = "name = (SELECT workflow FROM runs WHERE id = '" + run + "')"
		case has("run"):
			where = "run = (SELECT key FROM runs WHERE id = '" + run + "')"
		case table == "awaits":
			where = "waiter = (SELECT key FROM runs WHERE id = '" + run + "')"
		case table == "classes", table == "totals":
			where = "workflow = (SELECT workflow FROM runs WHERE id = '" + run + "')"
		}
		rows, err := db.Query(fmt.Sprintf("SELECT %s FROM %s WHERE %s LIMIT 1", column, table, where))
		if err != nil {
			t.Fatal(err)
		}
		var v any
		found := rows.Next()
		if found {
			if err := rows.Scan(&v); err != nil {
				t.Fatal(err)
			}
		}
		_ = rows.Close()
		if !found {
			return
		}
		to, ok := spoiled(v, how)
		if !ok {
			return
		}
		r, err := db.Exec(fmt.Sprintf("UPDATE OR IGNORE %s SET %s = ?1 WHERE %s AND %s IS NOT ?1", table, column, where, column), to)
		if err != nil {
			t.Logf("%s.%s: %v", table, column, err)
			return // the schema does not allow it
		}
		n, _ := r.RowsAffected()
		done = n > 0
	})
	return done
}

// spoiled is another value in the place of one.
func spoiled(v any, how string) (any, bool) {
	switch v := v.(type) {
	case nil:
		return []byte{0xff, 0, '{'}, how == "garbage"
	case int64:
		switch how {
		case "flip":
			return v ^ 4, true
		case "garbage":
			return int64(-1 << 63), true
		case "huge":
			return int64(1<<63 - 1), true
		case "type":
			return "eleven", true
		}
		return nil, how == "null"
	case string:
		switch how {
		case "flip":
			b := []byte(v)
			if len(b) == 0 {
				return nil, false
			}
			b[len(b)/2] ^= 1
			return string(b), true
		case "garbage":
			return "{\"\xff\x00", true
		case "type":
			return 11, true
		}
		return nil, how == "null"
	case []byte:
		switch how {
		case "flip":
			if len(v) == 0 {
				return nil, false
			}
			v[len(v)/2] ^= 1
			return v, true
		case "garbage":
			return []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1}, true
		case "type":
			return 4.5, true
		}
		return nil, how == "null"
	}
	return nil, false
}

func (d *damagedFile) Exec(t testing.TB, text string) int64 {
	t.Helper()
	return d.do(t, text)
}

func (d *damagedFile) Count(t testing.TB, text string) (n int) {
	t.Helper()
	d.with(t, func(db *sql.DB) {
		if err := db.QueryRow(text).Scan(&n); err != nil {
			t.Fatal(err)
		}
	})
	return n
}

func (d *damagedFile) Orphan(t testing.TB, run string) {
	t.Helper()
	if n := d.do(t, "DELETE FROM runs WHERE id = ?", run); n != 1 {
		t.Fatalf("%d rows deleted", n)
	}
}

// TestDamage changes each column of each table, in each way; unless told otherwise, some of them. See worldtest.RunDamage for what that covers.
func TestDamage(t *testing.T) {
	t.Parallel()
	worldtest.RunDamage(t, &damagedFile{path: filepath.Join(t.TempDir(), "runs.db")}, someDamage(t))
}

// someDamage picks one in 24 kinds of damage.
func someDamage(t *testing.T) func(table, column, how string) bool {
	try, i := sample.Share(t, 24), 0
	return func(string, string, string) bool { i++; return try(i) }
}

// TestMending changes what lies beside the log: see worldtest.RunMending.
func TestMending(t *testing.T) {
	t.Parallel()
	worldtest.RunMending(t, &damagedFile{path: filepath.Join(t.TempDir(), "runs.db")})
}

// TestDamagedRowIsListed: a list that asks for nothing leaves out none, and so a reading of all finds it.
func TestDamagedRowIsListed(t *testing.T) {
	t.Parallel()
	for _, change := range []string{"status = 'compleded'", "created_us = 'x'"} {
		d := &damagedFile{path: filepath.Join(t.TempDir(), "runs.db")}
		createDamaged(t, d)
		if n := d.do(t, "UPDATE runs SET "+change); n != 1 {
			t.Fatalf("%s: %d rows", change, n)
		}
		w := d.Open(t)
		for _, q := range []world.RunQuery{{}, {Workflow: "any"}, {Attributes: map[string]json.RawMessage{"city": json.RawMessage(`"Ulm"`)}}} {
			if page, err := w.Runs(t.Context(), q); err != nil || len(page.Runs) != 1 {
				t.Errorf("%s: %+v lists %d runs, %v; want it", change, q, len(page.Runs), err)
			}
		}
		if v, err := world.Verify(t.Context(), w, world.VerifyQuery{}); err != nil || len(v.Damaged) != 1 {
			t.Errorf("%s: a reading of all names %v, %v; want it", change, v.Damaged, err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestForcedCancelWithoutQueue: a run that is not over and has lost its row in the queue can be ended.
func TestForcedCancelWithoutQueue(t *testing.T) {
	t.Parallel()
	d := &damagedFile{path: filepath.Join(t.TempDir(), "runs.db")}
	createDamaged(t, d)
	if n := d.do(t, "DELETE FROM queue"); n != 1 {
		t.Fatalf("%d rows", n)
	}
	w := d.Open(t)
	force := &world.Delivery{Run: "run_1", Act: true, Events: []world.Event{{Type: world.RunCancelled, By: "operator"}}}
	for range 2 { // the second finds it cancelled
		if _, err := w.Deliver(t.Context(), force); err != nil {
			t.Errorf("a forced cancel: %v", err)
		}
	}
	row, err := w.Run(t.Context(), "run_1")
	if err != nil || row.Status != world.Cancelled || row.Version != 3 || row.Damage != "" {
		t.Errorf("%s, version %d, damage %q, %v; want cancelled, version 3", row.Status, row.Version, row.Damage, err)
	}
	page, err := w.Events(t.Context(), "run_1", world.EventQuery{})
	if err != nil || len(page.Events) != 2 {
		t.Errorf("%d events, %v; want 2", len(page.Events), err)
	}
	stats, err := w.Stats(t.Context())
	if err != nil || len(stats.Workflows) != 1 || stats.Workflows[0].Pending != 0 || stats.Workflows[0].Cancelled != 1 {
		t.Errorf("counted: %+v, %v; want one that is cancelled", stats.Workflows, err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

func createDamaged(t *testing.T, d *damagedFile) {
	t.Helper()
	w := d.Open(t)
	birth := world.Event{Seq: 1, Type: world.RunCreated, Time: world.Now(), Payload: json.RawMessage("1"), Birth: &world.Birth{
		Workflow: "any", Version: 3, Attributes: map[string]json.RawMessage{"city": json.RawMessage(`"Ulm"`)},
	}}
	c := &world.Commit{ID: [16]byte{1}, Run: "run_1", First: 1, Events: []world.Event{birth}}
	if _, err := w.Commit(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestBesideLog changes what lies beside logs, and what hangs on rows that are lost: see worldtest.RunDerived.
func TestBesideLog(t *testing.T) {
	t.Parallel()
	worldtest.RunDerived(t, &damagedFile{path: filepath.Join(t.TempDir(), "runs.db")})
}

// TestRunThatItsOwnerWasNotGiven: somebody wrote another worker into the queue, which is alive and knows nothing of the run. The run comes back, with the worker's next heartbeat where
// it owns anything, else with the next sweep.
func TestRunThatItsOwnerWasNotGiven(t *testing.T) {
	t.Parallel()
	for _, owns := range []bool{false, true} {
		d := &damagedFile{path: filepath.Join(t.TempDir(), "runs.db")}
		w := d.Open(t)
		classes := []world.Class{{Workflow: "any", Version: 1}}
		create := func(id, worker string) {
			birth := world.Event{Seq: 1, Type: world.RunCreated, Time: world.Now(), Birth: &world.Birth{Workflow: "any", Version: 1}}
			c := &world.Commit{ID: [16]byte([]byte(id + "________________")), Run: id, First: 1, Worker: worker, Events: []world.Event{birth}}
			if worker != "" {
				c.Claim = 1
			}
			if _, err := w.Commit(t.Context(), c); err != nil {
				t.Fatal(err)
			}
		}
		for _, id := range []string{"wrkr_a", "wrkr_b"} {
			if _, err := w.Join(t.Context(), world.Worker{ID: id, Name: id, Classes: classes}); err != nil {
				t.Fatal(err)
			}
		}
		create("run_1", "")
		if owns {
			create("run_2", "wrkr_b")
		}
		if n := d.do(t, "UPDATE queue SET owner = (SELECT key FROM workers WHERE id = 'wrkr_b') WHERE run = (SELECT key FROM runs WHERE id = 'run_1')"); n != 1 {
			t.Fatalf("%d rows", n)
		}
		b, err := w.Heartbeat(t.Context(), world.HeartbeatQuery{Worker: "wrkr_b"})
		if err != nil || len(b.Lost) > 0 {
			t.Fatalf("heartbeat: lost %v, %v", b.Lost, err)
		}
		if !owns {
			if _, err := w.Sweep(t.Context(), 1); err != nil {
				t.Fatal(err)
			}
		}
		claimed, err := w.Claim(t.Context(), world.ClaimQuery{Worker: "wrkr_a", Classes: classes, Runs: 10})
		if err != nil || len(claimed.Runs) != 1 || claimed.Runs[0].Run != "run_1" {
			t.Errorf("owns %t: taken is %+v, %v; want run_1 alone", owns, claimed.Runs, err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
