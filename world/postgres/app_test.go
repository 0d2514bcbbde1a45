package postgres_test

// What authors see of PostgreSQL: steps, starts and signals that share a transaction with the application's own tables.

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/pgtest"
	"github.com/stepwell/stepwell/topic"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/memory"
	"github.com/stepwell/stepwell/world/postgres"
)

// bank is a database with accounts, and a worker on it.
type bank struct {
	*testing.T
	url  string
	pool *pgxpool.Pool
	app  *stepwell.App
}

func openBank(t *testing.T, defs ...stepwell.Definition) *bank {
	t.Helper()
	b := &bank{T: t, url: pgtest.URL(t)}
	w, err := postgres.Open(t.Context(), b.url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	if b.pool, err = pgxpool.New(t.Context(), b.url); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.pool.Close)
	b.exec(`CREATE TABLE accounts (name text PRIMARY KEY, balance int NOT NULL);
		CREATE TABLE owed (name text PRIMARY KEY, account text REFERENCES accounts DEFERRABLE INITIALLY DEFERRED);
		INSERT INTO accounts VALUES ('ada', 100), ('bob', 0)`)
	b.app = work(t, w, defs...)
	return b
}

// work runs a worker until the test is over.
func work(t *testing.T, w world.World, defs ...stepwell.Definition) *stepwell.App {
	t.Helper()
	return workWith(t, w, stepwell.Config{Definitions: defs})
}

func workWith(t *testing.T, w world.World, cfg stepwell.Config) *stepwell.App {
	t.Helper()
	app, err := stepwell.New(w, cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- app.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Run = %v", err)
		}
	})
	return app
}

func (b *bank) exec(sql string) {
	b.Helper()
	if _, err := b.pool.Exec(b.Context(), sql, pgx.QueryExecModeSimpleProtocol); err != nil {
		b.Fatal(err)
	}
}

func (b *bank) balance(name string) (n int) {
	b.Helper()
	if err := b.pool.QueryRow(b.Context(), "SELECT balance FROM accounts WHERE name = $1", name).Scan(&n); err != nil {
		b.Fatal(err)
	}
	return n
}

// wants waits for the result of a run.
func wants[T comparable](b *bank, run *stepwell.Run[T], want T) {
	b.Helper()
	got, err := run.Result(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	if got != want {
		b.Errorf("result = %v, want %v", got, want)
	}
}

const move = "UPDATE accounts SET balance = balance + $2 WHERE name = $1"

var quick = stepwell.Retry{Attempts: 3, Base: time.Millisecond}

// TestTransactionalStep: what an attempt wrote that failed, panicked or could not commit is gone, and what the last one wrote is there, once.
func TestTransactionalStep(t *testing.T) {
	t.Parallel()
	for name, fails := range map[string]func(ctx context.Context) error{
		"never":  func(context.Context) error { return nil },
		"error":  func(context.Context) error { return errors.New("the bank is closed") },
		"panics": func(context.Context) error { panic("the bank is on fire") },
		"the transaction is broken": func(ctx context.Context) error {
			_, _ = postgres.TxFrom(ctx).Exec(ctx, "SELECT 1 / 0")
			return nil
		},
		"a deferred constraint, at COMMIT": func(ctx context.Context) error {
			_, err := postgres.TxFrom(ctx).Exec(ctx, "INSERT INTO owed VALUES ('x', 'nobody')")
			return err
		},
		"the connection is cut": func(ctx context.Context) error {
			_, _ = postgres.TxFrom(ctx).Exec(ctx, "SELECT pg_terminate_backend(pg_backend_pid())")
			return nil
		},
	} {
		for _, queued := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, queued=%v", name, queued), func(t *testing.T) {
				t.Parallel()
				var attempts atomic.Int32
				body := func(ctx context.Context, sum int) (int, error) {
					n := int(attempts.Add(1))
					if _, err := postgres.TxFrom(ctx).Exec(ctx, move, "ada", -sum); err != nil {
						return 0, err
					}
					if n < 3 {
						if err := fails(ctx); err != nil {
							return 0, err
						}
					}
					return n, nil
				}
				debit := stepwell.DefineStep("debit", body, quick, stepwell.Transactional())
				other := stepwell.DefineStep("other", func(context.Context, int) (int, error) { return 0, nil })
				transfer := stepwell.Define("transfer", func(ctx stepwell.Context, sum int) (int, error) {
					if !queued {
						return stepwell.Step(ctx, "debit", func(ctx context.Context) (int, error) { return body(ctx, sum) }, quick, stepwell.Transactional())
					}
					_, _ = other.Start(ctx, 0), 0 // the first runs in place, the second is queued
					return debit.Start(ctx, sum).Get(ctx)
				})
				b := openBank(t, transfer, debit, other)
				run, err := transfer.Start(t.Context(), b.app, 30)
				if err != nil {
					t.Fatal(err)
				}
				want := 3
				if name == "never" {
					want = 1
				}
				wants(b, run, want)
				if got := b.balance("ada"); got != 70 {
					t.Errorf("balance = %d, want 70: one attempt's writes", got)
				}
			})
		}
	}
}

// TestTransactionalStepWithTheWorkflowsContext: what a body wrote that used it is gone.
func TestTransactionalStepWithTheWorkflowsContext(t *testing.T) {
	t.Parallel()
	var attempts atomic.Int32
	w := stepwell.Define("w", func(wctx stepwell.Context, _ int) (int, error) {
		return stepwell.Step(wctx, "debit", func(ctx context.Context) (int, error) {
			n := int(attempts.Add(1))
			if n == 1 {
				wctx.NewID() //stepwell:allow context what the test is of
			}
			_, err := postgres.TxFrom(ctx).Exec(ctx, move, "ada", -1)
			return n, err
		}, quick, stepwell.Transactional())
	})
	b := openBank(t, w)
	run, err := w.Start(t.Context(), b.app, 0)
	if err != nil {
		t.Fatal(err)
	}
	wants(b, run, 2)
	if got := b.balance("ada"); got != 99 {
		t.Errorf("balance = %d, want 99", got)
	}
}

// TestTransactionalStepEndsItself: a body that ends its transaction by hand is told, and nothing of it is lost or done twice.
func TestTransactionalStepEndsItself(t *testing.T) {
	t.Parallel()
	w := stepwell.Define("w", func(ctx stepwell.Context, _ int) (int, error) {
		return 1, stepwell.Do(ctx, "debit", func(ctx context.Context) error {
			tx := postgres.TxFrom(ctx)
			for what, end := range map[string]func(context.Context) error{"Commit": tx.Commit, "Rollback": tx.Rollback} {
				if err := end(ctx); !errors.Is(err, stepwell.ErrInvalid) {
					return fmt.Errorf("%s = %v, want ErrInvalid", what, err)
				}
			}
			var seqscan string // what Stepwell sets for its own statements
			if err := tx.QueryRow(ctx, "SHOW enable_seqscan").Scan(&seqscan); err != nil || seqscan != "on" {
				return fmt.Errorf("enable_seqscan = %q, %v in a body, want the server's own", seqscan, err)
			}
			inner, err := tx.Begin(ctx) // a savepoint is the body's own
			if err != nil {
				return err
			}
			if _, err := inner.Exec(ctx, move, "ada", -50); err != nil {
				return err
			}
			if err := inner.Rollback(ctx); err != nil {
				return err
			}
			_, err = tx.Exec(ctx, move, "ada", -1)
			return err
		}, stepwell.Retry{Attempts: 1}, stepwell.Transactional())
	})
	b := openBank(t, w)
	run, err := w.Start(t.Context(), b.app, 0)
	if err != nil {
		t.Fatal(err)
	}
	wants(b, run, 1)
	if got := b.balance("ada"); got != 99 {
		t.Errorf("balance = %d, want 99", got)
	}
	func() {
		defer func() {
			if recover() == nil {
				t.Error("TxFrom outside of a transactional step did not panic")
			}
		}()
		postgres.TxFrom(t.Context())
	}()
}

// TestTransactionalStepSideBySide: steps that run at the same time commit one by one, whatever else the run does meanwhile.
func TestTransactionalStepSideBySide(t *testing.T) {
	t.Parallel()
	pay := stepwell.Define("pay", func(ctx stepwell.Context, n int) (int, error) {
		items := make([]int, n)
		done, err := stepwell.Map(ctx, items, 0, func(ctx stepwell.Context, _ int) (int, error) {
			if err := stepwell.Do(ctx, "debit", func(ctx context.Context) error {
				_, err := postgres.TxFrom(ctx).Exec(ctx, move, "ada", -1)
				return err
			}, stepwell.Transactional()); err != nil {
				return 0, err
			}
			return stepwell.Step(ctx, "plain", func(context.Context) (int, error) { return 1, nil })
		})
		return len(done), err
	})
	b := openBank(t, pay)
	run, err := pay.Start(t.Context(), b.app, 20)
	if err != nil {
		t.Fatal(err)
	}
	wants(b, run, 20)
	if got := b.balance("ada"); got != 80 {
		t.Errorf("balance = %d, want 80", got)
	}
}

// TestTransactionalStepElsewhere: a world without transactions says so at once, and the step is not tried again.
func TestTransactionalStepElsewhere(t *testing.T) {
	t.Parallel()
	w := stepwell.Define("w", func(ctx stepwell.Context, _ int) (int, error) {
		return 0, stepwell.Do(ctx, "debit", func(context.Context) error { return nil }, stepwell.Transactional())
	})
	app := work(t, memory.New(), w)
	run, err := w.Start(t.Context(), app, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = run.Result(t.Context())
	if err == nil || !strings.Contains(err.Error(), "PostgreSQL") {
		t.Errorf("error = %v, want one that says which world it takes", err)
	}
	for _, send := range []func() error{
		func() error { _, err := w.Start(t.Context(), app, 0, stepwell.In(postgres.SQLTx(nil))); return err },
		func() error {
			return app.Signal(t.Context(), run.ID(), "s", []byte("1"), stepwell.In(postgres.SQLTx(nil)))
		},
	} {
		if err := send(); !errors.Is(err, stepwell.ErrInvalid) {
			t.Errorf("error = %v, want ErrInvalid", err)
		}
	}
}

// TestInTheCallersTransaction: a start and a signal happen with the caller's own writes, or not at all.
func TestInTheCallersTransaction(t *testing.T) {
	t.Parallel()
	paid := stepwell.Event[int]("paid")
	order := stepwell.Define("order", func(ctx stepwell.Context, item string) (string, error) {
		sum, _, err := paid.Wait(ctx)
		return fmt.Sprint(item, " for ", sum), err
	})
	b := openBank(t, order)
	db, err := sql.Open("pgx", b.url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	_, started := order.Start(t.Context(), b.app, "nothing", stepwell.In(nil))
	for what, err := range map[string]error{"start": started, "send": paid.Send(t.Context(), b.app, "nobody", 1, stepwell.In(nil))} {
		if !errors.Is(err, stepwell.ErrInvalid) || !strings.Contains(err.Error(), "and not nil: use postgres.Tx") || strings.Contains(err.Error(), "noTx") {
			t.Errorf("%s in no transaction: got %v, want ErrInvalid and what to use", what, err)
		}
	}
	for name, begin := range map[string]func() (tx world.Tx, exec func(string) error, commit, rollback func() error){
		"pgx": func() (world.Tx, func(string) error, func() error, func() error) {
			tx, err := b.pool.Begin(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return postgres.Tx(tx), func(q string) error { _, err := tx.Exec(t.Context(), q); return err },
				func() error { return tx.Commit(t.Context()) }, func() error { return tx.Rollback(t.Context()) }
		},
		"database/sql": func() (world.Tx, func(string) error, func() error, func() error) {
			tx, err := db.BeginTx(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			return postgres.SQLTx(tx), func(q string) error { _, err := tx.ExecContext(t.Context(), q); return err }, tx.Commit, tx.Rollback
		},
	} {
		t.Run(name, func(t *testing.T) {
			before := b.balance("bob")
			tx, exec, _, rollback := begin()
			if err := exec("UPDATE accounts SET balance = balance + 1 WHERE name = 'bob'"); err != nil {
				t.Fatal(err)
			}
			gone, err := order.Start(t.Context(), b.app, "pen", stepwell.In(tx))
			if err != nil {
				t.Fatal(err)
			}
			if err := rollback(); err != nil {
				t.Fatal(err)
			}
			if _, err := b.app.Get(t.Context(), gone.ID()); !errors.Is(err, stepwell.ErrNotFound) {
				t.Errorf("after a rollback: error = %v, want ErrNotFound", err)
			}

			tx, exec, commit, _ := begin()
			if err := exec("UPDATE accounts SET balance = balance + 1 WHERE name = 'bob'"); err != nil {
				t.Fatal(err)
			}
			run, err := order.Start(t.Context(), b.app, "ink", stepwell.In(tx), stepwell.Key("ink/"+name))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := b.app.Get(t.Context(), run.ID()); !errors.Is(err, stepwell.ErrNotFound) {
				t.Errorf("before the commit: error = %v, want ErrNotFound", err)
			}
			if err := commit(); err != nil {
				t.Fatal(err)
			}

			tx, _, _, rollback = begin()
			if err := paid.Send(t.Context(), b.app, run.ID(), 1, stepwell.In(tx)); err != nil {
				t.Fatal(err)
			}
			if err := rollback(); err != nil {
				t.Fatal(err)
			}
			tx, _, commit, _ = begin()
			if err := paid.Send(t.Context(), b.app, run.ID(), 2, stepwell.In(tx)); err != nil {
				t.Fatal(err)
			}
			if err := commit(); err != nil {
				t.Fatal(err)
			}
			wants(b, run, "ink for 2")
			if got := b.balance("bob"); got != before+1 {
				t.Errorf("balance = %d, want %d: the rolled back half is gone", got, before+1)
			}
		})
	}
}

// TestPublishInTheCallersTransaction: what is published there goes out if that commits.
func TestPublishInTheCallersTransaction(t *testing.T) {
	t.Parallel()
	b := openBank(t)
	news := topic.Of[int]("news")
	for i, end := range []func(tx pgx.Tx) error{
		func(tx pgx.Tx) error { return tx.Rollback(t.Context()) },
		func(tx pgx.Tx) error { return tx.Commit(t.Context()) },
	} {
		tx, err := b.pool.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := news.Publish(t.Context(), b.app, i, stepwell.In(postgres.Tx(tx))); err != nil {
			t.Fatal(err)
		}
		if err := end(tx); err != nil {
			t.Fatal(err)
		}
	}
	page, err := b.app.World().Topics().Publications(t.Context(), world.PublicationQuery{})
	if err != nil || len(page.Publications) != 1 || string(page.Publications[0].Payload) != "1" {
		t.Errorf("published: %+v, %v; want what was committed", page.Publications, err)
	}
	if _, err := news.Publish(t.Context(), b.app, 2, stepwell.In(nil)); !errors.Is(err, stepwell.ErrInvalid) {
		t.Errorf("in no transaction: got %v, want ErrInvalid", err)
	}
}
