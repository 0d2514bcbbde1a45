package ops

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"time"

	"github.com/stepwell/stepwell/api"
	"github.com/stepwell/stepwell/queue"
	"github.com/stepwell/stepwell/world"
)

// twoKeys returns the key that the header or the body gives.
func twoKeys(header, body string) (string, error) {
	if header != "" && body != "" && header != body {
		return "", invalid("the key in the body and the one in the header Idempotency-Key differ")
	}
	return cmp.Or(header, body), nil
}

// newMessages returns the messages of an input: one, or a list.
func newMessages(in *api.SendMessages) ([]api.NewMessage, error) {
	one := in.NewMessage
	if in.Messages == nil {
		if one.Payload == nil {
			return nil, invalid("body: there is no payload and there are no messages")
		}
		var err error
		one.DedupeID, err = twoKeys(in.Key, one.DedupeID)
		return []api.NewMessage{one}, err
	}
	if !reflect.ValueOf(one).IsZero() {
		return nil, invalid("body: with messages, give each setting in the message itself")
	}
	if in.Key != "" {
		return nil, invalid("the header Idempotency-Key applies to one message: give each of messages a dedupeId")
	}
	return in.Messages, nil
}

// SendMessages sends messages to a queue, all or none.
func (o *Ops) SendMessages(ctx context.Context, in api.SendMessages) (out api.Sent, err error) {
	given, err := newMessages(&in)
	if err == nil {
		err = world.CheckQueueName(in.Queue)
	}
	if err != nil {
		return out, err
	}
	all := make([]world.Message, len(given))
	for i, m := range given {
		switch {
		case m.Payload == nil:
			return out, fmt.Errorf("message %d: %w", i, invalid("there is no payload"))
		case m.Priority < 0 || m.Priority > 4:
			return out, fmt.Errorf("message %d: %w", i, invalid("priority is %d: want 1 to 4", m.Priority))
		}
		all[i] = world.Message{
			Queue: in.Queue, Payload: m.Payload, Group: m.Group, Delay: time.Duration(m.Delay), Priority: m.Priority,
			Dedupe: m.DedupeID, Window: time.Duration(m.DedupeWindow), Headers: m.Headers,
		}
	}
	sent, err := o.queues.SendMessages(ctx, all)
	out.Messages = make([]api.SentMessage, len(sent))
	for i, m := range sent {
		out.Messages[i] = api.SentMessage(m)
	}
	return out, o.create(err, api.DeclareQueueOp.Row, in.Queue)
}

// PeekMessages returns a page of messages, and changes nothing.
func (o *Ops) PeekMessages(ctx context.Context, in api.PeekMessages) (out api.MessagePage, err error) {
	limit, err := size(api.PeekMessagesOp.Row, in.Limit)
	if err == nil {
		err = world.CheckQueueName(in.Queue)
	}
	if err != nil {
		return out, err
	}
	page, err := o.queues.PeekMessages(ctx, world.PeekQuery{Queue: in.Queue, State: in.State, Cursor: in.Cursor, Limit: limit})
	return api.MessagePage{Messages: MessagesOf(page.Messages), Cursor: page.Cursor}, o.create(err, api.DeclareQueueOp.Row, in.Queue)
}

// mostReceiveWait is how long a receive may wait.
const mostReceiveWait = 30 * time.Second

// ReceiveMessages receives messages. If none is ready, it waits.
func (o *Ops) ReceiveMessages(ctx context.Context, in api.ReceiveMessages) (out api.ReceivedMessages, err error) {
	q := world.ReceiveQuery{Queue: in.Queue, Limit: cmp.Or(in.Most, 1), Visibility: time.Duration(in.Visibility), Match: in.Match}
	wait := time.Duration(in.Wait)
	if err = world.CheckReceive(&q); err == nil && wait > mostReceiveWait {
		err = invalid("wait is %s: want at most %s; if nothing arrived, ask again", wait, mostReceiveWait)
	}
	if err != nil {
		return out, err
	}
	got, err := queue.Await(ctx, o.queues, o.by, q, min(wait, o.opt.MaxWait))
	if err != nil {
		return out, o.create(err, api.DeclareQueueOp.Row, in.Queue)
	}
	bytes := o.opt.PageBytes()
	for i := range got.Messages {
		if bytes -= len(got.Messages[i].Payload); i > 0 && bytes < 0 {
			err = o.GiveBack(ctx, MessagesOf(got.Messages[i:]))
			got.Messages = got.Messages[:i]
			break
		}
	}
	return api.ReceivedMessages{Messages: MessagesOf(got.Messages)}, err
}

// giveBackTime is how long messages are tried to be given back.
const giveBackTime = 30 * time.Second

// GiveBack gives back received messages that nobody has seen: they are ready again at once, and the
// receive does not count. It goes on if ctx ends.
func (o *Ops) GiveBack(ctx context.Context, all []api.Message) error {
	if len(all) == 0 {
		return nil
	}
	back := make([]world.Settlement, len(all))
	for i := range all {
		back[i] = world.Settlement{Receipt: all[i].Receipt, Kind: world.Unread}
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), giveBackTime)
	defer cancel()
	_, err := o.queues.SettleMessages(ctx, back)
	return err
}

// AckMessages acknowledges messages.
func (o *Ops) AckMessages(ctx context.Context, in api.AckMessages) (api.Settled, error) {
	return o.settle(ctx, in.Queue, in.Receipts, world.Settlement{Kind: world.Ack})
}

// NackMessages gives messages back.
func (o *Ops) NackMessages(ctx context.Context, in api.NackMessages) (api.Settled, error) {
	return o.settle(ctx, in.Queue, in.Receipts, world.Settlement{Kind: world.Nack, After: time.Duration(in.Delay), Error: in.Error})
}

// ExtendMessages keeps messages hidden for longer.
func (o *Ops) ExtendMessages(ctx context.Context, in api.ExtendMessages) (api.Settled, error) {
	return o.settle(ctx, in.Queue, in.Receipts, world.Settlement{Kind: world.Extend, After: time.Duration(in.Visibility)})
}

// BuryMessages makes messages dead letters.
func (o *Ops) BuryMessages(ctx context.Context, in api.BuryMessages) (api.Settled, error) {
	return o.settle(ctx, in.Queue, in.Receipts, world.Settlement{Kind: world.Bury, Error: in.Error})
}

// settle ends receives. A receipt names its message: the queue is only checked to be a name.
func (o *Ops) settle(ctx context.Context, queue string, receipts []string, like world.Settlement) (out api.Settled, err error) {
	if err := world.CheckQueueName(queue); err != nil {
		return out, err
	}
	all := make([]world.Settlement, len(receipts))
	for i, receipt := range receipts {
		all[i] = like
		all[i].Receipt = receipt
	}
	held, err := o.queues.SettleMessages(ctx, all)
	out.Old = []string{}
	for i, ok := range held {
		if ok {
			out.Settled++
		} else {
			out.Old = append(out.Old, receipts[i])
		}
	}
	return out, err
}
