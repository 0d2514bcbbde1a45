package wdk

// The queue of the DevKit: messages to the flow route of an app, in queues of messages of ours. An app asks for
// those of its deployment, as long as it has room, hands each to its own flow route, and says what came of it.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/stepwell/stepwell/internal/kit"
	"github.com/stepwell/stepwell/world"
)

// Limits of messages.
const (
	visibility  = 30 * time.Second
	unconfirmed = 10 * time.Second  // until the app says that it has the message: before, nobody may have heard the answer
	maxReceives = world.MaxReceives // the DevKit gives up long before
	leastWindow = time.Hour         // in which an idempotency key is known
)

type queues struct {
	messenger world.Messenger

	mu       sync.Mutex
	declared map[string]bool
}

// seconds is a time that was given as seconds.
func seconds(what string, s float64) (time.Duration, error) {
	if most := world.MaxDelay.Seconds(); s < 0 || s > most {
		return 0, fmt.Errorf("%w: %s %g: want 0 to %.0f", world.ErrInvalid, what, s, most)
	}
	return time.Duration(s * float64(time.Second)), nil
}

// declare makes the queue of a deployment where it is not there.
func (q *queues) declare(ctx context.Context, queue string) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.declared[queue] {
		return nil
	}
	if err := q.messenger.DeclareQueue(ctx, world.MessageQueue{Name: queue, Visibility: visibility, MaxReceives: maxReceives}); err != nil {
		return err
	}
	if q.declared == nil {
		q.declared = map[string]bool{}
	}
	q.declared[queue] = true
	return nil
}

// letter is what a message of ours has of one of the DevKit.
type letter struct {
	Queue   string            `json:"queueName"`
	Message json.RawMessage   `json:"message"`
	Headers map[string]string `json:"headers,omitempty"`
}

type sendIn struct {
	letter
	Deployment string  `json:"deploymentId"`
	Key        string  `json:"idempotencyKey"`
	Delay      float64 `json:"delaySeconds"`
	Call       string  `json:"call"`
}

func (h *Host) send(ctx context.Context, in *sendIn) (any, error) {
	delay, err := seconds("delaySeconds", in.Delay)
	if err != nil {
		return nil, err
	}
	queue := kit.AppQueue(in.Deployment)
	if err := h.queues.declare(ctx, queue); err != nil {
		return nil, err
	}
	payload, err := json.Marshal(in.letter)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", world.ErrInvalid, err)
	}
	m := world.Message{Queue: queue, Payload: payload, Dedupe: in.Key, Delay: delay}
	if m.Dedupe == "" {
		m.Dedupe = in.Call
	}
	m.Window = min(m.Delay+leastWindow, world.MaxWindow)
	sent, err := h.queues.messenger.SendMessages(ctx, []world.Message{m})
	if err != nil {
		return nil, err
	}
	return map[string]string{"messageId": messageID(sent[0].ID)}, nil
}

// messageID is a message's ID as the DevKit writes it.
func messageID(ours string) string { return "msg_" + strings.TrimPrefix(ours, world.PrefixMessage+"_") }

type receiveIn struct {
	Deployment string `json:"deploymentId"`
	Most       int    `json:"most"`
	WaitMs     int64  `json:"waitMs"`
}

type received struct {
	letter
	MessageID string `json:"messageId"`
	Attempt   int    `json:"attempt"`
	Receipt   string `json:"receipt"`
}

func (h *Host) receive(ctx context.Context, in *receiveIn) (any, error) {
	queue := kit.AppQueue(in.Deployment)
	if err := h.queues.declare(ctx, queue); err != nil {
		return nil, err
	}
	all := []received{}
	q := world.ReceiveQuery{Queue: queue, Limit: min(max(in.Most, 1), world.MaxReceive), Visibility: unconfirmed}
	err := h.await(ctx, queue, time.Duration(in.WaitMs)*time.Millisecond, func() (bool, time.Duration, error) {
		got, err := h.queues.messenger.ReceiveMessages(ctx, q)
		if err != nil {
			return false, 0, err
		}
		for i, bytes := 0, 0; i < len(got.Messages); i++ {
			m := &got.Messages[i]
			if bytes += len(m.Payload); i > 0 && bytes > pageBytes { // there is no room for the others
				rest := make([]string, 0, len(got.Messages)-i)
				for _, m := range got.Messages[i:] {
					rest = append(rest, m.Receipt)
				}
				return true, 0, h.unread(ctx, rest)
			}
			out := received{MessageID: messageID(m.ID), Attempt: m.Receives, Receipt: m.Receipt}
			if err := json.Unmarshal(m.Payload, &out.letter); err != nil {
				bury := world.Settlement{Kind: world.Bury, Error: "it is no message of Workflow DevKit"}
				if _, err = h.queues.end(ctx, bury, m.Receipt); err != nil {
					return false, 0, err
				}
				continue
			}
			if rests, err := h.resting(ctx, &out.letter); err != nil || rests {
				_, err2 := h.queues.end(ctx, world.Settlement{Kind: world.Unread, After: pausedAgain}, m.Receipt)
				if err = errors.Join(err, err2); err != nil {
					return false, 0, err
				}
				continue
			}
			all = append(all, out)
		}
		return len(all) > 0, got.Wait(look), nil
	})
	if err != nil && len(all) > 0 { // nobody has seen them
		back := make([]string, len(all))
		for i := range all {
			back[i] = all[i].Receipt
		}
		err = errors.Join(err, h.unread(ctx, back))
	}
	return all, err
}

// pausedAgain is when a message about a run that is not to go on is looked at again.
const pausedAgain = 5 * time.Second

// unread gives back messages that nobody has seen: that was no attempt.
func (h *Host) unread(ctx context.Context, receipts []string) error {
	_, err := h.queues.end(context.WithoutCancel(ctx), world.Settlement{Kind: world.Unread}, receipts...)
	return err
}

// end ends receives of messages of the DevKit, all in one way. The receipts of others hold nothing here.
func (q *queues) end(ctx context.Context, way world.Settlement, receipts ...string) ([]bool, error) {
	all := make([]world.Settlement, len(receipts))
	for i, receipt := range receipts {
		all[i] = way
		all[i].Receipt, all[i].Queues = receipt, Prefix
	}
	return q.messenger.SettleMessages(ctx, all)
}

type settleIn struct {
	Receipts []string         `json:"receipts"`
	Kind     world.SettleKind `json:"kind"`
	Seconds  float64          `json:"seconds"`
	Error    string           `json:"error"`
}

func (h *Host) settle(ctx context.Context, in *settleIn) (any, error) {
	after, err := seconds("seconds", in.Seconds)
	if err != nil {
		return nil, err
	}
	if in.Kind == world.Extend {
		after = visibility
	}
	return h.queues.end(ctx, world.Settlement{Kind: in.Kind, After: after, Error: in.Error}, in.Receipts...)
}
