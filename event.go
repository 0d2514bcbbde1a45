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

// EventDef is a named event with the type of its payload. Senders and waiting code share the type.
type EventDef[T any] struct {
	name string
}

// Event defines an event that clients send and runs wait for. A name has 1 to 256 bytes of
// printable UTF-8; the first use of a bad name fails.
func Event[T any](name string) *EventDef[T] { return &EventDef[T]{name: name} }

// Name returns the event's name.
func (e *EventDef[T]) Name() string { return e.name }

// EventOption is an option of a wait for an event: [Match], [Listen], [Since], [PayloadErrors], and
// every [WaitOption].
type EventOption interface{ eventOption(*waitOptions) }

// Match is JSON that a payload must contain, as PostgreSQL's @> defines it. An object contains
// another if it has all of the other's keys, with values that contain the other's values. An array
// contains another if each element of the other is contained in one of its own elements, in any
// order. Other values must be equal.
type Match map[string]any

func (m Match) eventOption(o *waitOptions) { o.match = m }

// listenOption is since when a wait listens: for so long before it began.
type listenOption time.Duration

// Listen lets a wait for an event also receive publications under the event's name: see package
// topic. The first that matches ends the wait; its publisher need not know the run. The event's
// name is then a topic, or a pattern of topics: words separated by dots, where * is any one word
// and # any number of words.
//
// Publications from before the wait began need [Since].
func Listen() EventOption { return listenOption(0) }

// Since is [Listen] that also receives publications from up to d before the wait began, the oldest
// match first. d is at most 24 hours, and the 100 oldest matches are considered. Another wait may
// have received the same publication.
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

// Wait pauses the workflow until the event arrives; meanwhile the run takes no slot. ok is false if
// the [Timeout] passes first, which is not an error. A payload that was sent earlier is taken at
// once, the oldest match first. Each payload is taken once, by the first wait that matches it.
// Timeout(0) takes a payload that was durable before the wait began, and otherwise returns at once.
// [Remind] calls a function at intervals until the wait ends.
//
// A matching payload that T cannot hold is set aside, and the wait continues. With [PayloadErrors]
// the wait ends with a [*PayloadError] instead.
//
// The error is [ErrCancelled] if the run is cancelled; [ErrInvalid] for a key in [Match] that the
// event's type does not have, and for a negative timeout.
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

// Drop discards the event's payloads in the run's inbox, which no wait has taken, and returns their
// number. No later wait gets them, [ContinueAsNew] does not carry them over, and they count toward
// no limit. The log shows each as taken. Later payloads are kept.
//
// The error is [ErrCancelled] if the run is cancelled.
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

// Send sends the event to a run. It returns once the payload is durable. The payload is kept until
// a wait takes it. With a [DeliveryID] a repeated send is delivered once.
//
// Errors: [ErrNotFound], [ErrTerminal], [ErrDeliveryUsed], [ErrInboxFull], [ErrInvalid], and
// encoding errors.
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

// SendTo sends the event to another run, from workflow code. The send is part of the commit that
// records it, so it happens exactly once, whatever crashes. SendTo returns once the payload is
// durable in the other run's inbox, even a full one. The payload is kept until a wait takes it. A
// send in a [Go] happens even if the workflow ends directly afterwards.
//
// The error is [ErrCancelled] if the run is cancelled, and [ErrInvalid] for a bad ID or the run's
// own ID. Otherwise it is a [*StepError]: [ErrNotFound] if the other run does not exist,
// [ErrTerminal] if it is over. SendTo does not follow to a run that replaced the other: see
// [App.Newest].
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

// SendOption is an option of a send: [DeliveryID], [In].
type SendOption interface{ sendOption(*sending) }

// sending is what is sent, and in which transaction.
type sending struct {
	world.Delivery
	in world.Tx // nil: in one of its own
}

type deliveryID string

// DeliveryID names a send so that you can repeat it safely: a run receives the same ID for the same
// event or hook once. A repeat gets the first answer, also after the run is over. A repeat with
// another payload is refused with [ErrDeliveryUsed].
//
// An ID is known for at least 24 hours (see [Open]). For as long as the run is kept, its last
// 10,000 IDs are known too. An ID is also known while its first copy is unread. If a step sends
// under its idempotency key ([StepInfo]), or under an ID that begins with that key, the ID is known
// until the step's own run is over.
func DeliveryID(id string) SendOption { return deliveryID(id) }

func (id deliveryID) sendOption(s *sending) { s.ID = string(id) }
