package floor

// This file appends to a PostgreSQL server: one statement a group, which is a transaction by itself.

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/stepwell/stepwell/bench/engine"
)

type postgres struct {
	conn      *pgx.Conn
	runs, seq []int64
	n         []int32
	heads     []string
	bodies    [][]byte
}

const insert = "INSERT INTO log (run, seq, n, format, head, body) SELECT a.run, a.seq, a.n, 1, a.head, a.body " +
	"FROM unnest($1::bigint[], $2::bigint[], $3::integer[], $4::text[], $5::bytea[]) a(run, seq, n, head, body)"

func openPostgres(ctx context.Context, s engine.Store, first, indexed bool) (appender, error) {
	conn, err := pgx.Connect(ctx, s.URL)
	if err != nil {
		return nil, err
	}
	schema := "CREATE TABLE log (run bigint NOT NULL, seq bigint NOT NULL, n integer NOT NULL, format smallint NOT NULL, head text NOT NULL, body bytea NOT NULL);"
	if indexed {
		schema += "CREATE UNIQUE INDEX log_run ON log (run, seq)"
	}
	if first {
		if _, err := conn.Exec(ctx, schema); err != nil {
			return nil, errors.Join(err, conn.Close(ctx))
		}
	}
	return &postgres{conn: conn}, nil
}

func (a *postgres) append(ctx context.Context, rows []row) error {
	a.runs, a.seq, a.n, a.heads, a.bodies = a.runs[:0], a.seq[:0], a.n[:0], a.heads[:0], a.bodies[:0]
	for _, r := range rows {
		a.runs, a.seq, a.n = append(a.runs, r.run), append(a.seq, r.seq), append(a.n, 3)
		a.heads, a.bodies = append(a.heads, string(r.head)), append(a.bodies, r.body)
	}
	_, err := a.conn.Exec(ctx, insert, a.runs, a.seq, a.n, a.heads, a.bodies)
	return err
}

func (a *postgres) close() error { return a.conn.Close(context.Background()) }
