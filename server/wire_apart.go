package server

// This file has the doors to values that are kept apart from logs.

import (
	"context"
	"errors"
	"fmt"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/remote/wire"
)

func wireApartRoutes() []route {
	return []route{
		wireRoute("keepPiece", Operator, "Keep a piece of a large value apart from the log of a run", "WirePiece", "WireAccepted", wireKeepPiece),
		wireRoute("piece", Viewer, "Read a piece of a value that is kept apart", "WirePieceOf", "WirePieceData", wirePiece),
	}
}

func apartOf(d *doors) (world.ApartKeeper, error) {
	if d.able.ApartKeeper == nil {
		return nil, fmt.Errorf("values that are kept apart in the server's database: %w", world.ErrNotFound)
	}
	return d.able.ApartKeeper, nil
}

// wireKeepPiece is for who starts a run, which need not be there yet, and for who works on one.
func wireKeepPiece(d *doors, r *request, in *wire.Piece) (wire.Accepted, error) {
	k, err := apartOf(d)
	if err == nil {
		if err = d.guard.mayRun(r, in.Run); errors.Is(err, world.ErrNotFound) {
			err = nil
		}
	}
	if err != nil {
		return wire.Accepted{}, err
	}
	return lasting(r.Context(), func(ctx context.Context) (wire.Accepted, error) {
		return wire.Accepted{Accepted: true}, k.KeepPiece(ctx, in.Run, in.Value, in.Number, in.Data)
	})
}

func wirePiece(d *doors, r *request, in *wire.PieceOf) (wire.PieceData, error) {
	k, err := apartOf(d)
	if err == nil {
		err = d.guard.mayRun(r, in.Run)
	}
	if err != nil {
		return wire.PieceData{}, err
	}
	data, err := k.Piece(r.Context(), in.Run, in.Value, in.Number)
	return wire.PieceData{Value: in.Value, Data: data}, err
}
