package world

// This file holds every row of the design's table of events: where an event is legal, what it does, and what it is otherwise. An
// error and a no-op leave the state as it was, to the last field.

import (
	"encoding/json"
	"errors"
	"testing"
	"time"
)

// rule is one cell of the table.
type rule struct {
	name   string
	before []Event
	event  Event
	now    time.Time
	noop   bool
	err    error
	effect func(t *testing.T, s *State)
}

var (
	created   = log(RunCreated)
	running   = log(RunCreated, RunStarted)
	completed = log(running, RunCompleted)
	failed    = log(running, RunFailed)
	cancelled = log(running, RunCancelled)
	over      = map[string][]Event{"completed": completed, "failed": failed, "cancelled": cancelled}
)

// gathering is a batch that has one item.
func gathering() []Event {
	e := ev(RunCreated, "")
	b := *e.Birth
	b.Gather, e.Payload = &Gather{Most: time.Hour, Number: 3}, []byte(`[1]`)
	e.Birth = &b
	return []Event{e}
}

func TestApply(t *testing.T) {
	rules := append(runRules(), stepRules()...)
	rules = append(rules, waitRules()...)
	rules = append(rules, hookRules()...)
	rules = append(rules, otherRules()...)
	seen := make(map[EventType]bool)
	for _, r := range rules {
		seen[r.event.Type] = true
		t.Run(string(r.event.Type)+"/"+r.name, func(t *testing.T) {
			s := fold(t, r.before...)
			before := clone(s)
			changed, err := s.Apply(&r.event, r.now)
			if !errors.Is(err, r.err) || (err == nil) != (r.err == nil) {
				t.Fatalf("got error %v, want %v", err, r.err)
			}
			if want := !r.noop && r.err == nil; changed != want {
				t.Fatalf("got changed %v, want %v", changed, want)
			}
			if !changed {
				if d := diff(before, s); d != "" {
					t.Errorf("the state changed:\n%s", d)
				}
				return
			}
			if got, want := s.Seq, before.Seq+1; got != want {
				t.Errorf("got number %d, want %d", got, want)
			}
			if got, want := s.Time, r.event.Time; !got.Equal(want) {
				t.Errorf("got time %v, want %v", got, want)
			}
			if r.effect != nil {
				r.effect(t, s)
			}
		})
	}
	for _, typ := range EventTypes {
		if !seen[typ] {
			t.Errorf("no rule is tested for %s", typ)
		}
	}
}

// TestApplyOver: whatever comes after the end of a run is an error, but for what the table names.
func TestApplyOver(t *testing.T) {
	for name, end := range over {
		for _, typ := range EventTypes {
			t.Run(name+"/"+string(typ), func(t *testing.T) {
				open := log(ev(StepCreated, "s"), ev(WaitCreated, "w"), ev(HookCreated, "h"))
				s := fold(t, log(running, open, end[len(end)-1])...)
				before := clone(s)
				id := map[EventType]string{WaitCompleted: "w", HookReceived: "h", HookDisposed: "h"}[typ]
				if id == "" {
					id = "s"
				}
				e := ev(typ, id)
				changed, err := s.Apply(&e, time.Time{})
				want := ErrTerminal
				switch {
				case typ == RunCreated:
					want = ErrRunExists
				case typ == RunCancelled && s.Status == Cancelled:
					want = nil
				}
				if changed || !errors.Is(err, want) || (err == nil) != (want == nil) {
					t.Errorf("got changed %v, %v; want %v", changed, err, want)
				}
				if d := diff(before, s); d != "" {
					t.Errorf("the state changed:\n%s", d)
				}
			})
		}
	}
}

// TestApplyNoRun: nothing but a birth is about a run that is not there.
func TestApplyNoRun(t *testing.T) {
	for _, typ := range EventTypes[1:] {
		s := &State{ID: "r"}
		e := ev(typ, "x")
		if changed, err := s.Apply(&e, time.Time{}); changed || !errors.Is(err, ErrNotFound) {
			t.Errorf("%s: got changed %v, %v; want ErrNotFound", typ, changed, err)
		}
		if d := diff(&State{ID: "r"}, s); d != "" {
			t.Errorf("%s: the state changed:\n%s", typ, d)
		}
	}
}

func runRules() []rule {
	status := func(want Status) func(*testing.T, *State) {
		return func(t *testing.T, s *State) {
			t.Helper()
			if s.Status != want {
				t.Errorf("got status %s, want %s", s.Status, want)
			}
		}
	}
	disposes := func(want Status, output string, message string) func(*testing.T, *State) {
		return func(t *testing.T, s *State) {
			t.Helper()
			status(want)(t, s)
			if string(s.Output) != output || (s.Error != nil) != (message != "") || !s.EndedAt.Equal(t0) {
				t.Errorf("got output %s, error %v, end %v; want %s, %q, %v", s.Output, s.Error, s.EndedAt, output, message, t0)
			}
			if s.HookByToken("token-h") != nil || s.Hook("h") != nil || s.Wait("w") != nil || !s.Over("h") || !s.Over("w") {
				t.Error("the run's hook or wait outlives it")
			}
		}
	}
	open := log(running, ev(HookCreated, "h"), ev(WaitCreated, "w"))
	paused, asked := log(running, RunPaused), log(running, CancelRequested)
	return []rule{
		{name: "new", event: ev(RunCreated, ""), effect: func(t *testing.T, s *State) {
			status(Pending)(t, s)
			if s.Birth.Workflow != "w" || s.Birth.Seed != 7 || string(s.Input) != "1" || !s.CreatedAt.Equal(t0) || s.SegmentSeq != 1 {
				t.Errorf("got %+v", s)
			}
		}},
		{name: "exists", before: created, event: ev(RunCreated, ""), err: ErrRunExists},
		{name: "no birth", event: ev(RunCreated, "", func(e *Event) { e.Birth = nil }), err: ErrInvalid},
		{name: "bad name", event: ev(RunCreated, "", func(e *Event) { e.Birth = &Birth{Workflow: "a b"} }), err: ErrInvalid},
		{name: "pending", before: created, event: ev(RunStarted, "", func(e *Event) { e.Version = 3 }), effect: func(t *testing.T, s *State) {
			status(Running)(t, s)
			if s.Version != 3 || !s.StartedAt.Equal(t0) {
				t.Errorf("got version %d, start %v; want 3, %v", s.Version, s.StartedAt, t0)
			}
		}},
		{name: "running", before: running, event: ev(RunStarted, ""), noop: true},
		{name: "pending", before: created, event: ev(RunCompleted, ""), effect: status(Completed)},
		{name: "running", before: open, event: ev(RunCompleted, ""), effect: disposes(Completed, `"out"`, "")},
		{name: "pending", before: created, event: ev(RunFailed, ""), effect: status(Failed)},
		{name: "running", before: open, event: ev(RunFailed, ""), effect: disposes(Failed, "", "no")},
		{name: "pending", before: created, event: ev(RunCancelled, ""), effect: status(Cancelled)},
		{name: "running", before: open, event: ev(RunCancelled, ""), effect: disposes(Cancelled, "", "")},
		{name: "paused", before: paused, event: ev(RunCancelled, ""), effect: status(Cancelled)},
		{name: "cancelled", before: cancelled, event: ev(RunCancelled, ""), noop: true},
		{name: "completed", before: completed, event: ev(RunCancelled, ""), err: ErrTerminal},
		{name: "running", before: running, event: ev(CancelRequested, "", func(e *Event) { e.By = "ann" }), effect: func(t *testing.T, s *State) {
			if s.Cancel == nil || s.Cancel.By != "ann" || s.Cancel.Seq != 3 || s.Status != Running {
				t.Errorf("got %+v", s.Cancel)
			}
		}},
		{name: "pending", before: created, event: ev(CancelRequested, ""), effect: status(Pending)},
		{name: "ends a pause", before: paused, event: ev(CancelRequested, ""), effect: func(t *testing.T, s *State) {
			if s.Paused != nil {
				t.Error("still paused")
			}
		}},
		{name: "asked before", before: asked, event: ev(CancelRequested, ""), noop: true},
		{name: "gathers none", before: created, event: ev(InputReceived, ""), err: ErrInvalid},
		{name: "gathers", before: gathering(), event: ev(InputReceived, "", func(e *Event) { e.Payload = []byte(`[2]`) }), effect: func(t *testing.T, s *State) {
			if got := string(s.Input); got != `[1,2]` {
				t.Errorf("got %s", got)
			}
		}},
		{name: "begun", before: log(gathering(), RunStarted), event: ev(InputReceived, ""), err: ErrConflict},
		{name: "pending", before: created, event: ev(RunPaused, ""), effect: status(Pending)},
		{name: "running", before: running, event: ev(RunPaused, "", func(e *Event) { e.By, e.Reason = "ann", "rain" }), effect: func(t *testing.T, s *State) {
			if s.Paused == nil || s.Paused.By != "ann" || s.Paused.Reason != "rain" {
				t.Errorf("got %+v", s.Paused)
			}
		}},
		{name: "paused", before: paused, event: ev(RunPaused, ""), noop: true},
		{name: "paused", before: paused, event: ev(RunResumed, ""), effect: func(t *testing.T, s *State) {
			if s.Paused != nil {
				t.Error("still paused")
			}
		}},
		{name: "not paused", before: running, event: ev(RunResumed, ""), noop: true},
		{name: "pending", before: created, event: ev(RunContinued, ""), err: ErrConflict},
		{name: "no continuation", before: running, event: ev(RunContinued, "", func(e *Event) { e.Next = nil }), err: ErrInvalid},
		{name: "unknown hook", before: open, event: ev(RunContinued, "", func(e *Event) { e.Next.Hooks = []string{"h", "x"} }), err: ErrNotFound},
		{
			name:   "running",
			before: log(open, ev(HookCreated, "g"), ev(StepCreated, "s"), ev(AttrSet, "a")),
			event: ev(RunContinued, "", func(e *Event) {
				e.Next = &Continuation{Version: 9, Hooks: []string{"h"}, Attributes: map[string]json.RawMessage{"k": json.RawMessage("1")}}
			}),
			effect: func(t *testing.T, s *State) {
				steps, waits := s.Open()
				if steps+waits != 0 || s.Hook("h") == nil || s.Hook("g") != nil || s.HookByToken("token-g") != nil || s.HookByToken("token-h") == nil {
					t.Error("want the hook h open, and nothing else")
				}
				if s.Segment != 1 || s.SegmentSeq != 8 || s.Version != 9 || string(s.Input) != "2" || len(s.Attributes) != 1 || s.Status != Running {
					t.Errorf("got %+v", s)
				}
			},
		},
	}
}

func otherRules() []rule {
	many := string(make([]byte, 300))
	return []rule{
		{name: "pending", before: created, event: ev(SignalReceived, "")},
		{name: "running", before: running, event: ev(SignalReceived, "")},
		{name: "paused", before: log(running, RunPaused), event: ev(SignalReceived, "")},
		{name: "bad name", before: running, event: ev(SignalReceived, "", func(e *Event) { e.Name = many }), err: ErrInvalid},
		{name: "new", before: running, event: ev(AttrSet, "a"), effect: func(t *testing.T, s *State) {
			if got, want := string(s.Attributes["n"]), "3"; got != want || !s.Over("a") {
				t.Errorf("got %q, want %q", got, want)
			}
		}},
		{name: "same ID", before: log(running, ev(AttrSet, "a")), event: ev(AttrSet, "a"), err: ErrConflict},
		{name: "no ID", before: running, event: ev(AttrSet, ""), err: ErrInvalid},
		{name: "unknown", before: running, event: Event{Type: "run_exploded", Time: t0}, err: ErrInvalid},
		{name: "wrong number", before: running, event: ev(SignalReceived, "", func(e *Event) { e.Seq = 4 }), err: ErrCorrupt},
		{name: "old number", before: running, event: ev(SignalReceived, "", func(e *Event) { e.Seq = 2 }), err: ErrCorrupt},
		{name: "right number", before: running, event: ev(SignalReceived, "", func(e *Event) { e.Seq = 3 })},
		{name: "delivered before", before: log(running, delivered("d")), event: delivered("d"), noop: true},
		{name: "delivered in the last segment", before: log(running, delivered("d"), RunContinued), event: delivered("d"), noop: true},
		{name: "delivered two segments ago", before: log(running, delivered("d"), RunContinued, RunContinued), event: delivered("d")},
		{name: "another delivery", before: log(running, delivered("d")), event: delivered("e")},
	}
}

func delivered(id string) Event {
	return ev(SignalReceived, "", func(e *Event) { e.Delivery = id })
}

// TestApplyKeepsCopies: a state that was folded live and one that was folded from the log are equal, and the caller may use
// its variable again.
func TestApplyKeepsCopies(t *testing.T) {
	live, read := &State{ID: "r"}, &State{ID: "r"}
	var e Event
	for i, typ := range []EventType{RunCreated, RunPaused, RunResumed, CancelRequested, RunPaused} {
		e = ev(typ, "")
		e.By = string(typ)
		if _, err := live.Apply(&e, t0); err != nil {
			t.Fatal(err)
		}
		logged := e
		logged.Seq, logged.Commit, logged.Build = int64(i+1), 1, "b1"
		if _, err := read.Apply(&logged, time.Time{}); err != nil {
			t.Fatal(err)
		}
		if d := diff(live, read); d != "" {
			t.Fatalf("%s: live and folded differ:\n%s", typ, d)
		}
	}
	e.By = "somebody else"
	if got, want := live.Cancel.By, string(CancelRequested); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestApplyCorrupt: a wrong number says which run and where.
func TestApplyCorrupt(t *testing.T) {
	s := fold(t, running...)
	e := ev(SignalReceived, "", func(e *Event) { e.Seq = 9 })
	_, err := s.Apply(&e, time.Time{})
	if c, ok := errors.AsType[*CorruptError](err); !ok || c.Run != "r" || c.Seq != 9 {
		t.Errorf("got %v, want a CorruptError about run r, event 9", err)
	}
}
