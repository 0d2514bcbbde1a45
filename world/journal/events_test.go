package journal

// This file makes events, and draws them.

import (
	"encoding/json"
	"fmt"
	"time"

	"pgregory.net/rapid"

	"github.com/stepwell/stepwell/world"
)

var t0 = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

var running = log(world.RunCreated, world.RunStarted)

// genEvent draws an event that may or may not be legal, about few entities, so that many are. IDs name their segment, as real
// ones are made from it.
func genEvent(t *rapid.T, s *world.State) world.Event {
	typ := rapid.SampledFrom(append([]world.EventType{world.StepCreated, world.StepStarted, world.StepCompleted, world.WaitCreated, world.HookCreated, world.HookReceived}, world.EventTypes[1:]...)).Draw(t, "type")
	if typ.Terminal() && rapid.IntRange(0, 9).Draw(t, "end") > 0 {
		typ = world.SignalReceived // most runs live longer
	}
	id := fmt.Sprintf("%d-%d", s.Segment, rapid.IntRange(0, 4).Draw(t, "id"))
	e := ev(typ, id)
	e.Time = s.Time.Add(time.Duration(rapid.IntRange(0, 1000).Draw(t, "ms")) * time.Millisecond)
	e.Delivery = rapid.SampledFrom([]string{"", "", "", "d1", "d2", "d3"}).Draw(t, "delivery")
	switch typ {
	case world.StepCreated:
		e.Kind = rapid.SampledFrom([]world.Kind{world.KindClosure, world.KindTask, world.KindChild, world.KindAwait, world.KindPatch}).Draw(t, "kind")
	case world.StepRetrying:
		e.RetryAt = e.Time.Add(time.Duration(rapid.IntRange(0, 5).Draw(t, "delay")) * time.Second)
		e.Attempt = rapid.IntRange(0, 3).Draw(t, "attempt")
		e.Error.Code = rapid.SampledFrom([]string{"", world.CodeAbandoned}).Draw(t, "code")
	case world.StepWoken:
		e.Attempt = rapid.IntRange(0, 3).Draw(t, "attempt")
	case world.WaitCreated:
		e.Until = e.Time.Add(time.Duration(rapid.IntRange(0, 5).Draw(t, "until")) * time.Second)
	case world.HookCreated:
		e.Token = rapid.SampledFrom([]string{"t1", "t2", "t3"}).Draw(t, "token")
	case world.RunContinued:
		for h := range s.Hooks() {
			e.Next.Hooks = append(e.Next.Hooks, h.ID)
		}
	}
	return e
}

// ev makes an event with what its type needs; edit changes it.
func ev(typ world.EventType, id string, edit ...func(*world.Event)) world.Event {
	e := world.Event{Type: typ, Time: t0, ID: id}
	switch typ {
	case world.RunCreated:
		e.Birth, e.Payload = &world.Birth{Workflow: "w", Seed: 7}, json.RawMessage(`1`)
	case world.RunContinued:
		e.Next, e.Payload = &world.Continuation{}, json.RawMessage(`2`)
	case world.RunCompleted:
		e.Payload = json.RawMessage(`"out"`)
	case world.RunFailed, world.StepFailed, world.StepRetrying:
		e.Error = &world.Error{Message: "no"}
	case world.StepCreated:
		e.Kind, e.Name = world.KindClosure, id
	case world.WaitCreated:
		e.Kind, e.Name = world.KindSleep, id
	case world.WaitCompleted:
		e.Outcome = world.OutcomeDue
	case world.HookCreated, world.HookConflict:
		e.Name, e.Token = id, "token-"+id
	case world.SignalReceived, world.AttrSet:
		e.Name, e.Payload = "n", json.RawMessage(`3`)
	}
	for _, f := range edit {
		f(&e)
	}
	return e
}

// log makes a list of events; what is not an event is a type without more.
func log(parts ...any) []world.Event {
	var list []world.Event
	for _, p := range parts {
		switch p := p.(type) {
		case world.Event:
			list = append(list, p)
		case world.EventType:
			list = append(list, ev(p, ""))
		case []world.Event:
			list = append(list, p...)
		default:
			panic(fmt.Sprintf("no event: %T", p))
		}
	}
	return list
}
