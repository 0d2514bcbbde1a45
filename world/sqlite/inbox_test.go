package sqlite

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stepwell/stepwell/world"
)

// TestUnreadOfARunAtRest: what its owner said is unread in the log counts still when it has given the run up.
func TestUnreadOfARunAtRest(t *testing.T) {
	t.Parallel()
	w, _ := unread8(t, &world.Release{})
	wantRoomFor2(t, w)
}

// TestUnreadOfARunOfTheGone: it counts still when its owner has gone, and the run has come back.
func TestUnreadOfARunOfTheGone(t *testing.T) {
	t.Parallel()
	w, wk := unread8(t, nil)
	if err := w.Leave(t.Context(), wk.ID); err != nil {
		t.Fatal(err)
	}
	wantRoomFor2(t, w)
}

// unread8 is a world with room for ten payloads, and a run that has 8 in its log unread.
func unread8(t *testing.T, release *world.Release) (*World, world.Worker) {
	w := open(t, Options{InboxLimit: 10})
	wk := join(t, w, time.Minute, world.Class{Workflow: "any", Version: 1})
	must(t, w, eager("run_1", "any", wk.ID))
	c := &world.Commit{ID: commitID(), Run: "run_1", Worker: wk.ID, Claim: 1, First: 3, Unread: 8, Release: release}
	if release == nil {
		c.Events = []world.Event{{Type: world.AttrSet, Name: "a", Payload: json.RawMessage(`1`), Time: world.Now()}}
	}
	must(t, w, c)
	return w, wk
}

func wantRoomFor2(t *testing.T, w *World) {
	t.Helper()
	for i := range 4 {
		d := &world.Delivery{ID: fmt.Sprint(i), Run: "run_1", Events: []world.Event{{Type: world.SignalReceived, Name: "s"}}}
		if _, err := w.Deliver(t.Context(), d); (i < 2) != (err == nil) || i >= 2 && !errors.Is(err, world.ErrInboxFull) {
			t.Errorf("payload %d, where 10 may be unread and 8 were: %v", i+1, err)
		}
	}
}
