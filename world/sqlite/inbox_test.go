package sqlite

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stepwell/stepwell/world"
)

// TestUnreadOfARunAtRest: what its owner said is unread in the log counts still when it has given the run up.
func TestUnreadOfARunAtRest(t *testing.T) {
	t.Parallel()
	w := open(t, Options{InboxLimit: 10})
	wk := join(t, w, time.Minute, world.Class{Workflow: "any", Version: 1})
	must(t, w, eager("run_1", "any", wk.ID))
	must(t, w, &world.Commit{ID: commitID(), Run: "run_1", Worker: wk.ID, Take: 1, First: 3, Unread: 8, Release: &world.Release{}})
	for i := range 4 {
		d := &world.Delivery{ID: fmt.Sprint(i), Run: "run_1", Events: []world.Event{{Type: world.SignalReceived, Name: "s"}}}
		if _, err := w.Deliver(t.Context(), d); (i < 2) != (err == nil) || i >= 2 && !errors.Is(err, world.ErrInboxFull) {
			t.Errorf("payload %d, where 10 may be unread and 8 were: %v", i+1, err)
		}
	}
}
