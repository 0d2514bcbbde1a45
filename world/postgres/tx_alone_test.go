package postgres

// What an application's transaction keeps from others while it is open, what it keeps of its own settings, and what its isolation level means for what is done in it.

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stepwell/stepwell/world"
)

// TestTxLeftOpenAfterSend: who sends what an open transaction has sent waits for it; meanwhile nobody else does, not to the same run and not to others, with IDs and
// without, though a group would wait for the lock of a stranger for ever.
func TestTxLeftOpenAfterSend(t *testing.T) {
	eachBegin(t, func(t *testing.T, w *World, begin func() callerTx) {
		w.writing.groupLock, w.patience = "10min", 10*time.Minute
		wk := join(t, w, 0, class1)
		must(t, w, eager("other", "w", wk.ID))
		must(t, w, eager("more", "w", wk.ID))
		for i, end := range []func(tx callerTx) error{callerTx.commitIt, callerTx.rollbackIt} {
			held := fmt.Sprint("held", i)
			tx := begin()
			if _, err := w.DeliverIn(t.Context(), tx.Tx, signalTo("other", held)); err != nil {
				t.Fatal(err)
			}
			type answer struct {
				done world.Delivered
				err  error
			}
			const copies = 3
			answers := make(chan answer, copies)
			for range copies {
				go func() {
					done, err := w.Deliver(context.WithoutCancel(t.Context()), signalTo("other", held))
					answers <- answer{done, err}
				}()
			}
			for end := time.Now().Add(time.Minute); len(w.sender.behind) == 0; <-time.After(time.Millisecond) {
				if time.Now().After(end) {
					t.Fatal("nobody waits")
				}
			}
			for n := range 20 {
				for _, d := range []*world.Delivery{
					signalTo("other", fmt.Sprint("o", i, n)), signalTo("more", fmt.Sprint("m", i, n)), signalTo("more", held+fmt.Sprint(n)), signalTo("other", ""),
				} {
					if got, err := w.Deliver(t.Context(), d); err != nil || got.Duplicate {
						t.Fatalf("got %+v, %v", got, err)
					}
				}
			}
			if len(answers) > 0 {
				t.Fatalf("a copy was answered: %+v", <-answers)
			}
			if err := end(tx); err != nil {
				t.Fatal(err)
			}
			news := 0
			for range copies {
				a := <-answers
				if a.err != nil {
					t.Fatal(a.err)
				}
				if !a.done.Duplicate {
					news++
				}
			}
			if news != i {
				t.Errorf("%d copies were new, want %d", news, i)
			}
		}
		tx := begin()
		if _, err := w.DeliverIn(t.Context(), tx.Tx, signalTo("other", "long")); err != nil {
			t.Fatal(err)
		}
		w.patience = 100 * time.Millisecond
		var pid int
		if err := w.pool.QueryRow(t.Context(), `SELECT pid FROM pg_stat_activity WHERE state = 'idle in transaction' AND datname = current_database()`).Scan(&pid); err != nil {
			t.Fatal(err)
		}
		second := begin()
		_, first := w.Deliver(t.Context(), signalTo("other", "long"))
		_, also := w.DeliverIn(t.Context(), second.Tx, signalTo("other", "long"))
		for _, err := range []error{first, also} {
			if !errors.Is(err, world.ErrStorage) || !strings.Contains(err.Error(), fmt.Sprintf("process %d of the server", pid)) || !strings.Contains(err.Error(), "neither committed nor rolled back") {
				t.Errorf("got %v, want one that says who holds it, process %d, and what to do", err, pid)
			}
		}
		for _, tx := range []callerTx{tx, second} {
			if err := tx.rollback(); err != nil {
				t.Error(err)
			}
		}
	})
}

// holds fails the transaction unless a condition does.
func (tx callerTx) holds(t *testing.T, condition string) {
	t.Helper()
	if err := tx.exec("SELECT 1 / (" + condition + ")::integer"); err != nil {
		t.Errorf("%s: %v", condition, err)
	}
}

// TestTxLockTimeout: an application's own limit holds where it is shorter, and is what it was afterwards.
// What waits for nobody has long ones: to commit is to wait for all who notify on this server.
func TestTxLockTimeout(t *testing.T) {
	eachBegin(t, func(t *testing.T, w *World, begin func() callerTx) {
		w.patience = time.Hour
		wk := join(t, w, 0, class1)
		must(t, w, eager("other", "w", wk.ID))
		for _, limit := range []string{"0", "20min", "2h"} {
			tx := begin()
			if err := tx.exec("SET LOCAL lock_timeout = '" + limit + "'"); err != nil {
				t.Fatal(err)
			}
			if _, err := w.CommitIn(t.Context(), tx.Tx, birthOf("r"+limit, "w")); err != nil {
				t.Fatal(err)
			}
			tx.holds(t, "current_setting('lock_timeout') = '"+limit+"'")
			if _, err := w.DeliverIn(t.Context(), tx.Tx, signalTo("other", limit)); err != nil {
				t.Fatal(err)
			}
			tx.holds(t, "current_setting('lock_timeout') = '"+limit+"'")
			if err := tx.commit(); err != nil {
				t.Fatal(err)
			}
		}
		holder, tx := begin(), begin()
		if _, err := w.DeliverIn(t.Context(), holder.Tx, signalTo("other", "held")); err != nil {
			t.Fatal(err)
		}
		if err := tx.exec("SET LOCAL lock_timeout = '40ms'"); err != nil {
			t.Fatal(err)
		}
		_, err := w.DeliverIn(t.Context(), tx.Tx, signalTo("other", "held"))
		wantErr(t, err, world.ErrStorage)
		tx.holds(t, "current_setting('lock_timeout') = '40ms'")
		for _, tx := range []callerTx{tx, holder} {
			if err := tx.rollback(); err != nil {
				t.Error(err)
			}
		}
	})
}

// TestTxIsolation: a start and a signal are part of a transaction of each level. One that sees the database as it was when it began is told so where what it needs was
// written since; one that is read only is refused; both can go on.
func TestTxIsolation(t *testing.T) {
	eachBegin(t, func(t *testing.T, w *World, begin func() callerTx) {
		wk := join(t, w, 0, class1)
		must(t, w, eager("other", "w", wk.ID))
		for i, level := range []string{"READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"} {
			old := i > 0 // what it sees
			run := func(name string) string { return fmt.Sprint(name, i) }
			tx := begin()
			for _, text := range []string{"SET TRANSACTION ISOLATION LEVEL " + level, "SELECT 1"} {
				if err := tx.exec(text); err != nil {
					t.Fatal(err)
				}
			}
			must(t, w, withIdem(birthOf(run("since"), "w"), run("key")))
			if _, err := w.Deliver(t.Context(), signalTo("other", run("since"))); err != nil {
				t.Fatal(err)
			}
			got, err := w.DeliverIn(t.Context(), tx.Tx, signalTo("other", run("since")))
			if told := err != nil && errors.Is(err, world.ErrStorage) && strings.Contains(err.Error(), "begin a new one"); told != old || !old && !got.Duplicate {
				t.Errorf("%s: a signal that was sent since: got %+v, %v", level, got, err)
			}
			created, err := w.CommitIn(t.Context(), tx.Tx, withIdem(birthOf(run("copy"), "w"), run("key")))
			if told := err != nil && errors.Is(err, world.ErrStorage) && strings.Contains(err.Error(), "begin a new one"); told != old || !old && created.Existing != run("since") {
				t.Errorf("%s: a run that was created since: got %+v, %v", level, created, err)
			}
			if _, err := w.DeliverIn(t.Context(), tx.Tx, signalTo(run("since"), "d")); errors.Is(err, world.ErrNotFound) != old {
				t.Errorf("%s: a signal to a run that was created since: got %v", level, err)
			}
			if _, err := w.CommitIn(t.Context(), tx.Tx, withIdem(birthOf(run("new"), "w"), run("new"))); err != nil {
				t.Errorf("%s: %v", level, err)
			}
			if _, err := w.DeliverIn(t.Context(), tx.Tx, signalTo(run("new"), "d")); err != nil {
				t.Errorf("%s: %v", level, err)
			}
			if err := tx.commit(); err != nil {
				t.Fatal(err)
			}
			if row, err := w.Run(t.Context(), run("new")); err != nil || row.Queue.Mail != 1 {
				t.Errorf("%s: got %+v, %v", level, row.Queue, err)
			}
		}
		tx := begin()
		if err := tx.exec("SET TRANSACTION READ ONLY"); err != nil {
			t.Fatal(err)
		}
		_, sent := w.DeliverIn(t.Context(), tx.Tx, signalTo("other", "d"))
		_, created := w.CommitIn(t.Context(), tx.Tx, birthOf("r", "w"))
		for _, err := range []error{sent, created} {
			if !errors.Is(err, world.ErrInvalid) || !strings.Contains(err.Error(), "READ ONLY") {
				t.Errorf("in a transaction that is read only: got %v", err)
			}
		}
		tx.holds(t, "true")
		if err := tx.rollback(); err != nil {
			t.Fatal(err)
		}
	})
}
