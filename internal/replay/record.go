package replay

import (
	"bytes"
	"fmt"
	"time"

	"github.com/stepwell/stepwell/world"
)

// record holds a creation event against what the code asked for.
func (m *Machine) record(e *world.Event) {
	if !e.Creation() {
		return
	}
	i := m.asked.find(e.Type, e.ID)
	if i < 0 {
		m.fail(m.unexpected(e))
		return
	}
	if err := m.mismatch(m.asked.ops[i], e); err != nil {
		m.fail(err)
		return
	}
	m.past.goesTo(m.asked.ops[i], e, i > m.asked.from)
	op := m.asked.remove(i)
	op.recorded = true
	m.stands(op, e)
	m.forget(op)
}

// stands takes over what was recorded, where today's code computes something else: the record is what others act on.
func (m *Machine) stands(op *Op, e *world.Event) {
	switch op.Type {
	case world.StepCreated:
		op.Input, op.Apart, op.Peer = e.Payload, e.Apart, e.Peer
	case world.WaitCreated:
		op.Match = e.Match
	case world.HookCreated:
		op.kept = e.Payload
		if op.hook != nil && op.Token != e.Token && !op.hook.disposed {
			if m.dropToken(op.hook); e.Peer != "" { // a fork has another token than its code asks for, and knows the hook by both
				op.hook.asked = op.Token
				put(&m.tokens, op.Token, op.hook)
				put(&m.own, e.Token, op.Token)
			}
			op.Token = e.Token
			put(&m.tokens, op.Token, op.hook)
		}
	}
}

// forget drops what needs no answer: records, and waits that took a signal before they were recorded.
func (m *Machine) forget(op *Op) {
	switch op.Type {
	case world.WaitCompleted:
		if wait := m.open[op.ID]; wait != nil {
			m.ended(wait)
		}
	case world.HookDisposed:
		if made := m.open[op.ID]; made != nil {
			m.ended(made)
			m.dropHook(made.hook)
		}
	case world.StepCreated:
		if op.Key.Kind == world.KindPatch {
			m.ended(op)
		}
	}
}

// mismatch compares an operation with its record. The ID covers kind and name, so that a difference means a log that was not written by
// this code's rules; a different input, match or token counts in strict mode alone: otherwise the recorded one stands.
func (m *Machine) mismatch(op *Op, e *world.Event) error {
	switch e.Type {
	case world.HookDisposed:
		return nil
	case world.WaitCompleted:
		if e.From != op.From {
			return m.diverged(e, fmt.Sprintf("%s taking event %d", op.Describe(), e.From), op)
		}
		return nil
	case world.StepCreated:
		if op.Key.Kind.Decision() && e.From != op.From {
			return m.diverged(e, fmt.Sprintf("%s, of event %d", op.Describe(), e.From), op)
		}
	}
	if e.Name != op.Key.Name || e.Occurrence != op.Key.Occurrence || e.Path != op.Key.Path {
		return m.diverged(e, describe(e.Type, e.Key(m.cfg.Segment)), op)
	}
	if !m.cfg.Strict {
		return nil
	}
	switch {
	case e.Type != world.HookConflict && !sameInput(m, op.Input, e) && (op.alike == nil || !op.alike(op.Input, e.Payload)):
		// A conflict does not keep the metadata of what was refused.
		return m.differs(op, e, "input", op.Input, e.Payload)
	case op.Key.Kind == world.KindChild && op.kept != nil:
		return m.differs(op, e, "ID", op.kept, []byte(e.Peer))
	case op.Key.Kind == world.KindChild && op.Chosen && op.Peer != e.Peer:
		return m.differs(op, e, "ID", []byte(op.Peer), []byte(e.Peer))
	case op.Key.Kind == world.KindSend && !m.same([]byte(op.Peer), []byte(e.Peer)):
		return m.differs(op, e, "run", []byte(op.Peer), []byte(e.Peer))
	case (op.Listen != nil) != (e.Listen != nil):
		return m.differs(op, e, "listening", listens(op.Listen != nil), listens(e.Listen != nil))
	case !m.same(op.Match, e.Match):
		return m.differs(op, e, "match", op.Match, e.Match)
	case op.Token != e.Token && e.Peer == "":
		return m.diverged(e, op.Describe()+" with another token", op) // a report has no tokens: who reads it may not send
	case op.Type == world.WaitCreated && !m.cfg.Fork && op.until(e.Time).Sub(e.Until).Abs() > time.Microsecond: // the log rounds
		return m.differs(op, e, "deadline", deadline(op.until(e.Time)), deadline(e.Until))
	}
	return nil
}

// sameInput is same for an input. One of a fork that is kept apart is not looked into for tokens.
func sameInput(m *Machine, asked []byte, e *world.Event) bool {
	if e.Apart == "" {
		return m.same(asked, e.Payload)
	}
	return len(m.own) > 0 || world.SameValue(asked, e.Payload, e.Apart)
}

// same reports whether the code asks for what is recorded. A fork's code is given the fork's own tokens, where its source's may be recorded, which may be a
// fork too.
func (m *Machine) same(asked, recorded []byte) bool {
	if bytes.Equal(asked, recorded) {
		return true
	}
	for own, token := range m.own {
		asked = bytes.ReplaceAll(asked, []byte(own), []byte(token))
		recorded = world.Unfork(recorded, token)
	}
	return len(m.own) > 0 && bytes.Equal(asked, recorded)
}

// differs reports an operation that is the recorded one but for a part of it.
func (m *Machine) differs(op *Op, e *world.Event, part string, now, recorded []byte) error {
	d := m.diverged(e, fmt.Sprintf("%s with %s %s", op.Describe(), part, clip(recorded)), op)
	d.Code = fmt.Sprintf("%s with %s %s", op.Describe(), part, clip(now))
	return d
}

func listens(on bool) []byte {
	if on {
		return []byte("to what is published")
	}
	return []byte("to no topic")
}

func deadline(t time.Time) []byte {
	if t.IsZero() {
		return nil
	}
	return t.AppendFormat(nil, time.RFC3339Nano)
}

func clip(b []byte) string {
	switch {
	case len(b) == 0:
		return "none"
	case len(b) > 200:
		return string(bytes.ToValidUTF8(b[:200], nil)) + "…"
	}
	return string(b)
}

// ask notes an operation of the running coroutine that the log must record.
func (m *Machine) ask(op *Op) {
	if m.locates(op) {
		op.pcs = callers(4)
	}
	m.asks++
	op.order = m.asks
	m.asked.add(op)
	m.acceptances = m.acceptances[:0] // this stands behind them
	if m.cfg.Strict {
		m.say(op)
	}
}

// locates reports whether a report may want to know where an operation was asked for. Noting that takes longer than all the rest, so it is done
// only while events are replayed, and only for what their next creation does not match.
func (m *Machine) locates(op *Op) bool {
	for i := max(m.matched, m.at+1); i < len(m.fed); i++ {
		e := &m.fed[i]
		m.matched = i
		if !e.Creation() {
			continue
		}
		if e.ID == op.ID && sameCreation(op.Type, e.Type) {
			m.matched++
			return m.cfg.Strict
		}
		return true
	}
	m.matched = max(m.matched, len(m.fed))
	return m.cfg.Strict || m.replaying.Load() || len(m.fed) > m.at+1
}

// Recorded reports whether the log at hand has what the running coroutine asks for next under a kind and name: it was asked for before.
func (x *Ctx) Recorded(k world.Kind, name string) bool {
	c, err := x.m.enter()
	if err != nil {
		return false
	}
	key := world.Key{Segment: x.m.cfg.Segment, Path: c.path, Kind: k, Name: name}
	if n := c.uses(k, name); n != nil {
		key.Occurrence = *n
	}
	id := x.m.id(key)
	for i := x.m.at + 1; i < len(x.m.fed); i++ {
		if e := &x.m.fed[i]; e.ID == id && e.Creation() {
			return true
		}
	}
	return false
}

// key makes the key of the running coroutine's next operation of a kind and name.
func (m *Machine) key(c *coro, k world.Kind, s string) world.Key {
	n := c.uses(k, s)
	if n == nil {
		n = c.counts(k, s)
	}
	*n++
	return world.Key{Segment: m.cfg.Segment, Path: c.path, Kind: k, Name: s, Occurrence: *n - 1}
}

func (m *Machine) id(k world.Key) string { return world.CorrelationID(m.cfg.Run, m.cfg.Created, k) }
