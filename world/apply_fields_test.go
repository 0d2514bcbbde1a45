package world

// This file holds what the fold keeps of an event's fields, beside the effects of the table.

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestApplyKeepsStep(t *testing.T) {
	boom := &Error{Message: "boom"}
	s := fold(t, log(running,
		ev(StepCreated, "s", func(e *Event) {
			e.Kind, e.Name, e.Path, e.Occurrence, e.Queued, e.Peer = KindAwait, "poll", "go[1]", 2, true, "r2"
		}),
		ev(StepStarted, "s", func(e *Event) { e.Time = t0.Add(1) }),
		ev(StepRetrying, "s", func(e *Event) { e.Time, e.RetryAt, e.Error = t0.Add(2), t0.Add(time.Hour), boom }),
	)...)
	want := &Step{
		ID: "s", Kind: KindAwait, Key: Key{Path: "go[1]", Kind: KindAwait, Name: "poll", Occurrence: 2}, Queued: true, Peer: "r2", Created: 3,
		Status: StepPending, Attempts: 1, Failures: 1, RetryAt: t0.Add(time.Hour), Started: t0.Add(1), Error: boom,
	}
	if d := cmp.Diff(want, s.Step("s")); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	again := ev(StepStarted, "s", func(e *Event) { e.Time = t0.Add(3) })
	if _, err := s.Apply(&again, time.Time{}); err != nil {
		t.Fatal(err)
	}
	want.Status, want.Attempts, want.RetryAt = StepRunning, 2, time.Time{} // the first start stands, as does the last error
	if d := cmp.Diff(want, s.Step("s")); d != "" {
		t.Errorf("started again: -want +got:\n%s", d)
	}
}

func TestApplyKeepsHook(t *testing.T) {
	s := fold(t, log(running, ev(HookCreated, "h", func(e *Event) {
		e.Name, e.Path, e.Occurrence, e.Chosen, e.Payload = "approval", "go[1]", 1, true, json.RawMessage(`{"a":1}`)
	}))...)
	want := &Hook{ID: "h", Key: Key{Path: "go[1]", Kind: KindHook, Name: "approval", Occurrence: 1}, Created: 3, Token: "token-h", Chosen: true, Metadata: json.RawMessage(`{"a":1}`)}
	if d := cmp.Diff(want, s.Hook("h")); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}

// TestApplyOwnsAttributes: attributes start from the birth's or the continuation's, whose maps stay what they were.
func TestApplyOwnsAttributes(t *testing.T) {
	one := func(k string) map[string]json.RawMessage { return map[string]json.RawMessage{k: json.RawMessage("1")} }
	birth, next := one("born"), one("carried")
	set := func(id string) Event { return ev(AttrSet, id, func(e *Event) { e.Name = id }) }
	s := fold(t, log(ev(RunCreated, "", func(e *Event) { e.Birth.Attributes = birth }), RunStarted, set("a"))...)
	if d := cmp.Diff(map[string]json.RawMessage{"born": json.RawMessage("1"), "a": json.RawMessage("3")}, s.Attributes); d != "" {
		t.Errorf("first segment: -want +got:\n%s", d)
	}
	for _, e := range log(ev(RunContinued, "", func(e *Event) { e.Next.Attributes = next }), set("b")) {
		if _, err := s.Apply(&e, time.Time{}); err != nil {
			t.Fatal(err)
		}
	}
	if d := cmp.Diff(map[string]json.RawMessage{"carried": json.RawMessage("1"), "b": json.RawMessage("3")}, s.Attributes); d != "" {
		t.Errorf("second segment: -want +got:\n%s", d)
	}
	if d := cmp.Diff(one("born"), birth) + cmp.Diff(one("carried"), next); d != "" {
		t.Errorf("the events' maps changed:\n%s", d)
	}
}

// TestEventClasses: each type is a result, a creation, or neither; a wait that a signal ended is no second result.
func TestEventClasses(t *testing.T) {
	for _, test := range []struct {
		event            Event
		result, creation bool
	}{
		{ev(RunCreated, ""), false, false}, {ev(RunStarted, ""), false, false}, {ev(RunContinued, ""), false, false},
		{ev(RunCompleted, ""), false, false}, {ev(RunFailed, ""), false, false}, {ev(RunCancelled, ""), false, false},
		{ev(CancelRequested, ""), true, false}, {ev(RunPaused, ""), true, false}, {ev(RunResumed, ""), true, false},
		{ev(StepCreated, "s"), false, true}, {ev(StepStarted, "s"), false, false}, {ev(StepRetrying, "s"), false, false}, {ev(StepWoken, "s"), false, false},
		{ev(StepCompleted, "s"), true, false}, {ev(StepFailed, "s"), true, false},
		{ev(WaitCreated, "w"), false, true}, {ev(WaitCompleted, "w"), true, false},
		{ev(WaitCompleted, "w", func(e *Event) { e.Outcome = OutcomeWoken }), true, false},
		{ev(WaitCompleted, "w", func(e *Event) { e.Outcome = OutcomeReceived }), false, true},
		{ev(HookCreated, "h"), false, true}, {ev(HookCreated, "h", func(e *Event) { e.Chosen = true }), true, true},
		{ev(HookConflict, "h"), true, true}, {ev(HookReceived, "h"), true, false}, {ev(HookDisposed, "h"), false, true},
		{ev(SignalReceived, ""), true, false}, {ev(AttrSet, "a"), false, true},
	} {
		e := &test.event
		if got := e.Result(); got != test.result {
			t.Errorf("%s %s: got result %v, want %v", e.Type, e.Outcome, got, test.result)
		}
		if got := e.Creation(); got != test.creation {
			t.Errorf("%s %s: got creation %v, want %v", e.Type, e.Outcome, got, test.creation)
		}
		if got, want := e.Type.Terminal(), e.Type == RunCompleted || e.Type == RunFailed || e.Type == RunCancelled; got != want {
			t.Errorf("%s: got terminal %v, want %v", e.Type, got, want)
		}
	}
}
