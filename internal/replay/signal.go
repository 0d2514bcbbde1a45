package replay

import (
	"cmp"
	"encoding/json"
	"slices"
	"time"

	"github.com/stepwell/stepwell/world"
)

// letterbox is where the signals of one name meet the waits for them.
type letterbox struct {
	unread  line[*letter]
	waiting line[*Op]
	taken   int // payloads that waits have, and the code has not looked at
}

// letter is a payload that came: of a signal or a hook.
type letter struct {
	seq      int64
	payload  []byte
	accepted bool
}

func (l *letter) gone() bool { return l.accepted }

func (o *Op) gone() bool { return o.future.done }

func (m *Machine) letterbox(name string) *letterbox {
	b := m.boxes[name]
	if b == nil {
		b = &letterbox{}
		put(&m.boxes, name, b)
	}
	return b
}

// Listening says of a wait for an event that it gets what is published, too, and what of that was published before.
type Listening struct{ Since time.Duration }

// Event asks for a wait for a signal with a name whose payload contains match (empty: any). With a timeout above zero it also ends when that has
// passed: see [Future.Received]. A signal that came before is taken at once, the oldest first.
func (x *Ctx) Event(name string, match json.RawMessage, timeout time.Duration, timed bool) *Future {
	return x.CheckedEvent(name, match, timeout, timed, nil, nil)
}

// CheckedEvent is [Ctx.Event] for what the check lets through; nil: all. With listen it gets what is published too.
func (x *Ctx) CheckedEvent(name string, match json.RawMessage, timeout time.Duration, timed bool, check *Check, listen *Listening) *Future {
	m := x.m
	f := x.wait(world.KindEvent, name, func(op *Op) {
		op.Match, op.Timed, op.check, op.Listen = match, timed, check, listen
		if op.After = timeout; timed && timeout <= 0 {
			op.Until = m.now
		}
	})
	if f.op == nil {
		return f
	}
	b := m.letterbox(name)
	given := 0
	for i := b.unread.from; i < len(b.unread.items) && !f.done; i++ {
		if l := b.unread.items[i]; !l.accepted && accepts(f.op, l.payload) {
			l.accepted = true
			m.give(f.op, l.seq, l.payload)
			given++
		}
	}
	for range given {
		b.unread.dropped()
	}
	if !f.done {
		b.waiting.add(f.op)
	}
	m.tidy(name, b)
	return f
}

// Received reports whether the wait ended because its event came, not because its time did.
func (f *Future) Received() bool { return f.done && f.err == nil && f.received }

func accepts(op *Op, payload []byte) bool {
	return len(op.Match) == 0 || world.Contains(payload, op.Match)
}

// signal gives a payload to the first wait that matches, or keeps it.
func (m *Machine) signal(e *world.Event) {
	if e.ID != "" {
		addressed(m, e)
		return
	}
	b := m.letterbox(e.Name)
	for i := b.waiting.from; i < len(b.waiting.items); i++ {
		if op := b.waiting.items[i]; !op.gone() && accepts(op, e.Payload) {
			if m.give(op, e.Seq, e.Payload); op.gone() {
				b.waiting.dropped()
				m.tidy(e.Name, b)
			}
			return
		}
	}
	m.keep(e)
}

// addressed gives what was published to the wait that it is for, if that still waits for it. Nobody else gets it.
func addressed(m *Machine, e *world.Event) {
	op := m.open[e.ID]
	if op == nil || op.gone() || op.Key.Kind != world.KindEvent || op.Type != world.WaitCreated || !accepts(op, e.Payload) {
		return
	}
	if m.give(op, e.Seq, e.Payload); op.gone() {
		b := m.letterbox(op.Key.Name)
		b.waiting.dropped()
		m.tidy(op.Key.Name, b)
	}
}

// keep puts a signal where the next wait finds it.
func (m *Machine) keep(e *world.Event) {
	m.letterbox(e.Name).unread.add(&letter{seq: e.Seq, payload: e.Payload})
}

// give hands a signal to the wait that it is for: it ends that, and asks for this to be recorded; or it is set aside, and the wait goes on. Nobody else gets it.
func (m *Machine) give(op *Op, seq int64, payload []byte) {
	bad := m.misfit(op, op.check, seq, payload)
	switch {
	case bad == nil:
		op.future.received = true
		op.future.resolve(payload, nil)
	case bad.told:
		op.future.resolve(nil, bad)
	default:
		return
	}
	op.future.taken = true
	m.letterbox(op.Key.Name).taken++
	m.ask(&Op{Type: world.WaitCompleted, ID: op.ID, Key: op.Key, From: seq, scope: op.scope, future: op.future})
}

// look notes that the code knows what the wait for an event came to.
func (f *Future) look() {
	if !f.taken {
		return
	}
	f.taken = false
	b := f.m.letterbox(f.op.Key.Name)
	b.taken--
	f.m.tidy(f.op.Key.Name, b)
}

// Taken counts the payloads of an event that waits took and that the code has not looked at.
func (m *Machine) Taken(event string) int {
	if b := m.boxes[event]; b != nil {
		return b.taken
	}
	return 0
}

// stopWaiting takes an event wait whose future is resolved out of its letterbox.
func (m *Machine) stopWaiting(op *Op) {
	if op.Key.Kind == world.KindEvent && op.Type == world.WaitCreated {
		b := m.letterbox(op.Key.Name)
		b.waiting.dropped()
		m.tidy(op.Key.Name, b)
	}
}

// tidy forgets a letterbox that is empty: a long run may use many names.
func (m *Machine) tidy(name string, b *letterbox) {
	if len(b.unread.items) == 0 && len(b.waiting.items) == 0 && b.taken == 0 {
		delete(m.boxes, name)
	}
}

// Crowded reports whether at least n signals and payloads are unread. It looks at each only where that may be.
func (m *Machine) Crowded(n int) bool { return m.Kept() >= n && len(m.Unread()) >= n }

// Kept counts the signals and payloads that are unread; a few may be counted that a wait has taken.
func (m *Machine) Kept() (kept int) {
	for _, b := range m.boxes {
		kept += len(b.unread.items) - b.unread.from
	}
	for _, h := range m.hooks {
		kept += len(h.unread)
	}
	return kept
}

// Unread are the signals and the hooks' payloads that nobody has taken, in the order in which they came.
func (m *Machine) Unread() []world.Event {
	var all []world.Event
	for name, b := range m.boxes {
		for _, l := range b.unread.items[b.unread.from:] {
			if !l.accepted {
				all = append(all, world.Event{Seq: l.seq, Type: world.SignalReceived, Name: name, Payload: l.payload})
			}
		}
	}
	for id, h := range m.hooks {
		for _, l := range h.unread {
			all = append(all, world.Event{Seq: l.seq, Type: world.HookReceived, ID: id, Payload: l.payload})
		}
	}
	slices.SortFunc(all, func(a, b world.Event) int { return cmp.Compare(a.Seq, b.Seq) })
	return all
}
