// Messages that commits send.

package worldtest

import (
	"github.com/stepwell/stepwell/world"
)

// sends is a commit with texts for q, each recorded.
func (s *session) sends(queue string, texts ...string) *world.Commit {
	var events []world.Event
	var all []world.Message
	for _, text := range texts {
		e := stepCreated("step_"+text, world.KindMessage)
		e.Name = queue
		events = append(events, e)
		all = append(all, world.Message{Queue: queue, Payload: quoted(text), Priority: 1})
	}
	c := s.next(events...)
	c.Messages = all
	return c
}

var messagesOfCommits = []check{
	{"a commit sends messages", "every change is one commit", withMessages(func(m *messaging) {
		s := m.worker("greet").create("greet")
		s.write(s.sends("q", "a", "b"))
		m.gets(5, "a", "b")
		late := s.sends("q", "late")
		s.write(s.sends("q", "c"))
		_, err := m.w.Commit(m.ctx, late)
		m.refused(err, world.ErrLeaseLost, "a commit at a number that is taken")
		c := s.sends("q", "last")
		c.Messages[0].Headers = map[string]string{"h": "x"}
		c.Events = append(c.Events, world.Event{Type: world.RunCompleted, Time: world.Now(), Payload: jsonText(`1`)})
		s.write(c)
		got := m.gets(5, "c", "last")
		m.same(got[1].Headers, map[string]string{"h": "x"}, "headers")
	})},
	{"a birth sends messages", "every change is one commit", withMessages(func(m *messaging) {
		c := birth("greet")
		c.Worker, c.Claim = m.worker("greet").id, 1
		c.Messages = []world.Message{{Queue: "q", Payload: quoted("g:1"), Group: "g"}, {Queue: "q", Payload: quoted("g:2"), Group: "g"}}
		m.commit(c)
		first := m.gets(5, "g:1")
		m.ends(world.Ack, 0, true, first...)
		m.gets(5, "g:2")
	})},
	{"a queue that is not there", "a commit that is refused changes nothing", withMessages(func(m *messaging) {
		s := m.worker("greet").create("greet")
		c := s.sends("q", "a")
		c.Messages = append(c.Messages, world.Message{Queue: "nowhere", Payload: quoted("b")})
		m.unchanged(s.run, func() {
			_, err := m.w.Commit(m.ctx, c)
			m.refused(err, world.ErrNotFound, "a commit with a message for a queue that is not there")
		})
		m.gets(5)
		m.declare(world.MessageQueue{Name: "nowhere"})
		s.write(c)
		m.gets(5, "a")
	})},
	{"messages that no commit sends", "bad input is refused before anything is written", withMessages(func(m *messaging) {
		s := m.worker("greet").create("greet")
		for what, bad := range map[string]world.Message{
			"dedupe ID": {Queue: "q", Payload: quoted("a"), Dedupe: "once"},
			"queue":     {Queue: "not a name", Payload: quoted("a")},
			"payload":   {Queue: "q", Payload: []byte("{")},
		} {
			c := s.sends("q", "a")
			c.Messages = []world.Message{bad}
			_, err := m.w.Commit(m.ctx, c)
			m.refused(err, world.ErrInvalid, what)
		}
		c := birth("greet")
		c.Messages = []world.Message{{Queue: "q", Payload: quoted("a")}}
		_, err := m.w.Commit(m.ctx, c)
		m.refused(err, world.ErrInvalid, "a birth by a client")
		m.gets(5)
	})},
}
