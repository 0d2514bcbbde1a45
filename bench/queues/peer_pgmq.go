package main

// This file does by plain SQL what pgmq's functions do: a message is read by the first row that nobody has locked, invisible for a time, and deleted. Each consumer
// reads one at a time, and rests for 2 ms where there is none.

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

type pgmq struct {
	pool    *pgxpool.Pool
	clients int
}

func openPgmq(ctx context.Context, st store, clients int) (queue, error) {
	pool, err := newPool(ctx, st.url)
	if err != nil {
		return nil, err
	}
	_, err = pool.Exec(ctx, `
		CREATE TABLE q_jobs (
			msg_id bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY, read_ct int NOT NULL DEFAULT 0, enqueued_at timestamptz NOT NULL DEFAULT now(),
			vt timestamptz NOT NULL, message jsonb);
		CREATE INDEX ON q_jobs (vt)`)
	return &pgmq{pool, clients}, err
}

func (q *pgmq) send(ctx context.Context, payload int64) error {
	_, err := q.pool.Exec(ctx, `INSERT INTO q_jobs (vt, message) VALUES (clock_timestamp(), to_jsonb($1::bigint)) RETURNING msg_id`, payload)
	return err
}

func (q *pgmq) fill(ctx context.Context, payloads []int64) error {
	for part := range slices.Chunk(payloads, 1_000) {
		if _, err := q.pool.Exec(ctx, `INSERT INTO q_jobs (vt, message) SELECT clock_timestamp(), to_jsonb(p) FROM unnest($1::bigint[]) p`, part); err != nil {
			return err
		}
	}
	return nil
}

func (q *pgmq) work(ctx context.Context, done func(int64)) (stop func() error, err error) {
	ctx, cancel := context.WithCancel(ctx)
	var all sync.WaitGroup
	for range q.clients {
		all.Go(func() {
			for ctx.Err() == nil && q.one(ctx, done) == nil {
			}
		})
	}
	return func() error { cancel(); all.Wait(); return nil }, nil
}

func (q *pgmq) one(ctx context.Context, done func(int64)) error {
	var id, payload int64
	err := q.pool.QueryRow(ctx, `
		WITH next AS (SELECT msg_id FROM q_jobs WHERE vt <= clock_timestamp() ORDER BY msg_id LIMIT 1 FOR UPDATE SKIP LOCKED)
		UPDATE q_jobs m SET vt = clock_timestamp() + interval '30 s', read_ct = read_ct + 1 FROM next WHERE m.msg_id = next.msg_id
		RETURNING m.msg_id, (m.message #>> '{}')::bigint`).Scan(&id, &payload)
	if errors.Is(err, pgx.ErrNoRows) {
		select {
		case <-time.After(2 * time.Millisecond):
		case <-ctx.Done():
		}
		return nil
	}
	if err != nil {
		return err
	}
	done(payload)
	_, err = q.pool.Exec(ctx, `DELETE FROM q_jobs WHERE msg_id = $1`, id)
	return err
}

func (q *pgmq) close(context.Context) error {
	q.pool.Close()
	return nil
}
