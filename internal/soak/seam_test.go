//go:build unix

package soak

// This file is where the world comes in.

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world/postgres"
)

// workers is how many processes work.
const workers = 3

type database = postgres.World

func openWorld(ctx context.Context, url string) (*database, error) { return postgres.Open(ctx, url) }

// openDatabase opens the world of a worker process, and what its steps need.
func openDatabase(ctx context.Context, url string, n *notes) (*database, *ledger, error) {
	w, err := openWorld(ctx, url)
	if err != nil {
		return nil, nil, err
	}
	pool, err := pgxpool.New(ctx, url)
	if err != nil {
		return nil, nil, err
	}
	move := func(ctx context.Context, do func(tx pgx.Tx) error) error {
		return pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
			tag, err := tx.Exec(ctx, "insert into ledger.done values ($1) on conflict do nothing", stepwell.Info(ctx).IdempotencyKey)
			if err != nil || tag.RowsAffected() == 0 {
				return err
			}
			return do(tx)
		})
	}
	return w, &ledger{notes: n, move: move}, nil
}

// leftovers counts the rows of tables that hold nothing when all runs are over and all workers have left. The row of a worker that was killed while
// it held nothing may stay for some minutes.
func leftovers(ctx context.Context, conn *pgx.Conn) (map[string]int, error) {
	left := map[string]int{}
	for _, table := range []string{"queue", "inbox", "acts", "tasks", "hooks", "awaits"} {
		var n int
		if err := conn.QueryRow(ctx, "select count(*) from "+pgx.Identifier{"stepwell", table}.Sanitize()).Scan(&n); err != nil {
			return nil, fmt.Errorf("table %s: %w", table, err)
		}
		left[table] = n
	}
	var n int
	if err := conn.QueryRow(ctx, "select count(*) from stepwell.lanes where worker not in (select key from stepwell.workers)").Scan(&n); err != nil {
		return nil, err
	}
	left["lanes without a worker"] = n
	return left, nil
}
