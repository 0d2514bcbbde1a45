package postgres_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/pgtest"
	"github.com/stepwell/stepwell/world/postgres"
)

// A start that waits until its context ends, because another open transaction has started a run under the same key or ID, says who that is.
func TestAStartSaysWhoHoldsItsKey(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, says string
		option     stepwell.StartOption
	}{
		{"key", `idempotency key "k" of workflow held`, stepwell.Key("k")},
		{"ID", "run ID chosen", stepwell.RunID("chosen")},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			url := pgtest.URL(t)
			w, err := postgres.Open(t.Context(), url)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = w.Close() }()
			app, err := stepwell.New(w, stepwell.Config{})
			if err != nil {
				t.Fatal(err)
			}
			//stepwell:allow unregistered nothing runs it
			flow := stepwell.Define("held", func(stepwell.Context, int) (int, error) { return 0, nil })
			conn, err := pgx.Connect(t.Context(), url+"&application_name=forgotten-shell")
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = conn.Close(context.Background()) }()
			tx, err := conn.Begin(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if _, err := flow.Start(t.Context(), app, 1, c.option, stepwell.In(postgres.Tx(tx))); err != nil {
				t.Fatal(err)
			}
			wants := []string{c.says, "another open transaction", "forgotten-shell", "idle in transaction since"}
			says := func() bool {
				return !slices.ContainsFunc(wants, func(s string) bool { return !strings.Contains(err.Error(), s) })
			}
			for patience := 3 * time.Second; ; patience *= 2 { // it is to wait for two attempts, however slow the machine is
				ctx, stop := context.WithTimeout(t.Context(), patience)
				_, err = flow.Start(ctx, app, 1, c.option)
				stop()
				if !errors.Is(err, context.DeadlineExceeded) {
					t.Fatalf("start: %v, want that its context ended", err)
				}
				if says() {
					return
				}
				if patience > 20*time.Second {
					t.Fatalf("start: %v, want it to say all of %q", err, wants)
				}
			}
		})
	}
}
