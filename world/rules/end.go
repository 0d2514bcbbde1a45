package rules

import (
	"errors"

	"github.com/stepwell/stepwell/world"
)

// End returns the last of some events if it ends its run, else nil.
func End(events []world.Event) *world.Event {
	if n := len(events); n > 0 && events[n-1].Type.Terminal() {
		return &events[n-1]
	}
	return nil
}

// EndStatus returns the status of a run that ended with an event of this type.
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

// Unreadable reports whether an error means that a log cannot be read: it is damaged, or from a
// later release.
func Unreadable(err error) bool {
	return errors.Is(err, world.ErrCorrupt) || errors.Is(err, world.ErrFormat)
}
