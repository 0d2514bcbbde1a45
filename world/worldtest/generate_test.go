package worldtest

import (
	"errors"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/stepwell/stepwell/world"
	"pgregory.net/rapid"
)

// TestHistoryCoversEvents holds that the generator draws every type of event and every field of one, so that a world that
// passes has kept them all.
func TestHistoryCoversEvents(t *testing.T) {
	t.Parallel()
	types := make(map[world.EventType]bool)
	fields := make(map[string]bool)
	rapid.Check(t, func(rt *rapid.T) {
		events, state := History(rt, "wrun_x", 60)
		if got, want := state.Seq, int64(len(events)); got != want {
			rt.Fatalf("the state is at event %d, want %d", got, want)
		}
		for _, e := range events {
			types[e.Type] = true
			for field, v := range reflect.ValueOf(e).Fields() {
				if !v.IsZero() {
					fields[field.Name] = true
				}
			}
		}
		n := 0
		for _, c := range Split(rt, events) {
			if len(c) == 0 || c[0].Seq != int64(n+1) {
				rt.Fatalf("a commit of %d events behind event %d", len(c), n)
			}
			n += len(c)
		}
		if n != len(events) {
			rt.Fatalf("commits hold %d events, want %d", n, len(events))
		}
	})
	for _, et := range world.EventTypes {
		if !types[et] {
			t.Errorf("no history has %s", et)
		}
	}
	for f := range reflect.TypeFor[world.Event]().Fields() {
		if f.Name != "Commit" && f.Name != "Build" && !fields[f.Name] { // both are set on reading
			t.Errorf("no event has a %s", f.Name)
		}
	}
}

// TestSegmentsCanBeEntered holds that a fold which enters at any segment that says what it stands on, and has seen nothing else of what was before, is the
// fold of the whole log; and that a fold without something of it is refused.
func TestSegmentsCanBeEntered(t *testing.T) {
	t.Parallel()
	entered, refused := 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		events, whole := History(rt, "wrun_x", 60)
		for i := range events {
			next := events[i].Next
			if next == nil || next.Base == nil {
				continue
			}
			entered++
			left := events[:1:1]
			for _, seq := range next.Stands() {
				if seq > 1 {
					left = append(left, events[seq-1])
				}
			}
			left = append(left, events[i:]...)
			state := &world.State{ID: "wrun_x", EnterAt: events[i].Seq}
			for k := range left {
				if changed, err := state.Apply(&left[k], time.Time{}); err != nil || !changed {
					rt.Fatalf("entering at event %d: event %d, %s: changed %v, %v", events[i].Seq, left[k].Seq, left[k].Type, changed, err)
				}
			}
			if d := difference(whole, state); d != "" {
				rt.Fatalf("entering at event %d: the whole log gives -, this +:\n%s", events[i].Seq, d)
			}
			if at := world.EnterAt(left); at > events[i].Seq || at == 0 && int64(len(left)) < events[len(events)-1].Seq {
				rt.Fatalf("entering at event %d: found event %d", events[i].Seq, at)
			}
			for k, e := range left[1 : len(left)-len(events[i:])] {
				if e.Type == world.HookCreated && slices.Contains(next.Hooks, e.ID) {
					refused++
					state := &world.State{ID: "wrun_x", EnterAt: events[i].Seq}
					err := error(nil)
					for _, e := range append(left[:k+1:k+1], left[k+2:]...) {
						if _, err = state.Apply(&e, time.Time{}); err != nil {
							break
						}
					}
					if !errors.Is(err, world.ErrCorrupt) {
						rt.Fatalf("entering at event %d without hook %s: %v", events[i].Seq, e.ID, err)
					}
				}
			}
		}
	})
	if entered == 0 || refused == 0 {
		t.Errorf("%d segments entered, %d refused: the check proves little", entered, refused)
	}
}
