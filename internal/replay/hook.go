package replay

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base32"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/stepwell/stepwell/world"
)

// hook is a point that receives payloads from outside.
type hook struct {
	op        *Op
	granted   bool
	disposed  bool
	unread    []*letter
	receivers line[*receiver]
	bound     []*Future // who asked for the token again after a cancel had ended the first asking
	asked     string    // the token that the code asked for, where a fork was given another; else ""
}

// receiver waits for a payload of a hook.
type receiver struct {
	member member
	hook   *hook
	future *Future
	check  *Check // nil: it takes all
	until  *Op    // the wait that ends it; nil: it has no deadline
}

func (r *receiver) gone() bool { return r.future.done }

func (r *receiver) cancel(*Machine) { r.end(nil, ErrCancelled) }

func (r *receiver) end(payload []byte, err error) {
	r.member.leave()
	r.future.resolve(payload, err)
	r.hook.receivers.dropped()
}

// met ends the wait behind the deadline of a receiver that needs it no longer, where that is open: or its timer would
// wake the run for nothing.
func (r *receiver) met(m *Machine) {
	op := r.until
	if op == nil || op.future.done || m.outcome != nil {
		return
	}
	op.future.resolve(nil, nil)
	m.ask(&Op{Type: world.WaitCompleted, ID: op.ID, Key: op.Key, scope: op.scope, future: op.future})
}

// HookSpec says what hook is asked for.
type HookSpec struct {
	Name     string
	Token    string // "": one that nobody can guess
	Prefix   string // of such a token
	Metadata json.RawMessage
	// Alike reports whether metadata that was recorded is what the code asks for, though the bytes differ; nil: it is not. Strict replays ask.
	Alike func(asked, recorded []byte) bool
}

// Hook asks for a hook. With a chosen token the future is resolved when the token is granted, or with a [*ConflictError] when it is
// taken; a token that this run already holds binds to that hook. Without one the token is that of the hook's record, or else a new one that nobody
// can guess, and the future is resolved at once.
func (x *Ctx) Hook(name, token string, metadata json.RawMessage) *Future {
	return x.OpenHook(&HookSpec{Name: name, Token: token, Metadata: metadata})
}

// OpenHook is [Ctx.Hook] with all that can be said of a hook.
func (x *Ctx) OpenHook(spec *HookSpec) *Future {
	name, token := spec.Name, spec.Token
	c, err := x.begin("hook name", world.KindHook, name)
	if err != nil {
		return x.m.resolved(err)
	}
	m := x.m
	chosen := token != ""
	if chosen {
		if err := world.CheckToken(token); err != nil {
			return m.resolved(err)
		}
		if h := m.tokens[token]; h != nil {
			return m.bind(h)
		}
	}
	op := m.opening(x, world.HookCreated, m.key(c, world.KindHook, name))
	op.Chosen, op.Input, op.alike = chosen, spec.Metadata, spec.Alike
	if !chosen {
		token = spec.Prefix + m.token(op.ID)
		switch e := m.creation(world.HookCreated, op.ID); { // the code goes on at once, and must see what others see
		case e != nil:
			op.kept, token = e.Payload, e.Token
		case m.more:
			m.fail(ErrFurther) // its token may stand farther on
		}
	}
	op.Token = token
	m.addHook(op)
	m.ask(op)
	if !chosen {
		op.hook.granted = true
		op.future.resolve(nil, nil)
	}
	return op.future
}

// creation finds the record of a hook or a wait among the events that are known and not yet processed; nil: there is none.
func (m *Machine) creation(t world.EventType, id string) *world.Event {
	for i := m.at + 1; i < len(m.fed); i++ {
		if e := &m.fed[i]; e.Type == t && e.ID == id {
			return e
		}
	}
	return nil
}

// recordedPeer finds the child that was started, where the log has another than the code asks for by now: the code goes
// on at once, and must see the one that there is. What was asked for is returned then; else nil.
func (m *Machine) recordedPeer(op *Op) (asked []byte) {
	for i := range len(m.fed) - m.at - 1 {
		at := m.at + 1 + i
		if m.sought > m.at { // they come in the order in which they are asked for
			at = m.at + 1 + (m.sought-m.at-1+i)%(len(m.fed)-m.at-1)
		}
		e := &m.fed[at]
		if e.Type != world.StepCreated || e.ID != op.ID {
			continue
		}
		m.sought = at + 1
		if e.Peer != op.Peer {
			asked, op.Peer = []byte(op.Peer), e.Peer
		}
		return asked
	}
	return nil
}

func (m *Machine) addHook(op *Op) {
	op.hook = &hook{op: op}
	put(&m.hooks, op.ID, op.hook)
	put(&m.tokens, op.Token, op.hook)
}

// bind is the future of a hook that the run has, or has asked for.
func (m *Machine) bind(h *hook) *Future {
	if f := h.op.future; !f.done || f.err == nil {
		return f
	}
	f := m.future(h.op) // the asking was cancelled; the token may have been granted all the same
	if h.granted {
		f.resolve(nil, nil)
	} else {
		h.bound = append(h.bound, f)
	}
	return f
}

// token makes the token of a hook that the log does not hold yet: 130 bits that follow from nothing that a log, its readers or its export show. That it
// is the same as long as the secret is, lets two machines of one process agree before the hook is in the log; from then on the log's token counts.
func (m *Machine) token(id string) string {
	mac := hmac.New(sha256.New, m.cfg.Secret)
	mac.Write([]byte(m.cfg.Run))
	mac.Write([]byte{0})
	mac.Write([]byte(id))
	return strings.ToLower(base32.HexEncoding.EncodeToString(mac.Sum(nil))[:26])
}

// decided delivers whether a chosen token was granted.
func (m *Machine) decided(e *world.Event) {
	op := m.open[e.ID]
	if op == nil || op.hook == nil {
		return
	}
	var err error
	if e.Type == world.HookConflict {
		err = &ConflictError{Token: e.Token, Holder: e.Peer}
		m.ended(op)
		m.dropHook(op.hook)
		if i := m.asked.find(world.HookDisposed, op.ID); i >= 0 {
			m.asked.remove(i) // there is nothing to be disposed of
		}
	} else {
		op.hook.granted = true
	}
	op.future.resolve(nil, err)
	for _, f := range op.hook.bound {
		f.resolve(nil, err)
	}
	op.hook.bound = nil
	if err != nil {
		op.hook.close(m, err)
	}
}

// dropHook forgets a hook that is no more.
func (m *Machine) dropHook(h *hook) {
	delete(m.hooks, h.op.ID)
	m.dropToken(h)
}

func (m *Machine) dropToken(h *hook) {
	for _, token := range [...]string{h.op.Token, h.asked} {
		if m.tokens[token] == h {
			delete(m.tokens, token)
		}
	}
}

// close ends all who wait for a payload.
func (h *hook) close(m *Machine, err error) {
	for {
		r, ok := h.receivers.first()
		if !ok {
			return
		}
		r.end(nil, err)
		r.met(m)
	}
}

// Receive asks for the next payload of the hook behind a future of [Ctx.Hook]. What came before a cancel or a dispose is received
// still; then it is [ErrCancelled], or world.ErrNotFound.
func (x *Ctx) Receive(of *Future) *Future { return x.CheckedReceive(of, nil) }

// CheckedReceive is [Ctx.Receive] of what the check lets through; nil: all.
func (x *Ctx) CheckedReceive(of *Future, check *Check) *Future { return x.receive(of, check, 0, false) }

// ErrNoPayload ends a receive whose time has passed.
var ErrNoPayload = errors.New("no payload came in time")

// ReceiveWithin is CheckedReceive that ends with [ErrNoPayload] when a time has passed; with nothing or less, it takes what is there. What lies in the log
// already is taken at once, and then no wait is recorded.
func (x *Ctx) ReceiveWithin(of *Future, check *Check, d time.Duration) *Future {
	return x.receive(of, check, d, true)
}

func (x *Ctx) receive(of *Future, check *Check, within time.Duration, timed bool) *Future {
	m := x.m
	if _, err := m.operate(); err != nil {
		return m.resolved(err)
	}
	if of.op == nil {
		return m.resolved(of.err) // it was refused
	}
	h := of.op.hook
	f := m.future(nil)
	for len(h.unread) > 0 && !f.done {
		l := h.unread[0]
		h.unread[0] = nil
		h.unread = h.unread[1:]
		m.hand(h, f, check, l.seq, l.payload)
	}
	switch {
	case f.done:
	case x.scope.isCancelled():
		f.resolve(nil, ErrCancelled)
	case h.disposed:
		f.resolve(nil, world.ErrNotFound)
	case of.done && of.err != nil && !h.granted:
		f.resolve(nil, of.err)
	default:
		r := &receiver{hook: h, future: f, check: check}
		if timed {
			wait := x.wait(world.KindReceive, h.op.Key.Name, func(op *Op) {
				op.Peer, op.receiver = h.op.ID, r
				op.After, op.Until, op.Timed = within, m.now, true
			})
			if r.until = wait.op; r.until == nil {
				f.resolve(nil, wait.err)
				return f
			}
		}
		f.receiver = r
		m.join(x.scope, &r.member, r)
		h.receivers.add(r)
	}
	return f
}

// Dispose gives the hook's token back. Payloads that came are still received.
func (x *Ctx) Dispose(of *Future) error {
	m := x.m
	if _, err := m.operate(); err != nil {
		return err
	}
	if of.op == nil || of.err != nil && !of.op.hook.granted && of.err != ErrCancelled {
		return of.err
	}
	h := of.op.hook
	if h.disposed {
		return nil
	}
	h.disposed = true
	m.dropToken(h)
	m.ask(&Op{Type: world.HookDisposed, ID: h.op.ID, Key: h.op.Key, scope: x.scope, future: h.op.future})
	h.close(m, world.ErrNotFound)
	return nil
}

// payload gives what a hook received to the first that waits for it, or keeps it.
func (m *Machine) payload(e *world.Event) {
	h := m.hooks[e.ID]
	if h == nil {
		m.fail(m.unasked(e))
		return
	}
	if r, ok := h.receivers.first(); ok && m.outcome == nil {
		if m.hand(h, r.future, r.check, e.Seq, e.Payload); r.gone() {
			r.member.leave()
			h.receivers.dropped()
			r.met(m)
		}
		return
	}
	h.unread = append(h.unread, &letter{seq: e.Seq, payload: e.Payload})
}

// hand gives a hook's payload to who receives it next: it ends the future, or is set aside, and the future waits for the next.
func (m *Machine) hand(h *hook, f *Future, check *Check, seq int64, payload []byte) {
	if bad := m.misfit(h.op, check, seq, payload); bad == nil {
		f.resolve(payload, nil)
	} else if bad.told {
		f.resolve(nil, bad)
	}
}

func put[K comparable, V any](m *map[K]V, k K, v V) {
	if *m == nil {
		*m = make(map[K]V)
	}
	(*m)[k] = v
}
