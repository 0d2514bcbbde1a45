package server

// This file sends messages to queues, receives and settles them, and looks at them.

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/stepwell/stepwell/internal/operate"
	"github.com/stepwell/stepwell/queue"
	"github.com/stepwell/stepwell/world"
)

func messageRoutes() []route {
	settle := func(name, summary, body string, handle func(*Server, http.ResponseWriter, *request) error) route {
		return route{method: "POST", path: queuePath + "/" + name, scope: Operator, handle: handle, op: operation{
			id: name + "Messages", summary: summary, body: body, responses: []response{{200, "Settled", "", "Which receipts were valid; the others changed nothing."}},
		}}
	}
	return []route{
		{method: "POST", path: queuePath + "/messages", scope: Operator, handle: sendMessages, op: operation{
			id: "sendMessages", summary: "Send a message to a queue, or up to 1,000, all or none", key: "The dedupe ID of one message, as dedupeId.", body: "SendMessages",
			responses: []response{{201, "Sent", "", "The messages are durable; they are in the order in which they were given."}},
		}},
		{method: "GET", path: queuePath + "/messages", scope: Viewer, wide: true, handle: peekMessages, op: operation{
			id: "peekMessages", summary: "Look at the messages of a queue in the order in which they were sent, without changing anything",
			query:     []param{{name: "state", schema: "MessageState", about: "Only those in this state."}, paramCursor, limit("Limit1000")},
			responses: []response{{200, "MessagePage", "", "A page of messages. It may be short, even empty, and have a cursor."}},
		}},
		{method: "POST", path: queuePath + "/receive", scope: Operator, handle: receiveMessages, op: operation{
			id: "receiveMessages", summary: "Receive messages that are ready, or wait for some; a message that is not settled in time is received again", body: "Receive", optional: true,
			responses: []response{{200, "ReceivedMessages", "", "The messages; an empty list if there were none."}},
		}},
		settle("ack", "Acknowledge messages: their work is done, and they are deleted", "Receipts", func(s *Server, w http.ResponseWriter, r *request) error {
			var b receipts
			return settleMessages(s, w, r, &b, func() ([]string, world.Settlement) { return b.Receipts, world.Settlement{Kind: world.Ack} })
		}),
		settle("nack", "Give messages back, to be received again at once or later", "Nack", func(s *Server, w http.ResponseWriter, r *request) error {
			var b nack
			return settleMessages(s, w, r, &b, func() ([]string, world.Settlement) {
				return b.Receipts, world.Settlement{Kind: world.Nack, After: time.Duration(b.Delay), Error: b.Error}
			})
		}),
		settle("extend", "Keep messages hidden from others for longer, counted from now", "Extend", func(s *Server, w http.ResponseWriter, r *request) error {
			var b extend
			return settleMessages(s, w, r, &b, func() ([]string, world.Settlement) {
				return b.Receipts, world.Settlement{Kind: world.Extend, After: time.Duration(b.Visibility)}
			})
		}),
		settle("bury", "Make messages dead letters", "Bury", func(s *Server, w http.ResponseWriter, r *request) error {
			var b bury
			return settleMessages(s, w, r, &b, func() ([]string, world.Settlement) {
				return b.Receipts, world.Settlement{Kind: world.Bury, Error: b.Error}
			})
		}),
	}
}

// newMessage is a message that is sent.
type newMessage struct {
	Payload      json.RawMessage   `json:"payload"`
	Group        string            `json:"group"`
	Delay        duration          `json:"delay"`
	Priority     int               `json:"priority"`
	DedupeID     string            `json:"dedupeId"`
	DedupeWindow duration          `json:"dedupeWindow"`
	Headers      map[string]string `json:"headers"`
}

// sending is the body of a send: one message, or a list of them.
type sending struct {
	newMessage
	Messages []newMessage `json:"messages"`
}

// all are the messages that are sent. key is the header Idempotency-Key.
func (b *sending) all(key string) ([]newMessage, error) {
	one := &b.newMessage
	if b.Messages == nil {
		switch {
		case one.Payload == nil:
			return nil, invalid("body: there is no payload and there are no messages")
		case key != "" && one.DedupeID != "" && key != one.DedupeID:
			return nil, errConditional
		}
		one.DedupeID = cmp.Or(one.DedupeID, key)
		return []newMessage{*one}, nil
	}
	if one.Payload != nil || one.Group != "" || one.Delay != 0 || one.Priority != 0 || one.DedupeID != "" || one.DedupeWindow != 0 || one.Headers != nil {
		return nil, invalid("body: with messages, give each setting in the message itself")
	}
	if key != "" {
		return nil, invalid("the header Idempotency-Key applies to one message: give each of messages a dedupeId")
	}
	return b.Messages, nil
}

func (m *newMessage) world(queue string) (world.Message, error) {
	if m.Payload == nil {
		return world.Message{}, invalid("there is no payload")
	}
	if m.Priority < 0 || m.Priority > 4 {
		return world.Message{}, invalid("priority is %d: want 1 to 4", m.Priority)
	}
	return world.Message{
		Queue: queue, Payload: m.Payload, Group: m.Group, Delay: time.Duration(m.Delay), Priority: m.Priority,
		Dedupe: m.DedupeID, Window: time.Duration(m.DedupeWindow), Headers: m.Headers,
	}, nil
}

// sentMessages are the messages that were sent.
type sentMessages struct {
	Messages []sentMessage `json:"messages"`
}

type sentMessage struct {
	ID        string `json:"id"`
	Duplicate bool   `json:"duplicate,omitempty"` // it was sent before
}

func sendMessages(s *Server, w http.ResponseWriter, r *request) error {
	var b sending
	if err := r.decode(&b); err != nil {
		return err
	}
	key, err := r.idempotencyKey()
	if err != nil {
		return err
	}
	given, err := b.all(key)
	if err != nil {
		return err
	}
	k, name, err := queueOf(s, r)
	if err != nil {
		return err
	}
	all := make([]world.Message, len(given))
	for i := range given {
		if all[i], err = given[i].world(name); err != nil {
			return fmt.Errorf("message %d: %w", i, err)
		}
	}
	sent, err := k.SendMessages(r.Context(), all)
	if err != nil {
		return undeclared(err, name)
	}
	out := sentMessages{make([]sentMessage, len(sent))}
	for i, m := range sent {
		out.Messages[i] = sentMessage(m)
	}
	return answer(w, http.StatusCreated, out)
}

// receive is the body of a receive.
type receive struct {
	Most       int             `json:"most"`
	Wait       duration        `json:"wait"`
	Visibility duration        `json:"visibility"`
	Match      json.RawMessage `json:"match"`
}

// mostReceiveWait is how long a receive may wait.
const mostReceiveWait = 30 * time.Second

// receivedMessages are what was received.
type receivedMessages struct {
	Messages []operate.Message `json:"messages"`
}

func receiveMessages(s *Server, w http.ResponseWriter, r *request) error {
	b := receive{Most: 1}
	if err := r.decode(&b); err != nil {
		return err
	}
	k, name, err := queueOf(s, r)
	if err != nil {
		return err
	}
	q := world.ReceiveQuery{Queue: name, Limit: b.Most, Visibility: time.Duration(b.Visibility), Match: b.Match}
	if err := world.CheckReceive(&q); err != nil {
		return err
	}
	wait := time.Duration(b.Wait)
	if wait > mostReceiveWait {
		return invalid("wait is %s: want at most %s; if nothing arrived, ask again", wait, mostReceiveWait)
	}
	got, err := awaitMessages(s, r, k, q, wait)
	if err != nil {
		return undeclared(err, name)
	}
	if err := keepSome(r.Context(), k, &got, s.pageBytes); err != nil {
		return err
	}
	text, err := encoded(receivedMessages{operate.MessagesOf(got.Messages)})
	if err = cmp.Or(err, r.Context().Err()); err == nil {
		err = answerText(w, http.StatusOK, text)
	}
	if err != nil { // nobody has seen them
		return errors.Join(err, giveBack(r.Context(), k, got.Messages))
	}
	return nil
}

// awaitMessages receives, and waits until there is something, or the server drains.
func awaitMessages(s *Server, r *request, k world.Messenger, q world.ReceiveQuery, wait time.Duration) (world.Received, error) {
	if wait <= 0 {
		return k.ReceiveMessages(r.Context(), q)
	}
	done, err := s.places.wait(s.places.keyed(r)...)
	if err != nil {
		return world.Received{}, err
	}
	defer done()
	ctx, stop := context.WithCancelCause(r.Context())
	defer stop(nil)
	go func() {
		select {
		case <-s.drain:
			stop(errNotReady)
		case <-ctx.Done():
		}
	}()
	got, err := queue.Await(ctx, k, s.watchers.notifier, q, min(wait, s.opts.MaxWait))
	if err != nil && s.drains() && r.Context().Err() == nil {
		return world.Received{}, nil // who is told that nothing came asks again, and another server
	}
	return got, err
}

// keepSome leaves as many messages as there is room for in an answer, one at least, and gives back the others.
func keepSome(ctx context.Context, k world.Messenger, got *world.Received, bytes int) error {
	for i := range got.Messages {
		if bytes -= len(got.Messages[i].Payload); i > 0 && bytes < 0 {
			rest := got.Messages[i:]
			got.Messages, got.More = got.Messages[:i], true
			return giveBack(ctx, k, rest)
		}
	}
	return nil
}

// giveBack gives back messages that were received and that nobody has seen: they are ready again at once.
func giveBack(ctx context.Context, k world.Messenger, all []world.Message) error {
	if len(all) == 0 {
		return nil
	}
	back := make([]world.Settlement, len(all))
	for i := range all {
		back[i] = world.Settlement{Receipt: all[i].Receipt, Kind: world.Unread}
	}
	_, err := lasting(ctx, func(ctx context.Context) ([]bool, error) { return k.SettleMessages(ctx, back) })
	return err
}

// receipts is the body of an acknowledgement.
type receipts struct {
	Receipts []string `json:"receipts"`
}

// nack is the body of a nack.
type nack struct {
	receipts
	Delay duration `json:"delay"`
	Error string   `json:"error"`
}

// extend is the body of an extension.
type extend struct {
	receipts
	Visibility duration `json:"visibility"`
}

// bury is the body of what makes dead letters.
type bury struct {
	receipts
	Error string `json:"error"`
}

// settled says which receipts held.
type settled struct {
	Settled int      `json:"settled"`
	Old     []string `json:"old"` // of receives that are over: somebody else has received the message since, or it is gone
}

// settleMessages reads a body, and ends the receives that it then says.
func settleMessages(s *Server, w http.ResponseWriter, r *request, body any, said func() ([]string, world.Settlement)) error {
	if err := r.decode(body); err != nil {
		return err
	}
	k, _, err := queueOf(s, r) // a receipt names its message; the queue in the path says where it is looked for by people
	if err != nil {
		return err
	}
	list, like := said()
	all := make([]world.Settlement, len(list))
	for i, receipt := range list {
		all[i] = like
		all[i].Receipt = receipt
	}
	held, err := k.SettleMessages(r.Context(), all)
	if err != nil {
		return err
	}
	out := settled{Old: []string{}}
	for i, ok := range held {
		if ok {
			out.Settled++
		} else {
			out.Old = append(out.Old, list[i])
		}
	}
	return answer(w, http.StatusOK, out)
}

// messagePage is a page of messages that are looked at.
type messagePage struct {
	Messages []operate.Message `json:"messages"`
	Cursor   string            `json:"cursor,omitempty"` // none: this is the end
}

func peekMessages(s *Server, w http.ResponseWriter, r *request) error {
	limit, err := r.number("limit", someEvents, mostEvents)
	if err != nil {
		return err
	}
	k, name, err := queueOf(s, r)
	if err != nil {
		return err
	}
	page, err := k.PeekMessages(r.Context(), world.PeekQuery{
		Queue: name, State: world.MessageState(r.query.Get("state")), Cursor: r.query.Get("cursor"), Limit: limit,
	})
	if err != nil {
		return undeclared(err, name)
	}
	return answer(w, http.StatusOK, messagePage{operate.MessagesOf(page.Messages), page.Cursor})
}
