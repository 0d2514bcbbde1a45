package sqlite

import (
	"testing"

	"github.com/stepwell/stepwell/world"
)

// TestSweepOfListens: what listens of runs that are over goes with a sweep, as a worker of an
// earlier release may have ended them; of others it stays.
func TestSweepOfListens(t *testing.T) {
	t.Parallel()
	w := open(t, Options{})
	wk := join(t, w, 0, class1)
	for _, run := range []string{"over", "lives"} {
		c := eager(run, "w", wk.ID)
		c.Events = append(c.Events, world.Event{Type: world.WaitCreated, ID: "w", Kind: world.KindEvent, Name: "a", Time: c.Events[0].Time, Listen: world.NewListen("a", 0, nil, "", nil)})
		must(t, w, c)
	}
	if _, err := w.Deliver(t.Context(), &world.Delivery{Run: "over", ID: "x", Act: true, Events: []world.Event{{Type: world.RunCancelled}}}); err != nil {
		t.Fatal(err)
	}
	shape := world.NewListen("a", 0, nil, "", nil)
	listeners := func() int {
		page, err := w.Topics().Listeners(t.Context(), world.ListenerQuery{Any: []world.Hashed{{Shape: shape.Shape, Hash: shape.Hash}}, Limit: 10})
		if err != nil {
			t.Fatal(err)
		}
		return len(page)
	}
	if n := listeners(); n != 1 {
		t.Fatalf("%d waits listen, want 1", n)
	}
	if _, err := ask(t.Context(), w, func(g *group) (struct{}, error) {
		var key int64
		for _, id := range []string{"over"} {
			r, err := g.runs.get(id)
			if err != nil {
				return struct{}{}, err
			}
			key = r.key
		}
		return struct{}{}, g.tx.exec(insertListen, key, "w", shape.Shape, shape.Hash, int64(0), int64(0), nil)
	}); err != nil {
		t.Fatal(err)
	}
	if n := listeners(); n != 2 {
		t.Fatalf("%d waits listen, want 2", n)
	}
	if _, err := w.Sweep(t.Context(), 10); err != nil {
		t.Fatal(err)
	}
	if n := listeners(); n != 1 {
		t.Errorf("%d waits listen behind the sweep, want 1", n)
	}
}
