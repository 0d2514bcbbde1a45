package postgres

// Statements that make one transaction and travel together: one round trip, and no lock that is held while a client thinks.

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/stepwell/stepwell/world"
)

// batch makes one transaction of the statements that fill puts in, on a connection of the pool. Their answers are read, in order, before it returns.
// A connection that turns out to be broken before anything was sent is replaced once. The error is the driver's, classified.
func (db *database) batch(ctx context.Context, fill func(q *pgx.Batch)) error {
	for try := 0; ; try++ {
		if db.isClosed() {
			return world.ErrClosed
		}
		var q pgx.Batch
		fill(&q)
		db.counters.statements.Add(int64(q.Len()))
		err := db.pool.SendBatch(ctx, &q).Close()
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if try == 0 && (unsent(err) || sqlState(err) == codeReadOnly) {
			continue
		}
		return db.failedRead(err)
	}
}
