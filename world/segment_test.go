package world

// This file holds logs whose earlier segments were trimmed: what a fold and a commit make of them. That a fold which enters at a segment is the
// fold of the whole log, worldtest holds with generated logs.

import (
	"errors"
	"slices"
	"testing"
)

// trimmedLog is a log of which event 5, in the first segment, is gone: it goes on with event 7.
func trimmedLog(t *testing.T) (left []Event, whole *State) {
	t.Helper()
	events := log(running, ev(HookCreated, "h"), ev(SignalReceived, "", func(e *Event) { e.Name, e.Delivery = "go", "d" }), ev(StepCreated, "s"), ev(WaitCreated, "w"))
	next := ev(RunContinued, "", func(e *Event) { e.Next = &Continuation{Unread: []int64{4}, Hooks: []string{"h"}, Trim: 7} })
	next.Next.Base = fold(t, events...).BaseFor(next.Next)
	events = log(events, next, ev(StepCreated, "s2"))
	for i := range events {
		events[i].Seq = int64(i) + 1
	}
	return slices.Delete(slices.Clone(events), 4, 5), fold(t, events...)
}

func TestTrimmedLogFolds(t *testing.T) {
	left, whole := trimmedLog(t)
	if at := EnterAt(left); at != 7 {
		t.Fatalf("it is entered at event %d, want 7", at)
	}
	s := &State{ID: "r", EnterAt: 7}
	for i := range left {
		if changed, err := s.Apply(&left[i], t0); err != nil || !changed {
			t.Fatalf("event %d: changed %v, %v", left[i].Seq, changed, err)
		}
	}
	if d := diff(whole, s); d != "" {
		t.Errorf("whole -, trimmed +:\n%s", d)
	}
	if !s.Delivered(&Event{Type: SignalReceived, Name: "go", Delivery: "d"}) || s.Hook("h") == nil || s.Hook("h").Created != 3 {
		t.Errorf("delivery %v, hook %+v; want both as before", s.Delivered(&Event{Type: SignalReceived, Name: "go", Delivery: "d"}), s.Hook("h"))
	}
}

func TestTrimmedLogIsCorrupt(t *testing.T) {
	for name, change := range map[string]func([]Event) []Event{
		"a hole without a base":       func(e []Event) []Event { e[5].Next.Base = nil; return e },
		"a hook is missing":           func(e []Event) []Event { return slices.Delete(e, 2, 3) },
		"another event":               func(e []Event) []Event { e[5].Type = SignalReceived; return e },
		"the segment's start is gone": func(e []Event) []Event { return slices.Delete(e, 5, 6) },
		"out of order":                func(e []Event) []Event { e[1], e[2] = e[2], e[1]; return e },
		"hashes are cut":              func(e []Event) []Event { e[5].Next.Base.Deliveries = e[5].Next.Base.Deliveries[:15]; return e },
	} {
		left, _ := trimmedLog(t)
		s := &State{ID: "r", EnterAt: 7}
		err := error(nil)
		for _, e := range change(left) {
			if _, err = s.Apply(&e, t0); err != nil {
				break
			}
		}
		if !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s: %v, want corrupt", name, err)
		}
	}
}

func TestSegmentNumbersGoUp(t *testing.T) {
	for segment, ok := range map[int]bool{0: true, 1: true, 7: true, -1: false} {
		e := ev(RunContinued, "", func(e *Event) { e.Next = &Continuation{Segment: segment} })
		_, err := fold(t, log(running)...).Apply(&e, t0)
		if (err == nil) != ok {
			t.Errorf("segment %d behind segment 0: %v", segment, err)
		}
	}
	e := ev(RunContinued, "", func(e *Event) { e.Next = &Continuation{Base: &Base{Segment: 2}} })
	if _, err := fold(t, log(running)...).Apply(&e, t0); !errors.Is(err, ErrInvalid) {
		t.Errorf("a base of another segment: %v, want invalid", err)
	}
}

func TestBaseNeedsARunThatGoesOn(t *testing.T) {
	for name, e := range map[string]Event{"paused": ev(RunPaused, ""), "cancelled": ev(CancelRequested, "")} {
		if b := fold(t, log(running, e)...).BaseFor(&Continuation{}); b != nil {
			t.Errorf("%s: %+v, want none", name, b)
		}
	}
	if b := fold(t, log(running)...).BaseFor(&Continuation{Hooks: []string{"unknown"}}); b != nil {
		t.Errorf("unknown hook: %+v, want none", b)
	}
}

func TestCheckCommitTrims(t *testing.T) {
	for trim, ok := range map[int64]bool{0: true, 1: false, 2: true, 7: true, 8: false, -1: false} {
		for _, base := range []*Base{nil, {Segment: 1}} {
			c := &Commit{Run: "r", First: 6, Events: []Event{ev(SignalReceived, "", func(e *Event) { e.Name = "go" }), ev(RunContinued, "", func(e *Event) {
				e.Next = &Continuation{Base: base, Trim: trim}
			})}}
			err := CheckCommit(c)
			if want := ok && (base != nil || trim == 0); (err == nil) != want || err != nil && !errors.Is(err, ErrInvalid) {
				t.Errorf("trim %d, base %v: %v", trim, base, err)
			}
		}
	}
}
