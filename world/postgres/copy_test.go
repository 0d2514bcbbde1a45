package postgres

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/stepwell/stepwell/internal/pgtest"
	"github.com/stepwell/stepwell/world"
)

// A copied database goes on by itself: what the workers of the original held when it was copied comes back when their leases are over, timers and
// mail are there, and new runs get keys that nobody has. The original does not notice.
func TestCopiedDatabaseGoesOn(t *testing.T) {
	t.Parallel()
	original := pgtest.URL(t)
	w := openAt(t, original)
	wk := join(t, w, time.Second, class1)
	must(t, w, eager("owned", "w", wk.ID))
	must(t, w, stepCommit("owned", wk.ID, 0))
	must(t, w, eager("asleep", "w", wk.ID))
	must(t, w, &world.Commit{ID: commitID(), Run: "asleep", Worker: wk.ID, Claim: 1, First: 3, Release: &world.Release{WakeAt: world.Now().Add(time.Second)}})
	if _, err := w.Deliver(t.Context(), &world.Delivery{Run: "owned", ID: "d1", Events: []world.Event{{Type: world.SignalReceived, Name: "s"}}}); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil { // the worker does not leave: a copy is of processes that live
		t.Fatal(err)
	}

	c := openAt(t, copyOf(t, original))
	other := join(t, c, time.Minute, class1)
	took := make(map[string]world.ClaimedRun)
	for deadline := time.Now().Add(20 * time.Second); len(took) < 2; {
		for _, r := range claim(t, c, other, 10).Runs {
			took[r.Run] = r
		}
		if time.Now().After(deadline) {
			t.Fatalf("took %v, want both runs", took)
		}
	}
	if r := took["owned"]; r.Claim != 2 || r.Seq != 3 || len(r.Mail) != 1 {
		t.Errorf("took %+v, want take 2 at event 3 with a delivery", r)
	}
	must(t, c, birthOf("new", "w"))
	page, err := c.Runs(t.Context(), world.RunQuery{})
	if err != nil || len(page.Runs) != 3 {
		t.Errorf("got %d runs, %v; want 3", len(page.Runs), err)
	}
	page, err = openAt(t, original).Runs(t.Context(), world.RunQuery{})
	if err != nil || len(page.Runs) != 2 {
		t.Errorf("the original has %d runs, %v; want 2", len(page.Runs), err)
	}
}

// copyOf copies a database that nobody is connected to, and returns the copy's URL.
func copyOf(t *testing.T, original string) string {
	t.Helper()
	admin := pgtest.Shared(t).AdminURL(original)
	from, err := url.Parse(original)
	if err != nil {
		t.Fatal(err)
	}
	name := strings.TrimPrefix(from.Path, "/")
	maintenance, err := url.Parse(admin)
	if err != nil {
		t.Fatal(err)
	}
	maintenance.Path = "/postgres"
	execute(t, maintenance.String(), fmt.Sprintf("CREATE DATABASE %s_copy TEMPLATE %[1]s OWNER %s", name, from.User.Username()))
	t.Cleanup(func() {
		c, err := pgx.Connect(context.Background(), maintenance.String())
		if err != nil {
			t.Error(err)
			return
		}
		defer func() { _ = c.Close(context.Background()) }()
		if _, err := c.Exec(context.Background(), fmt.Sprintf("DROP DATABASE %s_copy WITH (FORCE)", name)); err != nil {
			t.Error(err)
		}
	})
	from.Path += "_copy"
	return from.String()
}
