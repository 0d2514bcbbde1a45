package postgres

// Runs that gather, and whoever claims them meanwhile.

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/stepwell/stepwell/world"
)

// openGathering has a run r of workflow w that gathers.
func openGathering(t *testing.T) *World {
	t.Helper()
	w := open(t)
	c := birthOf("r", "w")
	c.Events[0].Payload, c.Items = []byte(`1`), 1
	c.Events[0].Birth.Gather = &world.Gather{Key: "k", Quiet: time.Hour, Most: 2 * time.Hour}
	must(t, w, c)
	return w
}

// begun is a transaction of a stranger who has made a change.
func begun(t *testing.T, w *World, change string) pgx.Tx {
	t.Helper()
	c, err := pgx.ConnectConfig(t.Context(), w.cfg.ConnConfig)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close(context.WithoutCancel(t.Context())) })
	stranger, err := c.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := stranger.Exec(t.Context(), change); err != nil {
		t.Fatal(err)
	}
	return stranger
}

// untilWait waits until so many wait for locks.
func untilWait(t *testing.T, w *World, n int) {
	t.Helper()
	for waits := 0; waits < n; <-time.After(time.Millisecond) {
		if err := w.pool.QueryRow(t.Context(), "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()").Scan(&waits); err != nil {
			t.Fatal(err)
		}
	}
}

// TestAnInputMeetsAClaim: a run is claimed while an input is given to it. The input waits for who claims, sees that the
// run has begun, and goes elsewhere: it stood behind the end of a run that nobody owned any more.
func TestAnInputMeetsAClaim(t *testing.T) {
	t.Parallel()
	w := openGathering(t)
	stranger := begun(t, w, "UPDATE "+w.opt.Schema+".queue SET take = take + 1")
	done := make(chan error, 1)
	go func() {
		_, err := w.Deliver(t.Context(), &world.Delivery{Run: "r", ID: "d", Act: true, Items: 1, Events: []world.Event{{Type: world.InputReceived, Payload: []byte(`2`)}}})
		done <- err
	}()
	untilWait(t, w, 1)
	if err := stranger.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-done; !errors.Is(err, world.ErrConflict) {
		t.Errorf("got %v, want a conflict: the run has been claimed", err)
	}
	if page, err := w.Events(t.Context(), "r", world.EventQuery{}); err != nil || len(page.Events) != 1 {
		t.Errorf("%d events, want that of the birth: %v", len(page.Events), err)
	}
}

// TestABirthMeetsAMerge: starts of a definition that merges no more, in Go and in SQL, come while a start with their
// key is merged. They wait for that, and are answered with its run.
func TestABirthMeetsAMerge(t *testing.T) {
	t.Parallel()
	w := openGathering(t)
	stranger := begun(t, w, "SELECT")
	if err := mergeAlone(t.Context(), w.in(stranger), "w", "K"); err != nil {
		t.Fatal(err)
	}
	errs, runs := make(chan error, 2), make(chan string, 2)
	go func() {
		c := birthOf("plain", "w")
		c.Events[0].Birth.Key = "K"
		done, err := w.Commit(t.Context(), c)
		errs <- err
		runs <- done.Existing
	}()
	go func() {
		id := ""
		errs <- w.pool.QueryRow(t.Context(), "SELECT "+w.opt.Schema+".start('w', '1', 'K')").Scan(&id)
		runs <- id
	}()
	untilWait(t, w, 2)
	key := int64(0)
	if err := stranger.QueryRow(t.Context(), "SELECT key FROM "+w.opt.Schema+".runs").Scan(&key); err != nil {
		t.Fatal(err)
	}
	if _, err := w.in(stranger).exec(t.Context(), noteMerged, key, []byte("K"), "", nil, "w", "K"); err != nil {
		t.Fatal(err)
	}
	if err := stranger.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
		if got := <-runs; got != "r" {
			t.Errorf("got run %q, want that which has the input", got)
		}
	}
}
