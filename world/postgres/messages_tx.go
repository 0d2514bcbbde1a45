package postgres

// Messages within a transaction that the application shares.

import (
	"context"

	"github.com/stepwell/stepwell/world"
)

// SendMessagesIn is SendMessages within a transaction; see [world.Transactor].
func (w *World) SendMessagesIn(ctx context.Context, tx world.Tx, all []world.Message) ([]world.Sent, error) {
	if err := world.CheckMessages(all); err != nil {
		return nil, err
	}
	t, conn, err := w.of(tx)
	if err != nil {
		return nil, err
	}
	var s *sends
	if err := w.guard(ctx, t, conn, func() error {
		s = &sends{all: all}
		if err := w.messaging.sendIn(ctx, conn, s); err != nil {
			return err
		}
		return w.announceIn(ctx, conn, newsOf(s.queues()))
	}); err != nil {
		return nil, err
	}
	return s.sent, nil
}

// SettleMessagesIn is SettleMessages within a transaction; see [world.Transactor]. In a transaction
// from [World.Begin] it must be the last call.
func (w *World) SettleMessagesIn(ctx context.Context, tx world.Tx, all []world.Settlement) (settled []bool, err error) {
	if err := world.CheckSettlements(all); err != nil {
		return nil, err
	}
	t, conn, err := w.of(tx)
	if err != nil {
		return nil, err
	}
	var queues []string
	settle := func() (err error) {
		own, err := ofTheirQueues(all, func(s *statement, each func(row scanner) error, args ...any) error {
			return conn.each(ctx, s, each, args...)
		})
		if err == nil {
			settled, queues, err = w.messaging.settleIn(ctx, conn, own)
		}
		return err
	}
	if t.w != nil {
		if err = limitLast(ctx, w.patience, conn); err == nil {
			err = settle()
		}
		t.news = append(t.news, newsOf(queues)...)
		return settled, w.failed(err)
	}
	err = w.guard(ctx, t, conn, func() error {
		if err := settle(); err != nil {
			return err
		}
		return w.announceIn(ctx, conn, newsOf(queues))
	})
	return settled, err
}
