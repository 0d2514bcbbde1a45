package rules

import "github.com/stepwell/stepwell/world"

// Listening is the effect of events on a run's waits that receive publications. Apply its fields in
// order.
type Listening struct {
	All     bool           // earlier waits are over
	Created []*world.Event // new waits that are not over
	Over    []string       // IDs of earlier waits that are over
}

// Listens returns the effect of events on a run's waits that receive publications; nil: none.
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
