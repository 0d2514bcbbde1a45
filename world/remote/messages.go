package remote

// This file has queues of messages.

import (
	"context"
	"fmt"
	"slices"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/remote/wire"
)

// Messages returns the queues of the server's database; see [world.MessageKeeper].
func (w *World) Messages() world.Messenger { return messages{w} }

// messages are the queues of a server's database.
type messages struct{ w *World }

// asMany refuses an answer about more or fewer items than were sent.
func asMany[T any](sent int, answers []T, err error) ([]T, error) {
	if err == nil && len(answers) != sent {
		return nil, fmt.Errorf("%w: the server's answer is about other messages", world.ErrUnknownOutcome)
	}
	return answers, err
}

// DeclareQueue makes a queue, or changes it; see [world.Messenger].
func (k messages) DeclareQueue(ctx context.Context, q world.MessageQueue) error {
	return act(ctx, k.w, wire.DeclareQueue, q)
}

// PauseQueue pauses a queue, or ends that; see [world.Messenger].
func (k messages) PauseQueue(ctx context.Context, queue string, pause *world.QueuePause) error {
	if err := world.CheckPause(pause); err != nil { // JSON would make another text of one that is not UTF-8
		return fmt.Errorf("queue %.140s: %w", queue, err)
	}
	return act(ctx, k.w, wire.PauseQueue, wire.PauseIn{QueueName: wire.QueueName{Queue: queue}, Pause: pause})
}

// DropQueue deletes an empty queue; see [world.Messenger].
func (k messages) DropQueue(ctx context.Context, queue string) error {
	return act(ctx, k.w, wire.DropQueue, wire.QueueName{Queue: queue})
}

// Queues tells of queues; see [world.Messenger].
func (k messages) Queues(ctx context.Context, names ...string) ([]world.QueueStats, error) {
	return call(ctx, k.w, wire.Queues, wire.Names{Names: names})
}

// SendMessages puts messages into queues; see [world.Messenger]. Those that all have a dedupe ID are sent again where
// the answer was lost.
func (k messages) SendMessages(ctx context.Context, all []world.Message) ([]world.Sent, error) {
	if err := world.CheckMessages(all); err != nil {
		return nil, err
	}
	twice := !slices.ContainsFunc(all, func(m world.Message) bool { return m.Dedupe == "" })
	sent, err := callAs(ctx, k.w, byID(twice), wire.SendMessages, wire.SendIn{Messages: all})
	return asMany(len(all), sent, err)
}

// ReceiveMessages receives what is ready; see [world.Messenger]. It is asked for again where the answer was lost: what
// was in that is ready again when its visibility ends. Fewer come than there are where they are large.
func (k messages) ReceiveMessages(ctx context.Context, q world.ReceiveQuery) (world.Received, error) {
	if err := world.CheckReceive(&q); err != nil {
		return world.Received{}, err
	}
	return call(ctx, k.w, wire.ReceiveMessages, q)
}

// SettleMessages ends receives; see [world.Messenger]. Where the answer was lost it is sent again if it extends alone:
// another settlement holds once.
func (k messages) SettleMessages(ctx context.Context, all []world.Settlement) ([]bool, error) {
	if err := world.CheckSettlements(all); err != nil {
		return nil, err
	}
	twice := !slices.ContainsFunc(all, func(s world.Settlement) bool { return s.Kind != world.Extend })
	settled, err := callAs(ctx, k.w, byID(twice), wire.SettleMessages, wire.SettleIn{Settlements: all})
	return asMany(len(all), settled, err)
}

// PeekMessages looks at messages; see [world.Messenger].
func (k messages) PeekMessages(ctx context.Context, q world.PeekQuery) (world.MessagePage, error) {
	if _, err := world.CheckPeek(&q); err != nil {
		return world.MessagePage{}, err
	}
	return call(ctx, k.w, wire.PeekMessages, q)
}

// PurgeMessages deletes messages; see [world.Messenger].
func (k messages) PurgeMessages(ctx context.Context, queue string, dead bool) (n int, more bool, err error) {
	out, err := call(ctx, k.w, wire.PurgeMessages, wire.PurgeIn{QueueName: wire.QueueName{Queue: queue}, Dead: dead})
	return out.Messages, out.More, err
}

// RedriveMessages makes dead letters messages again; see [world.Messenger].
func (k messages) RedriveMessages(ctx context.Context, queue string, ids ...string) (n int, more bool, err error) {
	out, err := call(ctx, k.w, wire.RedriveMessages, wire.RedriveIn{QueueName: wire.QueueName{Queue: queue}, IDs: ids})
	return out.Messages, out.More, err
}
