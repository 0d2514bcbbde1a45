package worldtest

import (
	"reflect"
	"testing"

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
