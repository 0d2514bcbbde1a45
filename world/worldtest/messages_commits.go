// Messages that commits send.

package worldtest

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

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
		all = append(all, world.Message{Queue: queue, Payload: quoted(text)})
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
	{"a birth acknowledges a message", "a run is created and its message deleted, or neither", withMessages(func(m *messaging) {
		m.send("a", "b", "g:1", "g:2")
		all := m.gets(5, "a", "b", "g:1")
		m.commit(acking(all[0].Receipt, ""))
		m.commit(acking(all[2].Receipt, ""))
		m.states("b out", "g:2 ready")
		again := acking(all[0].Receipt, "")
		_, err := m.w.Commit(m.ctx, again)
		m.refused(err, world.ErrReceipt, "a birth with the receipt of a message that is gone")
		m.absent(again.Run)
		m.ends(world.Nack, 0, true, all[1])
		late := acking(all[1].Receipt, "")
		_, err = m.w.Commit(m.ctx, late)
		m.refused(err, world.ErrReceipt, "a birth with a receipt that was given back")
		m.absent(late.Run)
		m.states("b ready", "g:2 ready")
	})},
	{"a birth with a known key acknowledges too", "a key starts one run", withMessages(func(m *messaging) {
		m.send("a", "b", "c")
		all := m.gets(5, "a", "b", "c")
		first := acking(all[0].Receipt, "k")
		m.commit(first)
		second := acking(all[1].Receipt, "k")
		m.same(m.commit(second).Existing, first.Run, "the run that has the key")
		m.absent(second.Run)
		m.states("c out")
		_, err := m.w.Commit(m.ctx, acking(all[1].Receipt, "k"))
		m.refused(err, world.ErrReceipt, "the same message again")
		same := acking(all[2].Receipt, "k")
		same.Run = first.Run
		m.same(m.commit(same).Existing, first.Run, "the same run again")
		m.states()
	})},
	{"receipts that no commit has", "bad input is refused before anything is written", withMessages(func(m *messaging) {
		m.send("a")
		receipt := m.gets(1, "a")[0].Receipt
		s := m.worker("greet").create("greet")
		owned := birth("greet")
		owned.Worker, owned.Claim, owned.Ack = s.id, 1, receipt
		later := s.next(world.Event{Type: world.SignalReceived, Name: "x"})
		later.Ack = receipt
		for what, c := range map[string]*world.Commit{"no receipt": acking("rcpt_no", ""), "a worker's birth": owned, "no birth": later} {
			_, err := m.w.Commit(m.ctx, c)
			m.refused(err, world.ErrInvalid, what)
		}
		m.states("a out")
	})},
	{"births race for a message", "one run is created for a message", withMessages(func(m *messaging) {
		for i := range 10 {
			m.send(fmt.Sprint(i))
			receipt := m.receive(1).Messages[0].Receipt
			var created atomic.Int32
			var all sync.WaitGroup
			for range 4 {
				all.Go(func() {
					switch _, err := m.w.Commit(m.ctx, acking(receipt, "")); {
					case err == nil:
						created.Add(1)
					case !errors.Is(err, world.ErrReceipt):
						m.Errorf("a birth: %v", err)
					}
				})
			}
			all.Wait()
			m.same(created.Load(), int32(1), "births for a message")
		}
		m.states()
	})},
}

// acking is a birth that acknowledges a message.
func acking(receipt, key string) *world.Commit {
	c := birth("greet", func(b *world.Birth) { b.Key = key })
	c.Ack = receipt
	return c
}
