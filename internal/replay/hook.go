package replay

import (
	"encoding/json"

	"github.com/stepwell/stepwell/world"
)

// hook is a point that receives payloads from outside.
type hook struct {
	op        *Op
	unread    [][]byte
	receivers []receiver
	disposed  bool
}

type receiver struct {
	future *Future
	scope  *scope
}

// Hook asks for a hook. With a chosen token the future is resolved when the token is granted, or with a [*ConflictError] when it is
// taken; a token that this run already holds binds to that hook. Without one the token is made from the run's own random sequence,
// and the future is resolved at once.
func (x *Ctx) Hook(name, token string, metadata json.RawMessage) *Future {
	c, err := x.begin("hook name", name)
	if err != nil {
		return x.m.resolved(err)
	}
	m := x.m
	chosen := token != ""
	if chosen {
		if err := world.CheckKey("hook token", token); err != nil {
			return m.resolved(err)
		}
		for _, op := range m.openOps(func(op *Op) bool { return op.hook != nil && op.Token == token }) {
			return op.future
		}
	} else {
		token = x.NewID()
	}
	op := m.open1(x, world.HookCreated, m.key(c, world.KindHook, name))
	op.Token, op.Chosen, op.Input = token, chosen, metadata
	op.hook = &hook{op: op}
	put(&m.hooks, op.ID, op.hook)
	m.ask(op)
	if !chosen {
		op.future.resolve(nil, nil)
	}
	return op.future
}

// Receive asks for the next payload of the hook behind a future of [Ctx.Hook].
func (x *Ctx) Receive(of *Future) *Future {
	if _, err := x.m.enter(); err != nil {
		return x.m.resolved(err)
	}
	h := of.op.hook
	f := x.m.future(nil)
	switch {
	case len(h.unread) > 0:
		f.resolve(h.unread[0], nil)
		h.unread = h.unread[1:]
	case x.scope.isCancelled():
		f.resolve(nil, ErrCancelled)
	case h.disposed:
		f.resolve(nil, world.ErrNotFound)
	default:
		h.receivers = append(h.receivers, receiver{f, x.scope})
	}
	return f
}

// Dispose gives the hook's token back. Payloads that came are still received.
func (x *Ctx) Dispose(of *Future) error {
	if _, err := x.m.enter(); err != nil {
		return err
	}
	h := of.op.hook
	if h.disposed {
		return nil
	}
	h.disposed = true
	delete(x.m.open, h.op.ID)
	x.m.ask(&Op{Type: world.HookDisposed, ID: h.op.ID, Key: h.op.Key, scope: x.scope, future: h.op.future})
	for _, r := range h.receivers {
		r.future.resolve(nil, world.ErrNotFound)
	}
	h.receivers = nil
	return nil
}

// payload gives what a hook received to the first that waits for it, or keeps it.
func (m *Machine) payload(e *world.Event) {
	h := m.hooks[e.ID]
	switch {
	case h == nil:
		m.fail(m.unasked(e))
	case len(h.receivers) > 0:
		r := h.receivers[0]
		h.receivers = h.receivers[1:]
		r.future.resolve(e.Payload, nil)
	default:
		h.unread = append(h.unread, e.Payload)
	}
}

// cancelReceivers ends the receives of a cancelled scope.
func (h *hook) cancelReceivers(s *scope) {
	kept := h.receivers[:0]
	for _, r := range h.receivers {
		if r.scope.within(s) {
			r.future.resolve(nil, ErrCancelled)
		} else {
			kept = append(kept, r)
		}
	}
	h.receivers = kept
}

func put[K comparable, V any](m *map[K]V, k K, v V) {
	if *m == nil {
		*m = make(map[K]V)
	}
	(*m)[k] = v
}
