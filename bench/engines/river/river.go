// Package river is River (github.com/riverqueue/river) under the bench: a job queue and no workflow engine, as a floor: what a step costs
// where only the queue is durable. A step is a job. The job of a serial step puts the next one in the queue in the transaction in which it
// completes itself; the results of a run's steps are not kept, and that all parallel steps are done is known in this process alone.
package river

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	queue "github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"

	"github.com/stepwell/stepwell/bench/engine"
)

// Maker opens River.
var Maker = engine.Maker{
	Name:    "river",
	Version: engine.ModuleVersion("github.com/riverqueue/river"),
	Stores:  []engine.Kind{engine.Postgres},
	Settings: map[string]string{
		"kind":     "a queue, not an engine: one job a step, no results kept, no history; its single jobs complete in batches",
		"fetching": "cool-down 2 ms, poll 20 ms, 2,000 workers: as its own bench command (defaults 100 ms, 1 s)",
		"postgres": fmt.Sprintf("pgx, %d connections", connections),
		"events":   "the row of the newest job: a job has no history",
		"log":      "discarded",
	},
	Open: open,
}

const connections = 50

// peer is one open River.
type peer struct {
	pool   *pgxpool.Pool
	client *queue.Client[pgx.Tx]
	ended  chan struct{} // closed when the completions have all been read

	number atomic.Int64
	last   atomic.Int64 // the newest job
	gaps   sync.Map     // number of a run → []time.Time
	runs   sync.Map     // number of a run → *run
}

func open(ctx context.Context, s engine.Store) (engine.Engine, error) {
	if s.Kind != engine.Postgres {
		return nil, fmt.Errorf("the queue River does not run on %s here", s.Kind)
	}
	settings, err := pgxpool.ParseConfig(s.URL)
	if err != nil {
		return nil, fmt.Errorf("reading the URL of the PostgreSQL: %w", err)
	}
	settings.MaxConns = connections
	p := &peer{ended: make(chan struct{})}
	if p.pool, err = pgxpool.NewWithConfig(ctx, settings); err != nil {
		return nil, fmt.Errorf("connecting River: %w", err)
	}
	if err := p.start(ctx); err != nil {
		p.pool.Close()
		return nil, err
	}
	return p, nil
}

// start makes the tables and starts the worker.
func (p *peer) start(ctx context.Context) error {
	driver, silence := riverpgxv5.New(p.pool), slog.New(slog.DiscardHandler)
	tables, err := rivermigrate.New(driver, &rivermigrate.Config{Logger: silence})
	if err != nil {
		return fmt.Errorf("opening River's migrations: %w", err)
	}
	if _, err := tables.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		return fmt.Errorf("making River's tables: %w", err)
	}
	workers := queue.NewWorkers()
	for _, err := range []error{
		queue.AddWorkerSafely(workers, &serialWorker{peer: p}), queue.AddWorkerSafely(workers, &singleWorker{}), queue.AddWorkerSafely(workers, &sleeperWorker{}),
	} {
		if err != nil {
			return fmt.Errorf("registering River's workers: %w", err)
		}
	}
	p.client, err = queue.NewClient(driver, &queue.Config{
		FetchCooldown:     2 * time.Millisecond,
		FetchPollInterval: 20 * time.Millisecond,
		Logger:            silence,
		Queues:            map[string]queue.QueueConfig{queue.QueueDefault: {MaxWorkers: 2000}},
		Workers:           workers,
	})
	if err != nil {
		return fmt.Errorf("opening River: %w", err)
	}
	completed, _ := p.client.SubscribeConfig(&queue.SubscribeConfig{ChanSize: 100_000, Kinds: []queue.EventKind{queue.EventKindJobCompleted}})
	go p.count(completed)
	if err := p.client.Start(context.WithoutCancel(ctx)); err != nil {
		return fmt.Errorf("starting River: %w", err)
	}
	return nil
}

// Close implements [engine.Engine].
func (p *peer) Close(ctx context.Context) error {
	err := p.client.Stop(ctx)
	select {
	case <-p.ended: // stopping closed the subscription
	case <-ctx.Done():
		err = errors.Join(err, ctx.Err())
	}
	p.pool.Close()
	return err
}
