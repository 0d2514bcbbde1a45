package postgres

import (
	"errors"
	"testing"

	"github.com/stepwell/stepwell/world"
)

// Until limits are built here, what needs a place is refused, and not started without it.
func TestLimitsAreRefused(t *testing.T) {
	t.Parallel()
	w := open(t)
	c := &world.Commit{ID: [16]byte{1}, Run: "limited", First: 1, Events: []world.Event{{
		Type: world.RunCreated, Time: world.Now(), Payload: []byte(`1`),
		Birth: &world.Birth{Workflow: "greet", Version: 1, Priority: 1, Places: []world.Place{{Limit: "bank", Number: 1}}},
	}}}
	if _, err := w.Commit(t.Context(), c); !errors.Is(err, world.ErrInvalid) {
		t.Errorf("a birth with places: got %v, want %v", err, world.ErrInvalid)
	}
	if _, err := w.Run(t.Context(), "limited"); !errors.Is(err, world.ErrNotFound) {
		t.Errorf("the run: got %v, want %v", err, world.ErrNotFound)
	}
}
