package queue

// This file starts runs for messages.

import (
	"context"
	"errors"
	"slices"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/kit"
)

// StartsWorkflow is a definition: an App that has it starts a run for each message of a queue while it runs, with the
// payload as its input. The run is created and the message acknowledged in one commit: one run for each message,
// whatever dies. Any program may have it, also one that does not work on the workflow.
//
// key, where it is not nil, gives each run an idempotency key, see [stepwell.Key]: the message of a run that is there
// already is acknowledged, and starts nothing. "" is no key. A start that is refused comes again as
// [Queue.Handle] says.
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
	}, append(slices.Clone(opts), func(h *handling) { h.starts = true }))
}
