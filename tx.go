package stepwell

import (
	"context"
	"fmt"
	"slices"

	"github.com/stepwell/stepwell/internal/engine"
	"github.com/stepwell/stepwell/world"
)

// TxOption is the result of [In]: an option of starts, sends, queue messages, acknowledgements and
// publications.
type TxOption interface {
	StartOption
	SendOption
	SendsIn() world.Tx     // of package queue
	SettlesIn() world.Tx   // of package queue
	PublishesIn() world.Tx // of package topic
}

type inOption struct{ tx world.Tx }

// In makes a start, a send, a queue message, an acknowledgement or a publication part of the
// caller's transaction. It takes effect when the transaction commits. The transaction must be in
// the database of the App's store. postgres.Tx and postgres.SQLTx wrap the application's
// transaction.
//
//	run, err := Order.Start(ctx, app, in, stepwell.In(postgres.Tx(tx)))
//
// The error is [ErrInvalid] if the store cannot share transactions.
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

// Transactional runs each attempt of a step in a transaction of the store's database, which commits
// with the step's result. What the body writes in it happens exactly once. The body gets the
// transaction from the store's package: postgres.TxFrom(ctx). An error of the body rolls it back.
//
// The step holds a database connection while its body runs. It fails at once if the App's store
// cannot share transactions.
func Transactional() StepOption { return transactional{} }

func (transactional) stepOption() {}

func (transactional) stepDefinitionOption(p *engine.Policy) { p.Tx = true }
