package postgres_test

// What PostgreSQL keeps of encrypted runs.

import (
	"context"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/crypttest"
	"github.com/stepwell/stepwell/internal/pgtest"
	"github.com/stepwell/stepwell/keyring"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/postgres"
)

// TestTheTablesHoldNoSecret: no row of any table shows what an encrypted run keeps. Without encryption each kind of payload does: the test can see.
func TestTheTablesHoldNoSecret(t *testing.T) {
	key, err := keyring.NewKey("k1")
	if err != nil {
		t.Fatal(err)
	}
	ring, err := keyring.New(key)
	if err != nil {
		t.Fatal(err)
	}
	for name, keys := range map[string]*keyring.Ring{"encrypted": ring, "plain": nil} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := pgtest.URL(t)
			w, err := postgres.Open(t.Context(), url)
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := w.Close(); err != nil {
					t.Error(err)
				}
			}()
			done, blocked := crypttest.Run(t, w, keys)
			tables, found := secrets(t, url)
			if tables < 10 {
				t.Errorf("looked at %d tables only", tables)
			}
			if keys == nil {
				if found < 10 {
					t.Errorf("the secret is there %d times without encryption, want each kind of payload", found)
				}
				return
			}
			if found != 0 {
				t.Errorf("the secret is there %d times, want none", found)
			}
			plain, err := stepwell.New(w, stepwell.Config{})
			if err != nil {
				t.Fatal(err)
			}
			for _, send := range []error{
				plain.Signal(t.Context(), blocked, "said", []byte(`{}`)), plain.Signal(t.Context(), blocked, "said", []byte(`{}`), stepwell.DeliveryID("again")),
			} {
				if !errors.Is(send, stepwell.ErrNoKey) || !strings.Contains(send.Error(), `"k1"`) {
					t.Errorf("a signal without the key: got %v, want ErrNoKey and the key's ID", send)
				}
			}
			if row, err := plain.Get(t.Context(), blocked); err != nil || row.Queue.Mail != 0 {
				t.Errorf("got %+v, %v; want nothing in the inbox", row.Queue, err)
			}
			if row, err := plain.Get(t.Context(), done); err != nil || row.Encryption != "k1" || !row.Sealed {
				t.Errorf("got %+v, %v; want it sealed with k1", row, err)
			}
		})
	}
}

// TestSendToARunOfTheSameTransaction: a run that is encrypted gets what was sent in the transaction that it was created in, once that is committed, and
// encrypted; a rollback leaves nothing behind, not even of what its key was.
func TestSendToARunOfTheSameTransaction(t *testing.T) {
	t.Parallel()
	key, err := keyring.NewKey("k1")
	if err != nil {
		t.Fatal(err)
	}
	ring, err := keyring.New(key)
	if err != nil {
		t.Fatal(err)
	}
	url := pgtest.URL(t)
	w, err := postgres.Open(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	said := stepwell.Event[string]("said")
	order := stepwell.Define("order", func(ctx stepwell.Context, item string) (string, error) {
		hook, err := stepwell.NewHook[string](ctx, stepwell.Token("hook-"+item))
		if err != nil {
			return "", err
		}
		what, _, err := said.Wait(ctx)
		if err != nil {
			return "", err
		}
		more, _, err := hook.Wait(ctx)
		return what + more, err
	})
	app := workWith(t, w, stepwell.Config{Definitions: []stepwell.Definition{order}, Encryption: ring})
	plain, err := stepwell.New(w, stepwell.Config{})
	if err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("pgx", url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	pool, err := pgxpool.New(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	for name, begin := range map[string]func() (tx world.Tx, commit, rollback func() error){
		"pgx": func() (world.Tx, func() error, func() error) {
			tx, err := pool.Begin(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return postgres.Tx(tx), func() error { return tx.Commit(t.Context()) }, func() error { return tx.Rollback(t.Context()) }
		},
		"sql": func() (world.Tx, func() error, func() error) {
			tx, err := db.BeginTx(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			return postgres.SQLTx(tx), tx.Commit, tx.Rollback
		},
	} {
		t.Run(name, func(t *testing.T) {
			// First another birth of the same ID, encrypted and not kept.
			tx, _, rollback := begin()
			if _, err := order.Start(t.Context(), app, "gone", stepwell.RunID(name), stepwell.In(tx)); err != nil {
				t.Fatal(err)
			}
			if err := said.Send(t.Context(), app, name, crypttest.Secret, stepwell.In(tx)); err != nil {
				t.Fatal(err)
			}
			if err := rollback(); err != nil {
				t.Fatal(err)
			}
			if err := said.Send(t.Context(), app, name, "x"); !errors.Is(err, stepwell.ErrNotFound) {
				t.Errorf("a signal to a run that was rolled back: got %v, want ErrNotFound", err)
			}
			tx, _, rollback = begin()
			if err := said.Send(t.Context(), app, name, "x", stepwell.In(tx)); !errors.Is(err, stepwell.ErrNotFound) {
				t.Errorf("a signal in a transaction that has no such run: got %v, want ErrNotFound", err)
			}
			if _, err := plain.Start(t.Context(), "order", []byte(`"plain"`), stepwell.RunID(name), stepwell.In(tx)); err != nil { // and the transaction goes on
				t.Fatal(err)
			}
			if err := said.Send(t.Context(), app, name, "plain", stepwell.In(tx)); err != nil {
				t.Errorf("a signal to a plain run of the same transaction: %v", err)
			}
			if err := rollback(); err != nil {
				t.Fatal(err)
			}

			tx, commit, _ := begin()
			run, err := order.Start(t.Context(), app, name, stepwell.RunID(name), stepwell.In(tx))
			if err != nil {
				t.Fatal(err)
			}
			if err := said.Send(t.Context(), app, run.ID(), crypttest.Secret, stepwell.In(tx), stepwell.DeliveryID("d")); err != nil {
				t.Fatal(err)
			}
			if err := commit(); err != nil {
				t.Fatal(err)
			}
			for end := time.Now().Add(20 * time.Second); time.Now().Before(end); {
				if why, err := app.Why(t.Context(), run.ID()); err != nil || why.Kind == stepwell.WhyHook {
					break
				}
			}
			tx, commit, _ = begin()
			if err := app.SendHook(t.Context(), "hook-"+name, []byte(`"!"`), stepwell.In(tx)); err != nil {
				t.Fatal(err)
			}
			if err := commit(); err != nil {
				t.Fatal(err)
			}
			if got, err := run.Result(t.Context()); err != nil || got != crypttest.Secret+"!" {
				t.Errorf("got %q, %v", got, err)
			}
		})
	}
	if _, found := secrets(t, url); found != 0 {
		t.Errorf("the secret is there %d times, want none", found)
	}
}

// secrets counts the tables of a database, and the secrets in their rows.
func secrets(t *testing.T, url string) (tables, found int) {
	t.Helper()
	ctx := context.Background()
	c, err := pgx.Connect(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close(ctx) }()
	rows, err := c.Query(ctx, `SELECT format('%I.%I', schemaname, tablename) FROM pg_tables WHERE schemaname NOT IN ('pg_catalog', 'information_schema')`)
	if err != nil {
		t.Fatal(err)
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		rows, err := c.Query(ctx, fmt.Sprintf("SELECT t::text FROM %s t", name))
		if err != nil {
			t.Fatal(err)
		}
		texts, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range texts {
			found += strings.Count(text, crypttest.Secret) + strings.Count(text, hex.EncodeToString([]byte(crypttest.Secret)))
		}
	}
	return len(names), found
}
