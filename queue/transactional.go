package queue

// This file calls handlers in transactions, which commit with the acknowledgement.

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/stepwell/stepwell/world"
)

// Transactional calls the handler in a transaction of the store's database, which commits with the
// acknowledgement. What the handler writes in it happens exactly once for each message. The handler
// gets the transaction from the store's package: postgres.TxFrom(ctx). An error, a panic, or an
// expired receipt rolls it back.
//
// The handler settles its message only by its result. [stepwell.New] refuses it with
// [stepwell.ErrInvalid] if the store cannot share transactions. Each call of the handler holds a
// database connection; calls without one wait.
func Transactional() HandleOption { return handleOption(func(h *handling) { h.inTx = true }) }

var (
	errNotBegun = errors.New("the handler's transaction could not begin")
	errUndone   = fmt.Errorf("the handler's transaction was lost with its connection; nothing was written: %w", world.ErrStorage)
)

// rollbackTime is how long a rollback may take before its connection is given up.
const rollbackTime = 5 * time.Second

// callInTx calls the handler in a transaction, and commits that together with the acknowledgement: the error is
// errSettled then, and where the message is somebody else's.
func (c *consumer[T]) callInTx(ctx context.Context, m *Message[T]) error {
	tx, err := c.room.Transactor.Begin(ctx)
	if err != nil {
		return fmt.Errorf("%w: %w", errNotBegun, err)
	}
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.queue.def.Or().Visibility)
	defer cancel()
	if err = c.call(world.WithTx(ctx, tx), m); err == nil {
		err = m.settle(end, tx, world.Settlement{Kind: world.Ack})
		switch {
		case errors.Is(err, ErrReceipt):
			c.log.Warn("a message was processed for longer than its visibility allows: what its handler wrote is rolled back", "message", m.ID)
			err = errSettled
		case err == nil:
			if err = tx.Commit(end); err == nil {
				return errSettled
			} else if errors.Is(err, world.ErrUnknownOutcome) {
				return c.look(end, m)
			}
		}
	}
	undo, stop := context.WithTimeout(context.WithoutCancel(ctx), rollbackTime)
	defer stop()
	if failed := tx.Rollback(undo); failed != nil {
		c.log.Info("a handler's transaction could not be rolled back; the database rolls it back when the connection ends", "message", m.ID, "error", failed)
	}
	return err
}

// look finds out what became of a transaction whose answer was lost. It had the message locked: once that can be
// renewed, it was undone. Where the receipt holds no longer, it was committed, or another has received the message
// since.
func (c *consumer[T]) look(ctx context.Context, m *Message[T]) error {
	for {
		err := m.Extend(ctx, c.queue.def.Or().Visibility)
		switch {
		case err == nil:
			return errUndone
		case errors.Is(err, ErrReceipt):
			return errSettled
		}
		c.log.Warn("it is unknown whether a message is done", "message", m.ID, "error", err, "hint", "It is checked every second")
		select {
		case <-time.After(time.Second):
		case <-ctx.Done(): // who receives it next finds out
			return errSettled
		}
	}
}
