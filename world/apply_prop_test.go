package world

// This file holds what is true of the fold whatever comes: laws over generated events, a fuzz target, the cost of a step.

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// genEvent draws an event that may or may not be legal, about few entities, so that many are. IDs name their segment, as real
// ones are made from it.
func genEvent(t *rapid.T, s *State) Event {
	typ := rapid.SampledFrom(append([]EventType{StepCreated, StepStarted, StepCompleted, WaitCreated, HookCreated, HookReceived}, EventTypes[1:]...)).Draw(t, "type")
	if typ.Terminal() && rapid.IntRange(0, 9).Draw(t, "end") > 0 {
		typ = SignalReceived // most runs live longer
	}
	id := fmt.Sprintf("%d-%d", s.Segment, rapid.IntRange(0, 4).Draw(t, "id"))
	e := ev(typ, id)
	e.Time = s.Time.Add(time.Duration(rapid.IntRange(0, 1000).Draw(t, "ms")) * time.Millisecond)
	e.Delivery = rapid.SampledFrom([]string{"", "", "", "d1", "d2", "d3"}).Draw(t, "delivery")
	switch typ {
	case StepCreated:
		e.Kind = rapid.SampledFrom([]Kind{KindClosure, KindTask, KindChild, KindAwait, KindPatch}).Draw(t, "kind")
	case StepRetrying:
		e.RetryAt = e.Time.Add(time.Duration(rapid.IntRange(0, 5).Draw(t, "delay")) * time.Second)
		e.Attempt = rapid.IntRange(0, 3).Draw(t, "attempt")
		e.Error.Code = rapid.SampledFrom([]string{"", CodeAbandoned}).Draw(t, "code")
	case StepWoken:
		e.Attempt = rapid.IntRange(0, 3).Draw(t, "attempt")
	case WaitCreated:
		e.Until = e.Time.Add(time.Duration(rapid.IntRange(0, 5).Draw(t, "until")) * time.Second)
	case HookCreated:
		e.Token = rapid.SampledFrom([]string{"t1", "t2", "t3"}).Draw(t, "token")
	case RunContinued:
		for h := range s.Hooks() {
			e.Next.Hooks = append(e.Next.Hooks, h.ID)
		}
	}
	return e
}

// TestApplyLaws holds, over generated sequences: numbers are dense, errors and no-ops change nothing, what is over stays over,
// an entity ends at most once, a delivery counts once in two segments, and the log gives the same state again.
func TestApplyLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := &State{ID: "r"}
		var written []Event
		terminal := make(map[string]int)
		runEnds := 0
		deliveries := make(map[[16]byte]int) // by key: the segment in which it was appended last
		first := ev(RunCreated, "")
		for n := rapid.IntRange(1, 60).Draw(t, "events"); n > 0; n-- {
			e := first
			if len(written) > 0 {
				e = genEvent(t, s)
			}
			before := clone(s)
			var now time.Time
			if rapid.Bool().Draw(t, "timed") {
				now = e.Time
			}
			changed, err := s.Apply(&e, now)
			if changed && err != nil {
				t.Fatalf("%s: changed and %v", e.Type, err)
			}
			if !changed {
				if d := diff(before, s); d != "" {
					t.Fatalf("%s: not changed (%v), but\n%s", e.Type, err, d)
				}
				continue
			}
			e.Seq = int64(len(written)) + 1
			written = append(written, e)
			if s.Seq != e.Seq {
				t.Fatalf("got number %d, want %d", s.Seq, e.Seq)
			}
			if before.Status.Terminal() && s.Status != before.Status {
				t.Fatalf("%s after it was %s", s.Status, before.Status)
			}
			key := DeliveryKey(e.Delivery, &e)
			if segment, ok := deliveries[key]; ok && e.Delivery != "" && before.Segment-segment < 2 {
				t.Fatalf("delivery %s appended twice in segments %d and %d", e.Delivery, segment, before.Segment)
			}
			deliveries[key] = s.Segment
			switch {
			case e.Type.Terminal():
				runEnds++
			case e.Type == StepCompleted, e.Type == StepFailed, e.Type == WaitCompleted, e.Type == HookDisposed, e.Type == HookConflict:
				terminal[e.ID]++
			}
			if runEnds > 1 || terminal[e.ID] > 1 {
				t.Fatalf("%s %s: a second end", e.Type, e.ID)
			}
			checkInvariants(t, s)
		}
		checkRefold(t, s, written)
	})
}

// checkRefold folds the log anew and compares.
func checkRefold(t *rapid.T, live *State, written []Event) {
	t.Helper()
	folded := &State{ID: live.ID}
	for i := range written {
		if changed, err := folded.Apply(&written[i], time.Time{}); err != nil || !changed {
			t.Fatalf("event %d, %s, from the log: changed %v, %v", written[i].Seq, written[i].Type, changed, err)
		}
	}
	if d := diff(live, folded); d != "" {
		t.Fatalf("live and folded differ:\n%s", d)
	}
}

// checkInvariants holds what ties the parts of a state together.
func checkInvariants(t interface {
	Helper()
	Fatalf(string, ...any)
}, s *State) {
	t.Helper()
	if len(s.tokens) != len(s.hooks) {
		t.Fatalf("got %d tokens of %d hooks", len(s.tokens), len(s.hooks))
	}
	for id, h := range s.hooks {
		if s.tokens[h.Token] != id || s.Over(id) {
			t.Fatalf("hook %s: token %s leads to %q, over %v", id, h.Token, s.tokens[h.Token], s.Over(id))
		}
	}
	for id, st := range s.steps {
		if s.Over(id) || s.waits[id] != nil || s.hooks[id] != nil {
			t.Fatalf("step %s is something else too", id)
		}
		if st.Status == StepRunning && st.Attempts == 0 || st.Failures+st.Abandoned > st.Attempts {
			t.Fatalf("step %s cannot be: %+v", id, st)
		}
	}
	if s.Status.Terminal() && (len(s.waits)+len(s.hooks) > 0 || s.Paused != nil) {
		t.Fatalf("run is %s with open waits, hooks or a pause", s.Status)
	}
}

// FuzzApply: whatever events come, legal or not, with fields that do not belong to them, nothing panics, and an error or a no-op
// changes nothing. Each event is four bytes: type, ID and token, what fields it has, delivery and number.
func FuzzApply(f *testing.F) {
	f.Add([]byte{0, 0, 0xff, 0, 1, 0, 0, 0, 9, 1, 0xff, 0, 10, 1, 0, 0, 12, 1, 0, 0})
	f.Add([]byte{0, 0, 0xff, 0, 1, 0, 0, 0, 16, 2, 0xff, 0, 2, 2, 0xff, 3, 18, 2, 0, 3, 19, 2, 0, 0, 4, 0, 1, 0})
	f.Add([]byte{0, 0, 0, 0, 7, 0, 0, 0, 6, 0, 0, 0, 8, 0, 0, 0, 5, 0, 0, 0, 5, 0, 0, 0})
	f.Fuzz(func(t *testing.T, data []byte) {
		s := &State{ID: "r"}
		for ; len(data) >= 4 && s.Seq < 500; data = data[4:] {
			e := fuzzEvent(s, data)
			var now time.Time
			if data[2]&1 != 0 {
				now = t0.Add(time.Duration(data[3]) * time.Second)
			}
			before := clone(s)
			changed, err := s.Apply(&e, now)
			switch {
			case changed && err != nil:
				t.Fatalf("%s: changed and %v", e.Type, err)
			case !changed:
				if d := diff(before, s); d != "" {
					t.Fatalf("%s: not changed (%v), but\n%s", e.Type, err, d)
				}
			case s.Seq != before.Seq+1:
				t.Fatalf("got number %d, want %d", s.Seq, before.Seq+1)
			case before.Status.Terminal() && s.Status != before.Status:
				t.Fatalf("%s after it was %s", s.Status, before.Status)
			}
			checkInvariants(t, s)
		}
	})
}

func fuzzEvent(s *State, data []byte) Event {
	has := func(bit int) bool { return data[2]&(1<<bit) != 0 }
	e := Event{Type: "unknown", Time: t0, Name: "n", Token: string(rune('a' + data[1]%5)), Attempt: int(data[3] % 4)}
	if n := int(data[0]); n < len(EventTypes) {
		e.Type = EventTypes[n]
	}
	if id := data[1] % 8; id > 0 {
		e.ID = fmt.Sprint(id)
	}
	kinds := []Kind{KindClosure, KindTask, KindChild, KindAwait, KindPatch, KindSleep, KindEvent, KindCondition, KindHook, ""}
	e.Kind = kinds[int(data[1]/8)%len(kinds)]
	if has(1) {
		e.Birth = &Birth{Workflow: "w"}
		e.Error = &Error{Code: CodeAbandoned}
	}
	if has(2) {
		e.Next = &Continuation{Hooks: []string{e.ID}}
	}
	if has(3) {
		e.Name = ""
	}
	if has(4) {
		e.Outcome = []Outcome{OutcomeDue, OutcomeWoken, OutcomeReceived}[data[3]%3]
	}
	if has(5) {
		e.Until, e.RetryAt = t0.Add(10*time.Second), t0.Add(20*time.Second)
	}
	if has(6) {
		e.Delivery = fmt.Sprint(data[3] % 8)
	}
	if has(7) {
		e.Seq = s.Seq + int64(data[3]%3)
	}
	e.Payload = json.RawMessage("1")
	return e
}

// BenchmarkApply measures a step's three events in a run that has so many steps already: it costs the same however long the run is.
func BenchmarkApply(b *testing.B) {
	for _, steps := range []int{10, 100_000} {
		b.Run(fmt.Sprintf("after=%d", steps), func(b *testing.B) {
			s := &State{ID: "r"}
			must := func(e Event) {
				if changed, err := s.Apply(&e, time.Time{}); err != nil || !changed {
					b.Fatal(e.Type, changed, err)
				}
			}
			step := func(id string) {
				must(Event{Type: StepCreated, Time: t0, ID: id, Kind: KindClosure, Name: "charge"})
				must(Event{Type: StepStarted, Time: t0, ID: id, Attempt: 1})
				must(Event{Type: StepCompleted, Time: t0, ID: id, Attempt: 1})
			}
			begin := func() {
				s = &State{ID: "r"}
				must(ev(RunCreated, ""))
				must(ev(RunStarted, ""))
				for i := range steps {
					step(fmt.Sprintf("step_before%d", i))
				}
			}
			const batch = 1000 // then the run would be longer than it says
			ids := make([]string, batch)
			for i := range ids {
				ids[i] = fmt.Sprintf("step_%d", i)
			}
			base := steps
			begin()
			n := 0
			for b.Loop() {
				if n == batch {
					b.StopTimer()
					for _, id := range ids {
						delete(s.over, id)
					}
					n = 0
					b.StartTimer()
				}
				step(ids[n])
				n++
			}
			if len(s.over) > base+batch {
				b.Fatalf("got %d steps over", len(s.over))
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/3, "ns/event")
		})
	}
}
