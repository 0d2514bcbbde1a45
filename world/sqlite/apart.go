package sqlite

// Values that are kept apart from logs.

import (
	"context"
	"slices"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/layout"
	"github.com/stepwell/stepwell/world/rules"
)

var (
	keepPiece   = load("keep_piece")
	keepApart   = load("keep_apart")
	holdApart   = load("hold_apart")
	heldApart   = load("held_apart")
	readPiece   = load("read_piece")
	orphanApart = load("orphan_apart")
	dropValue   = load("drop_value")
	valueKeys   = load("value_keys")
)

// orphansBatch is how many values without a run a transaction deletes.
const orphansBatch = 20

// apartKeeper are the values that are kept apart.
type apartKeeper struct{ w *World }

// Values returns the store of large values; see [world.World].
func (w *World) Values() world.Values { return apartKeeper{w} }

// KeepPiece keeps a piece of a value apart; see [world.Values].
func (k apartKeeper) KeepPiece(ctx context.Context, p *world.Piece) error {
	if err := world.CheckPiece(p); err != nil {
		return err
	}
	run, value, number, key := p.Run, p.Value, p.Number, p.Key
	data := slices.Clone(p.Data) // the writer may go on with it when the caller has given up
	if data == nil {
		data = []byte{}
	}
	return k.w.write(ctx, func(g *group) error {
		if number == 0 {
			if err := g.tx.exec(keepApart, run, value, g.tx.now().UnixMicro(), orNull(key)); err != nil {
				return err
			}
		}
		n, err := g.tx.changed(keepPiece, run, value, int64(number), data, int64(layout.PieceSum(value, number, data).Value()))
		if err != nil || n > 0 {
			return err
		}
		held, err := g.tx.one(heldApart, func(row) error { return nil }, run, value)
		if err == nil && !held {
			err = world.NoPiece(run, value, number)
		}
		return err
	})
}

// Piece reads a piece of a value; see [world.Values].
func (k apartKeeper) Piece(ctx context.Context, run, value string, number int) (data []byte, err error) {
	held, there := false, false
	err = k.w.read(ctx, func(c *conn) error {
		held, err = c.one(readPiece, func(r row) error {
			if there = r.bool(0); !there {
				return nil
			}
			data = r.bytes(1)
			return layout.CheckPiece(run, value, number, data, r.sum(2))
		}, run, value, int64(number))
		return err
	})
	if err == nil && !there {
		err = layout.NoPiece(run, value, number, held)
	}
	return data, err
}

// DropValue deletes a value that no event names; see [world.Values].
func (k apartKeeper) DropValue(ctx context.Context, run, value string) error {
	if err := world.CheckValue(run, value); err != nil {
		return err
	}
	return k.w.write(ctx, func(g *group) error { return g.tx.exec(dropValue, run, value) })
}

// ValueKeys tells which keys values are encrypted with; see [world.Values].
func (k apartKeeper) ValueKeys(ctx context.Context) (out []world.ValueKey, err error) {
	err = k.w.read(ctx, func(c *conn) error {
		return c.query(valueKeys, func(r row) (bool, error) {
			out = append(out, world.ValueKey{Key: r.text(0), Runs: r.int(1)})
			return true, nil
		})
	})
	return out, err
}

// hold notes the values that events of a run refer to, and name. The run holds each already, or it gets what another
// holds; "": none. What is named and held by neither is left out.
func (tx *txn) hold(run, of string, events ...world.Event) error {
	for i := range events {
		if events[i].Apart == "" {
			continue
		}
		whole, names := world.SplitApart(events[i].Apart)
		if whole != "" {
			n, err := tx.changed(holdApart, run, whole, of)
			if err == nil && n == 0 {
				err = world.NoValue(run, whole)
			}
			if err != nil {
				return err
			}
		}
		for _, value := range names {
			if err := tx.exec(holdApart, run, value, of); err != nil {
				return err
			}
		}
	}
	return nil
}

// holdTold notes the values that a run is told of with results of others.
func (tx *txn) holdTold(run string, told []rules.Told) error {
	for _, t := range told {
		whole, names := world.SplitApart(t.Apart)
		for _, value := range append(names, whole) {
			if err := tx.exec(holdApart, run, value, t.Of); err != nil {
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
