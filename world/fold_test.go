package world

// This file holds what the tests of the fold share: events by their types, a deep copy of a state, a comparison.

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

var t0 = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// clone copies a state deeply, so that a later comparison shows any change.
func clone(s *State) *State {
	c := *s
	c.Attributes = maps.Clone(s.Attributes)
	c.steps, c.waits, c.hooks = deep(s.steps), deep(s.waits), deep(s.hooks)
	c.tokens, c.over = maps.Clone(s.tokens), maps.Clone(s.over)
	for i := range c.deliveries {
		c.deliveries[i] = maps.Clone(s.deliveries[i])
	}
	if s.Cancel != nil {
		e := *s.Cancel
		c.Cancel = &e
	}
	if s.Paused != nil {
		e := *s.Paused
		c.Paused = &e
	}
	return &c
}

func deep[V any](m map[string]*V) map[string]*V {
	if m == nil {
		return nil
	}
	c := make(map[string]*V, len(m))
	for k, v := range m {
		w := *v
		c[k] = &w
	}
	return c
}

// diff compares two states, all they keep.
func diff(want, got *State) string {
	if reflect.DeepEqual(want, got) {
		return ""
	}
	return cmp.Diff(want, got, cmp.AllowUnexported(State{}), cmpopts.EquateEmpty())
}

// fold applies events to a new run and fails where one of them is refused or says nothing new.
func fold(t testing.TB, events ...Event) *State {
	t.Helper()
	s := &State{ID: "r"}
	for i := range events {
		if changed, err := s.Apply(&events[i], time.Time{}); err != nil || !changed {
			t.Fatalf("event %d, %s: changed %v, %v", i+1, events[i].Type, changed, err)
		}
	}
	return s
}

// ev makes an event with what its type needs; edit changes it.
func ev(typ EventType, id string, edit ...func(*Event)) Event {
	e := Event{Type: typ, Time: t0, ID: id}
	switch typ {
	case RunCreated:
		e.Birth, e.Payload = &Birth{Workflow: "w", Seed: 7}, json.RawMessage(`1`)
	case RunContinued:
		e.Next, e.Payload = &Continuation{}, json.RawMessage(`2`)
	case RunCompleted:
		e.Payload = json.RawMessage(`"out"`)
	case RunFailed, StepFailed, StepRetrying:
		e.Error = &Error{Message: "no"}
	case StepCreated:
		e.Kind, e.Name = KindClosure, id
	case WaitCreated:
		e.Kind, e.Name = KindSleep, id
	case WaitCompleted:
		e.Outcome = OutcomeDue
	case HookCreated, HookConflict:
		e.Name, e.Token = id, "token-"+id
	case SignalReceived, AttrSet:
		e.Name, e.Payload = "n", json.RawMessage(`3`)
	}
	for _, f := range edit {
		f(&e)
	}
	return e
}

// log makes a list of events; what is not an Event is a type without more.
func log(parts ...any) []Event {
	var list []Event
	for _, p := range parts {
		switch p := p.(type) {
		case Event:
			list = append(list, p)
		case EventType:
			list = append(list, ev(p, ""))
		case []Event:
			list = append(list, p...)
		default:
			panic(fmt.Sprintf("no event: %T", p))
		}
	}
	return list
}
