package world

// This file holds the table's rows about steps, waits and hooks; [TestApply] runs them.

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"
)

func with(status StepStatus, attempts, failures, abandoned int) func(*testing.T, *State) {
	return func(t *testing.T, s *State) {
		t.Helper()
		st := s.Step("s")
		if st == nil || st.Status != status || st.Attempts != attempts || st.Failures != failures || st.Abandoned != abandoned {
			t.Errorf("got %+v, want %s with %d attempts, %d failures, %d abandoned", st, status, attempts, failures, abandoned)
		}
	}
}

func ended(id string) func(*testing.T, *State) {
	return func(t *testing.T, s *State) {
		t.Helper()
		if !s.Over(id) || s.Step(id) != nil || s.Wait(id) != nil || s.Hook(id) != nil {
			t.Errorf("%s is not over", id)
		}
	}
}

func stepRules() []rule {
	attempt := func(n int, code string) func(*Event) {
		return func(e *Event) { e.Attempt, e.Error = n, &Error{Message: "no", Code: code} }
	}
	kind := func(k Kind) func(*Event) { return func(e *Event) { e.Kind = k } }
	later := func(e *Event) { e.RetryAt = t0.Add(time.Minute) }
	pending := log(running, ev(StepCreated, "s"))
	started := log(pending, ev(StepStarted, "s"))
	again := log(started, ev(StepStarted, "s")) // the first attempt died
	retry := log(started, ev(StepRetrying, "s", later))
	done, lost := log(started, ev(StepCompleted, "s")), log(started, ev(StepFailed, "s"))
	rules := []rule{
		{name: "run pending", before: created, event: ev(StepCreated, "s"), effect: with(StepPending, 0, 0, 0)},
		{name: "new", before: running, event: ev(StepCreated, "s", kind(KindTask)), effect: with(StepPending, 0, 0, 0)},
		{name: "patch", before: running, event: ev(StepCreated, "s", kind(KindPatch)), effect: ended("s")},
		{name: "child", before: running, event: ev(StepCreated, "s", kind(KindChild)), effect: with(StepPending, 0, 0, 0)},
		{name: "await", before: running, event: ev(StepCreated, "s", kind(KindAwait)), effect: with(StepPending, 0, 0, 0)},
		{name: "unknown kind", before: running, event: ev(StepCreated, "s", kind(KindSleep)), err: ErrInvalid},
		{name: "no name", before: running, event: ev(StepCreated, "s", func(e *Event) { e.Name = "" }), err: ErrInvalid},
		{name: "no ID", before: running, event: ev(StepCreated, "", func(e *Event) { e.Name = "n" }), err: ErrInvalid},
		{name: "duplicate", before: pending, event: ev(StepCreated, "s"), err: ErrConflict},
		{name: "duplicate of a completed one", before: done, event: ev(StepCreated, "s"), err: ErrConflict},
		{name: "duplicate of a wait", before: log(running, ev(WaitCreated, "s")), event: ev(StepCreated, "s"), err: ErrConflict},
		{name: "duplicate of a hook", before: log(running, ev(HookCreated, "s")), event: ev(StepCreated, "s"), err: ErrConflict},

		{name: "pending", before: pending, event: ev(StepStarted, "s"), effect: with(StepRunning, 1, 0, 0)},
		{name: "running", before: started, event: ev(StepStarted, "s"), effect: with(StepRunning, 2, 0, 0)},
		{name: "late attempt of a task", before: pending, event: ev(StepStarted, "s", attempt(40, "")), effect: with(StepRunning, 40, 0, 0)},
		{name: "an attempt again, from outside", before: started, event: ev(StepStarted, "s", attempt(1, "")), now: t0, err: ErrConflict},
		{name: "the next attempt, from outside", before: started, event: ev(StepStarted, "s", attempt(2, "")), now: t0, effect: with(StepRunning, 2, 0, 0)},
		{name: "an attempt again, by the owner", before: started, event: ev(StepStarted, "s", attempt(1, "")), effect: with(StepRunning, 2, 0, 0)},
		{name: "too early", before: retry, event: ev(StepStarted, "s"), now: t0.Add(59 * time.Second), err: ErrTooEarly},
		{name: "retry time reached", before: retry, event: ev(StepStarted, "s"), now: t0.Add(time.Minute), effect: with(StepRunning, 2, 1, 0)},
		{name: "time not looked at", before: retry, event: ev(StepStarted, "s"), effect: with(StepRunning, 2, 1, 0)},
		{name: "unknown", before: running, event: ev(StepStarted, "s"), err: ErrNotFound},

		{name: "running", before: started, event: ev(StepRetrying, "s", later), effect: func(t *testing.T, s *State) {
			with(StepPending, 1, 1, 0)(t, s)
			if st := s.Step("s"); st.Error == nil || !st.RetryAt.Equal(t0.Add(time.Minute)) || st.Deaths() != 0 {
				t.Errorf("got %+v, want its error and retry time kept", st)
			}
		}},
		{name: "abandoned", before: started, event: ev(StepRetrying, "s", attempt(1, CodeAbandoned)), effect: with(StepPending, 1, 0, 1)},
		{name: "older, abandoned", before: again, event: ev(StepRetrying, "s", attempt(1, CodeAbandoned)), effect: func(t *testing.T, s *State) {
			with(StepRunning, 2, 0, 1)(t, s) // the attempt that runs goes on
			if got := s.Step("s").Deaths(); got != 0 {
				t.Errorf("got %d deaths, want 0", got)
			}
		}},
		{name: "older, abandoned twice", before: log(again, ev(StepRetrying, "s", attempt(1, CodeAbandoned))), event: ev(StepRetrying, "s", attempt(1, CodeAbandoned)), err: ErrConflict},
		{name: "older, with an error", before: again, event: ev(StepRetrying, "s", attempt(1, "")), err: ErrConflict},
		{name: "pending", before: pending, event: ev(StepRetrying, "s"), err: ErrConflict},
		{name: "unknown", before: running, event: ev(StepRetrying, "s"), err: ErrNotFound},

		{name: "waits to be tried again", before: retry, event: ev(StepWoken, "s", func(e *Event) { e.Attempt = 1 }), now: t0, effect: func(t *testing.T, s *State) {
			with(StepPending, 1, 1, 0)(t, s)
			if st := s.Step("s"); !st.RetryAt.IsZero() || st.Error == nil {
				t.Errorf("got %+v, want its retry due, and its error kept", st)
			}
		}},
		{name: "woken, and begun at once", before: log(retry, ev(StepWoken, "s")), event: ev(StepStarted, "s"), now: t0, effect: with(StepRunning, 2, 1, 0)},
		{name: "woken twice", before: log(retry, ev(StepWoken, "s")), event: ev(StepWoken, "s"), noop: true},
		{name: "another attempt", before: retry, event: ev(StepWoken, "s", func(e *Event) { e.Attempt = 2 }), noop: true},
		{name: "pending", before: pending, event: ev(StepWoken, "s"), noop: true},
		{name: "running", before: started, event: ev(StepWoken, "s"), noop: true},
		{name: "unknown", before: running, event: ev(StepWoken, "s"), err: ErrNotFound},
	}
	for _, typ := range []EventType{StepCompleted, StepFailed} {
		rules = append(rules,
			rule{name: "pending", before: pending, event: ev(typ, "s"), effect: ended("s")},
			rule{name: "running", before: started, event: ev(typ, "s"), effect: ended("s")},
			rule{name: "unknown", before: running, event: ev(typ, "s"), err: ErrNotFound},
		)
		for name, end := range over { // driven from outside: a step that runs may end after its run
			last := end[len(end)-1]
			rules = append(rules,
				rule{name: "running, run " + name, before: log(started, last), event: ev(typ, "s"), effect: ended("s")},
				rule{name: "pending, run " + name, before: log(pending, last), event: ev(typ, "s"), err: ErrTerminal},
				rule{name: "over, run " + name, before: log(done, last), event: ev(typ, "s"), err: ErrConflict},
			)
		}
	}
	for _, typ := range []EventType{StepStarted, StepRetrying, StepWoken, StepCompleted, StepFailed} {
		rules = append(rules,
			rule{name: "completed", before: done, event: ev(typ, "s"), err: ErrConflict},
			rule{name: "failed", before: lost, event: ev(typ, "s"), err: ErrConflict},
		)
	}
	return rules
}

func waitRules() []rule {
	until := func(e *Event) { e.Until = t0.Add(time.Minute) }
	outcome := func(o Outcome) func(*Event) { return func(e *Event) { e.Outcome = o } }
	open := log(running, ev(WaitCreated, "w", until))
	return []rule{
		{name: "run pending", before: created, event: ev(WaitCreated, "w")},
		{name: "new", before: running, event: ev(WaitCreated, "w", until, func(e *Event) {
			e.Kind, e.Match = KindEvent, json.RawMessage(`{"a":1}`)
		}), effect: func(t *testing.T, s *State) {
			w := s.Wait("w")
			if w == nil || w.Kind != KindEvent || !w.Until.Equal(t0.Add(time.Minute)) || string(w.Match) != `{"a":1}` || w.Key.Kind != KindEvent {
				t.Errorf("got %+v", w)
			}
		}},
		{name: "condition", before: running, event: ev(WaitCreated, "w", func(e *Event) { e.Kind = KindCondition })},
		{name: "unknown kind", before: running, event: ev(WaitCreated, "w", func(e *Event) { e.Kind = KindClosure }), err: ErrInvalid},
		{name: "duplicate", before: open, event: ev(WaitCreated, "w"), err: ErrConflict},
		{name: "duplicate of a completed one", before: log(open, ev(WaitCompleted, "w")), event: ev(WaitCreated, "w"), err: ErrConflict},
		{name: "bad name", before: running, event: ev(WaitCreated, "w", func(e *Event) { e.Name = "a\n" }), err: ErrInvalid},
		{name: "due", before: open, event: ev(WaitCompleted, "w"), now: t0.Add(time.Minute), effect: ended("w")},
		{name: "early", before: open, event: ev(WaitCompleted, "w"), now: t0.Add(time.Second), err: ErrTooEarly},
		{name: "woken early", before: open, event: ev(WaitCompleted, "w", outcome(OutcomeWoken)), now: t0, effect: ended("w")},
		{name: "received early", before: open, event: ev(WaitCompleted, "w", outcome(OutcomeReceived)), now: t0, effect: ended("w")},
		{name: "unknown outcome", before: open, event: ev(WaitCompleted, "w", outcome("")), err: ErrInvalid},
		{name: "twice", before: log(open, ev(WaitCompleted, "w")), event: ev(WaitCompleted, "w"), err: ErrConflict},
		{name: "unknown", before: running, event: ev(WaitCompleted, "w"), err: ErrNotFound},
	}
}

func hookRules() []rule {
	token := func(s string) func(*Event) { return func(e *Event) { e.Token = s } }
	open := log(running, ev(HookCreated, "h"))
	disposed := log(open, ev(HookDisposed, "h"))
	conflict := log(running, ev(HookConflict, "h"))
	active := func(t *testing.T, s *State) {
		t.Helper()
		if h := s.Hook("h"); h == nil || s.HookByToken(h.Token) != h || h.Key.Kind != KindHook {
			t.Errorf("got %+v, want it active", h)
		}
	}
	return []rule{
		{name: "run pending", before: created, event: ev(HookCreated, "h"), effect: active},
		{name: "token free", before: running, event: ev(HookCreated, "h"), effect: active},
		{name: "token free again", before: disposed, event: ev(HookCreated, "g", token("token-h"))},
		{name: "token taken", before: open, event: ev(HookCreated, "g", token("token-h")), err: ErrConflict},
		{name: "duplicate", before: open, event: ev(HookCreated, "h", token("other")), err: ErrConflict},
		{name: "duplicate of a disposed one", before: disposed, event: ev(HookCreated, "h"), err: ErrConflict},
		{name: "no token", before: running, event: ev(HookCreated, "h", token("")), err: ErrInvalid},
		{name: "long token", before: running, event: ev(HookCreated, "h", token(strings.Repeat("x", MaxKey+1))), err: ErrInvalid},
		{name: "recorded", before: running, event: ev(HookConflict, "h"), effect: ended("h")},
		{name: "duplicate", before: conflict, event: ev(HookConflict, "h"), err: ErrConflict},
		{name: "active", before: open, event: ev(HookReceived, "h"), effect: active},
		{name: "unknown", before: running, event: ev(HookReceived, "h"), err: ErrNotFound},
		{name: "disposed", before: disposed, event: ev(HookReceived, "h"), err: ErrNotFound},
		{name: "conflicted", before: conflict, event: ev(HookReceived, "h"), err: ErrNotFound},
		{name: "active", before: open, event: ev(HookDisposed, "h"), effect: func(t *testing.T, s *State) {
			ended("h")(t, s)
			if s.HookByToken("token-h") != nil {
				t.Error("the token is not free")
			}
		}},
		{name: "disposed", before: disposed, event: ev(HookDisposed, "h"), noop: true},
		{name: "conflicted", before: conflict, event: ev(HookDisposed, "h"), noop: true},
		{name: "unknown", before: running, event: ev(HookDisposed, "h"), err: ErrNotFound},
	}
}

// TestTooEarly: the error says how long is left, of a step and of a wait.
func TestTooEarly(t *testing.T) {
	s := fold(t, log(running, ev(StepCreated, "s"), ev(StepStarted, "s"),
		ev(StepRetrying, "s", func(e *Event) { e.RetryAt = t0.Add(time.Minute) }),
		ev(WaitCreated, "w", func(e *Event) { e.Until = t0.Add(time.Minute) }))...)
	for _, e := range []Event{ev(StepStarted, "s"), ev(WaitCompleted, "w")} {
		_, err := s.Apply(&e, t0.Add(20*time.Second))
		early, ok := errors.AsType[*TooEarlyError](err)
		if !ok || early.RetryAfter != 40*time.Second || early.Step != e.ID {
			t.Errorf("%s: got %v, want 40s left", e.Type, err)
		}
	}
}

// TestDeaths: a start that was never heard of again is a death, whatever came between.
func TestDeaths(t *testing.T) {
	s := fold(t, log(running, ev(StepCreated, "s"))...)
	for _, step := range []struct {
		event Event
		want  int
	}{
		{ev(StepStarted, "s"), 0},
		{ev(StepStarted, "s"), 1},
		{ev(StepRetrying, "s"), 1},
		{ev(StepStarted, "s"), 1},
		{ev(StepStarted, "s"), 2},
		{ev(StepRetrying, "s", func(e *Event) { e.Attempt, e.Error = 1, &Error{Code: CodeAbandoned} }), 1},
	} {
		if _, err := s.Apply(&step.event, time.Time{}); err != nil {
			t.Fatal(err)
		}
		if got := s.Step("s").Deaths(); got != step.want {
			t.Errorf("after %s: got %d deaths, want %d", step.event.Type, got, step.want)
		}
	}
}
