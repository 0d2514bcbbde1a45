package world

// Tests of the journal: each kind of entry through its life, facts about the run, and agreement with the fold.

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

// story numbers events a second apart and writes each two of them as one commit.
func story(events []Event) []Event {
	for i := range events {
		e := &events[i]
		e.Seq, e.Time = int64(i+1), t0.Add(time.Duration(i)*time.Second)
		e.Commit, e.Build = int64(i/2*2+1), "b"+fmt.Sprint(i/8)
		e.Payload = bytes.Clone(e.Payload) // tests share events
	}
	return events
}

func sec(n int) time.Time { return t0.Add(time.Duration(n) * time.Second) }

func journal(payloads bool, events []Event) *Journal {
	j := NewJournal("r", payloads)
	j.Add(events...)
	return j
}

func TestJournalEntries(t *testing.T) {
	payload := func(s string) func(*Event) { return func(e *Event) { e.Payload = json.RawMessage(s) } }
	failure := func(msg string) func(*Event) {
		return func(e *Event) { e.Error, e.RetryAt = &Error{Message: msg, Code: "C", Where: "a.go:7"}, sec(100) }
	}
	kind := func(k Kind, peer string) func(*Event) { return func(e *Event) { e.Kind, e.Peer = k, peer } }
	s0 := Entry{ID: "s", Name: "s", Class: "run", Kind: KindClosure, Seq: 3, CreatedAt: sec(2)}
	w0 := Entry{ID: "w", Name: "w", Class: "sleep", Kind: KindSleep, Seq: 3, CreatedAt: sec(2), StartedAt: sec(2)}
	h0 := Entry{ID: "h", Name: "h", Class: "hook", Kind: KindHook, Seq: 3, CreatedAt: sec(2), Token: "token-h"}
	with := func(e Entry, f func(*Entry)) Entry { f(&e); return e }
	earlier := []AttemptError{{Attempt: 1, Message: "one", Code: "C", Where: "a.go:7", At: sec(4)}}
	for name, test := range map[string]struct {
		events []Event
		want   Entry
	}{
		"asked for": {log(ev(StepCreated, "s")), with(s0, func(e *Entry) { e.Status = EntryPending })},
		"runs": {log(ev(StepCreated, "s"), ev(StepStarted, "s")), with(s0, func(e *Entry) {
			e.Status, e.Attempt, e.StartedAt, e.AttemptAt = EntryRunning, 1, sec(3), sec(3)
		})},
		"waits to retry": {log(ev(StepCreated, "s"), ev(StepStarted, "s"), ev(StepRetrying, "s", failure("one"))), with(s0, func(e *Entry) {
			e.Status, e.Attempt, e.StartedAt, e.AttemptAt, e.RetryAt = EntryPending, 1, sec(3), sec(3), sec(100)
			e.Error = &Error{Message: "one", Code: "C", Where: "a.go:7"}
		})},
		"woken": {log(ev(StepCreated, "s"), ev(StepStarted, "s"), ev(StepRetrying, "s", failure("one")), ev(StepWoken, "s")), with(s0, func(e *Entry) {
			e.Status, e.Attempt, e.StartedAt, e.AttemptAt = EntryPending, 1, sec(3), sec(3)
			e.Error = &Error{Message: "one", Code: "C", Where: "a.go:7"}
		})},
		"second attempt": {log(ev(StepCreated, "s"), ev(StepStarted, "s"), ev(StepRetrying, "s", failure("one")), ev(StepStarted, "s")), with(s0, func(e *Entry) {
			e.Status, e.Attempt, e.StartedAt, e.AttemptAt, e.Earlier = EntryRunning, 2, sec(3), sec(5), earlier
		})},
		"completed": {log(ev(StepCreated, "s"), ev(StepStarted, "s"), ev(StepRetrying, "s", failure("one")), ev(StepStarted, "s"), ev(StepCompleted, "s", payload("5"))), with(s0, func(e *Entry) {
			e.Status, e.Attempt, e.StartedAt, e.AttemptAt, e.CompletedAt, e.Earlier, e.Output = EntryCompleted, 2, sec(3), sec(5), sec(6), earlier, json.RawMessage("5")
		})},
		"failed": {log(ev(StepCreated, "s"), ev(StepStarted, "s"), ev(StepFailed, "s", failure("two"), func(e *Event) { e.OccurredAt = sec(3) })), with(s0, func(e *Entry) {
			e.Status, e.Attempt, e.StartedAt, e.AttemptAt, e.CompletedAt, e.Error = EntryFailed, 1, sec(3), sec(3), sec(3), &Error{Message: "two", Code: "C", Where: "a.go:7"}
		})},
		"older attempt given up": {log(ev(StepCreated, "s"), ev(StepStarted, "s"), ev(StepStarted, "s"), ev(StepRetrying, "s", func(e *Event) {
			e.Attempt, e.Error = 1, &Error{Message: "drained", Code: CodeAbandoned}
		})), with(s0, func(e *Entry) {
			e.Status, e.Attempt, e.StartedAt, e.AttemptAt = EntryRunning, 2, sec(3), sec(4)
			e.Earlier = []AttemptError{{Attempt: 1, Message: "drained", Code: CodeAbandoned, At: sec(5)}}
		})},
		"child": {log(ev(StepCreated, "s", kind(KindChild, "r2")), ev(StepCompleted, "s")), with(s0, func(e *Entry) {
			e.Kind, e.Peer, e.Status, e.CompletedAt = KindChild, "r2", EntryCompleted, sec(3)
		})},
		"patch": {log(ev(StepCreated, "s", kind(KindPatch, ""))), with(s0, func(e *Entry) {
			e.Kind, e.Status, e.CompletedAt = KindPatch, EntryCompleted, sec(2)
		})},
		"run over": {log(ev(StepCreated, "s"), RunFailed), with(s0, func(e *Entry) { e.Status, e.CompletedAt = EntryDropped, sec(3) })},
		"runs when its run ends": {log(ev(StepCreated, "s"), ev(StepStarted, "s"), RunFailed), with(s0, func(e *Entry) {
			e.Status, e.Attempt, e.StartedAt, e.AttemptAt, e.CompletedAt = EntryDropped, 1, sec(3), sec(3), sec(4)
		})},
		"ended after its run": {log(ev(StepCreated, "s"), ev(StepStarted, "s"), RunFailed, ev(StepCompleted, "s")), with(s0, func(e *Entry) {
			e.Status, e.Attempt, e.StartedAt, e.AttemptAt, e.CompletedAt = EntryCompleted, 1, sec(3), sec(3), sec(5)
		})},
		"sleep":     {log(ev(WaitCreated, "w", func(e *Event) { e.Until = sec(9) })), with(w0, func(e *Entry) { e.Status, e.Until = EntryWaiting, sec(9) })},
		"sleep due": {log(ev(WaitCreated, "w"), ev(WaitCompleted, "w")), with(w0, func(e *Entry) { e.Status, e.CompletedAt, e.Outcome = EntryCompleted, sec(3), OutcomeDue })},
		"event": {log(ev(WaitCreated, "w", func(e *Event) { e.Kind, e.Match = KindEvent, json.RawMessage("{}") }), ev(SignalReceived, ""), ev(WaitCompleted, "w", func(e *Event) { e.Outcome, e.From = OutcomeReceived, 4 })), with(w0, func(e *Entry) {
			e.Class, e.Kind, e.Match, e.Status, e.CompletedAt, e.Outcome, e.Output = "wait", KindEvent, json.RawMessage("{}"), EntryCompleted, sec(4), OutcomeReceived, json.RawMessage("3")
		})},
		"next segment": {log(ev(WaitCreated, "w"), RunContinued), with(w0, func(e *Entry) { e.Status, e.CompletedAt = EntryDropped, sec(3) })},
		"hook":         {log(ev(HookCreated, "h"), ev(HookReceived, "h"), ev(HookReceived, "h")), with(h0, func(e *Entry) { e.Status, e.Received = EntryActive, 2 })},
		"hook goes on": {log(ev(HookCreated, "h"), ev(RunContinued, "", func(e *Event) { e.Next.Hooks = []string{"h"} }), ev(HookReceived, "h")), with(h0, func(e *Entry) { e.Status, e.Received = EntryActive, 1 })},
		"hook's end":   {log(ev(HookCreated, "h"), ev(HookDisposed, "h")), with(h0, func(e *Entry) { e.Status, e.CompletedAt = EntryDisposed, sec(3) })},
		"run's end":    {log(ev(HookCreated, "h"), RunCompleted), with(h0, func(e *Entry) { e.Status, e.CompletedAt = EntryDisposed, sec(3) })},
		"conflict":     {log(ev(HookConflict, "h", func(e *Event) { e.Peer = "r9" })), with(h0, func(e *Entry) { e.Status, e.CompletedAt, e.Peer = EntryConflicted, sec(2), "r9" })},
	} {
		t.Run(name, func(t *testing.T) {
			j := journal(true, story(log(running, test.events)))
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
		ev(RunPaused, "", func(e *Event) { e.By, e.Reason = "ann", "rain" }),
		ev(SignalReceived, "", func(e *Event) { e.Name = "first" }),
		ev(SignalReceived, "", func(e *Event) { e.Name = "second" }),
		ev(CancelRequested, "", func(e *Event) { e.By, e.Reason = "bob", "late" }),
		ev(RunContinued, "", func(e *Event) { e.Next = &Continuation{Version: 4, Unread: []int64{5}} }),
		ev(SignalReceived, "", func(e *Event) { e.Name = "third" }),
		ev(RunCancelled, "", func(e *Event) { e.By, e.Error = "bob", &Error{Message: "m"} })))
	j := journal(true, events[:3])
	if j.Paused == nil || *j.Paused != (Act{"ann", "rain", sec(2)}) || j.Status != Running {
		t.Errorf("got paused %+v, status %s", j.Paused, j.Status)
	}
	j.Add(events[1:]...) // the page before once more
	want := &Journal{
		Run: "r", Workflow: "w", Version: 4, Status: Cancelled, CreatedAt: t0, StartedAt: sec(1), CompletedAt: sec(8), Input: json.RawMessage("2"),
		Error: &Error{Message: "m"}, Cancel: &Act{"bob", "late", sec(5)}, Segment: 1, Seq: 9, Commits: 5, Builds: []string{"b0", "b1"},
		Unread: []Unread{{5, "second", sec(4), json.RawMessage("3")}, {8, "third", sec(7), json.RawMessage("3")}},
	}
	if d := cmp.Diff(want, j, cmpopts.IgnoreUnexported(Journal{}), cmpopts.EquateEmpty()); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}

// TestJournalJSON pins the form that clients of the steps route read.
func TestJournalJSON(t *testing.T) {
	j := journal(true, story(log(running, ev(StepCreated, "s"), ev(StepStarted, "s"), ev(StepCompleted, "s", func(e *Event) { e.Payload = json.RawMessage("5") }))))
	got, err := json.Marshal(j.Entries)
	if err != nil {
		t.Fatal(err)
	}
	want := `[{"id":"s","name":"s","kind":"run","type":"closure","seq":3,"status":"completed","attempt":1,` +
		`"createdAt":"2026-01-02T03:04:07Z","startedAt":"2026-01-02T03:04:08Z","attemptAt":"2026-01-02T03:04:08Z","completedAt":"2026-01-02T03:04:09Z","output":5}]`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got, _ := json.Marshal(NewJournal("r", false).Entries); string(got) != "[]" {
		t.Errorf("no entries: got %s, want []", got)
	}
}

// TestJournalWithoutPayloads keeps none, and a journal never keeps the caller's slices.
func TestJournalWithoutPayloads(t *testing.T) {
	events := story(log(running, ev(StepCreated, "s"), ev(StepCompleted, "s", func(e *Event) { e.Payload = json.RawMessage("5") }), SignalReceived, RunCompleted))
	without, full := journal(false, events), journal(true, events)
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
	events := log(running, ev(StepCreated, "s"))
	for range 50 {
		events = append(events, ev(StepStarted, "s"), ev(StepRetrying, "s", func(e *Event) { e.Error = &Error{Message: strings.Repeat("é", 5000)} }))
	}
	en := journal(false, story(events)).Entries[0]
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
		s, j := &State{ID: "r"}, NewJournal("r", true)
		var events []Event
		for n := rapid.IntRange(1, 60).Draw(t, "events"); n > 0; n-- {
			e := ev(RunCreated, "")
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
		paged := NewJournal("r", true)
		paged.Add(events[:cut]...)
		paged.Add(events...)
		if d := cmp.Diff(j, paged, cmp.AllowUnexported(Journal{}, Entry{}), cmpopts.EquateEmpty()); d != "" {
			t.Fatalf("in pages:\n%s", d)
		}
	})
}

func checkAgrees(t *rapid.T, s *State, j *Journal) {
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
	if want := len(s.steps) + len(s.waits) + len(s.hooks); open != want {
		t.Fatalf("got %d open entries, want %d", open, want)
	}
}

func BenchmarkJournal(b *testing.B) {
	b.ReportAllocs()
	j := NewJournal("r", false)
	j.Add(log(running)...)
	n := 0
	for b.Loop() {
		id := fmt.Sprint("step_", n)
		n++
		j.Add(Event{Type: StepCreated, Time: t0, ID: id, Kind: KindClosure, Name: "charge"}, Event{Type: StepStarted, Time: t0, ID: id},
			Event{Type: StepCompleted, Time: t0, ID: id})
	}
}
