//go:build unix

package soak

// This file opens the world, and looks into its tables.

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/stepwell/stepwell/world/postgres"
)

// workers is how many processes work.
const workers = 3

type database = postgres.World

func openWorld(ctx context.Context, url string) (*database, error) { return postgres.Open(ctx, url) }

// leftovers counts the rows of tables that hold nothing when all runs are over and all workers have left. The row of a worker that was killed while
// it held nothing may stay for some minutes.
func leftovers(ctx context.Context, conn *pgx.Conn) (map[string]int, error) {
	left := map[string]int{}
	for _, table := range []string{"queue", "inbox", "tasks", "hooks", "awaits", "listens", "due"} {
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
