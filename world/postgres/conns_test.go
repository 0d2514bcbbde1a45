package postgres_test

// Servers that give a role few connections.

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/pgtest"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/postgres"
)

// A role that may have few connections: a worker makes do with four, and says so at its start where there are less. A client needs no more than three.
func TestFewConnections(t *testing.T) {
	t.Parallel()
	cluster := pgtest.New(t, pgtest.Config{NoSync: true})
	for _, most := range []int{3, 4, 5, 8} {
		t.Run(fmt.Sprint(most), func(t *testing.T) {
			database := cluster.URL(t)
			u, err := url.Parse(database)
			if err != nil {
				t.Fatal(err)
			}
			admin, err := pgx.Connect(t.Context(), cluster.AdminURL(database))
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = admin.Close(context.Background()) }()
			if _, err := admin.Exec(t.Context(), fmt.Sprintf("ALTER ROLE %s CONNECTION LIMIT %d", u.User.Username(), most)); err != nil {
				t.Fatal(err)
			}
			w, err := postgres.Open(t.Context(), database)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = w.Close() }()
			flow := stepwell.Define("few", func(ctx stepwell.Context, n int) (int, error) {
				for range n {
					if err := stepwell.Do(ctx, "step", func(context.Context) error { return nil }); err != nil {
						return 0, err
					}
				}
				return n, nil
			})
			client, err := stepwell.New(w, stepwell.Config{Definitions: []stepwell.Definition{flow}})
			if err != nil {
				t.Fatal(err)
			}
			var runs []*stepwell.Run[int]
			for i := range 20 {
				run, err := flow.Start(t.Context(), client, 5, stepwell.Key(fmt.Sprint(i)))
				if err != nil {
					t.Fatal(err)
				}
				runs = append(runs, run)
			}
			if most < 4 {
				err := client.Run(t.Context())
				if want := fmt.Sprintf("may have %d connections there, but a worker needs at least 4", most); !errors.Is(err, world.ErrInvalid) || !strings.Contains(err.Error(), want) {
					t.Errorf("Run = %v, want it to say %q", err, want)
				}
				return
			}
			work(t, w, flow)
			for _, run := range runs {
				if got, err := run.Result(t.Context()); err != nil || got != 5 {
					t.Errorf("run %s = %d, %v", run.ID(), got, err)
				}
			}
			if refused, err := cluster.Logged("too many connections for role"); err != nil || refused > 0 {
				t.Errorf("%d connections were refused, %v", refused, err)
			}
		})
	}
}
