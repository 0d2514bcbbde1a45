// Package goworkflows is go-workflows (github.com/cschleiden/go-workflows) under the bench, on SQLite and on PostgreSQL.
//
// Its worker and its client share the process, so the backend is wrapped in its monoprocess backend: that is what it offers for this
// case, and what its own bench does. A caller waits for a result as its client does, by asking again with growing pauses.
package goworkflows

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cschleiden/go-workflows/backend"
	"github.com/cschleiden/go-workflows/backend/monoprocess"
	"github.com/cschleiden/go-workflows/backend/postgres"
	"github.com/cschleiden/go-workflows/backend/sqlite"
	"github.com/cschleiden/go-workflows/client"
	"github.com/cschleiden/go-workflows/diag"
	"github.com/cschleiden/go-workflows/worker"
	"github.com/cschleiden/go-workflows/workflow"
	"github.com/jackc/pgx/v5"

	"github.com/stepwell/stepwell/bench/engine"
)

// Maker opens go-workflows.
var Maker = engine.Maker{
	Name:    "goworkflows",
	Version: engine.ModuleVersion("github.com/cschleiden/go-workflows"),
	Stores:  []engine.Kind{engine.SQLite, engine.Postgres},
	Settings: map[string]string{
		"backend":  "wrapped in monoprocess, as its own bench does: tasks are announced in the process, not polled for every 200 ms",
		"sqlite":   "its own DSN: one connection, WAL, synchronous=FULL (SQLite's default, which it leaves; it has no option for another)",
		"postgres": fmt.Sprintf("database/sql, at most %d connections (its bench: 100, as many as a default server has)", connections),
		"worker":   "2 pollers each, tasks in parallel without limit, 128 runs cached (defaults)",
		"history":  fmt.Sprintf("at most %d events a run (default 10,000: too few for long runs)", history),
		"result":   "its client's wait: asks after 1 ms, then 1.5 times later each, at most 1 s (fixed in the library)",
		"log":      "discarded",
		"list":     "its diagnostics: the newest 50 runs (it has no filter)",
	},
	Open: open,
}

const (
	connections = 50
	history     = 1 << 20
	patience    = 30 * time.Minute // its wait must be given a limit; the caller's context ends it before
)

// peer is one open go-workflows.
type peer struct {
	backend backend.Backend
	runs    diag.Backend
	client  *client.Client
	worker  *worker.Worker
	stop    context.CancelFunc
	store   *sql.DB // the bench's own look at the store: how many timers are set

	number atomic.Int64
	last   atomic.Pointer[workflow.Instance]
	asleep atomic.Int64 // runs whose body came to its sleep
	gaps   sync.Map     // number of a run → []time.Time
	began  sync.Map     // number of a run → chan time.Time
}

func open(ctx context.Context, s engine.Store) (e engine.Engine, err error) {
	defer func() { // its constructors panic on what the store says
		if p := recover(); p != nil {
			err = fmt.Errorf("opening go-workflows on %s: %v", s.Kind, p)
		}
	}()
	options := []backend.BackendOption{backend.WithLogger(slog.New(slog.DiscardHandler)), backend.WithMaxHistorySize(history)}
	p := &peer{}
	var inner backend.Backend
	switch s.Kind {
	case engine.SQLite:
		file := filepath.Join(s.Dir, "goworkflows.db")
		inner = sqlite.NewSqliteBackend(file, sqlite.WithBackendOptions(options...))
		p.store, err = sql.Open("sqlite", "file:"+file+"?mode=ro&_pragma=busy_timeout(5000)")
	case engine.Postgres:
		at, bad := pgx.ParseConfig(s.URL)
		if bad != nil {
			return nil, fmt.Errorf("reading the URL of the PostgreSQL: %w", bad)
		}
		inner = postgres.NewPostgresBackend(at.Host, int(at.Port), at.User, at.Password, at.Database, postgres.WithBackendOptions(options...),
			postgres.WithPostgresOptions(func(db *sql.DB) {
				db.SetMaxOpenConns(connections)
				db.SetMaxIdleConns(connections)
			}))
		p.store, err = sql.Open("pgx", s.URL)
	default:
		return nil, fmt.Errorf("go-workflows does not run on %s", s.Kind)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("opening the store of go-workflows beside it: %w", err), inner.Close())
	}
	mono := monoprocess.NewMonoprocessBackend(inner)
	p.backend, p.runs, p.client = mono, inner.(diag.Backend), client.New(mono)
	settings := worker.DefaultOptions
	p.worker = worker.New(mono, &settings)
	if err := p.register(); err != nil {
		return nil, errors.Join(err, p.store.Close(), inner.Close())
	}
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	p.stop = stop
	if err := p.worker.Start(running); err != nil {
		stop()
		return nil, errors.Join(fmt.Errorf("starting the worker of go-workflows: %w", err), p.store.Close(), inner.Close())
	}
	return p, nil
}

// Close implements [engine.Engine].
func (p *peer) Close(context.Context) error {
	p.stop()
	return errors.Join(p.worker.WaitForCompletion(), p.store.Close(), p.backend.Close())
}
