package replay

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/stepwell/stepwell/world"
)

// Ctx is what workflow code works with: the machine, and the scope that cancels it.
type Ctx struct {
	m     *Machine
	scope *scope
}

// enter returns the running coroutine. A call from outside (the machine is not running, or runs on another goroutine) is noted and
// refused, and must not touch the machine further; a call while the machine is being unwound ends the goroutine.
func (m *Machine) enter() (*coro, error) {
	if m.closing.Load() {
		runtime.Goexit()
	}
	c := m.current.Load()
	if c == nil || c.goroutine.Load() != self() {
		return nil, m.foreign.refuse(m.cfg.Run)
	}
	return c, nil
}

// operate is enter for all that changes the run. A deferred function of code that panics may ask for nothing: the run
// is blocked for the panic, even if that is recovered later, as what was not done then would be missing.
func (m *Machine) operate() (*coro, error) {
	c, err := m.enter()
	if err != nil || !panicking() {
		return c, err
	}
	if m.failure == nil {
		m.thrown.early = &PanicError{Value: errEarly, Stack: debug.Stack()}
		m.failure = m.thrown.early
	}
	return nil, ErrPanicking
}

// Refusal is why an operation was not carried out that says no more than that.
func (x *Ctx) Refusal() error {
	if _, err := x.m.operate(); err != nil {
		return err
	}
	return &ForeignError{Run: x.m.cfg.Run}
}

// begin is what every operation starts with: the running coroutine, unless the name is bad, the scope cancelled, the
// caller foreign, or it panics. A name that the coroutine has used before is known to be good.
func (x *Ctx) begin(what string, kind world.Kind, name string) (*coro, error) {
	c, err := x.m.operate()
	if err != nil {
		return nil, err
	}
	if c.uses(kind, name) == nil {
		if err := world.CheckName(what, name); err != nil {
			return nil, err
		}
	}
	if x.scope.isCancelled() {
		return nil, ErrCancelled
	}
	return c, nil
}

// Step asks for a step. spec is for the engine, which runs it.
func (x *Ctx) Step(kind world.Kind, name string, input []byte, spec any) *Future {
	return x.step(kind, name, "", input, spec)
}

func (x *Ctx) step(kind world.Kind, name, peer string, input []byte, spec any) *Future {
	c, err := x.begin("step name", kind, name)
	if err != nil {
		return x.m.resolved(err)
	}
	op := x.m.opening(x, world.StepCreated, x.m.key(c, kind, name))
	op.Input, op.Spec, op.Peer, op.Chosen = input, spec, peer, peer != ""
	if kind == world.KindChild && peer == "" {
		op.Peer = world.PrefixRun + strings.TrimPrefix(op.ID, world.PrefixStep)
	}
	if kind == world.KindChild {
		if asked := x.m.recordedPeer(op); op.Chosen { // else a fork has it from its source
			op.kept = asked
		}
	}
	x.m.ask(op)
	return op.future
}

// Other asks for the result of another run: a child (kind child), or any run (kind await), whose ID is peer; or sends it a signal (kind send). For a child, "" lets the step's ID
// name it.
func (x *Ctx) Other(kind world.Kind, name, peer string, input []byte, spec any) *Future {
	return x.step(kind, name, peer, input, spec)
}

// Sleep asks for a wait for a duration. Nothing or less is due at once.
func (x *Ctx) Sleep(name string, d time.Duration) *Future {
	return x.wait(world.KindSleep, name, func(op *Op) { op.After, op.Until, op.Timed = d, x.m.now, true })
}

// SleepUntil asks for a wait until a time. A time in the past is due at once; one that there is not is world.ErrInvalid.
func (x *Ctx) SleepUntil(name string, t time.Time) *Future {
	bad := world.CheckTime(fmt.Sprintf("sleep %q until", name), t)
	return x.waitIf(bad, world.KindSleep, name, func(op *Op) { op.Until, op.Timed = ceil(t.UTC()), true })
}

func (x *Ctx) wait(kind world.Kind, name string, set func(*Op)) *Future {
	return x.waitIf(nil, kind, name, set)
}

// waitIf asks for a wait that is not bad. A bad one uses the name up all the same, so that the next one cannot be taken for it.
func (x *Ctx) waitIf(bad error, kind world.Kind, name string, set func(*Op)) *Future {
	c, err := x.begin("wait name", kind, name)
	if err != nil {
		return x.m.resolved(err)
	}
	k := x.m.key(c, kind, name)
	if bad != nil {
		return x.m.resolved(bad)
	}
	op := x.m.opening(x, world.WaitCreated, k)
	set(op)
	x.m.ask(op)
	return op.future
}

// opening makes an operation that has an end.
func (m *Machine) opening(x *Ctx, t world.EventType, k world.Key) *Op {
	op := &Op{Type: t, ID: m.id(k), Key: k, scope: x.scope}
	op.own.m, op.own.op = m, op
	op.future = &op.own
	m.opened(op, x.scope)
	return op
}

// Go runs fn as a coroutine of the workflow; the future is resolved when it has returned. name is "" for the usual one.
func (x *Ctx) Go(name string, fn func(x *Ctx, f *Future) error) *Future {
	c, err := x.m.operate()
	if err != nil {
		return x.m.resolved(err)
	}
	if name == "" {
		name = "go"
	} else if err := checkPath(name); err != nil {
		return x.m.resolved(err)
	}
	f := x.m.future(nil)
	inner := x.Scope()
	f.scope = inner.scope
	x.m.spawn(c.child(name), func() {
		err := fn(inner, f)
		f.resolve(nil, err)
	}).crashed = func() { f.resolve(nil, ErrCancelled) }
	return f
}

// checkPath refuses names that would make a coroutine's path ambiguous.
func checkPath(name string) error {
	if strings.ContainsAny(name, "/[]") {
		return fmt.Errorf("%w: coroutine name %q: must not contain '/', '[' or ']'", world.ErrInvalid, name)
	}
	return world.CheckName("coroutine name", name)
}

// Set gives a coroutine's future its value, before it is resolved.
func (f *Future) Set(v any) { f.value = v }

// Scope makes a part of the workflow that can be cancelled by itself, below this one.
func (x *Ctx) Scope() *Ctx { return &Ctx{m: x.m, scope: &scope{parent: x.scope}} }

// From is a scope of its own for what the author's code asked for at a place, and Stepwell asks for now.
func (x *Ctx) From(place uintptr) *Ctx {
	return &Ctx{m: x.m, scope: &scope{parent: x.scope, from: place}}
}

// Uncancelled is the same workflow in a scope that no cancel reaches: for clean-up.
func (x *Ctx) Uncancelled() *Ctx { return &Ctx{m: x.m, scope: &scope{}} }

// Cancel cancels the scope. Its open steps are told; new operations in it return [ErrCancelled].
func (x *Ctx) Cancel() {
	if _, err := x.m.operate(); err == nil {
		x.m.cancelScope(x.scope)
	}
}

// End is Cancel for code that is through with the scope, late where its time is up. It asks for nothing, and so may be deferred by code that panics.
func (x *Ctx) End(late bool) {
	if _, err := x.m.enter(); err != nil || x.scope.cancelled {
		return
	}
	x.scope.late = late
	x.m.cancelScope(x.scope)
}

// Late reports whether the scope is cancelled as its time, or that of one around it, is up.
func (x *Ctx) Late() bool {
	_, err := x.m.enter()
	return err == nil && x.scope.isLate()
}

// CancelFuture cancels what is behind a future that is not done: a step, a wait, a wait for a hook's payload, a coroutine with all it asked for.
func (x *Ctx) CancelFuture(f *Future) {
	if _, err := x.m.enter(); err != nil || f.done {
		return
	}
	if _, err := x.m.operate(); err != nil {
		return
	}
	switch {
	case f.scope != nil:
		x.m.cancelScope(f.scope)
	case f.receiver != nil:
		f.receiver.cancel(x.m)
	case f.op != nil:
		f.op.cancel(x.m)
	}
}

// Cancelled reports whether the scope is cancelled.
func (x *Ctx) Cancelled() bool {
	_, err := x.m.enter()
	return err == nil && x.scope.isCancelled()
}

// CancelComes reports whether the run's function goes on with what came in a pause that a cancel has ended: it hears of
// that next.
func CancelComes(x *Ctx) bool { return x.m.behind == aCancel }

// TimedOut reports whether the run was cancelled as it took too long.
func (x *Ctx) TimedOut() bool { return x.Cancelled() && x.m.timedOut }

// SetAttribute asks for an attribute of the run to be recorded.
func (x *Ctx) SetAttribute(name string, value json.RawMessage) error {
	c, err := x.begin("attribute", world.KindAttr, name)
	if err != nil {
		return err
	}
	k := x.m.key(c, world.KindAttr, name)
	id := x.m.id(k)
	if err := x.m.fits(id, name, value); err != nil {
		return err
	}
	x.m.ask(&Op{Type: world.AttrSet, ID: id, Key: k, Input: value, scope: x.scope, future: x.m.future(nil)})
	return nil
}

// Record asks for the record of something that is done with the commit that holds it: what the code writes to a stream,
// or a message. spec is what the engine needs to do it.
func (x *Ctx) Record(kind world.Kind, name string, input []byte, spec any) error {
	c, err := x.begin(string(kind)+" name", kind, name)
	if err != nil {
		return err
	}
	k := x.m.key(c, kind, name)
	x.m.ask(&Op{Type: world.StepCreated, ID: x.m.id(k), Key: k, Input: input, Spec: spec, scope: x.scope, future: x.m.future(nil)})
	return nil
}

// Continue ends the segment; the run goes on in a new one. It does not return, unless it is refused.
func (x *Ctx) Continue(c Continue) {
	if _, err := x.m.operate(); err != nil {
		return
	}
	x.m.finish(Outcome{Continue: &c})
	x.m.current.Load().block()
}

// Now is the workflow's time.
func (x *Ctx) Now() time.Time {
	if _, err := x.m.enter(); err != nil {
		return time.Time{}
	}
	return x.m.now
}

// Uint64 is the next number of the run's own random sequence. It makes Ctx a rand.Source. A call that is refused gets a number of no sequence, and never the
// same for ever: what draws until a number fits, as rand.IntN does, would not come to an end.
func (x *Ctx) Uint64() uint64 {
	if _, err := x.m.enter(); err != nil {
		return rand.Uint64()
	}
	return x.m.rnd.Uint64()
}

// NewID is a ULID whose time is the workflow's and whose rest comes from the run's own random sequence.
func (x *Ctx) NewID() string {
	var id ulid.ULID
	ms := x.Now().UnixMilli()
	_ = id.SetTime(uint64(max(ms, 0)))
	hi, lo := x.Uint64(), x.Uint64()
	for i := range 8 {
		id[6+i] = byte(hi >> (8 * i))
	}
	id[14], id[15] = byte(lo), byte(lo>>8)
	return id.String()
}

// Replaying reports whether the code that runs has run before, or runs as the machine is thrown away. It may be
// called from anywhere.
func (x *Ctx) Replaying() bool { return x.m.replaying.Load() || x.m.closing.Load() }

// Run is the ID of the run.
func (x *Ctx) Run() string { return x.m.cfg.Run }
