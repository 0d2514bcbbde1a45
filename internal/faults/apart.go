package faults

// This file has values that are kept apart, whose writes have failpoints.

import (
	"context"

	"github.com/stepwell/stepwell/world"
)

// apartKeeper has values that fail.
type apartKeeper struct {
	of world.ApartKeeper
	w  *World
}

// Values are those of the world below; see [world.ApartKeeper].
func (k apartKeeper) Values() world.Values { return values{k.of.Values(), k.w} }

type values struct {
	world.Values
	w *World
}

// KeepPiece has failpoints; see [world.Values].
func (v values) KeepPiece(ctx context.Context, p *world.Piece) error {
	_, err := through(ctx, v.w, Call{Op: Piece}, func() (struct{}, error) {
		return struct{}{}, v.Values.KeepPiece(ctx, p)
	})
	return err
}

// DropValue has failpoints; see [world.Values].
func (v values) DropValue(ctx context.Context, run, value string) error {
	_, err := through(ctx, v.w, Call{Op: Piece}, func() (struct{}, error) {
		return struct{}{}, v.Values.DropValue(ctx, run, value)
	})
	return err
}

// ValueKeys fails for the dead; see [world.Values].
func (v values) ValueKeys(ctx context.Context) ([]world.ValueKey, error) {
	if err := v.w.alive(); err != nil {
		return nil, err
	}
	return v.Values.ValueKeys(ctx)
}

// Piece fails for the dead; see [world.Values].
func (v values) Piece(ctx context.Context, run, value string, number int) ([]byte, error) {
	if err := v.w.alive(); err != nil {
		return nil, err
	}
	return v.Values.Piece(ctx, run, value, number)
}
