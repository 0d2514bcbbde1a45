package crypt

import (
	"context"
	"fmt"
	"slices"
	"strings"

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

// Messages are the queues of the world below, encrypted. Each call returns an equal value.
func (w *World) Messages() world.Messenger { return messages{w.World.Messages(), w} }

const messagePlace = "message"

func queueRun(queue string) string { return "queue " + queue }

// SendMessages encrypts what is sent; see [world.Messenger].
func (k messages) SendMessages(ctx context.Context, all []world.Message) ([]world.Sent, error) {
	if err := world.CheckMessages(all); err != nil {
		return nil, err
	}
	all, err := encryptMessages(ctx, k.w, all)
	if err != nil {
		return nil, err
	}
	return k.Messenger.SendMessages(ctx, all)
}

// encryptMessages encrypts messages for their queues. The slice that it is given stays as it is.
func encryptMessages(ctx context.Context, w *World, all []world.Message) ([]world.Message, error) {
	key := w.ring.Primary()
	if err := w.vet(ctx, key, true); err != nil {
		return nil, err
	}
	all = slices.Clone(all)
	for i := range all {
		m := &all[i]
		payload, err := w.ring.encrypt(key, queueRun(m.Queue), "", messagePlace, m.Payload)
		if err != nil {
			return nil, fmt.Errorf("queue %s: %w", m.Queue, err)
		}
		m.Payload, m.Encrypted = payload, key
	}
	return all, nil
}

// ReceiveMessages decrypts what is received; see [world.Messenger]. What cannot be decrypted here is told with
// the message.
func (k messages) ReceiveMessages(ctx context.Context, q world.ReceiveQuery) (world.Received, error) {
	if q.Match != nil {
		return world.Received{}, fmt.Errorf("%w: queue %s: its messages are encrypted, so they cannot be selected by their content", world.ErrInvalid, q.Queue)
	}
	got, err := k.Messenger.ReceiveMessages(ctx, q)
	k.open(got.Messages)
	return got, err
}

// PeekMessages decrypts what is looked at; see [world.Messenger].
func (k messages) PeekMessages(ctx context.Context, q world.PeekQuery) (world.MessagePage, error) {
	page, err := k.Messenger.PeekMessages(ctx, q)
	k.open(page.Messages)
	return page, err
}

// mostError is how much of the error of a receive is kept: encrypted it is longer.
const mostError = 500

// settledPlace is that of what is said at the end of a receive: who says it knows the receipt alone, and no queue.
const settledPlace = "message error"

// SettleMessages encrypts what is said of errors; see [world.Messenger].
func (k messages) SettleMessages(ctx context.Context, all []world.Settlement) ([]bool, error) {
	all, err := k.w.encryptSettlements(all)
	if err != nil {
		return nil, err
	}
	return k.Messenger.SettleMessages(ctx, all)
}

func (w *World) encryptSettlements(all []world.Settlement) ([]world.Settlement, error) {
	if err := world.CheckSettlements(all); err != nil {
		return nil, err
	}
	all = slices.Clone(all)
	for i := range all {
		s := &all[i]
		if s.Error == "" {
			continue
		}
		said, err := w.ring.encrypt(w.ring.Primary(), queueRun(""), "", settledPlace, []byte(s.Error[:min(len(s.Error), mostError)]))
		if err != nil {
			return nil, err
		}
		s.Error = string(said)
	}
	return all, nil
}

func (k messages) openError(said string) string {
	e, err := parse([]byte(said))
	if err != nil {
		return said // a program without keys said it
	}
	plain, err := k.w.ring.open(&e, queueRun(""), settledPlace)
	if err != nil {
		return "encrypted with the key " + e.key
	}
	return strings.ToValidUTF8(string(plain), "")
}

func (k messages) open(all []world.Message) {
	for i := range all {
		m := &all[i]
		if m.Error != "" {
			m.Error = k.openError(m.Error)
		}
		if m.Encrypted == "" || m.Damage != "" || !k.w.ring.Has(m.Encrypted) { // who has not the key is told its ID
			continue
		}
		plain, err := k.w.ring.openPlain(m.Payload, m.Encrypted, queueRun(m.Queue), messagePlace)
		if err != nil {
			m.Damage = fmt.Sprintf("message %s: %v", m.ID, err)
			continue
		}
		m.Payload, m.Encrypted = plain, ""
	}
}

// openPlain decrypts what is no run's, and says itself what key it is encrypted with.
func (r *Keyring) openPlain(payload []byte, key, run, place string) ([]byte, error) {
	e, err := parse(payload)
	if err == nil && e.key != key {
		err = errOther
	}
	if err != nil {
		return nil, err
	}
	return r.open(&e, run, place)
}
