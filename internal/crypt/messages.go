package crypt

import (
	"context"
	"fmt"
	"slices"

	"github.com/stepwell/stepwell/world"
)

// messages are the queues of the world below, whose payloads are encrypted. Headers, groups and IDs are not, as
// names of runs are not.
//
// A message is encrypted for its queue as a payload is for its run: so it cannot be put into another.
type messages struct {
	world.Messenger
	w *World
}

// Messages are the world's queues; see Abilities.
func (w *World) Messages() world.Messenger {
	return &messages{Messenger: w.able.MessageKeeper.Messages(), w: w}
}

const messagePlace = "message"

func queueRun(queue string) string { return "queue " + queue }

// SendMessages encrypts what is sent; see [world.Messenger].
func (k *messages) SendMessages(ctx context.Context, all []world.Message) ([]world.Sent, error) {
	if err := world.CheckMessages(all); err != nil {
		return nil, err
	}
	key := k.w.ring.Primary()
	if err := k.w.vet(ctx, key, true); err != nil {
		return nil, err
	}
	all = slices.Clone(all)
	for i := range all {
		m := &all[i]
		payload, err := k.w.ring.encrypt(key, queueRun(m.Queue), "", messagePlace, m.Payload)
		if err != nil {
			return nil, fmt.Errorf("queue %s: %w", m.Queue, err)
		}
		m.Payload, m.Encrypted = payload, key
	}
	return k.Messenger.SendMessages(ctx, all)
}

// ReceiveMessages decrypts what is received; see [world.Messenger]. What cannot be decrypted here is told with
// the message.
func (k *messages) ReceiveMessages(ctx context.Context, q world.ReceiveQuery) (world.Received, error) {
	if q.Match != nil {
		return world.Received{}, fmt.Errorf("%w: queue %s: its messages are encrypted, and cannot be received by what they contain", world.ErrInvalid, q.Queue)
	}
	got, err := k.Messenger.ReceiveMessages(ctx, q)
	k.open(got.Messages)
	return got, err
}

// PeekMessages decrypts what is looked at; see [world.Messenger].
func (k *messages) PeekMessages(ctx context.Context, q world.PeekQuery) (world.MessagePage, error) {
	page, err := k.Messenger.PeekMessages(ctx, q)
	k.open(page.Messages)
	return page, err
}

func (k *messages) open(all []world.Message) {
	for i := range all {
		m := &all[i]
		if m.Encrypted == "" || m.Damage != "" {
			continue
		}
		e, err := parse(m.Payload)
		if err == nil && e.key != m.Encrypted {
			err = errOther
		}
		var plain []byte
		if err == nil {
			plain, err = k.w.ring.open(&e, queueRun(m.Queue), messagePlace)
		}
		if err != nil {
			m.Damage = fmt.Sprintf("message %s: %v", m.ID, err)
			continue
		}
		m.Payload, m.Encrypted = plain, ""
	}
}
