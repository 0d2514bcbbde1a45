package world

import "context"

// Tx is a transaction of the store's database: one that the store began for the body of a step, or
// the caller's own, wrapped by the store's package (postgres.Tx). It is opaque to other packages.
// It is not safe for concurrent use.
type Tx interface {
	// Commit makes all its changes durable, also the application's own rows. If the answer was
	// lost, the error is [ErrUnknownOutcome]. Do not call it for a caller's own transaction.
	Commit(ctx context.Context) error
	// Rollback undoes all its changes. After Commit it does nothing.
	Rollback(ctx context.Context) error
}

// Transactor is a [World] whose changes can be part of a transaction with the application's own
// data in the same database. A Tx of another store is [ErrInvalid].
type Transactor interface {
	// Begin begins a transaction for the body of a step. [WithTx] passes it on, and the store's
	// package unwraps it for the author.
	Begin(ctx context.Context) (Tx, error)

	// CommitIn is [Log.Commit] within tx. It checks now; the change is durable and visible when tx
	// commits. A commit by an owner takes its fence now, which delays the death of its worker until
	// tx ends: it must be the last call in tx. A birth by a client takes only locks for its own ID
	// and idempotency key. After an error other than [ErrInvalid], [ErrRunExists] and
	// [ErrTooLarge], tx is unusable.
	CommitIn(ctx context.Context, tx Tx, c *Commit) (Committed, error)

	// DeliverIn is [Log.Deliver] within tx, for mail and for the end of a task's attempt. Acts are
	// [ErrInvalid]. The run sees the delivery when tx commits.
	DeliverIn(ctx context.Context, tx Tx, d *Delivery) (Delivered, error)

	// PublishIn is [Publisher.Publish] within tx, if the store keeps topics. A delivery ID waits
	// for another transaction that publishes the same. After an error other than [ErrInvalid] and
	// [ErrTooLarge], tx is unusable.
	PublishIn(ctx context.Context, tx Tx, all []Publication) ([]Sent, error)

	// SendMessagesIn is [Messenger.SendMessages] within tx, if the store keeps queues. A dedupe ID
	// waits for another transaction that sends the same. After an error other than [ErrInvalid],
	// [ErrNotFound] and [ErrTooLarge], tx is unusable.
	SendMessagesIn(ctx context.Context, tx Tx, all []Message) ([]Sent, error)

	// SettleMessagesIn is [Messenger.SettleMessages] within tx. Until tx ends, nobody receives the
	// messages whose receipts were valid, nor others of their groups; receivers do not wait for
	// that. In a transaction that the store began it must be the last call. After an error tx is
	// unusable.
	SettleMessagesIn(ctx context.Context, tx Tx, all []Settlement) ([]bool, error)

	// KeyIn returns the ID of the key that encrypts a run, as tx sees it, also for a run that tx
	// created; "": plain. The error is [ErrNotFound] if tx sees no such run; tx stays usable.
	KeyIn(ctx context.Context, tx Tx, run string) (string, error)
}

type txKey struct{}

// WithTx returns a context for a step's body that runs in a transaction.
func WithTx(ctx context.Context, tx Tx) context.Context { return context.WithValue(ctx, txKey{}, tx) }

// TxFrom returns the transaction of a step's body, or nil.
func TxFrom(ctx context.Context) Tx {
	tx, _ := ctx.Value(txKey{}).(Tx)
	return tx
}
