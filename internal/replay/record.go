package replay

import (
	"bytes"
	"fmt"

	"github.com/stepwell/stepwell/world"
)

// record holds a creation event against what the code asked for.
func (m *Machine) record(e *world.Event) {
	if !e.Creation() {
		return
	}
	for i, op := range m.asked {
		if op.ID != e.ID || !sameCreation(op.Type, e.Type) {
			continue
		}
		if d := m.mismatch(op, e); d != nil {
			m.fail(d)
			return
		}
		op.recorded = true
		if i == 0 {
			m.asked = m.asked[1:] // the usual case: in the order in which they were asked
		} else {
			m.asked = append(m.asked[:i], m.asked[i+1:]...)
		}
		m.forget(op)
		return
	}
	m.fail(m.unexpected(e))
}

// sameCreation reports whether an event of type e can record an op of type o.
func sameCreation(o, e world.EventType) bool {
	return o == e || o == world.HookCreated && e == world.HookConflict
}

// forget drops what needs no answer: records, and waits that took a signal before they were recorded.
func (m *Machine) forget(op *Op) {
	switch op.Type {
	case world.WaitCompleted:
		delete(m.open, op.ID)
	case world.StepCreated:
		if op.Key.Kind == world.KindPatch {
			delete(m.open, op.ID)
		}
	}
}

// mismatch compares an operation with its record. The ID covers kind and name, so that a difference means a log that was not written by
// this code's rules; a different input counts in strict mode alone: otherwise the recorded one stands.
func (m *Machine) mismatch(op *Op, e *world.Event) error {
	if e.Type != world.WaitCompleted && e.Type != world.HookDisposed && (e.Name != op.Key.Name || e.Occurrence != op.Key.Occurrence || e.Path != op.Key.Path) {
		return m.diverged(e, describe(e.Type, e.Key(m.cfg.Segment)), op)
	}
	if e.Type == world.WaitCompleted && e.From != op.From {
		return m.diverged(e, fmt.Sprintf("%s taking event %d", op.Describe(), e.From), op)
	}
	if m.cfg.Strict && op.Type == world.StepCreated && !bytes.Equal(op.Input, e.Payload) {
		return m.diverged(e, fmt.Sprintf("%s with input %s", op.Describe(), clip(e.Payload)), op)
	}
	return nil
}

func clip(b []byte) string {
	if len(b) > 200 {
		return string(b[:200]) + "…"
	}
	return string(b)
}

// ask notes an operation of the running coroutine that the log must record.
func (m *Machine) ask(op *Op) {
	m.index++
	op.index = m.index
	op.locate()
	m.asked = append(m.asked, op)
	delete(m.logged, loggedKey{op.Type, op.ID})
}

// key makes the key of the running coroutine's next operation of a kind and name.
func (m *Machine) key(c *coro, k world.Kind, s string) world.Key {
	return world.Key{Segment: m.cfg.Segment, Path: c.path, Kind: k, Name: s, Occurrence: c.occurrence(k, s)}
}

func (m *Machine) id(k world.Key) string { return world.CorrelationID(m.cfg.Run, m.cfg.Born, k) }
