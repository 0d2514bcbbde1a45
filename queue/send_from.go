package queue

// This file puts messages into queues from workflow code.

import (
	"fmt"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/codec"
	"github.com/stepwell/stepwell/internal/engine"
	"github.com/stepwell/stepwell/internal/kit"
	"github.com/stepwell/stepwell/world"
)

// SendFrom sends a message from workflow code. It returns at once: the message is part of the run's
// next commit, with its record in the log. So it is sent exactly once if the run gets that far, and
// not again on replay. It is also sent if the workflow ends directly afterwards.
//
// The options are those of [Queue.Send], except [DedupeID] and [stepwell.In], which it does not
// need. A restart or a fork of the run sends again when it runs this code again.
//
// Errors: [stepwell.ErrInvalid], [stepwell.ErrTooLarge] for more than 1 MiB,
// [stepwell.ErrCancelled] if the run is cancelled, and encoding errors.
func (q *Queue[T]) SendFrom(ctx stepwell.Context, payload T, opts ...SendOption) error {
	if q == nil {
		return fmt.Errorf("send: %w", kit.Missing("the queue"))
	}
	if err := q.sendFrom(ctx, payload, opts); err != nil {
		return fmt.Errorf("send to queue %s: %w", q.def.Name, err)
	}
	return nil
}

func (q *Queue[T]) sendFrom(ctx stepwell.Context, payload T, opts []SendOption) error {
	if q.fault != nil {
		return q.fault
	}
	like, in, err := q.like(opts)
	if err != nil {
		return err
	}
	switch {
	case in != nil:
		return fmt.Errorf("%w: a message that a workflow sends is part of the run's commit, so it cannot be part of another transaction", world.ErrInvalid)
	case like.Dedupe != "":
		return fmt.Errorf("%w: it has the dedupe ID %.80q: a workflow sends each message once and needs none", world.ErrInvalid, like.Dedupe)
	}
	code := kit.CodeOf(ctx).Ctx
	b, _, err := codec.RoundTrip(&payload, min(world.MaxMessage, code.MaxPayload()))
	if err != nil && (b == nil || !code.Recorded(world.KindMessage, q.def.Name)) { // what the log has stands
		return err
	}
	if like.Payload = b; q.keys != nil {
		if like.Keys, err = q.keys(b); err != nil {
			return err
		}
	}
	if err := world.CheckMessages([]world.Message{like}); err != nil {
		return err
	}
	like.Payload = nil
	return kit.Record(ctx, world.KindMessage, q.def.Name, b, &engine.MessageSpec{Message: like, Declared: q.def})
}
