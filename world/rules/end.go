package rules

import (
	"errors"

	"github.com/stepwell/stepwell/world"
)

// End returns the event that ends a run where the last of some does, else nil.
func End(events []world.Event) *world.Event {
	if n := len(events); n > 0 && events[n-1].Type.Terminal() {
		return &events[n-1]
	}
	return nil
}

// EndStatus is the status of a run that an event of a type has ended.
func EndStatus(end world.EventType) world.Status {
	switch end {
	case world.RunCompleted:
		return world.Completed
	case world.RunFailed:
		return world.Failed
	default:
		return world.Cancelled
	}
}

// Unreadable reports whether an error says that a log cannot be read there: it is damaged, or of a later release. Who
// ends a run, or lets it rest, need not read it.
func Unreadable(err error) bool {
	return errors.Is(err, world.ErrCorrupt) || errors.Is(err, world.ErrFormat)
}
