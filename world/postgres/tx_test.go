package postgres

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/stepwell/stepwell/world"
)

// callerTx is a transaction of an application's own, of pgx or of database/sql.
type callerTx struct {
	world.Tx
	exec     func(text string) error
	commit   func() error
	rollback func() error
}

// begins are the ways to begin one.
var begins = map[string]func(t *testing.T, w *World) callerTx{
	"pgx": func(t *testing.T, w *World) callerTx {
		ctx := context.WithoutCancel(t.Context())
		c, err := pgx.ConnectConfig(ctx, callersConfig(w))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close(ctx) })
		tx, err := c.Begin(ctx)
		if err != nil {
			t.Fatal(err)
		}
		return callerTx{
			Tx: Tx(tx), exec: func(text string) error { _, err := tx.Exec(ctx, text); return err },
			commit: func() error { return tx.Commit(ctx) }, rollback: func() error { return tx.Rollback(ctx) },
		}
	},
	"database-sql": func(t *testing.T, w *World) callerTx {
		db := stdlib.OpenDB(*callersConfig(w))
		t.Cleanup(func() { _ = db.Close() })
		return beginSQL(t, db)
	},
}

// callersConfig is how an application connects: it keeps its connections whatever the server says.
func callersConfig(w *World) *pgx.ConnConfig {
	cfg := w.cfg.ConnConfig.Copy()
	cfg.OnPgError = nil
	return cfg
}

func beginSQL(t *testing.T, db *sql.DB) callerTx {
	t.Helper()
	tx, err := db.BeginTx(context.WithoutCancel(t.Context()), nil)
	if err != nil {
		t.Fatal(err)
	}
	return callerTx{Tx: SQLTx(tx), exec: func(text string) error { _, err := tx.Exec(text); return err }, commit: tx.Commit, rollback: tx.Rollback}
}

// eachBegin runs a test with each kind of transaction.
func eachBegin(t *testing.T, test func(t *testing.T, w *World, begin func() callerTx)) {
	t.Parallel()
	for name, begin := range begins {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := open(t)
			if _, err := w.pool.Exec(t.Context(), "CREATE TABLE mine (a integer)"); err != nil {
				t.Fatal(err)
			}
			test(t, w, func() callerTx { return begin(t, w) })
		})
	}
}

func signalTo(run, id string) *world.Delivery {
	return &world.Delivery{Run: run, ID: id, Events: []world.Event{{Type: world.SignalReceived, Name: "go", Payload: json.RawMessage(`{"n": 1}`)}}}
}

func attributed(c *world.Commit) *world.Commit {
	c.Events[0].Birth.Attributes = map[string]json.RawMessage{"a": json.RawMessage(`"x\\\"{},"`)}
	return c
}

func TestTxCommit(t *testing.T) {
	eachBegin(t, func(t *testing.T, w *World, begin func() callerTx) {
		wk := join(t, w, 0, class1)
		must(t, w, eager("other", "w", wk.ID))
		tx := begin()
		if err := tx.exec("INSERT INTO mine VALUES (1)"); err != nil {
			t.Fatal(err)
		}
		c := attributed(birthOf("r", "w"))
		c.Events[0].Birth.Key = `k "1" \ {2}`
		if done, err := w.CommitIn(t.Context(), tx.Tx, c); err != nil || done.Existing != "" {
			t.Fatalf("got %+v, %v", done, err)
		}
		for i, want := range []bool{false, true} {
			if got, err := w.DeliverIn(t.Context(), tx.Tx, signalTo("other", "d")); err != nil || got.Duplicate != want || got.Owner != wk.ID {
				t.Fatalf("delivery %d: got %+v, %v, want duplicate %v", i, got, err, want)
			}
		}
		_, err := w.DeliverIn(t.Context(), tx.Tx, signalTo("nobody", "d"))
		wantErr(t, err, world.ErrNotFound)
		if _, err := w.DeliverIn(t.Context(), tx.Tx, signalTo("r", "own")); err != nil { // a run that is created in the same transaction
			t.Fatal(err)
		}
		_, err = w.CommitIn(t.Context(), tx.Tx, birthOf("other", "w"))
		wantErr(t, err, world.ErrRunExists) // and the transaction goes on
		_, err = w.Run(t.Context(), "r")
		wantErr(t, err, world.ErrNotFound)
		if got := claim(t, w, wk, 5); len(got.Runs) != 0 {
			t.Fatalf("took %+v before the end of the transaction", got.Runs)
		}
		if err := tx.commit(); err != nil {
			t.Fatal(err)
		}
		row, err := w.Run(t.Context(), "r")
		if err != nil || row.Key != c.Events[0].Birth.Key || string(row.Attributes["a"]) != `"x\\\"{},"` || string(row.Input) != `{"in":1}` {
			t.Fatalf("got %+v, %v", row, err)
		}
		if done := must(t, w, withIdem(birthOf("again", "w"), c.Events[0].Birth.Key)); done.Existing != "r" {
			t.Fatalf("got %+v, want the run that has the key", done)
		}
		got := waitClaim(t, w, wk)
		if got.Run != "r" || got.Seq != 1 || len(got.Mail) != 1 || string(got.Mail[0].Events[0].Payload) != `{"n": 1}` {
			t.Fatalf("took %+v, want r with its signal", got)
		}
		if row, err := w.Run(t.Context(), "other"); err != nil || row.Queue.Mail != 1 {
			t.Fatalf("got %+v, %v, want one mail", row.Queue, err)
		}
	})
}

func withIdem(c *world.Commit, key string) *world.Commit {
	c.Events[0].Birth.Key = key
	return c
}

// waitClaim takes until something comes.
func waitClaim(t *testing.T, w *World, wk world.Worker) world.ClaimedRun {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); {
		if got := claim(t, w, wk, 1); len(got.Runs) > 0 {
			return got.Runs[0]
		}
	}
	t.Fatal("nothing was taken")
	return world.ClaimedRun{}
}

func TestTxRollback(t *testing.T) {
	eachBegin(t, func(t *testing.T, w *World, begin func() callerTx) {
		wk := join(t, w, 0, class1)
		must(t, w, eager("other", "w", wk.ID))
		tx := begin()
		if _, err := w.CommitIn(t.Context(), tx.Tx, withIdem(attributed(birthOf("r", "w")), "k")); err != nil {
			t.Fatal(err)
		}
		if _, err := w.DeliverIn(t.Context(), tx.Tx, signalTo("other", "d")); err != nil {
			t.Fatal(err)
		}
		if err := tx.rollback(); err != nil {
			t.Fatal(err)
		}
		_, err := w.Run(t.Context(), "r")
		wantErr(t, err, world.ErrNotFound)
		if row, err := w.Run(t.Context(), "other"); err != nil || row.Queue.Mail != 0 {
			t.Fatalf("got %+v, %v, want no mail", row.Queue, err)
		}
		for table, want := range map[string]int{"runs": 1, "log": 1, "queue": 1, "totals": 1, "inbox": 0, "awaits": 0} { // of the other run
			if got := countRows(t, w, table); got != want {
				t.Errorf("%s: got %d rows, want %d", table, got, want)
			}
		}
		must(t, w, withIdem(birthOf("r", "w"), "k")) // both are free
	})
}

// A transaction that is left open delays nobody: no start, signal, step, take or end, not even of the same workflow and the same runs. Whoever waited for
// it would wait for ever, and fail.
func TestTxLeftOpen(t *testing.T) {
	eachBegin(t, func(t *testing.T, w *World, begin func() callerTx) {
		wk := join(t, w, 0, class1)
		must(t, w, eager("other", "w", wk.ID))
		tx := begin()
		if _, err := w.CommitIn(t.Context(), tx.Tx, withIdem(birthOf("held", "w"), "held")); err != nil {
			t.Fatal(err)
		}
		if _, err := w.DeliverIn(t.Context(), tx.Tx, signalTo("other", "held")); err != nil {
			t.Fatal(err)
		}
		for i := range int64(20) {
			id := fmt.Sprint("r", i)
			must(t, w, withIdem(birthOf(id, "w"), id))
			must(t, w, birthOf(world.NewID(world.PrefixRun, time.Now()), "w"))
			if got, err := w.Deliver(t.Context(), signalTo("other", id)); err != nil || got.Duplicate {
				t.Fatalf("got %+v, %v", got, err)
			}
			must(t, w, stepCommit("other", wk.ID, i))
		}
		if got := len(claim(t, w, wk, 100).Runs); got != 40 {
			t.Errorf("took %d runs, want 40", got)
		}
		must(t, w, &world.Commit{ID: commitID(), Run: "other", Worker: wk.ID, Claim: 1, First: 23, Events: []world.Event{
			{Type: world.RunCompleted, Time: world.Now()},
		}})
		if err := tx.rollback(); err != nil {
			t.Fatal(err)
		}
	})
}

func countRows(t testing.TB, w *World, table string) (n int) {
	t.Helper()
	if err := w.pool.QueryRow(t.Context(), inSchema("SELECT count(*) FROM {schema}."+table, w.opt.Schema)).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// Who asks for what an open transaction holds waits for it, and for nobody longer than is bearable.
func TestTxSameKeyWaits(t *testing.T) {
	eachBegin(t, func(t *testing.T, w *World, begin func() callerTx) {
		for i, end := range []func(tx callerTx) error{callerTx.commitIt, callerTx.rollbackIt} {
			id, key := fmt.Sprint("r", i), fmt.Sprint("k", i)
			tx := begin()
			if _, err := w.CommitIn(t.Context(), tx.Tx, withIdem(birthOf(id, "w"), key)); err != nil {
				t.Fatal(err)
			}
			type answer struct {
				done world.Committed
				err  error
			}
			answers := make(chan answer, 1)
			go func() {
				done, err := w.Commit(context.WithoutCancel(t.Context()), withIdem(birthOf(id+"-other", "w"), key))
				answers <- answer{done, err}
			}()
			waitForLock(t, w)
			if err := end(tx); err != nil {
				t.Fatal(err)
			}
			if got, want := <-answers, []string{id, ""}[i]; got.err != nil || got.done.Existing != want {
				t.Errorf("got %+v, %v, want existing run %q", got.done, got.err, want)
			}
		}
		w.patience = 300 * time.Millisecond
		tx, second := begin(), begin()
		if _, err := w.CommitIn(t.Context(), tx.Tx, withIdem(birthOf("r", "w"), "k")); err != nil {
			t.Fatal(err)
		}
		_, err := w.Commit(t.Context(), withIdem(birthOf("s", "w"), "k"))
		wantErr(t, err, world.ErrStorage)
		if !strings.Contains(err.Error(), "other transactions hold the same rows") {
			t.Errorf("got error %v, want one that says what to do", err)
		}
		_, err = w.CommitIn(t.Context(), second.Tx, withIdem(birthOf("s", "w"), "k"))
		wantErr(t, err, world.ErrStorage)
		if _, err := w.CommitIn(t.Context(), second.Tx, birthOf("s", "w")); err != nil { // it can be used still
			t.Error(err)
		}
		for _, err := range []error{second.commit(), tx.rollback()} {
			if err != nil {
				t.Error(err)
			}
		}
	})
}

func (tx callerTx) commitIt() error   { return tx.commit() }
func (tx callerTx) rollbackIt() error { return tx.rollback() }

// waitForLock waits until somebody waits for a lock.
func waitForLock(t testing.TB, w *World) {
	t.Helper()
	const waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); {
		var n int
		if err := w.pool.QueryRow(t.Context(), waiting).Scan(&n); err != nil {
			t.Fatal(err)
		}
		if n > 0 {
			return
		}
	}
	t.Fatal("nobody waits")
}

func TestTxRefuses(t *testing.T) {
	t.Parallel()
	w, other := open(t), open(t)
	wk := join(t, w, 0, class1)
	must(t, w, eager("r", "w", wk.ID))
	begun, err := w.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = begun.Rollback(t.Context()) }()
	mine := begins["pgx"](t, w)
	defer func() { _ = mine.rollback() }()
	act := &world.Delivery{Run: "r", Act: true, Events: []world.Event{{Type: world.RunPaused}}}
	for what, do := range map[string]func() error{
		"none of ours":          func() error { _, err := w.CommitIn(t.Context(), nil, birthOf("a", "w")); return err },
		"nil":                   func() error { _, err := w.CommitIn(t.Context(), Tx(nil), birthOf("a", "w")); return err },
		"another World's":       func() error { _, err := other.CommitIn(t.Context(), begun, birthOf("a", "w")); return err },
		"an owner's, caller's":  func() error { _, err := w.CommitIn(t.Context(), mine.Tx, stepCommit("r", wk.ID, 0)); return err },
		"an act":                func() error { _, err := w.DeliverIn(t.Context(), mine.Tx, act); return err },
		"the caller's commit":   func() error { return mine.Tx.Commit(t.Context()) },
		"the caller's rollback": func() error { return mine.Tx.Rollback(t.Context()) },
	} {
		if err := do(); !errors.Is(err, world.ErrInvalid) {
			t.Errorf("%s: got error %v, want ErrInvalid", what, err)
		}
	}
}

// The commit of a step and what its body wrote are one transaction.
func TestStepInTransaction(t *testing.T) {
	t.Parallel()
	w := open(t)
	if _, err := w.pool.Exec(t.Context(), "CREATE TABLE mine (a integer)"); err != nil {
		t.Fatal(err)
	}
	wk := join(t, w, 0, class1)
	must(t, w, eager("r", "w", wk.ID))
	mine := func() (n int) {
		t.Helper()
		if err := w.pool.QueryRow(t.Context(), "SELECT count(*) FROM mine").Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	begin := func() *transaction {
		t.Helper()
		tx, err := w.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tx.(*transaction).pgx.Exec(t.Context(), "INSERT INTO mine VALUES (1)"); err != nil {
			t.Fatal(err)
		}
		return tx.(*transaction)
	}

	tx := begin()
	if _, err := w.CommitIn(t.Context(), tx, stepCommit("r", wk.ID, 0)); err != nil {
		t.Fatal(err)
	}
	_, err := w.CommitIn(t.Context(), tx, stepCommit("r", wk.ID, 1))
	wantErr(t, err, world.ErrInvalid)
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := mine(); got != 0 {
		t.Errorf("got %d rows after a rollback, want none", got)
	}
	must(t, w, stepCommit("r", wk.ID, 0)) // the number is free still

	tx = begin()
	if _, err := w.CommitIn(t.Context(), tx, stepCommit("r", wk.ID, 1)); err != nil {
		t.Fatal(err)
	}
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := tx.Rollback(t.Context()); err != nil {
		t.Errorf("rollback after commit: %v", err)
	}
	must(t, w, stepCommit("r", wk.ID, 2))
	if got := mine(); got != 1 {
		t.Errorf("got %d rows, want 1", got)
	}

	tx = begin() // a commit that comes too late takes the body's work with it
	_, err = w.CommitIn(t.Context(), tx, stepCommit("r", wk.ID, 1))
	wantErr(t, err, world.ErrLeaseLost)
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}

	tx = begin() // so does the end of the run
	c := &world.Commit{ID: commitID(), Run: "r", Worker: wk.ID, Claim: 1, First: 6, Events: []world.Event{{Type: world.RunCompleted, Time: world.Now()}}}
	if _, err := w.CommitIn(t.Context(), tx, c); err != nil {
		t.Fatal(err)
	}
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if row, err := w.Run(t.Context(), "r"); err != nil || row.Status != world.Completed || mine() != 2 {
		t.Errorf("got %+v, %v, %d rows, want a run that is completed and 2 rows", row, err, mine())
	}
}

// The fence of a step's transaction: a worker that was buried commits nothing, and neither does its body.
func TestStepOfDeadWorker(t *testing.T) {
	t.Parallel()
	w := open(t)
	wk := join(t, w, 0, class1)
	must(t, w, eager("r", "w", wk.ID))
	tx, err := w.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.pool.Exec(t.Context(), inSchema("UPDATE {schema}.lanes SET alive = false", w.opt.Schema)); err != nil {
		t.Fatal(err)
	}
	_, err = w.CommitIn(t.Context(), tx, stepCommit("r", wk.ID, 0))
	wantErr(t, err, world.ErrLeaseLost)
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, err = w.Commit(t.Context(), stepCommit("r", wk.ID, 0))
	wantErr(t, err, world.ErrLeaseLost)
	if got := countRows(t, w, "log"); got != 1 {
		t.Errorf("got %d rows in the log, want 1", got)
	}
}

// A step's transaction takes whatever a commit may bring: a child, a hook, a release; and its rollback undoes that too.
func TestWholeCommitInTransaction(t *testing.T) {
	t.Parallel()
	w := open(t)
	wk := join(t, w, 0, class1)
	must(t, w, eager("r", "w", wk.ID))
	for _, written := range []bool{false, true} {
		child := birthOf(world.NewID(world.PrefixRun, time.Now()), "w")
		child.Events[0].Birth.Parent = &world.Parent{Run: "r", Step: "step_1"}
		c := &world.Commit{ID: commitID(), Run: "r", Worker: wk.ID, Claim: 1, First: 3, Births: []*world.Commit{child}, Release: &world.Release{}, Events: []world.Event{
			{Type: world.StepCreated, ID: "step_1", Kind: world.KindChild, Name: "child", Peer: child.Run, Time: world.Now()},
			{Type: world.HookCreated, ID: "hook_1", Name: "hook", Token: "t1", Chosen: true, Time: world.Now()},
		}, Conditions: []world.Condition{{Event: 1}}}
		tx, err := w.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		done, err := w.CommitIn(t.Context(), tx, c)
		if err != nil || done.Events != nil || !done.Mail {
			t.Fatalf("got %+v, %v, want all as sent, and another look", done, err)
		}
		end := tx.Rollback
		if written {
			end = tx.Commit
		}
		if err := end(t.Context()); err != nil {
			t.Fatal(err)
		}
		hooks, err := w.Hooks(t.Context(), world.HookQuery{Token: "t1"})
		if err != nil || len(hooks) == 1 != written {
			t.Errorf("got hooks %+v, %v, want one: %v", hooks, err, written)
		}
		if _, err := w.Run(t.Context(), child.Run); err == nil != written {
			t.Errorf("got error %v of the child, want none: %v", err, written)
		}
		if row, err := w.Run(t.Context(), "r"); err != nil || row.Queue.Owner == "" != written {
			t.Errorf("got %+v, %v, want it released: %v", row.Queue, err, written)
		}
	}
	if got := waitClaim(t, w, wk); got.Status != world.Pending || got.Seq != 1 {
		t.Errorf("took %+v, want the child", got)
	}
}

// The result of a queued step, and what its body wrote, are one transaction.
func TestTaskInTransaction(t *testing.T) {
	t.Parallel()
	w := open(t)
	wk := join(t, w, 0, class1)
	wk.Steps = []string{"charge"}
	must(t, w, eager("r", "w", wk.ID))
	c := stepCommit("r", wk.ID, 0)
	c.Tasks = []world.Task{{Step: "step_1", Name: "charge", Priority: 1}}
	must(t, w, c)
	got, err := w.Claim(t.Context(), world.ClaimQuery{Worker: wk.ID, Steps: wk.Steps, Tasks: 1})
	if err != nil || len(got.Tasks) != 1 {
		t.Fatalf("took %+v, %v, want one task", got.Tasks, err)
	}
	d := &world.Delivery{
		Run: "r", ID: "d", Task: &world.TaskKey{Run: "r", Step: "step_1", Attempt: 1}, Worker: wk.ID,
		Events: []world.Event{{Type: world.StepCompleted, ID: "step_1", Attempt: 1, Payload: json.RawMessage(`1`)}},
	}
	for _, written := range []bool{false, true} {
		tx, err := w.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if done, err := w.DeliverIn(t.Context(), tx, d); err != nil || done.Owner != wk.ID {
			t.Fatalf("got %+v, %v", done, err)
		}
		end := tx.Rollback
		if written {
			end = tx.Commit
		}
		if err := end(t.Context()); err != nil {
			t.Fatal(err)
		}
		want := map[bool]int{true: 1}[written]
		if got := countRows(t, w, "inbox"); got != want || countRows(t, w, "tasks") != 1-want {
			t.Errorf("got %d results and %d tasks, want %d and %d", got, countRows(t, w, "tasks"), want, 1-want)
		}
	}
	tx, err := w.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	_, err = w.DeliverIn(t.Context(), tx, d)
	wantErr(t, err, world.ErrLeaseLost)
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
}
