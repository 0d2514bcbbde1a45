package main

// This file is River (github.com/riverqueue/river), fetching as often as in its own bench command.

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	river "github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
)

// connections are those of each peer's pool: as many as send and work at once.
const connections = 64

func newPool(ctx context.Context, url string) (*pgxpool.Pool, error) {
	c, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, err
	}
	c.MaxConns = connections
	return pgxpool.NewWithConfig(ctx, c)
}

type riverJob struct {
	Payload int64 `json:"payload"`
}

func (riverJob) Kind() string { return "job" }

type riverQueue struct {
	pool    *pgxpool.Pool
	sender  *river.Client[pgx.Tx]
	clients int
}

var silence = slog.New(slog.DiscardHandler)

func openRiver(ctx context.Context, st store, clients int) (queue, error) {
	pool, err := newPool(ctx, st.url)
	if err != nil {
		return nil, err
	}
	driver := riverpgxv5.New(pool)
	tables, err := rivermigrate.New(driver, &rivermigrate.Config{Logger: silence})
	if err != nil {
		return nil, err
	}
	if _, err := tables.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		return nil, err
	}
	sender, err := river.NewClient(driver, &river.Config{Logger: silence})
	return &riverQueue{pool, sender, clients}, err
}

func (r *riverQueue) send(ctx context.Context, payload int64) error {
	_, err := r.sender.Insert(ctx, riverJob{payload}, nil)
	return err
}

func (r *riverQueue) fill(ctx context.Context, payloads []int64) error {
	for part := range slices.Chunk(payloads, 1_000) {
		var jobs []river.InsertManyParams
		for _, p := range part {
			jobs = append(jobs, river.InsertManyParams{Args: riverJob{p}})
		}
		if _, err := r.sender.InsertManyFast(ctx, jobs); err != nil {
			return err
		}
	}
	return nil
}

type riverWorker struct {
	river.WorkerDefaults[riverJob]
	done func(int64)
}

func (w *riverWorker) Work(_ context.Context, j *river.Job[riverJob]) error {
	w.done(j.Args.Payload)
	return nil
}

func (r *riverQueue) work(ctx context.Context, done func(int64)) (stop func() error, err error) {
	workers := river.NewWorkers()
	if err := river.AddWorkerSafely(workers, &riverWorker{done: done}); err != nil {
		return nil, err
	}
	client, err := river.NewClient(riverpgxv5.New(r.pool), &river.Config{
		FetchCooldown: 2 * time.Millisecond, FetchPollInterval: 20 * time.Millisecond, Logger: silence, Workers: workers,
		Queues: map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: r.clients}},
	})
	if err != nil {
		return nil, err
	}
	if err := client.Start(ctx); err != nil {
		return nil, fmt.Errorf("starting River: %w", err)
	}
	return func() error { return client.Stop(ctx) }, nil
}

func (r *riverQueue) close(context.Context) error {
	r.pool.Close()
	return nil
}
