package memory

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stepwell/stepwell/world"
)

// TestRemainsFindsWhatIsLeft plants what a run that is over must not have.
func TestRemainsFindsWhatIsLeft(t *testing.T) {
	w := New()
	c := &world.Commit{ID: [16]byte{1}, Run: "r", First: 1, Events: []world.Event{
		{Type: world.RunCreated, Time: world.Now(), Payload: json.RawMessage(`1`), Birth: &world.Birth{Workflow: "w", Version: 1, Retention: time.Hour}},
		{Type: world.RunStarted, Time: world.Now()},
		{Type: world.RunCompleted, Time: world.Now(), Payload: json.RawMessage(`2`)},
	}}
	if _, err := w.Commit(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	if left := w.Remains(); len(left) > 0 {
		t.Errorf("after the end: got %q, want nothing", left)
	}
	r := w.runs["r"]
	plants := map[string]func(){
		"mail":     func() { r.inbox = []mail{{row: 1}} },
		"awaiter":  func() { r.awaiters = []awaiter{{run: r, step: "s"}} },
		"a hook":   func() { w.tokens["t"] = &hook{run: r, id: "h", token: "t"} },
		"a worker": func() { w.workers["wrkr"] = &worker{runs: map[*run]struct{}{r: {}}} },
	}
	for what, plant := range plants {
		plant()
		if left := w.Remains(); len(left) != 1 {
			t.Errorf("%s: got %q, want one thing", what, left)
		}
		r.inbox, r.awaiters = nil, nil
		clear(w.tokens)
		clear(w.workers)
	}
}
