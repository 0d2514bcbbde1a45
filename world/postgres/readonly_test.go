package postgres_test

// Servers that take no writes for a while, and such as change places.

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"path"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/pgtest"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/postgres"
)

// scribes are runs under a live worker whose server stops taking writes for a while.
type scribes struct {
	*testing.T
	w    *postgres.World
	app  *stepwell.App
	wf   *stepwell.Workflow[int, int]
	mu   sync.Mutex
	done map[string]int // bodies that returned
	n    atomic.Int64
	runs []*stepwell.Run[int]
}

const lines = 400 // of a run

func hireScribes(t *testing.T, database string) *scribes {
	t.Helper()
	w, err := postgres.Open(t.Context(), database)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Close() })
	s := &scribes{T: t, w: w, done: make(map[string]int)}
	s.wf = stepwell.Define("scribe", func(ctx stepwell.Context, n int) (int, error) {
		for range n {
			if err := stepwell.Do(ctx, "line", func(ctx context.Context) error {
				s.mu.Lock()
				defer s.mu.Unlock()
				s.done[stepwell.Info(ctx).IdempotencyKey]++
				s.n.Add(1)
				return nil
			}); err != nil {
				return 0, err
			}
			if err := stepwell.Sleep(ctx, "pause", 10*time.Millisecond); err != nil {
				return 0, err
			}
		}
		return n, nil
	})
	s.app = workWith(t, w, stepwell.Config{Definitions: []stepwell.Definition{s.wf}, Lease: 30 * time.Second}) // a spell that is longer is a death; a claim whose answer is lost costs as much
	for range 4 {
		run, err := s.wf.Start(t.Context(), s.app, lines)
		if err != nil {
			t.Fatal(err)
		}
		s.runs = append(s.runs, run)
	}
	s.moves("at first")
	return s
}

// moves waits until some more lines are written.
func (s *scribes) moves(when string) {
	s.Helper()
	from := s.n.Load()
	s.until(when+" the worker moves", func() bool { return s.n.Load() > from+20 })
}

func (s *scribes) until(what string, there func() bool) {
	s.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(3 * time.Minute); !there(); <-tick.C {
		if time.Now().After(end) {
			s.Fatalf("still not: %s", what)
		}
	}
}

// refused waits until the worker's world is told that nothing is written.
func (s *scribes) refused() {
	s.Helper()
	s.until("the server takes no writes", func() bool {
		_, err := s.wf.Start(s.Context(), s.app, 0)
		return errors.Is(err, world.ErrStorage) && strings.Contains(err.Error(), "takes no writes")
	})
}

// over waits for all runs: nothing was lost, and no line was written twice, but for those that were being written when the server said no more.
func (s *scribes) over() {
	s.Helper()
	for _, run := range s.runs {
		if got, err := run.Result(s.Context()); err != nil || got != lines {
			s.Errorf("run %s = %d, %v", run.ID(), got, err)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.done) != lines*len(s.runs) {
		s.Errorf("%d lines, want %d", len(s.done), lines*len(s.runs))
	}
	for _, n := range s.done {
		if n != 1 {
			s.Errorf("a line was written %d times", n)
		}
	}
}

// A spell in which new sessions are read-only, as of a managed server that is nearly full: sessions that were made in it stay so, and are given up.
func TestReadOnlySpell(t *testing.T) {
	t.Parallel()
	database := pgtest.URL(t)
	u, err := url.Parse(database)
	if err != nil {
		t.Fatal(err)
	}
	admin, err := pgx.Connect(t.Context(), pgtest.Shared(t).AdminURL(database))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = admin.Close(context.Background()) }()
	exec := func(sql string) {
		t.Helper()
		if _, err := admin.Exec(t.Context(), sql, pgx.QueryExecModeSimpleProtocol); err != nil {
			t.Fatal(err)
		}
	}
	name := pgx.Identifier{path.Base(u.Path)}.Sanitize()
	s := hireScribes(t, database)
	for i := range 2 {
		exec("ALTER DATABASE " + name + " SET default_transaction_read_only = on")
		exec("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()")
		s.refused()
		exec("ALTER DATABASE " + name + " RESET default_transaction_read_only")
		s.moves(fmt.Sprint("after spell ", i))
	}
	s.over()
}

// A primary is demoted, and its standby takes its place: the worker moves to it, and away from the one that takes no writes.
func TestFailover(t *testing.T) {
	t.Parallel()
	first := pgtest.New(t, pgtest.Config{NoSync: true})
	database := first.URL(t)
	second := first.Standby(t)
	t.Cleanup(func() { _ = first.Stop(pgtest.Immediate) }) // nothing can be dropped there
	s := hireScribes(t, pgtest.Hosts(database, second))
	if err := first.Demote(); err != nil { // an orderly end: the standby has all
		t.Fatal(err)
	}
	if err := second.Promote(); err != nil {
		t.Fatal(err)
	}
	s.moves("after the failover")
	s.over()
}

// A primary dies under load, and its synchronous standby takes its place: what was acknowledged is there, and each line was
// written once.
func TestFailoverToSynchronousStandby(t *testing.T) {
	t.Parallel()
	first := pgtest.New(t, pgtest.Config{NoSync: true})
	database := first.URL(t)
	second := first.Standby(t)
	t.Cleanup(func() { _ = first.Stop(pgtest.Immediate) })
	admin, err := pgx.Connect(t.Context(), first.AdminURL(database))
	if err != nil {
		t.Fatal(err)
	}
	for _, sql := range []string{"ALTER SYSTEM SET synchronous_standby_names = '*'", "SELECT pg_reload_conf()"} {
		if _, err := admin.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	s := hireScribes(t, pgtest.Hosts(database, second))
	s.until("the standby is synchronous", func() bool {
		var n int
		err := admin.QueryRow(t.Context(), "SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'").Scan(&n)
		return err == nil && n == 1
	})
	s.moves("with a synchronous standby")
	_ = admin.Close(t.Context())
	if err := first.Stop(pgtest.Immediate); err != nil { // as a crash
		t.Fatal(err)
	}
	if err := second.Promote(); err != nil {
		t.Fatal(err)
	}
	s.moves("after the failover")
	s.over()
}
