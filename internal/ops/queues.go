package ops

import (
	"cmp"
	"context"
	"time"

	"github.com/stepwell/stepwell/api"
	"github.com/stepwell/stepwell/world"
)

// QueueOf returns a queue as the API shows it.
func QueueOf(q *world.QueueStats) api.MessageQueue {
	of, n := q.Or(), q.Counts
	out := api.MessageQueue{
		Name: q.Name, Visibility: api.Span(of.Visibility), MaxReceives: of.MaxReceives, Paused: (*api.QueuePause)(q.Paused), Oldest: q.Oldest,
		Counts: api.MessageCounts{
			Ready: n[world.MessageReady], Delayed: n[world.MessageDelayed], Out: n[world.MessageOut], Parked: n[world.MessageParked], Dead: n[world.MessageDead],
		},
	}
	for _, l := range q.Limits {
		out.Limits = append(out.Limits, api.QueueLimit{
			Name: l.Name, Number: l.Number, Path: l.Path, Computed: l.Computed, Per: api.Span(l.Per), Burst: l.Burst, Weights: l.Weights,
		})
	}
	return out
}

// ListQueues lists all queues, by name.
func (o *Ops) ListQueues(ctx context.Context, _ api.ListQueues) (out api.MessageQueues, err error) {
	all, err := o.queues.Queues(ctx)
	out.Queues = make([]api.MessageQueue, len(all))
	for i := range all {
		out.Queues[i] = QueueOf(&all[i])
	}
	return out, err
}

// GetQueue returns one queue.
func (o *Ops) GetQueue(ctx context.Context, in api.GetQueue) (out api.MessageQueue, err error) {
	if err := world.CheckQueueName(in.Queue); err != nil {
		return out, err
	}
	all, err := o.queues.Queues(ctx, in.Queue)
	if err == nil && len(all) == 0 {
		err = world.NoQueue(in.Queue)
	}
	if err != nil {
		return out, o.create(err, api.DeclareQueueOp.Row, in.Queue)
	}
	return QueueOf(&all[0]), nil
}

// queueAfter does an act on a queue, and returns the queue.
func (o *Ops) queueAfter(ctx context.Context, queue string, act func() error) (out api.MessageQueue, err error) {
	if err = world.CheckQueueName(queue); err == nil {
		err = act()
	}
	if err != nil {
		return out, o.create(err, api.DeclareQueueOp.Row, queue)
	}
	return o.GetQueue(ctx, api.GetQueue{Queue: queue})
}

// DeclareQueue creates a queue, or changes its settings.
func (o *Ops) DeclareQueue(ctx context.Context, in api.DeclareQueue) (api.MessageQueue, error) {
	q := world.MessageQueue{Name: in.Queue, Visibility: time.Duration(in.Visibility), MaxReceives: in.MaxReceives}
	if in.Limits != nil {
		q.Limits = []world.SaidLimit{}
	}
	for i := range in.Limits {
		q.Limits = append(q.Limits, in.Limits[i].World(in.Queue))
	}
	return o.queueAfter(ctx, in.Queue, func() error { return o.queues.DeclareQueue(ctx, q) })
}

// DropQueue deletes a queue without messages.
func (o *Ops) DropQueue(ctx context.Context, in api.DropQueue) (out api.None, err error) {
	if err = world.CheckQueueName(in.Queue); err == nil {
		err = o.queues.DropQueue(ctx, in.Queue)
	}
	return out, o.create(err, api.DeclareQueueOp.Row, in.Queue)
}

// PauseQueue stops all receives from a queue.
func (o *Ops) PauseQueue(ctx context.Context, in api.PauseQueue) (api.MessageQueue, error) {
	return o.queueAfter(ctx, in.Queue, func() error { return o.queues.PauseQueue(ctx, in.Queue, o.pause(ctx, in.Reason)) })
}

// ResumeQueue allows receives again.
func (o *Ops) ResumeQueue(ctx context.Context, in api.ResumeQueue) (api.MessageQueue, error) {
	return o.queueAfter(ctx, in.Queue, func() error { return o.queues.PauseQueue(ctx, in.Queue, nil) })
}

// PurgeQueue deletes messages.
func (o *Ops) PurgeQueue(ctx context.Context, in api.PurgeQueue) (api.QueueChanged, error) {
	return o.inPieces(in.Queue, func() (int, bool, error) { return o.queues.PurgeMessages(ctx, in.Queue, in.Dead) })
}

// RedriveQueue turns dead letters back into messages.
func (o *Ops) RedriveQueue(ctx context.Context, in api.RedriveQueue) (out api.QueueChanged, err error) {
	if in.IDs != nil && (len(in.IDs) == 0 || len(in.IDs) > world.MaxBatch) {
		return out, invalid("%d ids: want 1 to %d, or none for all dead letters", len(in.IDs), world.MaxBatch)
	}
	for _, id := range in.IDs {
		if _, ok := world.MessageNumber(id); !ok {
			return out, invalid("%.60q is not the ID of a message", id)
		}
	}
	return o.inPieces(in.Queue, func() (int, bool, error) { return o.queues.RedriveMessages(ctx, in.Queue, in.IDs...) })
}

// inPieces changes messages piece by piece, as long as the caller allows.
func (o *Ops) inPieces(queue string, piece func() (n int, more bool, err error)) (out api.QueueChanged, err error) {
	if err := world.CheckQueueName(queue); err != nil {
		return out, err
	}
	for began := time.Now(); ; {
		n, more, err := piece()
		if err != nil {
			return out, o.create(err, api.DeclareQueueOp.Row, queue)
		}
		out.Messages, out.More = out.Messages+n, more
		if !more || o.opt.More != nil && !o.opt.More(began) {
			return out, nil
		}
	}
}

// MessagesOf returns messages as the API shows them.
func MessagesOf(all []world.Message) []api.Message {
	out := make([]api.Message, len(all))
	for i := range all {
		m := &all[i]
		out[i] = api.Message{
			ID: m.ID, Receipt: m.Receipt, State: m.State, Payload: m.Payload, Sealed: m.Encrypted, Damage: m.Damage, Headers: m.Headers, Group: m.Group,
			Priority: m.Priority, SentAt: m.SentAt, Receives: m.Receives, Until: m.Until, Error: m.Error,
		}
		if cmp.Or(m.Encrypted, m.Damage) != "" {
			out[i].Payload = nil
		}
	}
	return out
}
