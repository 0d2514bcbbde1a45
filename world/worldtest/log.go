// The log: what was written comes back as it was, in order, once.

package worldtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stepwell/stepwell/world"
	"pgregory.net/rapid"
)

var logs = []check{
	{"generated runs come back as they were written", "a committed event is never lost, changed or reordered; folding what is read gives the writer's state, whatever the page size", func(r *rig) {
		k := r.worker()
		rapid.Check(r.T, func(t *rapid.T) {
			run := newRun()
			events, state := History(t, run, rapid.IntRange(1, 40).Draw(t, "events"))
			r.keepNamed(run, events)
			want := r.writeAll(k, run, Split(t, events))
			for _, limit := range []int{0, 1, rapid.IntRange(2, len(want)+1).Draw(t, "page")} {
				got, _ := r.pages(run, world.EventQuery{Limit: limit})
				if diff := difference(want, got); diff != "" {
					t.Fatalf("pages of %d events (-written +read):\n%s", limit, diff)
				}
				if diff := difference(state, fold(t, run, got)); diff != "" {
					t.Fatalf("pages of %d events, state (-writer's +reader's):\n%s", limit, diff)
				}
			}
			r.rowIs(t, state, events[0].Encrypted)
		})
	}},
	{"numbers are dense from 1", "events of a run are numbered 1, 2, 3…; Commit is the number of the first of the same commit", func(r *rig) {
		s := r.worker("greet").create("greet")
		s.append(signalEvent("a"))
		s.append(signalEvent("b"), signalEvent("c"))
		var got [][2]int64
		for _, e := range r.events(s.run) {
			got = append(got, [2]int64{e.Seq, e.Commit})
		}
		r.same(got, [][2]int64{{1, 1}, {2, 1}, {3, 3}, {4, 4}, {5, 4}}, "numbers and commits")
	}},
	{"a page has a cursor", "a page of a run that has events always carries a cursor, the last page too", func(r *rig) {
		s := r.worker("greet").create("greet")
		s.append(signalEvent("a"))
		for _, q := range []world.EventQuery{
			{}, {Limit: 1}, {Cursor: world.Cursor(1)}, {Cursor: world.Cursor(3)},
			{Types: []world.EventType{world.RunFailed}}, {CorrelationID: "step_none"}, {Limit: 1, Types: []world.EventType{world.RunFailed}},
		} {
			if page, err := r.w.Events(r.ctx, s.run, q); err != nil || page.Cursor == "" {
				r.Fatalf("%+v: got %+v, %v; want a cursor", q, page, err)
			}
		}
	}},
	{"reading on gives what was appended", "from the last cursor, later, come exactly the events appended meanwhile", func(r *rig) {
		s := r.worker("greet").create("greet")
		all, cursor := r.pages(s.run, world.EventQuery{Limit: 1})
		for i := range 5 {
			more, next := r.pages(s.run, world.EventQuery{Cursor: cursor})
			r.same(len(more), 0, "events behind the end")
			s.append(signalEvent(fmt.Sprint("a", i)), signalEvent(fmt.Sprint("b", i)))
			more, cursor = r.pages(s.run, world.EventQuery{Cursor: next, Limit: 1})
			r.same(len(more), 2, "events appended meanwhile")
			all = append(all, more...)
		}
		r.same(all, r.events(s.run), "pages together")
	}},
	{"commits are not cut", "a page holds whole commits, at least one; a cursor inside a commit is one all the same", func(r *rig) {
		s := r.worker("greet").create("greet")
		s.append(signalEvent("a"), signalEvent("b"), signalEvent("c"))
		page, err := r.w.Events(r.ctx, s.run, world.EventQuery{Limit: 1})
		r.must(err, "first page")
		if len(page.Events) != 2 || !page.More {
			r.Fatalf("got %d events, more %v; want the 2 of the birth, and more", len(page.Events), page.More)
		}
		rest, _ := r.pages(s.run, world.EventQuery{Cursor: world.Cursor(4)})
		r.same(rest, r.events(s.run)[4:], "events behind the fourth")
	}},
	{"types and entities can be asked for", "a filter leaves out events and nothing else; the cursor passes what was left out", func(r *rig) {
		s := r.worker("greet").create("greet")
		for i := range 6 {
			id := fmt.Sprint("step_", i)
			s.append(stepCreated(id, world.KindClosure), world.Event{Type: world.StepStarted, ID: id, Attempt: 1}, signalEvent("a"))
		}
		all := r.events(s.run)
		for _, limit := range []int{0, 1, 2} {
			starts, cursor := r.pages(s.run, world.EventQuery{Types: []world.EventType{world.StepStarted, world.RunStarted}, Limit: limit})
			r.same(starts, keep(all, func(e world.Event) bool { return e.Type == world.StepStarted || e.Type == world.RunStarted }), "starts")
			rest, _ := r.pages(s.run, world.EventQuery{Cursor: cursor})
			r.same(len(rest), 0, "events behind the filtered end")
			one, _ := r.pages(s.run, world.EventQuery{CorrelationID: "step_3", Limit: limit})
			r.same(one, keep(all, func(e world.Event) bool { return e.ID == "step_3" }), "events of step_3")
			both, _ := r.pages(s.run, world.EventQuery{CorrelationID: "step_3", Types: []world.EventType{world.StepStarted}, Limit: limit})
			r.same(both, keep(all, func(e world.Event) bool { return e.ID == "step_3" && e.Type == world.StepStarted }), "start of step_3")
		}
	}},
	{"a page has at most a thousand events, about", "default and most 1,000; what is behind is told by More", func(r *rig) {
		s := r.worker("greet").create("greet")
		for range 3 {
			events := make([]world.Event, 500)
			for i := range events {
				events[i] = signalEvent("a")
			}
			s.append(events...)
		}
		for _, limit := range []int{0, 1000, 5000} {
			page, err := r.w.Events(r.ctx, s.run, world.EventQuery{Limit: limit})
			r.must(err, "page")
			if n := len(page.Events); n < 500 || n > 1002 || !page.More {
				r.Fatalf("limit %d: got %d events, more %v; want about 1000, and more", limit, n, page.More)
			}
		}
		r.same(len(r.events(s.run)), 1502, "events")
	}},
	{"a writer's slices stay its own", "what was written does not change when the writer uses its event slice again", func(r *rig) {
		s := r.worker("greet").create("greet")
		c := s.next(signalEvent("a"))
		s.write(c)
		c.Events[0].Name = "changed"
		r.same(r.events(s.run)[2].Name, "a", "name")
	}},
	{"a reader beside a writer sees each event once", "a cursor reader sees every event exactly once, in order, while a writer appends", func(r *rig) {
		s := r.worker("greet").create("greet")
		const commits = 150
		var wg sync.WaitGroup
		for reader := range 3 {
			wg.Go(func() {
				var seen []int64
				var cursor string
				for end := time.Now().Add(patience); len(seen) < 2+2*commits && time.Now().Before(end); {
					page, err := r.w.Events(r.ctx, s.run, world.EventQuery{Cursor: cursor, Limit: reader * 7})
					if err != nil {
						r.Errorf("reader %d: %v", reader, err)
						return
					}
					cursor = page.Cursor
					for _, e := range page.Events {
						seen, end = append(seen, e.Seq), time.Now().Add(patience) // it bounds a standstill, not how fast a machine is
					}
				}
				for i, seq := range seen {
					if seq != int64(i+1) {
						r.Errorf("reader %d: event %d came as number %d", reader, seq, i+1)
						return
					}
				}
				if len(seen) != 2+2*commits {
					r.Errorf("reader %d: saw %d events, want %d", reader, len(seen), 2+2*commits)
				}
			})
		}
		for range commits {
			s.append(signalEvent("a"), signalEvent("b"))
		}
		wg.Wait()
	}},
	{"commits to many runs do not mix", "commits that arrive together share a transaction; each log gets its own", func(r *rig) {
		k := r.worker("greet")
		var wg sync.WaitGroup
		for range 16 {
			wg.Go(func() {
				c := birth("greet")
				c.Worker, c.Claim = k.id, 1
				for first := int64(1); ; first++ {
					if _, err := r.w.Commit(r.ctx, c); err != nil {
						r.Errorf("run %s, event %d: %v", c.Run, first, err)
					}
					if first == 10 {
						break
					}
					c = &world.Commit{ID: commitID(), Run: c.Run, Worker: k.id, Claim: 1, First: first + 1, Events: []world.Event{
						{Type: world.SignalReceived, Time: world.Now(), Name: c.Run, Payload: json.RawMessage(fmt.Sprint(first + 1))},
					}}
				}
				events, _, err := readAll(r, c.Run)
				if err != nil || len(events) != 10 {
					r.Errorf("run %s: %d events, %v; want 10", c.Run, len(events), err)
					return
				}
				for i, e := range events[1:] {
					if e.Name != c.Run || string(e.Payload) != fmt.Sprint(i+2) {
						r.Errorf("run %s: event %d is %s of %s", c.Run, i+2, e.Payload, e.Name)
					}
				}
			})
		}
		wg.Wait()
	}},
}

// difference is cmp.Diff, but quick where there is none.
func difference(want, got any) string {
	if reflect.DeepEqual(want, got) {
		return ""
	}
	return cmp.Diff(want, got, cmp.AllowUnexported(world.State{}))
}

// readAll reads a log without ending the check, for other goroutines.
func readAll(r *rig, run string) (all []world.Event, cursor string, err error) {
	for {
		page, err := r.w.Events(r.ctx, run, world.EventQuery{Cursor: cursor})
		if err != nil {
			return all, cursor, err
		}
		all, cursor = append(all, page.Events...), page.Cursor
		if !page.More {
			return all, cursor, nil
		}
	}
}

func keep(events []world.Event, f func(world.Event) bool) []world.Event {
	return slices.DeleteFunc(slices.Clone(events), func(e world.Event) bool { return !f(e) })
}

// writeAll writes a run's commits as one worker and returns the events as they must come back.
func (r *rig) writeAll(k *worker, run string, commits [][]world.Event) (want []world.Event) {
	r.Helper()
	first := int64(1)
	for _, events := range commits {
		r.commit(&world.Commit{ID: commitID(), Run: run, Worker: k.id, Claim: 1, Build: "build ü", First: first, Events: events})
		for _, e := range events {
			e.Commit, e.Build = first, "build ü"
			want = append(want, e)
		}
		first += int64(len(events))
	}
	return want
}

// keepNamed keeps the values that events of a run name.
func (r *rig) keepNamed(run string, events []world.Event) {
	r.Helper()
	_, err := r.w.Run(r.ctx, run)
	birth := errors.Is(err, world.ErrNotFound)
	for i := range events {
		if value := events[i].Apart; value != "" {
			r.must(r.w.Values().KeepPiece(r.ctx, &world.Piece{Run: run, Value: value, Data: []byte("7"), Birth: birth}), "keep a piece")
		}
	}
}

func fold(t *rapid.T, run string, events []world.Event) *world.State {
	state := &world.State{ID: run}
	for i := range events {
		if changed, err := state.Apply(&events[i], time.Time{}); err != nil || !changed {
			t.Fatalf("folding event %d, %s, as read: changed %v, error %v", i+1, events[i].Type, changed, err)
		}
	}
	return state
}

// rowIs compares the run's row and hooks with what the fold says, and the key of its birth.
func (r *rig) rowIs(t *rapid.T, s *world.State, key string) {
	row, err := r.w.Run(r.ctx, s.ID)
	if err != nil {
		t.Fatalf("run %s: %v", s.ID, err)
	}
	want := world.Run{
		ID: s.ID, Workflow: s.Birth.Workflow, Version: s.Version, Status: s.Status, Key: s.Birth.Key, Priority: s.Birth.Priority,
		Input: row.Input, Output: s.Output, OutputApart: s.OutputApart, Error: s.Error, Parent: s.Birth.Parent, Origin: s.Birth.Origin, CreatedAt: s.CreatedAt, EndedAt: s.EndedAt,
		Retention: s.Birth.Retention, Timeout: s.Birth.Timeout, StartTTL: s.Birth.StartTTL, Gather: s.Birth.Gather, Attributes: s.Attributes,
		Claims: 1, Queue: row.Queue, Encryption: key, Encrypted: key != "",
	}
	for _, e := range r.events(s.ID) {
		if e.Type == world.RunStarted && e.Commit <= world.StartWithin {
			want.StartedAt = e.Time
		}
	}
	if diff := cmp.Diff(want, row); diff != "" {
		t.Fatalf("row of the run (-fold +world):\n%s", diff)
	}
	if over := s.Status.Terminal(); over != (row.Queue == nil) || !over && row.Queue.Paused != (s.Paused != nil) {
		t.Fatalf("the run is %s, paused: %v; its queue row is %+v", s.Status, s.Paused != nil, row.Queue)
	}
	hooks, err := r.w.Hooks(r.ctx, world.HookQuery{Run: s.ID})
	if err != nil {
		t.Fatalf("hooks: %v", err)
	}
	for _, h := range hooks {
		open := s.Hook(h.ID)
		if open == nil || open.Token != h.Token || !cmp.Equal(open.Metadata, h.Metadata) {
			t.Fatalf("hook %+v; the fold has %+v", h, open)
		}
	}
	if want := len(sorted(s.Hooks(), func(k *world.Hook) string { return k.ID })); len(hooks) != want {
		t.Fatalf("%d hooks, want %d", len(hooks), want)
	}
}
