package engine

import (
	"testing"

	"github.com/stepwell/stepwell/observe"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/memory"
)

// Without an Observer, nothing is noted, told or made: no allocation. With one, the same places allocate, so the count can fail.
func TestNoObserverAllocatesNothing(t *testing.T) {
	w := memory.New()
	defer func() { _ = w.Close() }()
	count := func(o *observe.Observer) float64 {
		e, err := New(Config{Observer: o, World: w})
		if err != nil {
			t.Fatal(err)
		}
		s := newSession(e, title{run: "run", claim: 1})
		s.course.st = &world.State{ID: "run"}
		s.pen.reach(1 << 40)
		started := world.Event{Type: world.RunStarted}
		signal := world.Event{Type: world.SignalReceived, Name: "n"}
		given := map[string]string{"tag": "x"}
		b := &body{step: "step", attempt: 1}
		return testing.AllocsPerRun(100, func() {
			for _, ev := range []*world.Event{&started, &signal} {
				s.notes.note(s.course.state(), ev, s.notes.subjectOf(s.course.state(), ev))
			}
			s.notes.tellAll(s.pen.durable())
			s.notes.tellBlocked(s.course.state(), s.eval.workflow(), nil)
			e.tellSwept(1)
			s.notes.watchBody(s.course.state(), b, "step")
			if got := e.Carry(t.Context(), "w", given); len(got) != 1 {
				t.Errorf("context: %v, want what was given", got)
			}
			if got := s.notes.withSeen(s.course.state(), nil); got != nil && o == nil {
				t.Errorf("a task's options: %s, want none", got)
			}
		})
	}
	if n := count(nil); n != 0 {
		t.Errorf("without an Observer: %v allocations, want none", n)
	}
	if n := count(&observe.Observer{RunStarted: func(observe.Run) {}, Signal: func(observe.Signal) {}}); n == 0 {
		t.Error("with an Observer: no allocation, so this test counts nothing")
	}
}
