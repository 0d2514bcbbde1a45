package engine

// While a run is paused nothing is delivered and nothing fires. Bodies in flight end and are recorded; all other mail stays in the inbox, and what
// falls due waits, until the pause ends: then they follow in the order of their times.

import (
	"time"

	"github.com/stepwell/stepwell/world"
)

// holdBack keeps mail for the end of the pause, unless it is what ends it. A cancel comes after what came and fell due before
// it; a resumption lets them go on: see resumed.
func (s *session) holdBack(msg *message) bool {
	switch e := &msg.mail.Events[len(msg.mail.Events)-1]; e.Type {
	case world.RunPaused, world.RunResumed:
		return false
	case world.CancelRequested:
		if s.state.Cancel != nil {
			return false // asked for before: the run was paused while it cleans up
		}
		s.free(msg.mail.ArrivedAt, msg)
		return true
	}
	s.shelf = append(s.shelf, *msg)
	return true
}

// resumed lets everything follow that came and fell due while the run was paused.
func (s *session) resumed() { s.free(s.now, nil) }

// free handles what the pause held back up to a moment, and then what ended the pause, if that comes last. What there is no room for in the turn is
// held back again, or follows in the next one.
func (s *session) free(until time.Time, last *message) {
	msgs := s.shelf
	s.shelf = nil
	msgs = s.due(until, msgs)
	if s.pollLater(s.now); last != nil {
		msgs = append(msgs, *last)
	}
	s.freeing = true
	s.handle(msgs)
	s.freeing = false
}
