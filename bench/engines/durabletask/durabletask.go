// Package durabletask is durabletask-go (github.com/microsoft/durabletask-go) under the bench, embedded, on its SQLite and its PostgreSQL
// backend.
//
// Its workers find work by asking the store: at once after they found some, else after a pause that grows from 50 ms to 5 s. Its client
// waits for a result by asking after 100 ms, and then after pauses that grow to 10 s. Neither has an option.
package durabletask

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	_ "github.com/jackc/pgx/v5/stdlib" // the bench's own look at PostgreSQL
	"github.com/microsoft/durabletask-go/api"
	"github.com/microsoft/durabletask-go/backend"
	"github.com/microsoft/durabletask-go/backend/postgres"
	"github.com/microsoft/durabletask-go/backend/sqlite"
	"github.com/microsoft/durabletask-go/task"

	"github.com/stepwell/stepwell/bench/engine"
)

// Maker opens durabletask-go.
var Maker = engine.Maker{
	Name:    "durabletask",
	Version: engine.ModuleVersion("github.com/microsoft/durabletask-go"),
	Stores:  []engine.Kind{engine.SQLite, engine.SQLiteNormal, engine.Postgres},
	Settings: map[string]string{
		"worker":   fmt.Sprintf("%d orchestrations and %d activities in parallel (default 1 of each)", parallel, parallel),
		"sqlite":   "WAL and the kind's synchronous by pragmas in its DSN (default: rollback journal, FULL); one connection (fixed in the library)",
		"postgres": fmt.Sprintf("%d connections (default 1); it can start only one activity at a time there, so it is not asked to fan out", connections),
		"polling":  "for work after 50 ms to 5 s without any, for results after 100 ms to 10 s (fixed in the library)",
		"log":      "discarded",
	},
	Open: open,
}

const (
	parallel    = 100
	connections = 20
)

// peer is one open durabletask-go.
type peer struct {
	backend backend.Backend
	hub     backend.TaskHubWorker
	client  backend.TaskHubClient
	store   *sql.DB // the bench's own look at the store: how many timers are set

	number atomic.Int64
	asleep atomic.Int64 // runs whose body came to its sleep
	gaps   sync.Map     // number of a run → []time.Time
	began  sync.Map     // number of a run → chan time.Time
}

func open(ctx context.Context, s engine.Store) (e engine.Engine, err error) {
	defer func() { // creating its tables panics where it cannot
		if p := recover(); p != nil {
			err = fmt.Errorf("opening durabletask-go on %s: %v", s.Kind, p)
		}
	}()
	p := &peer{}
	if err := p.openStore(ctx, s); err != nil {
		return nil, err
	}
	tasks := task.NewTaskRegistry()
	if err := p.register(tasks); err != nil {
		return nil, errors.Join(err, p.store.Close())
	}
	executor := task.NewTaskExecutor(tasks)
	p.hub = backend.NewTaskHubWorker(p.backend,
		backend.NewOrchestrationWorker(p.backend, executor, silence{}, backend.WithMaxParallelism(parallel)),
		backend.NewActivityTaskWorker(p.backend, executor, silence{}, backend.WithMaxParallelism(parallel)), silence{})
	p.client = backend.NewTaskHubClient(p.backend)
	if err := p.hub.Start(context.WithoutCancel(ctx)); err != nil {
		return nil, errors.Join(fmt.Errorf("starting the workers of durabletask-go: %w", err), p.store.Close())
	}
	if s.Kind == engine.Postgres {
		return p, nil
	}
	return fanning{p}, nil
}

// openStore makes the backend, and the look beside it.
func (p *peer) openStore(ctx context.Context, s engine.Store) (err error) {
	switch s.Kind {
	case engine.SQLite, engine.SQLiteNormal:
		synchronous := "FULL"
		if s.Kind == engine.SQLiteNormal {
			synchronous = "NORMAL"
		}
		file := "file:" + filepath.Join(s.Dir, "durabletask.db")
		options := sqlite.NewSqliteOptions(file + "?_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)&_pragma=synchronous(" + synchronous + ")")
		p.backend = sqlite.NewSqliteBackend(options, silence{})
		p.store, err = sql.Open("sqlite", file+"?mode=ro&_pragma=busy_timeout(5000)")
	case engine.Postgres:
		pool, bad := pgxpool.ParseConfig(s.URL)
		if bad != nil {
			return fmt.Errorf("reading the URL of the PostgreSQL: %w", bad)
		}
		pool.MaxConns = connections
		p.backend = postgres.NewPostgresBackend(&postgres.PostgresOptions{
			PgOptions: pool, OrchestrationLockTimeout: 2 * time.Minute, ActivityLockTimeout: 2 * time.Minute, // its defaults
		}, silence{})
		p.store, err = sql.Open("pgx", s.URL)
	default:
		return fmt.Errorf("durabletask-go does not run on %s", s.Kind)
	}
	if err != nil {
		return fmt.Errorf("opening the store of durabletask-go beside it: %w", err)
	}
	return nil
}

// Close implements [engine.Engine].
func (p *peer) Close(ctx context.Context) error {
	return errors.Join(p.hub.Shutdown(ctx), p.store.Close())
}

// silence is a log that keeps nothing.
type silence struct{}

var _ backend.Logger = silence{}

func (silence) Debug(...any)          {}
func (silence) Debugf(string, ...any) {}
func (silence) Info(...any)           {}
func (silence) Infof(string, ...any)  {}
func (silence) Warn(...any)           {}
func (silence) Warnf(string, ...any)  {}
func (silence) Error(...any)          {}
func (silence) Errorf(string, ...any) {}

// settled says whether a run's first task is done: from then on it waits.
func settled(run *api.OrchestrationMetadata) bool {
	return run.RuntimeStatus != api.RUNTIME_STATUS_PENDING
}
