package remote

// This file has queues of messages.

import (
	"context"
	"fmt"
	"slices"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/remote/wire"
)

// Messages returns the queues of the server's database; see [world.World]. With an older
// server its methods return [world.ErrInvalid].
func (w *World) Messages() world.Messenger { return messages{w} }

// messages are the queues of a server's database.
type messages struct{ w *World }

func (k messages) act(ctx context.Context, how manner, in *wire.MessageAct) (out wire.MessageActed, err error) {
	err = k.w.ask(ctx, how, "messages", in, &out)
	return out, err
}

// errOther: the answer is not of as many messages as the question.
var errOther = fmt.Errorf("%w: the server's answer is about other messages", world.ErrUnknownOutcome)

// DeclareQueue makes a queue, or changes it; see [world.Messenger].
func (k messages) DeclareQueue(ctx context.Context, q world.MessageQueue) error {
	_, err := k.act(ctx, manner{twice: true}, &wire.MessageAct{Declare: &q})
	return err
}

// PauseQueue pauses a queue, or ends that; see [world.Messenger].
func (k messages) PauseQueue(ctx context.Context, queue string, pause *world.QueuePause) error {
	if err := world.CheckPause(pause); err != nil { // JSON would make another text of one that is not UTF-8
		return fmt.Errorf("queue %.140s: %w", queue, err)
	}
	_, err := k.act(ctx, manner{twice: true}, &wire.MessageAct{Pause: &wire.QueuePaused{Queue: queue, Pause: pause}})
	return err
}

// DropQueue deletes an empty queue; see [world.Messenger].
func (k messages) DropQueue(ctx context.Context, queue string) error {
	if err := world.CheckQueueName(queue); err != nil { // "" would be no act
		return err
	}
	_, err := k.act(ctx, manner{once: true}, &wire.MessageAct{Drop: queue})
	return err
}

// Queues tells of queues; see [world.Messenger].
func (k messages) Queues(ctx context.Context, names ...string) ([]world.QueueStats, error) {
	var out wire.Queues
	err := k.w.ask(ctx, manner{twice: true, long: true}, "queues", &wire.QueueQuery{Names: names}, &out)
	return wire.WorldQueues(out.Queues), err
}

// SendMessages puts messages into queues; see [world.Messenger]. Those that all have a dedupe ID are sent again where
// the answer was lost.
func (k messages) SendMessages(ctx context.Context, all []world.Message) ([]world.Sent, error) {
	if err := world.CheckMessages(all); err != nil {
		return nil, err
	}
	twice := !slices.ContainsFunc(all, func(m world.Message) bool { return m.Dedupe == "" })
	out, err := k.act(ctx, manner{twice: twice, once: !twice}, &wire.MessageAct{Send: wire.OfMessages(all)})
	if err != nil {
		return nil, err
	}
	if len(out.Sent) != len(all) {
		return nil, errOther
	}
	sent := make([]world.Sent, len(out.Sent))
	for i, s := range out.Sent {
		sent[i] = world.Sent(s)
	}
	return sent, nil
}

// ReceiveMessages receives what is ready; see [world.Messenger]. It is asked for again where the answer was lost: what
// was in that is ready again when its visibility ends. Fewer come than there are where they are large.
func (k messages) ReceiveMessages(ctx context.Context, q world.ReceiveQuery) (world.Received, error) {
	if err := world.CheckReceive(&q); err != nil {
		return world.Received{}, err
	}
	in := wire.ReceiveQuery(q)
	out, err := k.act(ctx, manner{twice: true}, &wire.MessageAct{Receive: &in})
	return out.Received.World(), err
}

// SettleMessages ends receives; see [world.Messenger]. Where the answer was lost it is sent again if it extends alone:
// another settlement holds once.
func (k messages) SettleMessages(ctx context.Context, all []world.Settlement) ([]bool, error) {
	if err := world.CheckSettlements(all); err != nil {
		return nil, err
	}
	in := make([]wire.Settlement, len(all))
	for i, s := range all {
		in[i] = wire.Settlement(s)
	}
	twice := !slices.ContainsFunc(all, func(s world.Settlement) bool { return s.Kind != world.Extend })
	out, err := k.act(ctx, manner{twice: twice, once: !twice}, &wire.MessageAct{Settle: in})
	if err == nil && len(out.Settled) != len(all) {
		err = errOther
	}
	return out.Settled, err
}

// PeekMessages looks at messages; see [world.Messenger].
func (k messages) PeekMessages(ctx context.Context, q world.PeekQuery) (world.MessagePage, error) {
	if _, err := world.CheckPeek(&q); err != nil {
		return world.MessagePage{}, err
	}
	in := wire.PeekQuery(q)
	var out wire.Queues
	err := k.w.ask(ctx, manner{twice: true, long: true}, "queues", &wire.QueueQuery{Peek: &in}, &out)
	return world.MessagePage{Messages: wire.WorldMessages(out.Messages), Cursor: out.Cursor}, err
}

// PurgeMessages deletes messages; see [world.Messenger].
func (k messages) PurgeMessages(ctx context.Context, queue string, dead bool) (n int, more bool, err error) {
	out, err := k.act(ctx, manner{once: true}, &wire.MessageAct{Purge: &wire.Purge{Queue: queue, Dead: dead}})
	return out.Messages, out.More, err
}

// RedriveMessages makes dead letters messages again; see [world.Messenger].
func (k messages) RedriveMessages(ctx context.Context, queue string, ids ...string) (n int, more bool, err error) {
	out, err := k.act(ctx, manner{once: true}, &wire.MessageAct{Redrive: &wire.Redrive{Queue: queue, IDs: ids}})
	return out.Messages, out.More, err
}
