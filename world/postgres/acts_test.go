package postgres

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/stepwell/stepwell/internal/pgtest"
	"github.com/stepwell/stepwell/world"
)

// As many acts at once as the pool has connections, and more, by a World that has just been opened: each looks up what it
// needs on the connection that it has.
func TestActsAtOnce(t *testing.T) {
	t.Parallel()
	u := pgtest.URL(t)
	const runs = 24
	first := openAt(t, u)
	for i := range runs {
		must(t, first, birthOf(fmt.Sprint("r", i), fmt.Sprint("w", i)))
	}
	for _, conns := range []int{1, 2, 8} {
		for _, act := range []world.EventType{world.RunPaused, world.RunResumed} {
			w := openAt(t, u, Options{Conns: conns})
			var wg sync.WaitGroup
			for i := range runs {
				wg.Go(func() {
					if _, err := w.Deliver(t.Context(), &world.Delivery{Run: fmt.Sprint("r", i), Act: true, Events: []world.Event{{Type: act}}}); err != nil {
						t.Errorf("%d connections: %s of run %d: %v", conns, act, i, err)
					}
				})
			}
			wg.Wait()
		}
	}
}

// A birth that waits for a stranger's lock asks who that is only where the pool has a connection left for it.
func TestBirthWaitsOnTheOnlyConnection(t *testing.T) {
	t.Parallel()
	u := pgtest.URL(t)
	w := openAt(t, u, Options{Conns: 1})
	conn, err := pgx.Connect(t.Context(), u)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	if _, err := conn.Exec(t.Context(), "BEGIN; INSERT INTO stepwell.runs (key, id, workflow, version, idem, priority, created_at, retention_ns) VALUES (9, 'other', 'w', 1, 'k', 1, now(), 0)",
		pgx.QueryExecModeSimpleProtocol); err != nil {
		t.Fatal(err)
	}
	born := make(chan error, 1)
	go func() {
		c := birthOf("r", "w")
		c.Events[0].Birth.Key = "k"
		_, err := w.Commit(t.Context(), c)
		born <- err
	}()
	for w.counters.housekeeping.Load() == 0 { // it has looked, or is about to
		select {
		case err := <-born:
			t.Fatalf("the birth did not wait: %v", err)
		case <-time.After(time.Millisecond):
		}
	}
	if _, err := conn.Exec(t.Context(), "ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	if err := <-born; err != nil {
		t.Errorf("the birth: %v", err)
	}
}
