package server

// This file has queues of messages for remote workers and clients.

import (
	"context"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/remote/wire"
)

// onQueue makes the route of what operators do to a queue. of says how the audit log names it, and of which queue it is.
func onQueue[In, Out any](m wire.Method[In, Out], of func(r *request, in *In) (act, queue, reason string),
	call func(k world.Messenger, ctx context.Context, in In) (Out, error)) route {
	return answers(m, func(d *doors, r *request, in *In) (out Out, err error) {
		act, queue, reason := of(r, in)
		k, err := messengerOf(d)
		if err == nil {
			err = world.CheckQueueName(queue)
		}
		if err != nil {
			return out, err
		}
		out, err = lasting(r.Context(), func(ctx context.Context) (Out, error) { return call(k, ctx, *in) })
		if r.people() {
			d.note(r, "queue", queue, act, reason, err)
		}
		return out, err
	})
}

// note writes a line of the audit log about an act on something of a kind.
func (d *doors) note(r *request, kind, name, act, reason string, err error) {
	r.SetPathValue(kind, name)
	d.audit.note(r.Request, r.name(), r.route.op.id, "", act, err, because(reason)...)
}

func declared(_ *request, in *world.MessageQueue) (act, queue, reason string) {
	return "declare", in.Name, ""
}
func dropped(_ *request, in *wire.QueueName) (act, queue, reason string) { return "drop", in.Queue, "" }
func purged(_ *request, in *wire.PurgeIn) (act, queue, reason string)    { return "purge", in.Queue, "" }
func redriven(_ *request, in *wire.RedriveIn) (act, queue, reason string) {
	return "redrive", in.Queue, ""
}

// paused signs a pause.
func paused(r *request, in *wire.PauseIn) (act, queue, reason string) {
	if in.Pause == nil {
		return "resume", in.Queue, ""
	}
	in.Pause.By = r.author(in.Pause.By)
	return "pause", in.Queue, in.Pause.Reason
}

func (d *doors) sendMessages(r *request, in *wire.SendIn) ([]world.Sent, error) {
	k, err := messengerOf(d)
	if err == nil {
		err = ownKeys(r, k, in.Messages)
	}
	if err != nil {
		return nil, err
	}
	return lasting(r.Context(), func(ctx context.Context) ([]world.Sent, error) { return k.SendMessages(ctx, in.Messages) })
}

// receiveMessages gives back what would make the answer too large.
func (d *doors) receiveMessages(r *request, in *world.ReceiveQuery) (world.Received, error) {
	k, err := messengerOf(d)
	if err != nil {
		return world.Received{}, err
	}
	got, err := k.ReceiveMessages(r.Context(), *in)
	if err == nil {
		err = keepSome(r.Context(), k, &got, *d.pageBytes)
	}
	return got, err
}

func wireQueues(k world.Messenger, ctx context.Context, in wire.Names) ([]world.QueueStats, error) {
	for _, name := range in.Names {
		if err := world.CheckQueueName(name); err != nil {
			return nil, err
		}
	}
	return k.Queues(ctx, in.Names...)
}

// ownKeys leaves out what a sender below a worker says of keys that stand in the payload: the store reads them there.
func ownKeys(r *request, k world.Messenger, sent []world.Message) error {
	if r.sees(Worker) {
		return nil
	}
	paths := map[string][]world.SaidLimit{} // by queue
	for i := range sent {
		m := &sent[i]
		if len(m.Keys) == 0 || m.Encrypted != "" {
			continue
		}
		limits, known := paths[m.Queue]
		if !known {
			if err := world.CheckQueueName(m.Queue); err != nil {
				return err
			}
			all, err := k.Queues(r.Context(), m.Queue)
			if err != nil {
				return err
			}
			if len(all) > 0 {
				limits = all[0].Limits
			}
			paths[m.Queue] = limits
		}
		for j := range limits {
			if limits[j].Path != "" {
				delete(m.Keys, limits[j].Name)
			}
		}
		delete(m.Keys, "") // of any key that cannot be read
	}
	return nil
}
