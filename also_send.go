package stepwell

// Start and send in one: a run gets events with its birth, or, where it is there already, as sends do.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/stepwell/stepwell/internal/kit"
	"github.com/stepwell/stepwell/world"
)

// alsoSend is an event that a start sends. It is a start option.
type alsoSend struct {
	name    string
	payload func(limit int) (json.RawMessage, error)
	opts    []SendOption
}

func (s alsoSend) startOption(o *startOptions) { o.also = append(o.also, s) }

// AlsoSend makes a start send the event too. A new run has the event before its code begins: one
// commit writes both. If the [Key] was used before, the existing run gets the event, as by
// [EventDef.Send]. So the first request creates the run, and every request reaches it:
//
//	run, err := Cart.Start(ctx, app, Shopper{"ann"}, stepwell.Key("ann"), Added.AlsoSend(item))
//
// If the existing run is over, the start fails with [ErrTerminal]. A repeated start sends again
// unless the event has a [DeliveryID]. A start may send at most 10,000 events. Events to an
// existing run are sent one after another, after all of them were checked: if one fails, those
// before it have been sent.
func (e *EventDef[T]) AlsoSend(payload T, opts ...SendOption) StartOption {
	s := alsoSend{opts: opts}
	if s.payload = func(limit int) (json.RawMessage, error) { return sent(&payload, limit) }; e != nil {
		s.name = e.name
	}
	return s
}

// AlsoSignal is [EventDef.AlsoSend] for the name of an event and a JSON payload.
func AlsoSignal(event string, payload json.RawMessage, opts ...SendOption) StartOption {
	return alsoSend{name: event, payload: func(int) (json.RawMessage, error) { return payload, nil }, opts: opts}
}

// mostSent is how many events a start may send: as many as an inbox takes.
const mostSent = 10_000

// alsoSent makes the events that are in the log of a run from its birth on.
func alsoSent(a *App, all []alsoSend) (events []world.Event, err error) {
	if len(all) > mostSent {
		return nil, fmt.Errorf("%w: it sends %d events: want %d at most", ErrTooLarge, len(all), mostSent)
	}
	for i := range all {
		e, err := all[i].event(a)
		if err != nil {
			return nil, fmt.Errorf("event %q: %w", all[i].name, err)
		}
		if e.Delivery != "" && slices.ContainsFunc(events, func(earlier world.Event) bool { return earlier.Delivery == e.Delivery }) {
			return nil, fmt.Errorf("event %q: %w: the delivery ID %q is there twice", all[i].name, ErrInvalid, e.Delivery)
		}
		events = append(events, e)
	}
	return events, nil
}

func (s *alsoSend) event(a *App) (e world.Event, err error) {
	e = world.Event{Type: world.SignalReceived, Name: s.name}
	if err := world.CheckName("event", s.name); err != nil {
		return e, err
	}
	if e.Payload, err = s.payload(a.cfg.MaxPayload); err != nil {
		return e, err
	}
	if err := a.checkPayload(e.Payload); err != nil {
		return e, err
	}
	as := sending{}
	if err := kit.Given(s.opts, func(opt SendOption) { opt.sendOption(&as) }); err != nil {
		return e, err
	}
	if as.in != nil {
		return e, fmt.Errorf("%w: give In to the start", ErrInvalid)
	}
	if e.Delivery = as.ID; as.ID != "" {
		err = world.CheckKey("delivery ID", as.ID)
	}
	return e, err
}

// alsoFit refuses events that the workflow of a new run does not take, as payloadFits does those of an old one.
func alsoFit(ctx context.Context, a *App, workflow string, o *startOptions, events []world.Event) error {
	if len(events) == 0 {
		return nil
	}
	ctx, cancel := o.beside(ctx)
	defer cancel()
	set, version, err := setOf(ctx, a, workflow, o.Version)
	if err != nil || set == nil {
		return err
	}
	for i := range events {
		err := unfit(workflow, version, eventFits(events[i].Name)(set, events[i].Payload))
		if err = unlessStarted(ctx, a, err, workflow, o.keyIn(ctx), o.ID); err != nil {
			return fmt.Errorf("event %q: %w", events[i].Name, err)
		}
	}
	return nil
}

// sendAlso sends to a run that was there, once all of it fits. That run had the key, or took the place of the one that
// had: what that one got under its delivery ID is not sent again.
func sendAlso(ctx context.Context, a *App, had, run string, o *startOptions, events []world.Event) error {
	mail := func(to string, e world.Event) *world.Delivery {
		id := e.Delivery
		e.Delivery = ""
		return &world.Delivery{Run: to, ID: id, Events: []world.Event{e}}
	}
	var opts []SendOption
	if o.In != nil {
		opts = append(opts, In(o.In))
	}
	for _, e := range events {
		if o.In != nil {
			break
		}
		err := payloadFits(ctx, a, run, e.Payload, eventFits(e.Name))
		if err = unlessSent(ctx, a, err, mail(run, e), nil); err != nil {
			return fmt.Errorf("event %q to run %s: %w", e.Name, run, err)
		}
	}
	for _, e := range events {
		err := world.ErrNotFound
		if had != run && e.Delivery != "" && o.In == nil {
			repeat := mail(had, e)
			repeat.Repeat = true
			err = a.deliverAs(ctx, repeat, nil)
		}
		if errors.Is(err, world.ErrNotFound) || errors.Is(err, world.ErrInvalid) { // it had it not, or the server is older
			err = a.deliverAs(ctx, mail(run, e), opts)
		}
		if err != nil {
			return fmt.Errorf("send event %q to run %s: %w", e.Name, run, err)
		}
	}
	return nil
}
