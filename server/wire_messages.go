package server

// This file has the doors to queues of messages for remote workers and clients: payloads go as they lie there.

import (
	"context"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/remote/wire"
)

func wireMessageRoutes() []route {
	return []route{
		actRoute("messages", Operator, "Declare, pause and drop queues; send, receive, settle, purge and redrive their messages", "WireMessageAct", "WireMessageActed", wireMessage),
		wireRoute("queues", Viewer, "Tell of queues, or look at the messages of one", "WireQueueQuery", "WireQueues", wireQueues),
	}
}

// keeperBelow are the queues as they lie there.
func keeperBelow(d *doors, r *request) (world.Messenger, error) {
	if r.limited() != nil {
		return nil, errLimitedQueues
	}
	return d.below.Messages(), nil
}

func wireMessage(d *doors, r *request, in *wire.MessageAct) (wire.MessageActed, error) {
	k, err := keeperBelow(d, r)
	if err != nil {
		return wire.MessageActed{}, err
	}
	if in.Receive != nil {
		got, err := k.ReceiveMessages(r.Context(), world.ReceiveQuery(*in.Receive))
		if err == nil {
			err = keepSome(r.Context(), k, &got, *d.pageBytes)
		}
		return wire.MessageActed{Received: wire.OfReceived(&got)}, err
	}
	act, queue := operatorAct(in)
	if act != "" {
		if err := world.CheckQueueName(queue); err != nil {
			return wire.MessageActed{}, err
		}
	}
	if err := ownKeys(r, k, in.Send); err != nil {
		return wire.MessageActed{}, err
	}
	people := r.people()
	if p := in.Pause; p != nil && p.Pause != nil {
		p.Pause.By = r.author(p.Pause.By)
	}
	out, err := lasting(r.Context(), func(ctx context.Context) (wire.MessageActed, error) { return actOnMessages(ctx, k, in) })
	if act != "" && people {
		r.SetPathValue("queue", queue)
		reason := ""
		if p := in.Pause; p != nil && p.Pause != nil {
			reason = p.Pause.Reason
		}
		d.audit.note(r.Request, r.name(), r.route.op.id, "", act, err, because(reason)...)
	}
	return out, err
}

// ownKeys leaves out what a sender below a worker says of keys that stand in the payload: the store reads them there.
func ownKeys(r *request, k world.Messenger, sent []wire.Message) error {
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

// operatorAct names what operators do to a queue; "": it is what programs do.
func operatorAct(in *wire.MessageAct) (act, queue string) {
	switch {
	case in.Declare != nil:
		return "declare", in.Declare.Name
	case in.Pause != nil && in.Pause.Pause == nil:
		return "resume", in.Pause.Queue
	case in.Pause != nil:
		return "pause", in.Pause.Queue
	case in.Drop != "":
		return "drop", in.Drop
	case in.Purge != nil:
		return "purge", in.Purge.Queue
	case in.Redrive != nil:
		return "redrive", in.Redrive.Queue
	}
	return "", ""
}

// actOnMessages does what changes something.
func actOnMessages(ctx context.Context, k world.Messenger, in *wire.MessageAct) (out wire.MessageActed, err error) {
	switch {
	case in.Declare != nil:
		err = k.DeclareQueue(ctx, *in.Declare)
	case in.Pause != nil:
		err = k.PauseQueue(ctx, in.Pause.Queue, in.Pause.Pause)
	case in.Drop != "":
		err = k.DropQueue(ctx, in.Drop)
	case in.Send != nil:
		var sent []world.Sent
		sent, err = k.SendMessages(ctx, wire.WorldMessages(in.Send))
		for _, m := range sent {
			out.Sent = append(out.Sent, wire.Sent(m))
		}
	case in.Settle != nil:
		all := make([]world.Settlement, len(in.Settle))
		for i, s := range in.Settle {
			all[i] = world.Settlement(s)
		}
		out.Settled, err = k.SettleMessages(ctx, all)
	case in.Purge != nil:
		out.Messages, out.More, err = k.PurgeMessages(ctx, in.Purge.Queue, in.Purge.Dead)
	case in.Redrive != nil:
		out.Messages, out.More, err = k.RedriveMessages(ctx, in.Redrive.Queue, in.Redrive.IDs...)
	default:
		err = invalid("body: nothing is asked for")
	}
	return out, err
}

func wireQueues(d *doors, r *request, in *wire.QueueQuery) (wire.Queues, error) {
	k, err := keeperBelow(d, r)
	if err != nil {
		return wire.Queues{}, err
	}
	for _, name := range in.Names {
		if err := world.CheckQueueName(name); err != nil {
			return wire.Queues{}, err
		}
	}
	if in.Peek == nil {
		all, err := k.Queues(r.Context(), in.Names...)
		return wire.Queues{Queues: wire.OfQueues(all)}, err
	}
	page, err := k.PeekMessages(r.Context(), world.PeekQuery(*in.Peek))
	return wire.Queues{Messages: wire.OfMessages(page.Messages), Cursor: page.Cursor}, err
}
