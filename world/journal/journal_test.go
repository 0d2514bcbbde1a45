package journal

// Tests of the journal: each kind of entry through its life, facts about the run, and agreement with the fold.

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/stepwell/stepwell/world"
)

// story numbers events a second apart and writes each two of them as one commit.
func story(events []world.Event) []world.Event {
	for i := range events {
		e := &events[i]
		e.Seq, e.Time = int64(i+1), t0.Add(time.Duration(i)*time.Second)
		e.Commit, e.Build = int64(i/2*2+1), "b"+fmt.Sprint(i/8)
		e.Payload = bytes.Clone(e.Payload) // tests share events
	}
	return events
}

func sec(n int) time.Time { return t0.Add(time.Duration(n) * time.Second) }

func told(payloads bool, events []world.Event) *Journal {
	j := New("r", payloads)
	j.Add(events...)
	return j
}

func TestJournalEntries(t *testing.T) {
	payload := func(s string) func(*world.Event) { return func(e *world.Event) { e.Payload = json.RawMessage(s) } }
	failure := func(msg string) func(*world.Event) {
		return func(e *world.Event) {
			e.Error, e.RetryAt = &world.Error{Message: msg, Code: "C", Where: "a.go:7"}, sec(100)
		}
	}
	kind := func(k world.Kind, peer string) func(*world.Event) {
		return func(e *world.Event) { e.Kind, e.Peer = k, peer }
	}
	s0 := Entry{ID: "s", Name: "s", Class: "run", Kind: world.KindClosure, Seq: 3, CreatedAt: sec(2)}
	w0 := Entry{ID: "w", Name: "w", Class: "sleep", Kind: world.KindSleep, Seq: 3, CreatedAt: sec(2), StartedAt: sec(2)}
	h0 := Entry{ID: "h", Name: "h", Class: "hook", Kind: world.KindHook, Seq: 3, CreatedAt: sec(2), Token: "token-h"}
	with := func(e Entry, f func(*Entry)) Entry { f(&e); return e }
	earlier := []AttemptError{{Attempt: 1, Message: "one", Code: "C", Where: "a.go:7", At: sec(4)}}
	for name, test := range map[string]struct {
		events []world.Event
		want   Entry
	}{
		"asked for": {log(ev(world.StepCreated, "s")), with(s0, func(e *Entry) { e.Status = EntryPending })},
		"runs": {log(ev(world.StepCreated, "s"), ev(world.StepStarted, "s")), with(s0, func(e *Entry) {
			e.Status, e.Attempt, e.StartedAt, e.AttemptAt = EntryRunning, 1, sec(3), sec(3)
		})},
		"waits to retry": {log(ev(world.StepCreated, "s"), ev(world.StepStarted, "s"), ev(world.StepRetrying, "s", failure("one"))), with(s0, func(e *Entry) {
			e.Status, e.Attempt, e.StartedAt, e.AttemptAt, e.RetryAt = EntryPending, 1, sec(3), sec(3), sec(100)
			e.Error = &world.Error{Message: "one", Code: "C", Where: "a.go:7"}
		})},
		"woken": {log(ev(world.StepCreated, "s"), ev(world.StepStarted, "s"), ev(world.StepRetrying, "s", failure("one")), ev(world.StepWoken, "s")), with(s0, func(e *Entry) {
			e.Status, e.Attempt, e.StartedAt, e.AttemptAt = EntryPending, 1, sec(3), sec(3)
			e.Error = &world.Error{Message: "one", Code: "C", Where: "a.go:7"}
		})},
		"second attempt": {log(ev(world.StepCreated, "s"), ev(world.StepStarted, "s"), ev(world.StepRetrying, "s", failure("one")), ev(world.StepStarted, "s")), with(s0, func(e *Entry) {
			e.Status, e.Attempt, e.StartedAt, e.AttemptAt, e.Earlier = EntryRunning, 2, sec(3), sec(5), earlier
		})},
		"completed": {log(ev(world.StepCreated, "s"), ev(world.StepStarted, "s"), ev(world.StepRetrying, "s", failure("one")), ev(world.StepStarted, "s"), ev(world.StepCompleted, "s", payload("5"))), with(s0, func(e *Entry) {
			e.Status, e.Attempt, e.StartedAt, e.AttemptAt, e.CompletedAt, e.Earlier, e.Output = EntryCompleted, 2, sec(3), sec(5), sec(6), earlier, json.RawMessage("5")
		})},
		"failed": {log(ev(world.StepCreated, "s"), ev(world.StepStarted, "s"), ev(world.StepFailed, "s", failure("two"), func(e *world.Event) { e.OccurredAt = sec(3) })), with(s0, func(e *Entry) {
			e.Status, e.Attempt, e.StartedAt, e.AttemptAt, e.CompletedAt, e.Error = EntryFailed, 1, sec(3), sec(3), sec(3), &world.Error{Message: "two", Code: "C", Where: "a.go:7"}
		})},
		"older attempt given up": {log(ev(world.StepCreated, "s"), ev(world.StepStarted, "s"), ev(world.StepStarted, "s"), ev(world.StepRetrying, "s", func(e *world.Event) {
			e.Attempt, e.Error = 1, &world.Error{Message: "drained", Code: world.CodeAbandoned}
		})), with(s0, func(e *Entry) {
			e.Status, e.Attempt, e.StartedAt, e.AttemptAt = EntryRunning, 2, sec(3), sec(4)
			e.Earlier = []AttemptError{{Attempt: 1, Message: "drained", Code: world.CodeAbandoned, At: sec(5)}}
		})},
		"child": {log(ev(world.StepCreated, "s", kind(world.KindChild, "r2")), ev(world.StepCompleted, "s")), with(s0, func(e *Entry) {
			e.Kind, e.Peer, e.Status, e.CompletedAt = world.KindChild, "r2", EntryCompleted, sec(3)
		})},
		"patch": {log(ev(world.StepCreated, "s", kind(world.KindPatch, ""))), with(s0, func(e *Entry) {
			e.Kind, e.Status, e.CompletedAt = world.KindPatch, EntryCompleted, sec(2)
		})},
		"run over": {log(ev(world.StepCreated, "s"), world.RunFailed), with(s0, func(e *Entry) { e.Status, e.CompletedAt = EntryDropped, sec(3) })},
		"runs when its run ends": {log(ev(world.StepCreated, "s"), ev(world.StepStarted, "s"), world.RunFailed), with(s0, func(e *Entry) {
			e.Status, e.Attempt, e.StartedAt, e.AttemptAt, e.CompletedAt = EntryDropped, 1, sec(3), sec(3), sec(4)
		})},
		"ended after its run": {log(ev(world.StepCreated, "s"), ev(world.StepStarted, "s"), world.RunFailed, ev(world.StepCompleted, "s")), with(s0, func(e *Entry) {
			e.Status, e.Attempt, e.StartedAt, e.AttemptAt, e.CompletedAt = EntryCompleted, 1, sec(3), sec(3), sec(5)
		})},
		"sleep":     {log(ev(world.WaitCreated, "w", func(e *world.Event) { e.Until = sec(9) })), with(w0, func(e *Entry) { e.Status, e.Until = EntryWaiting, sec(9) })},
		"sleep due": {log(ev(world.WaitCreated, "w"), ev(world.WaitCompleted, "w")), with(w0, func(e *Entry) { e.Status, e.CompletedAt, e.Outcome = EntryCompleted, sec(3), world.OutcomeDue })},
		"event": {log(ev(world.WaitCreated, "w", func(e *world.Event) { e.Kind, e.Match = world.KindEvent, json.RawMessage("{}") }), ev(world.SignalReceived, ""), ev(world.WaitCompleted, "w", func(e *world.Event) { e.Outcome, e.From = world.OutcomeReceived, 4 })), with(w0, func(e *Entry) {
			e.Class, e.Kind, e.Match, e.Status, e.CompletedAt, e.Outcome, e.Output = "wait", world.KindEvent, json.RawMessage("{}"), EntryCompleted, sec(4), world.OutcomeReceived, json.RawMessage("3")
		})},
		"published": {log(ev(world.WaitCreated, "w", func(e *world.Event) { e.Kind, e.Listen = world.KindEvent, &world.Listen{} }), ev(world.SignalReceived, "w"), ev(world.WaitCompleted, "w", func(e *world.Event) { e.Outcome, e.From = world.OutcomeReceived, 4 })), with(w0, func(e *Entry) {
			e.Class, e.Kind, e.Listens, e.Status, e.CompletedAt, e.Outcome, e.Output = "wait", world.KindEvent, true, EntryCompleted, sec(4), world.OutcomeReceived, json.RawMessage("3")
		})},
		"next segment": {log(ev(world.WaitCreated, "w"), world.RunContinued), with(w0, func(e *Entry) { e.Status, e.CompletedAt = EntryDropped, sec(3) })},
		"hook":         {log(ev(world.HookCreated, "h"), ev(world.HookReceived, "h"), ev(world.HookReceived, "h")), with(h0, func(e *Entry) { e.Status, e.Received = EntryActive, 2 })},
		"hook goes on": {log(ev(world.HookCreated, "h"), ev(world.RunContinued, "", func(e *world.Event) { e.Next.Hooks = []string{"h"} }), ev(world.HookReceived, "h")), with(h0, func(e *Entry) { e.Status, e.Received = EntryActive, 1 })},
		"hook's end":   {log(ev(world.HookCreated, "h"), ev(world.HookDisposed, "h")), with(h0, func(e *Entry) { e.Status, e.CompletedAt = EntryDisposed, sec(3) })},
		"run's end":    {log(ev(world.HookCreated, "h"), world.RunCompleted), with(h0, func(e *Entry) { e.Status, e.CompletedAt = EntryDisposed, sec(3) })},
		"conflict":     {log(ev(world.HookConflict, "h", func(e *world.Event) { e.Peer = "r9" })), with(h0, func(e *Entry) { e.Status, e.CompletedAt, e.Peer = EntryConflicted, sec(2), "r9" })},
	} {
		t.Run(name, func(t *testing.T) {
			j := told(true, story(log(running, test.events)))
			if len(j.Entries) != 1 {
				t.Fatalf("got %d entries, want 1", len(j.Entries))
			}
			if d := cmp.Diff(&test.want, j.Entries[0], cmpopts.IgnoreUnexported(Entry{}), cmpopts.EquateEmpty()); d != "" {
				t.Errorf("-want +got:\n%s", d)
			}
			if got := j.Entry(test.want.ID); got != j.Entries[0] {
				t.Errorf("Entry: got %v", got)
			}
		})
	}
}

func TestJournalRun(t *testing.T) {
	events := story(log(running,
		ev(world.RunPaused, "", func(e *world.Event) { e.By, e.Reason = "ann", "rain" }),
		ev(world.SignalReceived, "", func(e *world.Event) { e.Name = "first" }),
		ev(world.SignalReceived, "", func(e *world.Event) { e.Name = "second" }),
		ev(world.CancelRequested, "", func(e *world.Event) { e.By, e.Reason = "bob", "late" }),
		ev(world.RunContinued, "", func(e *world.Event) { e.Next = &world.Continuation{Version: 4, Unread: []int64{5}} }),
		ev(world.SignalReceived, "", func(e *world.Event) { e.Name = "third" }),
		ev(world.RunCancelled, "", func(e *world.Event) { e.By, e.Error = "bob", &world.Error{Message: "m"} })))
	j := told(true, events[:3])
	if j.Paused == nil || *j.Paused != (Act{"ann", "rain", sec(2)}) || j.Status != world.Running {
		t.Errorf("got paused %+v, status %s", j.Paused, j.Status)
	}
	j.Add(events[1:]...) // the page before once more
	want := &Journal{
		Run: "r", Workflow: "w", Version: 4, Status: world.Cancelled, CreatedAt: t0, StartedAt: sec(1), CompletedAt: sec(8), Input: json.RawMessage("2"),
		Error: &world.Error{Message: "m"}, Cancel: &Act{"bob", "late", sec(5)}, Segment: 1, Seq: 9, Commits: 5, Builds: []string{"b0", "b1"},
		Unread: []Unread{{5, "second", sec(4), json.RawMessage("3")}, {8, "third", sec(7), json.RawMessage("3")}},
	}
	if d := cmp.Diff(want, j, cmpopts.IgnoreUnexported(Journal{}), cmpopts.EquateEmpty()); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}

// TestPublishedIsNeverUnread: what was published for a wait is for that wait alone, also when it does not take it.
func TestPublishedIsNeverUnread(t *testing.T) {
	wait := ev(world.WaitCreated, "w", func(e *world.Event) { e.Kind, e.Listen = world.KindEvent, &world.Listen{} })
	for name, events := range map[string][]world.Event{
		"while it waits":   story(log(running, wait, ev(world.SignalReceived, "w"))),
		"when it is over":  story(log(running, wait, ev(world.SignalReceived, "w"), ev(world.WaitCompleted, "w"), ev(world.SignalReceived, "w"))),
		"the next segment": story(log(running, wait, ev(world.SignalReceived, "w"), world.RunContinued)),
		"set aside": story(log(running, wait, ev(world.SignalReceived, "w"), ev(world.StepCreated, "a", func(e *world.Event) {
			e.Kind, e.From = world.KindAside, 4
		}))),
	} {
		j := told(true, events)
		if len(j.Unread) > 0 {
			t.Errorf("%s: %+v is unread, want nothing", name, j.Unread)
		}
		if set := name == "set aside"; set != (len(j.Aside) == 1 && string(j.Aside[0].Payload) == "3") {
			t.Errorf("%s: set aside: %+v", name, j.Aside)
		}
	}
}

// TestJournalJSON pins the form that clients of the steps route read.
func TestJournalJSON(t *testing.T) {
	j := told(true, story(log(running, ev(world.StepCreated, "s"), ev(world.StepStarted, "s"), ev(world.StepCompleted, "s", func(e *world.Event) { e.Payload = json.RawMessage("5") }))))
	got, err := json.Marshal(j.Entries)
	if err != nil {
		t.Fatal(err)
	}
	want := `[{"id":"s","name":"s","kind":"run","type":"closure","seq":3,"status":"completed","attempt":1,` +
		`"createdAt":"2026-01-02T03:04:07Z","startedAt":"2026-01-02T03:04:08Z","attemptAt":"2026-01-02T03:04:08Z","completedAt":"2026-01-02T03:04:09Z","output":5}]`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got, _ := json.Marshal(New("r", false).Entries); string(got) != "[]" {
		t.Errorf("no entries: got %s, want []", got)
	}
}

// TestJournalWithoutPayloads keeps none, and a journal never keeps the caller's slices.
func TestJournalWithoutPayloads(t *testing.T) {
	events := story(log(running, ev(world.StepCreated, "s"), ev(world.StepCompleted, "s", func(e *world.Event) { e.Payload = json.RawMessage("5") }), world.SignalReceived, world.RunCompleted))
	without, full := told(false, events), told(true, events)
	for i := range events {
		for k := range events[i].Payload {
			events[i].Payload[k] = 'x'
		}
	}
	if without.Input != nil || without.Output != nil || without.Entries[0].Output != nil || without.Unread[0].Payload != nil {
		t.Error("payloads are kept")
	}
	if got := string(full.Input) + string(full.Output) + string(full.Entries[0].Output); strings.Contains(got, "x") {
		t.Errorf("got %s, want payloads of its own", got)
	}
}

// TestJournalEarlier bounds what a step that is tried for ever leaves.
func TestJournalEarlier(t *testing.T) {
	events := log(running, ev(world.StepCreated, "s"))
	for range 50 {
		events = append(events, ev(world.StepStarted, "s"), ev(world.StepRetrying, "s", func(e *world.Event) { e.Error = &world.Error{Message: strings.Repeat("é", 5000)} }))
	}
	en := told(false, story(events)).Entries[0]
	if len(en.Earlier) != 10 || en.Earlier[0].Attempt != 40 || en.Earlier[9].Attempt != 49 || en.Attempt != 50 {
		t.Errorf("got %d earlier errors of %d attempts, want the last 10 before the 50th", len(en.Earlier), en.Attempt)
	}
	if n := len(en.Earlier[0].Message); n > 520 {
		t.Errorf("got a message of %d bytes, want it cut", n)
	}
}

// TestJournalAgrees: whatever happens, the journal and the fold tell the same story, however the log is cut into pages.
func TestJournalAgrees(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, j := &world.State{ID: "r"}, New("r", true)
		var events []world.Event
		for n := rapid.IntRange(1, 60).Draw(t, "events"); n > 0; n-- {
			e := ev(world.RunCreated, "")
			if s.Seq > 0 {
				e = genEvent(t, s)
			}
			if changed, _ := s.Apply(&e, time.Time{}); !changed {
				continue
			}
			e.Seq = s.Seq
			events = append(events, e)
			j.Add(e)
			checkAgrees(t, s, j)
		}
		cut := rapid.IntRange(0, len(events)).Draw(t, "cut")
		paged := New("r", true)
		paged.Add(events[:cut]...)
		paged.Add(events...)
		if d := cmp.Diff(j, paged, cmp.AllowUnexported(Journal{}, Entry{}, ends{}, letter{}, gathering{}), cmpopts.EquateEmpty()); d != "" {
			t.Fatalf("in pages:\n%s", d)
		}
	})
}

func checkAgrees(t *rapid.T, s *world.State, j *Journal) {
	t.Helper()
	if j.Status != s.Status || j.Version != s.Version || j.Segment != s.Segment || j.Seq != s.Seq ||
		(j.Paused != nil) != (s.Paused != nil) || s.Cancel != nil && j.Cancel == nil {
		t.Fatalf("got %+v, want %+v", j, s)
	}
	open := 0
	for _, en := range j.Entries {
		switch en.Status {
		case EntryPending, EntryRunning:
			st := s.Step(en.ID)
			if st == nil || string(st.Status) != string(en.Status) || st.Attempts != en.Attempt || !st.RetryAt.Equal(en.RetryAt) || st.Key != en.Key() {
				t.Fatalf("step %s: got %+v, want %+v", en.ID, en, st)
			}
		case EntryWaiting:
			if w := s.Wait(en.ID); w == nil || !w.Until.Equal(en.Until) || w.Key != en.Key() {
				t.Fatalf("wait %s: got %+v, want %+v", en.ID, en, w)
			}
		case EntryActive:
			if h := s.Hook(en.ID); h == nil || h.Token != en.Token || h.Key != en.Key() {
				t.Fatalf("hook %s: got %+v, want %+v", en.ID, en, h)
			}
		default:
			if en.CompletedAt.IsZero() {
				t.Fatalf("%s is %s without an end", en.ID, en.Status)
			}
			continue
		}
		open++
	}
	if s.Status.Terminal() {
		return // the fold keeps open steps that can end no more
	}
	want := 0
	for range s.Steps() {
		want++
	}
	for range s.Waits() {
		want++
	}
	for range s.Hooks() {
		want++
	}
	if open != want {
		t.Fatalf("got %d open entries, want %d", open, want)
	}
}

// TestJournalOfATrimmedLog: event 5 is gone, and the log goes on with event 7.
func TestJournalOfATrimmedLog(t *testing.T) {
	before := log(running, ev(world.HookCreated, "h"), ev(world.SignalReceived, "", func(e *world.Event) { e.Name = "go" }), ev(world.StepCreated, "s"), ev(world.WaitCreated, "w"))
	s := world.State{ID: "r"}
	for i := range before {
		if _, err := s.Apply(&before[i], time.Time{}); err != nil {
			t.Fatal(err)
		}
	}
	next := ev(world.RunContinued, "", func(e *world.Event) { e.Next = &world.Continuation{Unread: []int64{4}, Hooks: []string{"h"}, Trim: 7} })
	next.Next.Base = s.BaseFor(next.Next)
	events := story(log(before, next, ev(world.StepCreated, "s2")))
	j := New("r", true)
	j.Add(slices.Delete(events, 4, 5)...)
	if j.Trimmed != 7 || j.Segment != 1 || j.Status != world.Running || len(j.Unread) != 1 || j.StartedAt.IsZero() {
		t.Errorf("trimmed %d, segment %d, %s, %d unread, started %s", j.Trimmed, j.Segment, j.Status, len(j.Unread), j.StartedAt)
	}
	var got []string
	for _, en := range j.Entries {
		got = append(got, en.ID)
	}
	if d := cmp.Diff([]string{"h", "s2"}, got); d != "" {
		t.Errorf("entries, want -, got +:\n%s", d)
	}
}

func BenchmarkJournal(b *testing.B) {
	b.ReportAllocs()
	j := New("r", false)
	j.Add(log(running)...)
	n := 0
	for b.Loop() {
		id := fmt.Sprint("step_", n)
		n++
		j.Add(world.Event{Type: world.StepCreated, Time: t0, ID: id, Kind: world.KindClosure, Name: "charge"}, world.Event{Type: world.StepStarted, Time: t0, ID: id},
			world.Event{Type: world.StepCompleted, Time: t0, ID: id})
	}
}

// TestAgain: what a new run does again that takes over nothing behind an event.
func TestAgain(t *testing.T) {
	step := func(id, name string) []world.Event {
		return []world.Event{{Type: world.StepCreated, ID: id, Kind: world.KindClosure, Name: name}, {Type: world.StepStarted, ID: id}, {Type: world.StepCompleted, ID: id}}
	}
	events := []world.Event{{Type: world.RunCreated, Birth: &world.Birth{Workflow: "pay"}}, {Type: world.RunStarted}}
	for _, name := range []string{"charge", "mail", "pack", "ship"} { // they complete with events 5, 8, 11 and 14
		events = append(events, step("step_"+name, name)...)
	}
	events = append(events, world.Event{Type: world.StepCreated, ID: "step_open", Kind: world.KindClosure, Name: "open"})
	j := told(false, story(events))
	for behind, want := range map[int64]string{
		0:  `completed steps run again, with new idempotency keys: "charge", "mail", "pack" and 1 more`,
		8:  `completed steps after event 8 run again, with new idempotency keys: "pack", "ship"`,
		13: `completed steps after event 13 run again, with new idempotency keys: "ship"`,
		14: "",
	} {
		if got := j.Again(behind); got != want {
			t.Errorf("behind event %d: got %q, want %q", behind, got, want)
		}
	}
}
