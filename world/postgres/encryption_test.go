package postgres_test

// What PostgreSQL keeps of encrypted runs.

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/crypttest"
	"github.com/stepwell/stepwell/internal/pgtest"
	"github.com/stepwell/stepwell/keyring"
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
