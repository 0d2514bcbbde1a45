package remote

// This file keeps values apart from logs: a call for each piece, so that no value is whole in memory on its way.

import (
	"context"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/remote/wire"
)

// Abilities returns what the store can do besides [world.World].
func (w *World) Abilities() world.Abilities { return world.Abilities{Poller: w, Doctor: w} }

// apartKeeper are the values that are kept apart.
type apartKeeper struct{ w *World }

// Values returns the store of large values; see [world.World].
func (w *World) Values() world.Values { return apartKeeper{w} }

// KeepPiece keeps a piece of a value apart; see [world.Values].
func (k apartKeeper) KeepPiece(ctx context.Context, p *world.Piece) error {
	if err := world.CheckPiece(p); err != nil {
		return err
	}
	return act(ctx, k.w, wire.KeepPiece, *p)
}

// DropValue deletes a value that no event names; see [world.Values].
func (k apartKeeper) DropValue(ctx context.Context, run, value string) error {
	if err := world.CheckValue(run, value); err != nil {
		return err
	}
	return act(ctx, k.w, wire.DropValue, valueOf(run, value))
}

func valueOf(run, value string) wire.ValueIn {
	return wire.ValueIn{RunID: wire.RunID{Run: run}, Value: value}
}

// ValueKeys tells which keys values are encrypted with; see [world.Values].
func (k apartKeeper) ValueKeys(ctx context.Context) ([]world.ValueKey, error) {
	return call(ctx, k.w, wire.ValueKeys, wire.Nothing{})
}

// Piece reads a piece of a value; see [world.Values].
func (k apartKeeper) Piece(ctx context.Context, run, value string, number int) ([]byte, error) {
	return call(ctx, k.w, wire.Piece, wire.PieceIn{ValueIn: valueOf(run, value), Number: number})
}
