package rules

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stepwell/stepwell/world"
)

func TestEnd(t *testing.T) {
	for end, want := range map[world.EventType]world.Status{
		world.RunCompleted: world.Completed, world.RunFailed: world.Failed, world.RunCancelled: world.Cancelled,
	} {
		events := []world.Event{{Type: world.StepCompleted}, {Type: end}}
		if got := End(events); got != &events[1] || EndStatus(got.Type) != want {
			t.Errorf("%s: got %+v, want the last event, and %s", end, got, want)
		}
	}
	if got := End([]world.Event{{Type: world.StepCompleted}}); got != nil || End(nil) != nil {
		t.Errorf("events that end nothing: got %+v", got)
	}
}

func TestUnreadable(t *testing.T) {
	for err, want := range map[error]bool{
		fmt.Errorf("row 7: %w", world.ErrCorrupt): true, fmt.Errorf("row 7: %w", world.ErrFormat): true,
		world.ErrNotFound: false, errors.New("broken pipe"): false, nil: false,
	} {
		if Unreadable(err) != want {
			t.Errorf("%v: want %v", err, want)
		}
	}
}
