package engine

// While a run is paused nothing is delivered and nothing fires. Bodies in flight end and are recorded; all other mail stays in the inbox, and what
// falls due waits, until the pause ends: then they follow in the order of their times.

import (
	"time"

	"github.com/stepwell/stepwell/world"
)

// shelf is mail that came while the run is paused, and of which nothing is appended: it stays there, in order, until the pause ends, or a cancel comes.
type shelf struct {
	mail []message
	free bool // what was on it is being handled: nothing is put there meanwhile
}

// holds reports whether what comes now is to wait.
func (f *shelf) holds(s *world.State) bool { return s.Paused != nil && !f.free }

func (f *shelf) put(msg message) { f.mail = append(f.mail, msg) }

// open takes all that is there, to be handled until the shelf is shut.
func (f *shelf) open() []message {
	mail := f.mail
	f.mail, f.free = nil, true
	return mail
}

func (f *shelf) shut() { f.free = false }

// holdBack keeps mail for the end of the pause, unless it is what ends it. A cancel comes after what came and fell due before
// it; a resumption lets them go on: see free.
func (s *session) holdBack(msg *message) bool {
	switch e := &msg.mail.Events[len(msg.mail.Events)-1]; e.Type {
	case world.RunPaused, world.RunResumed:
		return false
	case world.CancelRequested:
		if s.course.state().Cancel != nil {
			return false // asked for before: the run was paused while it cleans up
		}
		s.free(msg.mail.ArrivedAt, msg)
		return true
	}
	s.shelf.put(*msg)
	return true
}

// free handles what the pause held back up to a moment, and then what ended the pause, if that comes last. What there is no room for in the turn is
// held back again, or follows in the next one.
func (s *session) free(until time.Time, last *message) {
	msgs := s.due(until, s.shelf.open())
	if s.timers.lookAt(s.course.now()); last != nil {
		msgs = append(msgs, *last)
	}
	s.handle(msgs)
	s.shelf.shut()
}
