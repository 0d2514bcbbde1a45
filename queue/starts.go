package queue

// This file starts runs for messages.

import (
	"context"
	"errors"
	"slices"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/kit"
)

// StartsWorkflow returns a definition. An App that has it starts a run for each message of a queue
// while it runs, with the payload as the input. One commit creates the run and acknowledges the
// message: each message starts exactly one run. The App need not have the workflow's code.
//
// key, if not nil, computes each run's idempotency key: see [stepwell.Key]. If a run with the key
// exists, the message is acknowledged and starts nothing. "" means no key. After a failed start the
// message is received again: see [Queue.Handle].
func StartsWorkflow[In, Out any](q *Queue[In], w *stepwell.Workflow[In, Out], key func(m *Message[In]) string, opts ...HandleOption) stepwell.Definition {
	switch {
	case q == nil:
		return faulty(kit.Missing("start a workflow by messages: the queue"))
	case w == nil:
		return faulty(kit.Missing("queue " + q.def.Name + ": the workflow"))
	}
	return q.handle(func(ctx context.Context, room kit.App, m *Message[In]) error {
		with := []stepwell.StartOption{kit.Ack(m.Receipt).(stepwell.StartOption)}
		if key != nil {
			with = append(with, stepwell.Key(key(m)))
		}
		_, err := w.Start(ctx, room.Itself.(*stepwell.App), m.Payload, with...)
		if err == nil || errors.Is(err, ErrReceipt) { // it is gone, or somebody else's
			return errSettled
		}
		return err
	}, append(slices.Clone(opts), handleOption(func(h *handling) { h.starts = true })))
}
