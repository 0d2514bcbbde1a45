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
	var out wire.Accepted
	in := wire.Piece{PieceOf: wire.PieceOf{Run: p.Run, Value: p.Value, Number: p.Number}, Data: p.Data, Key: p.Key}
	return k.w.ask(ctx, manner{twice: true}, "keepPiece", &in, &out)
}

// DropValue deletes a value that no event names; see [world.Values].
func (k apartKeeper) DropValue(ctx context.Context, run, value string) error {
	if err := world.CheckValue(run, value); err != nil {
		return err
	}
	var out wire.Accepted
	return k.w.ask(ctx, manner{twice: true}, "dropValue", &wire.ValueOf{Run: run, Value: value}, &out)
}

// ValueKeys tells which keys values are encrypted with; see [world.Values].
func (k apartKeeper) ValueKeys(ctx context.Context) ([]world.ValueKey, error) {
	var out wire.ValueKeys
	err := k.w.ask(ctx, manner{twice: true}, "valueKeys", struct{}{}, &out)
	return out.Keys, err
}

// Piece reads a piece of a value; see [world.Values].
func (k apartKeeper) Piece(ctx context.Context, run, value string, number int) ([]byte, error) {
	var out wire.PieceData
	err := k.w.ask(ctx, manner{twice: true}, "piece", &wire.PieceOf{Run: run, Value: value, Number: number}, &out)
	return out.Data, err
}
