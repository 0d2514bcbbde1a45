package sqlite

// When the bell is watched: while a worker is here, and not longer.

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/stepwell/stepwell/world"
)

// A process whose last worker has left looks at nothing, and one that works again hears what others write.
func TestTheBellIsWatchedWhileAWorkerIsHere(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "runs.db")
	a, b := openAt(t, path), openAt(t, path)
	watched := func(when string, want bool) {
		t.Helper()
		if got := a.bell != nil; got != want { // the writer has nothing to do
			t.Errorf("%s: the bell is watched: %t, want %t", when, got, want)
		}
	}
	leave := func(wk world.Worker) {
		t.Helper()
		if err := a.Leave(t.Context(), wk.ID); err != nil {
			t.Fatal(err)
		}
	}
	watched("opened", false)
	first, second := join(t, a, time.Minute, class1), join(t, a, time.Minute, class1)
	leave(first)
	watched("the second worker stays", true)
	leave(second)
	watched("the last one has left", false)
	wk := join(t, a, time.Minute, class1)
	watched("one has come", true)
	must(t, a, eager("r", "w", wk.ID))

	rang := make(chan struct{}, 1)
	defer a.Notify(func(world.Notice) {
		select {
		case rang <- struct{}{}:
		default:
		}
	})()
	d := &world.Delivery{Run: "r", ID: "x", Events: []world.Event{{Type: world.SignalReceived, Name: "s"}}}
	if _, err := b.Deliver(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	select {
	case <-rang:
	case <-time.After(5 * time.Second):
		t.Error("the bell was not heard")
	}
}

// The looks of an idle worker become fewer.
func TestLooksAtTheBell(t *testing.T) {
	t.Parallel()
	for quiet, want := range map[time.Duration]time.Duration{
		0: bellBusy, 999 * time.Millisecond: bellBusy, time.Second: bellIdle, time.Minute: bellIdle, 2 * time.Minute: bellQuiet, 24 * time.Hour: bellQuiet,
	} {
		if got := betweenLooks(quiet); got != want {
			t.Errorf("quiet for %s: looks every %s, want %s", quiet, got, want)
		}
	}
	if bellQuiet > frozenAfter/4 {
		t.Error("a process that looks so rarely takes itself for one that stood still")
	}
}
