package rules

import "github.com/stepwell/stepwell/world"

// Listening is what events do to the waits of a run that listen. Who keeps them does these in this order.
type Listening struct {
	All     bool           // those that were there before are over
	Created []*world.Event // and not over
	Over    []string       // IDs of those that were there before
}

// Listens says what events do to the waits of a run that listen; nil: nothing.
func Listens(events []world.Event) *Listening {
	var l *Listening
	for i := range events {
		e := &events[i]
		if e.Listen == nil && !e.Listened {
			continue
		}
		if l == nil {
			l = &Listening{}
		}
		switch e.Type {
		case world.WaitCreated:
			l.Created = append(l.Created, e)
		case world.WaitCompleted:
			if !l.end(e.ID) {
				l.Over = append(l.Over, e.ID)
			}
		default:
			*l = Listening{All: true}
		}
	}
	return l
}

// end forgets one that was created in these events.
func (l *Listening) end(wait string) bool {
	for i, e := range l.Created {
		if e.ID == wait {
			l.Created = append(l.Created[:i:i], l.Created[i+1:]...)
			return true
		}
	}
	return false
}
