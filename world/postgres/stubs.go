package postgres

import (
	"context"
	"errors"
	"sync"

	"github.com/stepwell/stepwell/world"
)

// This file holds what is not written yet; it goes away with the last of it.

var errTodo = errors.New("not written yet")

const maxWriters = 16

type writing struct{}

func (w *World) startWriters(ctx context.Context) {}
func (w *World) stopWriters()                     {}

type runKeys struct{ mu sync.Mutex }

type classes struct{ mu sync.Mutex }

// Commit is not written yet.
func (w *World) Commit(ctx context.Context, c *world.Commit) (world.Committed, error) {
	return world.Committed{}, errTodo
}

// Outcome is not written yet.
func (w *World) Outcome(ctx context.Context, c *world.Commit) (world.Committed, error) {
	return world.Committed{}, errTodo
}

// Deliver is not written yet.
func (w *World) Deliver(ctx context.Context, d *world.Delivery) (world.Delivered, error) {
	return world.Delivered{}, errTodo
}

// Take is not written yet.
func (w *World) Take(ctx context.Context, q world.TakeQuery) (world.Taken, error) {
	return world.Taken{}, errTodo
}
