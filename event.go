package stepwell

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"time"

	"github.com/stepwell/stepwell/internal/codec"
	"github.com/stepwell/stepwell/internal/kit"
	"github.com/stepwell/stepwell/internal/replay"
	"github.com/stepwell/stepwell/world"
)

// EventDef is a named event with the type of its payload: what is sent and what is awaited cannot differ.
type EventDef[T any] struct {
	name string
}

// Event names an event that runs wait for and clients send. A name has 1 to 256 bytes of printable UTF-8; a bad one is refused at
// the first use.
func Event[T any](name string) *EventDef[T] { return &EventDef[T]{name: name} }

// Name is the event's name.
func (e *EventDef[T]) Name() string { return e.name }

// EventOption narrows a wait for an event: [Match]; or widens it: [Listen]; or says what it does with what does not
// fit: [PayloadErrors]. Each [WaitOption] is one, too.
type EventOption interface{ eventOption(*waitOptions) }

// Match is the JSON that a payload must contain, by the rule of PostgreSQL's @> on every world: an object contains
// another if it has all of its keys, with values that contain theirs; an array contains another if each element of
// that is contained in one of its own, in any order and however often; everything else by value.
type Match map[string]any

func (m Match) eventOption(o *waitOptions) { o.match = m }

// listenOption is since when a wait listens: for so long before it began.
type listenOption time.Duration

// Listen lets a wait for an event get what is published under its name as well, see package topic: the first that
// matches, whoever published it, without a word of which run waits for it. The name of the event is the topic then, or a
// pattern of topics: words with dots between, where * is any one word and # any number of words.
//
// What was published before the wait began it gets with [Since] alone.
func Listen() EventOption { return listenOption(0) }

// Since is [Listen] for what was published up to d before the wait began, too, 24 hours at most: the oldest that matches
// first. It gets the 100 oldest that match. A payload that another wait has had is given to this one as well.
func Since(d time.Duration) EventOption { return listenOption(d) }

func (l listenOption) eventOption(o *waitOptions) {
	if o.listen == nil {
		o.listen = &replay.Listening{}
	}
	if l != 0 {
		o.listen.Since = time.Duration(l)
	}
}

// checkListen refuses what no wait listens to.
func (e *EventDef[T]) checkListen(o *waitOptions) error {
	switch l := o.listen; {
	case l == nil:
		return nil
	case l.Since < 0 || l.Since > world.MaxSince:
		return fmt.Errorf("%w: since %s: want 0 to %s", ErrInvalid, l.Since, world.MaxSince)
	case o.timed && o.timeout == 0:
		return fmt.Errorf("%w: a wait that listens needs a timeout above zero: publications arrive a moment after the wait begins", ErrInvalid)
	}
	if err := world.CheckPattern(e.name); err != nil {
		return fmt.Errorf("listen: the event's name is the topic: %w", err)
	}
	return nil
}

// Wait pauses the workflow until the event comes, durably and holding nothing. ok is false where its [Timeout] passed
// first: that is a value, not an error. A payload that was sent before is taken at once, the oldest that matches
// first; each payload is taken once, by the first wait that matches. With Timeout(0) it takes what is there: the
// inbox of the run is looked into first, so that all that was durable before the wait began is. With [Remind] the code
// does something each so often, until the wait is over.
//
// A payload that matches and that T cannot hold stops nothing: it is set aside, and the wait goes on with the next, or until its
// timeout. With [PayloadErrors] the wait ends with a [*PayloadError] instead.
//
// The error is [ErrCancelled] when the run is cancelled; [ErrInvalid] for a key in [Match] that the event's type does not have,
// and for a negative timeout.
func (e *EventDef[T]) Wait(ctx Context, opts ...EventOption) (payload T, ok bool, err error) {
	o, err := e.options(opts)
	if err != nil {
		return payload, false, err
	}
	return waited(ctx, e.start(ctx, o), o, e.name)
}

// Start is [EventDef.Wait] as a future, for [Select] and [Race].
func (e *EventDef[T]) Start(ctx Context, opts ...EventOption) *Future[Received[T]] {
	o, err := e.options(opts)
	if err != nil {
		return failedFuture[Received[T]](err)
	}
	return begun(ctx, o, e.name, func(ctx Context) *Future[Received[T]] { return e.start(ctx, o) })
}

func (e *EventDef[T]) options(opts []EventOption) (*waitOptions, error) {
	if e == nil {
		return nil, kit.Missing("the event")
	}
	o := &waitOptions{}
	err := kit.Given(opts, func(opt EventOption) { opt.eventOption(o) })
	if err = cmp.Or(err, o.check(), e.checkListen(o)); err == nil {
		o.matches, err = e.match(o)
	}
	if err != nil {
		return nil, fmt.Errorf("wait for event %q: %w", e.name, err)
	}
	return o, nil
}

func (e *EventDef[T]) start(ctx Context, o *waitOptions) *Future[Received[T]] {
	in := &incoming[T]{kind: "event", name: e.name}
	f := ctx.x.CheckedEvent(e.name, o.matches, o.timeout, o.timed, in.check(o.tell), o.listen)
	return &Future[Received[T]]{f: f, get: func(ctx Context) (r Received[T], err error) {
		if f.Done() && f.Err() == nil && !f.Received() {
			return r, nil
		}
		r.Payload, err = in.result(ctx, f)
		r.OK = err == nil
		return r, err
	}}
}

// Drop takes the payloads of the event that are there and that nobody waits for, whatever they are, and forgets them: they are neither given to a later wait
// nor carried over by [ContinueAsNew], and count toward no limit. It tells how many there were. What comes later is kept as ever. Each is in the log as taken.
//
// The error is [ErrCancelled] when the run is cancelled.
func (e *EventDef[T]) Drop(ctx Context) (dropped int, err error) {
	if e == nil {
		return 0, kit.Missing("the event")
	}
	for raw := Event[json.RawMessage](e.name); ; dropped++ {
		if _, ok, err := raw.Wait(ctx, Timeout(0)); err != nil || !ok {
			return dropped, err
		}
	}
}

func (e *EventDef[T]) match(o *waitOptions) (json.RawMessage, error) {
	if len(o.match) == 0 {
		return nil, nil
	}
	for k := range o.match {
		if t := reflect.TypeFor[T](); !codec.HasKey(t, k) {
			return nil, fmt.Errorf("%w: match has the key %q, which %s does not have", ErrInvalid, k, t)
		}
	}
	b, err := codec.Encode(map[string]any(o.match), world.MaxKey*8)
	if err != nil {
		return nil, fmt.Errorf("match: %w", err)
	}
	return b, nil
}

// Send sends the event to a run. It returns when the payload is durable; it waits for nobody, and is kept until a wait takes it.
// With a [DeliveryID] a repeated send is the same one.
//
// Errors: [ErrNotFound], [ErrTerminal], [ErrDeliveryUsed], [ErrInboxFull], [ErrInvalid], and encoding errors.
func (e *EventDef[T]) Send(ctx context.Context, app *App, run string, payload T, opts ...SendOption) error {
	switch {
	case e == nil:
		return kit.Missing("send: the event")
	case app == nil:
		return kit.Missing("send event " + e.name + ": the App")
	}
	b, err := sent(&payload, app.cfg.MaxPayload)
	if err == nil {
		err = sendSignal(ctx, app, run, e.name, b, opts, nil)
	}
	if err != nil {
		return fmt.Errorf("send event %q to run %s: %w", e.name, run, err)
	}
	return nil
}

// SendTo sends the event to another run, from workflow code: it is part of the commit that records it, so it is sent exactly once, whatever crashes, and
// never again by a replay. It returns when the payload is durable in the other run's inbox, full or not; it waits for nobody, and is kept until a wait takes
// it. A send that the code asks for last, in a [Go], is sent all the same.
//
// An error is a [*StepError]: [ErrNotFound] where no run has the ID, [ErrTerminal] where it is over; what took its place after a retry is another run, see
// [App.Newest]. It is [ErrCancelled] when the run is cancelled, and [ErrInvalid] for a bad ID, or the run's own.
func (e *EventDef[T]) SendTo(ctx Context, run string, payload T) error {
	if e == nil {
		return kit.Missing("send: the event")
	}
	err := world.CheckRunID(run)
	if err == nil && run == ctx.RunID() {
		err = fmt.Errorf("%w: a run cannot send to itself; its coroutines share variables: use Await", ErrInvalid)
	}
	var b []byte
	if err == nil {
		b, err = outgoing(ctx, &payload, ctx.x.MaxPayload(), world.KindSend, e.name)
	}
	if err != nil {
		return fmt.Errorf("send event %q to run %s: %w", e.name, run, err)
	}
	f := ctx.x.Other(world.KindSend, e.name, run, b, nil)
	if !ctx.x.Wait(f) {
		return ctx.x.Refusal()
	}
	if f.Err() != nil {
		return stepError(ctx, f)
	}
	return nil
}

// SendOption changes how something is sent: [DeliveryID], [In].
type SendOption interface{ sendOption(*sending) }

// sending is what is sent, and in which transaction.
type sending struct {
	world.Delivery
	in world.Tx // nil: in one of its own
}

type deliveryID string

// DeliveryID names a send, so that it can be repeated safely: the same ID, for the same event or hook of a run, is
// delivered once. A repeat gets the answer that the first one got, also when the run is over; one with another payload
// is refused with [ErrDeliveryUsed].
//
// The ID is known for as long as the first copy is unread; for as long as its own run is not over where a step sends
// under its idempotency key ([StepInfo]), or under an ID that begins with it; and else for at least 24 hours, and the
// last 10,000 deliveries of a run, for as long as that is kept, whatever segments pass.
func DeliveryID(id string) SendOption { return deliveryID(id) }

func (id deliveryID) sendOption(s *sending) { s.ID = string(id) }
