package world

import "context"

// Tx is a transaction of the database below a world: one that the world began for the body of a step, or the caller's own, as the world's package
// wraps it (postgres.Tx). To everybody else it is opaque. It is used by one goroutine at a time.
type Tx interface {
	// Commit makes all that was written in it durable, the application's own rows too. Where the answer was lost the error is
	// [ErrUnknownOutcome]. It is not for a transaction of the caller's, who commits it as always.
	Commit(ctx context.Context) error
	// Rollback undoes all of it. After Commit it does nothing.
	Rollback(ctx context.Context) error
}

// Transactor is a [World] whose changes can be part of one transaction with the application's own data in the same database. A Tx of another
// world is [ErrInvalid].
type Transactor interface {
	// Begin begins a transaction for the body of a step; [WithTx] hands it over, and the world's package unwraps it for the author.
	Begin(ctx context.Context) (Tx, error)

	// CommitIn is [Log.Commit] within tx: checked now, durable and seen by others when tx is committed, gone when it is rolled back. For the
	// commit of an owner the fence is taken now, and so holds up the death of its worker until tx ends: nothing may come after it. A
	// birth by a client takes no lock that others wait for, but for its own ID and idempotency key. After an error other than [ErrInvalid],
	// [ErrRunExists] and [ErrTooLarge] tx is of no further use.
	CommitIn(ctx context.Context, tx Tx, c *Commit) (Committed, error)

	// DeliverIn is [Log.Deliver] within tx, for mail and for the end of a task's attempt; acts are [ErrInvalid]. What was sent is seen by
	// its run when tx is committed.
	DeliverIn(ctx context.Context, tx Tx, d *Delivery) (Delivered, error)

	// PublishIn is [Publisher.Publish] within tx, where the world keeps topics. What has a delivery ID waits for another
	// transaction that publishes with the same. After an error other than [ErrInvalid] and [ErrTooLarge] tx is of no
	// further use.
	PublishIn(ctx context.Context, tx Tx, all []Publication) ([]Sent, error)

	// SendMessagesIn is [Messenger.SendMessages] within tx, where the world keeps queues. What has a dedupe ID waits for
	// another transaction that sends with the same. After an error other than [ErrInvalid], [ErrNotFound] and
	// [ErrTooLarge] tx is of no further use.
	SendMessagesIn(ctx context.Context, tx Tx, all []Message) ([]Sent, error)

	// SettleMessagesIn is [Messenger.SettleMessages] within tx. Until tx ends nobody else receives the messages whose
	// receipts held, nor others of their groups, and who receives does not wait for it. Nothing may come after it in a
	// transaction that the world began. After an error tx is of no further use.
	SettleMessagesIn(ctx context.Context, tx Tx, all []Settlement) ([]bool, error)

	// KeyIn is the ID of the key that a run is encrypted with, "" for one that is plain, as tx sees it: also of a run
	// that was created in tx. The error is [ErrNotFound] where tx sees no such run; tx goes on then.
	KeyIn(ctx context.Context, tx Tx, run string) (string, error)
}

type txKey struct{}

// WithTx is the context of a step's body that runs in a transaction.
func WithTx(ctx context.Context, tx Tx) context.Context { return context.WithValue(ctx, txKey{}, tx) }

// TxFrom is the transaction that a step's body runs in, or nil.
func TxFrom(ctx context.Context) Tx {
	tx, _ := ctx.Value(txKey{}).(Tx)
	return tx
}
