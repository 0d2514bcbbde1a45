package replay

import (
	"encoding/json"
	"time"

	"github.com/stepwell/stepwell/world"
)

// Event asks for a wait for a signal with a name whose payload contains match (empty: any). With a timeout above zero it also ends when that has
// passed: see [Received]. A signal that came before is taken at once, the oldest first.
func (x *Ctx) Event(name string, match json.RawMessage, timeout time.Duration, timed bool) *Future {
	f := x.wait(world.KindEvent, name, func(op *Op) {
		op.Match, op.Timed = match, timed
		if op.After = timeout; timed && timeout <= 0 {
			op.Until = x.m.now
		}
	})
	if f.op == nil {
		return f
	}
	m := x.m
	for i := range m.unread {
		if e := &m.unread[i]; takes(f.op, e) {
			took := *e
			m.unread = append(m.unread[:i:i], m.unread[i+1:]...)
			m.take(f.op, &took)
			return f
		}
	}
	m.waiting = append(m.waiting, f.op)
	return f
}

// Received reports whether the wait ended because its event came, not because its time did.
func (f *Future) Received() bool { return f.done && f.err == nil && f.received }

func takes(op *Op, e *world.Event) bool {
	return op.Key.Name == e.Name && (len(op.Match) == 0 || world.Contains(e.Payload, op.Match))
}

// signal gives a payload to the first wait that matches, or keeps it.
func (m *Machine) signal(e *world.Event) {
	for _, op := range m.waiting {
		if takes(op, e) {
			m.dropWaiter(op)
			m.take(op, e)
			return
		}
	}
	m.unread = append(m.unread, *e)
}

// take ends a wait with a signal and asks for that to be recorded.
func (m *Machine) take(op *Op, e *world.Event) {
	op.future.received = true
	op.future.resolve(e.Payload, nil)
	m.ask(&Op{Type: world.WaitCompleted, ID: op.ID, Key: op.Key, From: e.Seq, scope: op.scope, future: op.future})
}

func (m *Machine) dropWaiter(op *Op) {
	for i, w := range m.waiting {
		if w == op {
			m.waiting = append(m.waiting[:i:i], m.waiting[i+1:]...)
			return
		}
	}
}
