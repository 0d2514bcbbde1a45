package stepwell

import (
	"context"
	"fmt"
	"slices"

	"github.com/stepwell/stepwell/internal/engine"
	"github.com/stepwell/stepwell/world"
)

// TxOption is what [In] returns: it fits starts and sends, what is done with messages of package queue, and what is
// published by package topic.
type TxOption interface {
	StartOption
	SendOption
	SendsIn() world.Tx     // of package queue
	SettlesIn() world.Tx   // of package queue
	PublishesIn() world.Tx // of package topic
}

type inOption struct{ tx world.Tx }

// In makes a start or a send part of a transaction of the caller's, in the database of the App's world: it happens when the transaction commits, and
// never happened when it is rolled back. So it does with a message that is sent to a queue, with its
// acknowledgement, and with what is published under a topic. postgres.Tx and postgres.SQLTx make tx of what the
// application has.
//
//	run, err := Order.Start(ctx, app, in, stepwell.In(postgres.Tx(tx)))
//
// A world that cannot share transactions refuses it with [ErrInvalid].
func In(tx world.Tx) TxOption {
	if tx == nil {
		tx = noTx{} // which every world refuses: a transaction was meant
	}
	return inOption{tx}
}

// noTx is a transaction that is not there.
type noTx struct{ world.Tx }

func (o inOption) startOption(s *startOptions) { s.In = o.tx }

// sendsIn reports whether a send is part of a transaction.
func sendsIn(opts []SendOption) bool {
	return slices.ContainsFunc(opts, func(o SendOption) bool { _, ok := o.(inOption); return ok })
}

func (o inOption) sendOption(s *sending) { s.in = o.tx }

func (o inOption) SendsIn() world.Tx     { return o.tx }
func (o inOption) SettlesIn() world.Tx   { return o.tx }
func (o inOption) PublishesIn() world.Tx { return o.tx }

// deliverIn sends within the caller's transaction.
func (a *App) deliverIn(ctx context.Context, tx world.Tx, d *world.Delivery) error {
	if a.able.Transactor == nil {
		return fmt.Errorf("%w: to send in a transaction you need a store that shares transactions, like PostgreSQL", ErrInvalid)
	}
	_, err := a.able.Transactor.DeliverIn(ctx, tx, d)
	return err
}

type transactional struct{}

// Transactional runs each attempt of a step in a transaction of the world's database, which commits with the step's result: what the body writes
// there happens exactly once, whatever fails when. The world's package gives the body its transaction: postgres.TxFrom(ctx). A body that returns an error is
// rolled back.
//
// The step fails at once where the App's world cannot share transactions. The step holds a connection while its body runs.
func Transactional() StepOption { return transactional{} }

func (transactional) stepOption() {}

func (transactional) stepDefinitionOption(p *engine.Policy) { p.Tx = true }
