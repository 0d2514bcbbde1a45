package stepwelltest

// This file has queues of messages go over the bridge.

import (
	"context"

	"github.com/stepwell/stepwell/world"
)

// bridgedMessages are the queues of the world below.
type bridgedMessages struct {
	w *bridged
	k world.Messenger
}

// Messages are the queues; see [world.MessageKeeper]. They are the same ones each time, to who compares.
func (w *bridged) Messages() world.Messenger {
	return bridgedMessages{w, w.able.MessageKeeper.Messages()}
}

// does makes a call that changes queues and answers nothing.
func (m bridgedMessages) does(ctx context.Context, call func(ctx context.Context) error) error {
	return nothing(change(ctx, m.w, func(ctx context.Context) (struct{}, error) { return struct{}{}, call(ctx) }))
}

func (m bridgedMessages) DeclareQueue(ctx context.Context, q world.MessageQueue) error {
	return m.does(ctx, func(ctx context.Context) error { return m.k.DeclareQueue(ctx, q) })
}

func (m bridgedMessages) PauseQueue(ctx context.Context, queue string, pause *world.QueuePause) error {
	return m.does(ctx, func(ctx context.Context) error { return m.k.PauseQueue(ctx, queue, pause) })
}

func (m bridgedMessages) DropQueue(ctx context.Context, queue string) error {
	return m.does(ctx, func(ctx context.Context) error { return m.k.DropQueue(ctx, queue) })
}

func (m bridgedMessages) Queues(ctx context.Context, names ...string) ([]world.QueueStats, error) {
	return outside(ctx, m.w.b, func(ctx context.Context) ([]world.QueueStats, error) { return m.k.Queues(ctx, names...) })
}

func (m bridgedMessages) SendMessages(ctx context.Context, all []world.Message) ([]world.Sent, error) {
	return change(ctx, m.w, func(ctx context.Context) ([]world.Sent, error) { return m.k.SendMessages(ctx, all) })
}

func (m bridgedMessages) ReceiveMessages(ctx context.Context, q world.ReceiveQuery) (world.Received, error) {
	return outside(ctx, m.w.b, func(ctx context.Context) (world.Received, error) { return m.k.ReceiveMessages(ctx, q) })
}

func (m bridgedMessages) SettleMessages(ctx context.Context, all []world.Settlement) ([]bool, error) {
	return change(ctx, m.w, func(ctx context.Context) ([]bool, error) { return m.k.SettleMessages(ctx, all) })
}

func (m bridgedMessages) PeekMessages(ctx context.Context, q world.PeekQuery) (world.MessagePage, error) {
	return outside(ctx, m.w.b, func(ctx context.Context) (world.MessagePage, error) { return m.k.PeekMessages(ctx, q) })
}

// acted is how many messages were changed, and whether there are others.
type acted struct {
	n    int
	more bool
}

func (m bridgedMessages) acts(ctx context.Context, call func(ctx context.Context) (int, bool, error)) (int, bool, error) {
	did, err := change(ctx, m.w, func(ctx context.Context) (d acted, err error) { d.n, d.more, err = call(ctx); return d, err })
	return did.n, did.more, err
}

func (m bridgedMessages) PurgeMessages(ctx context.Context, queue string, dead bool) (int, bool, error) {
	return m.acts(ctx, func(ctx context.Context) (int, bool, error) { return m.k.PurgeMessages(ctx, queue, dead) })
}

func (m bridgedMessages) RedriveMessages(ctx context.Context, queue string, ids ...string) (int, bool, error) {
	return m.acts(ctx, func(ctx context.Context) (int, bool, error) { return m.k.RedriveMessages(ctx, queue, ids...) })
}
