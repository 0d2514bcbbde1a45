package postgres

// Transactions as the write side sees them: one of pgx, or one of database/sql with any driver.

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// txn is a transaction that is under way.
type txn interface {
	// exec tells how many rows were changed.
	exec(ctx context.Context, s *statement, args ...any) (int64, error)
	// each calls fn for each row of the answer.
	each(ctx context.Context, s *statement, fn func(row scanner) error, args ...any) error
	// run makes all statements of a script, in one round trip where that is possible.
	run(ctx context.Context, b *script) error
}

// pgxTxn is a transaction of pgx.
type pgxTxn struct {
	w  *World
	tx pgxTx
}

// pgxTx is what a transaction and a connection of pgx have in common.
type pgxTx interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults
}

func (t pgxTxn) exec(ctx context.Context, s *statement, args ...any) (int64, error) {
	t.w.counters.statements.Add(1)
	tag, err := t.tx.Exec(ctx, t.w.sql(s), args...)
	return tag.RowsAffected(), err
}

func (t pgxTxn) each(ctx context.Context, s *statement, fn func(row scanner) error, args ...any) error {
	t.w.counters.statements.Add(1)
	rows, err := t.tx.Query(ctx, t.w.sql(s), args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := fn(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

func (t pgxTxn) run(ctx context.Context, b *script) error {
	if len(b.items) == 0 {
		return nil
	}
	t.w.counters.statements.Add(int64(len(b.items)))
	err := t.tx.SendBatch(ctx, b.batch()).Close()
	if err == nil && b.after != nil {
		b.after()
	}
	return err
}
