package server

// This file has the doors to values that are kept apart from logs.

import (
	"context"
	"fmt"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/remote/wire"
)

func wireApartRoutes() []route {
	return []route{
		wireRoute("keepPiece", Operator, "Keep a piece of a large value apart from the log of a run", "WirePiece", "WireAccepted", wireKeepPiece),
		wireRoute("piece", Viewer, "Read a piece of a value that is kept apart", "WirePieceOf", "WirePieceData", wirePiece),
		wireRoute("dropValue", Operator, "Delete a value that was kept apart for a commit that is not made", "WireValueOf", "WireAccepted", wireDropValue),
		wireRoute("valueKeys", Viewer, "Tell which keys values that are kept apart are encrypted with", "WireNothing", "WireValueKeys", wireValueKeys),
	}
}

func apartOf(d *doors) (world.Values, error) {
	return d.below.Values(), nil
}

// wireKeepPiece is for who starts a run, which need not be there yet, and for who works on one.
func wireKeepPiece(d *doors, r *request, in *wire.Piece) (wire.Accepted, error) {
	k, err := apartOf(d)
	if err == nil {
		err = d.guard.mayKeep(r, in.Run)
	}
	if err != nil {
		return wire.Accepted{}, err
	}
	return lasting(r.Context(), func(ctx context.Context) (wire.Accepted, error) {
		return wire.Accepted{Accepted: true}, k.KeepPiece(ctx, &world.Piece{Run: in.Run, Value: in.Value, Number: in.Number, Data: in.Data, Key: in.Key})
	})
}

func wireDropValue(d *doors, r *request, in *wire.ValueOf) (wire.Accepted, error) {
	k, err := apartOf(d)
	if err == nil {
		err = d.guard.mayKeep(r, in.Run)
	}
	if err != nil {
		return wire.Accepted{}, err
	}
	return lasting(r.Context(), func(ctx context.Context) (wire.Accepted, error) {
		return wire.Accepted{Accepted: true}, k.DropValue(ctx, in.Run, in.Value)
	})
}

func wireValueKeys(d *doors, r *request, _ *nothing) (wire.ValueKeys, error) {
	if r.limited() != nil {
		return wire.ValueKeys{}, fmt.Errorf("%w: it is limited, and the database belongs to all", errScope)
	}
	k, err := apartOf(d)
	if err != nil {
		return wire.ValueKeys{}, err
	}
	keys, err := k.ValueKeys(r.Context())
	return wire.ValueKeys{Keys: keys}, err
}

func wirePiece(d *doors, r *request, in *wire.PieceOf) (wire.PieceData, error) {
	k, err := apartOf(d)
	if err == nil {
		err = d.guard.mayReadValue(r, in.Run, in.Value)
	}
	if err != nil {
		return wire.PieceData{}, err
	}
	data, err := k.Piece(r.Context(), in.Run, in.Value, in.Number)
	return wire.PieceData{Value: in.Value, Data: data}, err
}
