package remote

// This file keeps values apart from logs: a call for each piece, so that no value is whole in memory on its way.

import (
	"context"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/remote/wire"
)

// Abilities are those whose methods it has; but a server that is older, or whose database cannot, keeps no values
// apart.
func (w *World) Abilities() world.Abilities {
	a := world.Abilities{
		Notifier: w, Poller: w, TaskReader: w, ReadyReader: w, Holder: w, Doctor: w, KeyBook: w, Definer: w, MetricsKeeper: w, MessageKeeper: w,
	}
	if w.hello.Apart {
		a.ApartKeeper = w
	}
	return a
}

// KeepPiece keeps a piece of a value apart; see [world.ApartKeeper].
func (w *World) KeepPiece(ctx context.Context, run, value string, number int, data []byte) error {
	if err := world.CheckPiece(run, value, number, data); err != nil {
		return err
	}
	var out wire.Accepted
	in := wire.Piece{PieceOf: wire.PieceOf{Run: run, Value: value, Number: number}, Data: data}
	return w.ask(ctx, manner{twice: true}, "keepPiece", &in, &out)
}

// Piece reads a piece of a value; see [world.ApartKeeper].
func (w *World) Piece(ctx context.Context, run, value string, number int) ([]byte, error) {
	var out wire.PieceData
	err := w.ask(ctx, manner{twice: true}, "piece", &wire.PieceOf{Run: run, Value: value, Number: number}, &out)
	return out.Data, err
}
