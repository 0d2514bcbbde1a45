package engine

import (
	"github.com/stepwell/stepwell/world"
)

// desk is the room that a session works in. The next session takes it over: most live for a few steps, and making it anew would be most of what they
// allocate.
type desk struct {
	events     []world.Event
	box, spare []message
	ready      []string
	starts     []*body
	bodies     map[string]*body
	commit     *world.Commit
}

// Bounds of what a desk keeps.
const (
	deskEvents   = 32
	spareEvents  = 1024 // and what a session keeps between turns
	deskMessages = 64
	deskNames    = 64
)

// sit gives the session a desk.
func (s *session) sit() {
	d, _ := s.e.desks.Get().(*desk)
	if d == nil {
		d = &desk{bodies: map[string]*body{}, commit: &world.Commit{}}
	}
	s.desk = d
	s.box.open(d.box, d.spare, &s.own)
	s.ready = readySteps{d.ready}
	s.bodies.open(d.bodies, d.starts)
	s.turn.open(d.events)
	s.pen.open(d.commit)
}

// leave gives the desk back, empty, where nobody can still look at what lies on it: the session has come to its end in good order, and has closed its
// mailbox. Its last commit has its answer then: see commit.
func (s *session) leave() {
	d := s.desk
	s.desk = nil
	if d.commit = s.pen.room(); d.commit == nil || s.stay.isLost() || s.course.blocked() || !s.stay.isOver() || s.bodies.some() {
		return
	}
	d.events = empty(s.turn.room(), deskEvents)
	d.spare = empty(s.box.room(), deskMessages)
	d.ready = empty(s.ready.room(), deskNames)
	d.starts = empty(s.bodies.room(), deskNames)
	*d.commit = world.Commit{}
	s.e.desks.Put(d)
}

// empty clears a list and keeps its room, if that is not too large.
func empty[T any](list []T, most int) []T {
	if cap(list) > most {
		return nil
	}
	clear(list[:cap(list)])
	return list[:0]
}
