package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/stepwell/stepwell/world"
)

// TxFrom returns the transaction of a transactional step's body. What the body writes in it commits
// with the step's result, exactly once. The handler of a queue with queue.Transactional has one
// too, which commits with the acknowledgement.
//
// The body must not commit or roll back: both are refused. To roll back, it returns an error. Begin
// makes a savepoint. TxFrom panics in any other context, because a write outside the transaction
// would be repeated by the next attempt.
//
//	err := stepwell.Do(ctx, "debit", func(ctx context.Context) error {
//		_, err := postgres.TxFrom(ctx).Exec(ctx, "UPDATE accounts SET balance = balance - 30 WHERE name = 'ada'")
//		return err
//	}, stepwell.Transactional())
func TxFrom(ctx context.Context) pgx.Tx {
	t, ok := world.TxFrom(ctx).(*transaction)
	if !ok {
		panic("postgres.TxFrom: this is not the context of a transactional step's body: give the step the option stepwell.Transactional(), or the handler queue.Transactional()")
	}
	return bodyTx{t.pgx}
}

// bodyTx is a transaction as a body has it: it is ended with the step.
type bodyTx struct{ pgx.Tx }

// Commit is refused.
func (bodyTx) Commit(context.Context) error {
	return fmt.Errorf("%w: the transaction commits with the step's result: return a value instead", world.ErrInvalid)
}

// Rollback is refused.
func (bodyTx) Rollback(context.Context) error {
	return fmt.Errorf("%w: the transaction is rolled back when the body fails: return an error instead", world.ErrInvalid)
}
