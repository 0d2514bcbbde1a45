package sqlite

// Values that are kept apart from logs.

import (
	"context"
	"fmt"
	"slices"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/layout"
)

var (
	keepPiece   = load("keep_piece")
	keepApart   = load("keep_apart")
	holdApart   = load("hold_apart")
	readPiece   = load("read_piece")
	orphanApart = load("orphan_apart")
)

// orphansBatch is how many values without a run a transaction deletes.
const orphansBatch = 20

var _ world.ApartKeeper = (*World)(nil)

// KeepPiece keeps a piece of a value apart; see [world.ApartKeeper].
func (w *World) KeepPiece(ctx context.Context, run, value string, number int, data []byte) error {
	if err := world.CheckPiece(run, value, number, data); err != nil {
		return err
	}
	data = slices.Clone(data) // the writer may go on with it when the caller has given up
	if data == nil {
		data = []byte{}
	}
	return w.write(ctx, func(g *group) error {
		if err := g.tx.exec(keepPiece, value, int64(number), data, int64(layout.PieceSum(value, number, data).Value())); err != nil || number > 0 {
			return err
		}
		return g.tx.exec(keepApart, run, value, g.tx.now().UnixMicro())
	})
}

// Piece reads a piece of a value; see [world.ApartKeeper].
func (w *World) Piece(ctx context.Context, run, value string, number int) (data []byte, err error) {
	found := false
	err = w.read(ctx, func(c *conn) error {
		found, err = c.one(readPiece, func(r row) error {
			data = slices.Clone(r.bytes(0))
			return layout.CheckPiece(run, value, number, data, r.sum(1))
		}, run, value, int64(number))
		return err
	})
	if err == nil && !found {
		err = fmt.Errorf("run %s: piece %d of value %s: %w", run, number, value, world.ErrNotFound)
	}
	return data, err
}

// hold notes that events of a run name values that are kept apart. A run that is created with one that is not there is
// refused.
func (tx *txn) hold(run string, first int64, events []world.Event) error {
	for i := range events {
		for _, value := range events[i].Apart {
			n, err := tx.changed(holdApart, run, value)
			if err == nil && n == 0 && first == 1 {
				err = world.NoValue(run, value)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// sweepApart deletes values that were written for runs that never came to be.
func sweepApart(ctx context.Context, w *World) error {
	for {
		n, err := ask(ctx, w, func(g *group) (int64, error) {
			return g.tx.changed(orphanApart, g.tx.now().Add(-world.ApartOrphan).UnixMicro(), int64(orphansBatch))
		})
		if err != nil || n < orphansBatch {
			return err
		}
	}
}
