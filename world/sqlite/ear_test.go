package sqlite

// What a process without a worker hears, that looks after starts.

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/stepwell/stepwell/world"
)

// TestAServerAloneHearsWhatLapses: a process that has no worker looks after starts, and another one creates a run that
// is to begin soon. The first one is told of it, and not when it would have looked anyway.
func TestAServerAloneHearsWhatLapses(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "runs.db")
	server, other := openAt(t, path), openAt(t, path)
	told := make(chan struct{}, 1)
	defer server.Notify(func(n world.Notice) {
		if n.Kind == world.NoticeSchedule {
			select {
			case told <- struct{}{}:
			default:
			}
		}
	})()
	if next, err := server.Starts().Settle(t.Context()); next != 0 || err != nil {
		t.Fatalf("got %s, %v", next, err)
	}
	c := birthOf("late", class1.Workflow)
	c.Events[0].Birth.StartTTL = time.Minute
	must(t, other, c)
	select {
	case <-told:
	case <-time.After(10 * time.Second):
		t.Fatal("nobody is told")
	}
	if due, err := server.Starts().Lapsing(t.Context()); err != nil || due.Next <= 0 || due.Next > time.Minute {
		t.Errorf("got %+v, %v", due, err)
	}
}

// TestAServerAloneHearsOthers: a process that has no worker, and asked for nothing yet, is told of all that others write.
func TestAServerAloneHearsOthers(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "runs.db")
	server, other := openAt(t, path), openAt(t, path)
	told := make(chan world.NoticeKind, 100)
	defer server.Notify(func(n world.Notice) { told <- n.Kind })()
	must(t, other, birthOf("r", class1.Workflow))
	late := time.After(10 * time.Second)
	for want := map[world.NoticeKind]bool{world.NoticeWork: true, world.NoticeMail: true, world.NoticeTopic: true, world.NoticeSchedule: true}; len(want) > 0; {
		select {
		case kind := <-told:
			delete(want, kind)
		case <-late:
			t.Fatalf("nobody is told of %v", want)
		}
	}
}

// TestWhoIsToGoOnWithAHold: a process dies that holds a workflow, and who looks after starts knows when to go on with
// it.
func TestWhoIsToGoOnWithAHold(t *testing.T) {
	t.Parallel()
	w := open(t)
	must(t, w, birthOf("r", class1.Workflow))
	s := starts{w, world.HoldPage, 100 * time.Millisecond}
	if err := w.write(t.Context(), func(g *group) error {
		return g.tx.exec(holdWorkflow, class1.Workflow, "ann", "", w.Time().UnixMicro())
	}); err != nil {
		t.Fatal(err)
	}
	next, err := s.Settle(t.Context())
	if err != nil || next <= 0 || next > s.after+time.Millisecond {
		t.Fatalf("got %s, %v", next, err)
	}
	<-time.After(next) // as who looks does
	if next, err := s.Settle(t.Context()); next != 0 || err != nil {
		t.Fatalf("got %s, %v", next, err)
	}
	wk := join(t, w, time.Hour, class1)
	if got := claim(t, w, wk, 10).Runs; len(got) > 0 {
		t.Errorf("took %v", got)
	}
}
