package replay

// This file refuses calls of the Context that do not come from the workflow's own code, and remembers which goroutines made them: a step's body that did is
// not to be believed.

import (
	"bytes"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/stepwell/stepwell/world"
)

// ForeignError says that something else than the workflow's own code used its Context: a goroutine that it started (use stepwell.Go instead of go), or the body
// of a step.
type ForeignError struct {
	Run   string
	Step  string // whose body it was, where that is known
	Body  bool   // a body it was
	Nests bool   // it asked for a step
	Where string // the place of the call, "file.go:58", if known
	Stack []byte // of the goroutine
}

func (e *ForeignError) Error() string {
	at := ""
	if e.Where != "" {
		at = " (" + e.Where + ")"
	}
	if !e.Body {
		return "workflow code used its Context on a goroutine that is not its own" + at + "; use stepwell.Go instead of the go statement, and do I/O in steps"
	}
	of := "a step"
	if e.Step != "" {
		of = "step " + strconv.Quote(e.Step)
	}
	if e.Nests {
		return "steps cannot be nested: the body of " + of + " used the workflow's Context to ask for another step" + at + "; ask for that one before or after this one, " +
			"or call its function in the body"
	}
	return "the body of " + of + " used the workflow's Context" + at + "; a step's body has a context of its own, its parameter: " +
		"get what it needs from the workflow's (Now, NewID, Rand) before the step"
}

// Code is the error's code in the log.
func (e *ForeignError) Code() string { return world.CodeForeign }

// foreign are the calls that a machine refused.
type foreign struct {
	any atomic.Bool // there are some; it is read without the lock

	mu    sync.Mutex
	first *ForeignError // guarded by mu
	by    []caller      // guarded by mu
}

// caller is a goroutine whose call was refused, and the one that started it, by their numbers: these are never used again.
type caller struct{ number, parent string }

// mostCallers bounds what is remembered of them.
const mostCallers = 256

// refuse notes a call from outside.
func (f *foreign) refuse(run string) *ForeignError {
	me := goroutine()
	f.mu.Lock()
	defer f.mu.Unlock()
	if slices.ContainsFunc(f.by, func(c caller) bool { return c.number == me }) {
		return f.first
	}
	stack := debug.Stack()
	if f.first == nil {
		_, at := AuthorsStack(stack)
		f.first = &ForeignError{
			Run: run, Stack: stack, Body: bytes.Contains(stack, []byte("/internal/engine.(*call).body(")), Nests: asksForStep(stack), Where: at,
		}
	}
	if len(f.by) < mostCallers {
		f.by = append(f.by, caller{me, parentIn(stack)})
	}
	f.any.Store(true)
	return f.first
}

// err is the first of them, or nil.
func (f *foreign) err() error {
	if !f.any.Load() {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.first
}

// Misused reports whether the body of a step, which ends on this goroutine, has called the machine's Context, itself or on goroutines that it started; nil: it
// has not. It may be called from anywhere.
func (m *Machine) Misused(step string) error {
	if !m.foreign.any.Load() || !m.foreign.remove() {
		return nil
	}
	m.foreign.mu.Lock()
	defer m.foreign.mu.Unlock()
	e := *m.foreign.first
	e.Step, e.Body = step, true
	return &e
}

// remove forgets the calls of this goroutine and of those that it started, and reports whether there were any.
func (f *foreign) remove() bool {
	me := goroutine()
	f.mu.Lock()
	defer f.mu.Unlock()
	before := len(f.by)
	f.by = slices.DeleteFunc(f.by, func(c caller) bool { return c.number == me || c.parent == me })
	return len(f.by) < before
}

// goroutine is the number of the running one: its stack begins with "goroutine 18 [running]:".
func goroutine() string {
	var buf [64]byte
	s, _, _ := bytes.Cut(bytes.TrimPrefix(buf[:runtime.Stack(buf[:], false)], []byte("goroutine ")), []byte(" "))
	return string(s)
}

// parentIn is the number of the goroutine that started the one that a stack is of: its last function is "created by main.f in goroutine 7".
func parentIn(stack []byte) string {
	const in = " in goroutine "
	i := bytes.LastIndex(stack, []byte(in))
	if i < 0 {
		return ""
	}
	s, _, _ := bytes.Cut(stack[i+len(in):], []byte("\n"))
	return string(s)
}
