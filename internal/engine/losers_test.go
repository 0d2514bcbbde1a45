package engine

import (
	"fmt"
	"testing"

	"github.com/stepwell/stepwell/internal/replay"
	"github.com/stepwell/stepwell/world"
)

// A cancel of a child travels in the commit that ends its step, also where a turn is so large that it becomes several: a crash between them neither loses one nor
// sends one too many.
func TestCancelsOfChildrenTravelWithTheEndsOfTheirSteps(t *testing.T) {
	e, err := New(Config{World: world.Unimplemented{}})
	if err != nil {
		t.Fatal(err)
	}
	const n = 12_000
	s := newSession(e, title{run: "parent", claim: 1})
	s.course.st = &world.State{ID: "parent"}
	apply := func(ev world.Event) {
		t.Helper()
		if err := s.course.put(&ev); err != nil {
			t.Fatal(err)
		}
	}
	step := func(i int) string { return fmt.Sprintf("step_%05d", i) }
	apply(world.Event{Type: world.RunCreated, Birth: &world.Birth{Workflow: "w", Version: 1}})
	apply(world.Event{Type: world.RunStarted})
	s.eval.m = replay.New(replay.Config{Run: "parent"}, func(*replay.Ctx) replay.Outcome { return replay.Outcome{} })
	defer s.eval.machine().Close()
	for i := range n {
		apply(world.Event{Type: world.StepCreated, ID: step(i), Kind: world.KindChild, Name: "c", Occurrence: i, Peer: fmt.Sprint("child-", i)})
	}
	s.turn = turn{}
	s.course.fault().set(ErrCancelled, 0) // so that the machine, which asked for nothing, is not fed
	for i := range n {
		s.steps.cancelChild(&replay.Op{ID: step(i), Peer: fmt.Sprint("child-", i)}, &ChildSpec{Detached: i%10 == 0})
	}
	parts := s.pen.split(&s.turn, s.course.state().Seq, s.eval.unread())
	if len(parts) < 2 {
		t.Fatalf("%d commits, want several", len(parts))
	}
	sent := map[string]int{}
	for _, c := range parts {
		s.turn.abroad().others(c, s.steps.createChild)
		ended := map[string]bool{}
		for _, e := range c.Events {
			ended["parent:"+e.ID] = e.Type == world.StepFailed
		}
		for _, d := range c.Send {
			sent[d.Run]++
			if !ended[d.ID] || d.Events[0].Type != world.CancelRequested {
				t.Errorf("delivery %s of a %s is not in the commit that ends the step", d.ID, d.Events[0].Type)
			}
		}
	}
	for i := range n {
		if got, want := sent[fmt.Sprint("child-", i)], min(i%10, 1); got != want {
			t.Fatalf("child %d: %d cancels, want %d", i, got, want)
		}
	}
}
