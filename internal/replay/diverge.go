package replay

import (
	"fmt"
	"strings"

	"github.com/stepwell/stepwell/world"
)

// DivergedError says that the code no longer matches its log. It destroys nothing: code that matches heals the run.
type DivergedError struct {
	Run   string
	Seq   int64  // the event in the log where it was found
	Log   string // what the log holds
	Build string // of the program that wrote the event
	Code  string // what the code asks for instead
	Where string // and where: file:line, if known
	Name  string // of the operation in the log, for the advice
	// AskedBy is the build of the code that asks, and Worker the name of the worker that ran it.
	AskedBy, Worker string
	// Same: the build that wrote the event is the one that replayed it: the code does not match itself.
	Same bool
	// Strict: the code does not match itself. Log is what it did when it ran, At where that was, if known; Code and Where are of a replay beside it.
	Strict bool
	At     string
}

func (e *DivergedError) Error() string {
	if e.Strict {
		return e.unsteady()
	}
	var b strings.Builder
	what := "the code no longer matches its log"
	if e.Same {
		what = "your code is not deterministic: the build that wrote the log now asks for something else"
	}
	fmt.Fprintf(&b, "%s (event %d)\n  the log has    %s", what, e.Seq, e.Log)
	if e.Build != "" {
		fmt.Fprintf(&b, "   recorded by build %s", e.Build)
	}
	fmt.Fprintf(&b, "\n  the code asks  %s", e.Code)
	if e.Where != "" {
		fmt.Fprintf(&b, "   %s", e.Where)
	}
	if e.AskedBy != "" && !e.Same {
		fmt.Fprintf(&b, "\n  in             build %s", e.AskedBy)
		if e.Worker != "" {
			fmt.Fprintf(&b, ", worker %s", e.Worker)
		}
	}
	switch {
	case e.Same:
		b.WriteString("\n  " + steady)
	case e.Name == "":
		b.WriteString("\n  Deploy the code that wrote the log")
	default:
		fmt.Fprintf(&b, "\n  Deploy code that asks for %q here, or guard the change with stepwell.Patched", e.Name)
	}
	b.WriteString("; nothing is lost meanwhile.")
	return b.String()
}

// Unsteady begins what strict mode says, and nothing else.
const Unsteady = "your code is not deterministic, or keeps state outside of its steps"

// steady is what to do about code that is not deterministic.
const steady = "A step must return everything it finds out; take time, randomness and IDs from the Context, and everything else from steps (docs/rules.md)"

// unsteady is what strict mode says.
func (e *DivergedError) unsteady() string {
	return fmt.Sprintf(Unsteady+" (found at event %d): it does not do the same when it is replayed\n"+
		"  when it ran    %s\n  when replayed  %s\n  "+steady+". Strict mode keeps the run as it is.", e.Seq, strings.TrimSpace(e.Log+"   "+e.At), strings.TrimSpace(e.Code+"   "+e.Where))
}

// unexpected reports a creation in the log that the code did not ask for.
func (m *Machine) unexpected(e *world.Event) error {
	k := e.Key(m.cfg.Segment)
	if k.Name == "" { // it is about something that was created before
		if op := m.known(e.ID); op != nil {
			k = op.Key
		}
	}
	d := m.diverged(e, describe(e.Type, k), m.instead(k))
	d.Name = k.Name
	if d.Where == "" {
		d.Code, d.Where = m.blocked(k.Path, d.Code)
	}
	return d
}

// known finds an operation that the code asked for and that has not ended, or a hook that was.
func (m *Machine) known(id string) *Op {
	if op := m.open[id]; op != nil {
		return op
	}
	if h := m.hooks[id]; h != nil {
		return h.op
	}
	return nil
}

// unasked reports a result in the log that nobody asked for.
func (m *Machine) unasked(e *world.Event) error {
	what := fmt.Sprintf("a result (%s) of %s", e.Type, e.ID)
	if op := m.known(e.ID); op != nil {
		what = fmt.Sprintf("a result (%s) of %s, which is not in the log", e.Type, op.Describe())
	}
	d := m.diverged(e, what, nil)
	d.Name = ""
	d.Code, d.Where = m.blocked("", d.Code)
	return d
}

// instead guesses which operation of the code stands where the log has another: the first that is not recorded, of the
// same coroutine if there is one.
func (m *Machine) instead(k world.Key) *Op {
	left := m.asked.list()
	for _, op := range left {
		if op.Key.Path == k.Path {
			return op
		}
	}
	if len(left) > 0 && m.coroutine(k.Path) == nil {
		return left[0]
	}
	return nil
}

func (m *Machine) diverged(e *world.Event, log string, op *Op) *DivergedError {
	m.strayed = e.ID
	d := &DivergedError{Run: m.cfg.Run, Seq: e.Seq, Log: log, Build: e.Build, Name: e.Name, Same: sameBuild(e.Build, m.cfg.Build),
		AskedBy: m.cfg.Build, Worker: m.cfg.Worker}
	switch {
	case op != nil:
		d.Code, d.Where = op.Describe(), op.Where()
	case m.outcome != nil && m.outcome.Continue != nil:
		d.Code = "to continue as new"
	case m.outcome != nil:
		d.Code = "nothing more: it has returned"
	}
	return d
}

// Changed ends the name of a build of which nobody knows what was in it. Where something stands behind it, that tells.
const Changed = "+changes"

// sameBuild reports whether two builds are one, as far as their names tell.
func sameBuild(a, b string) bool { return a != "" && a == b && !strings.HasSuffix(a, Changed) }

func (m *Machine) coroutine(path string) *coro {
	for _, c := range m.coros {
		if c.path == path && !c.ended {
			return c
		}
	}
	return nil
}

// blocked says what a coroutine waits for that asks for nothing, and where; code is what is known already.
func (m *Machine) blocked(path, code string) (what, where string) {
	if code != "" {
		return code, ""
	}
	c := m.coroutine(path)
	if c == nil {
		c = m.coroutine("")
	}
	if c == nil {
		return "nothing more", ""
	}
	return "nothing here: it waits for " + m.waitsFor(c), c.where()
}

// waitsFor says what a coroutine is blocked on: the first of the operations that would wake it.
func (m *Machine) waitsFor(c *coro) string {
	for _, op := range m.openOps() {
		if op.future.has(c) {
			return op.Describe()
		}
		if op.hook == nil {
			continue
		}
		for _, r := range op.hook.receivers.items {
			if r != nil && r.future.has(c) {
				return "a payload of " + op.Describe()
			}
		}
	}
	for _, w := range m.conds.items[m.conds.from:] {
		if w.w.c == c && !w.over {
			return "a condition"
		}
	}
	return "another coroutine"
}

// has reports whether a coroutine waits for the future.
func (f *Future) has(c *coro) bool {
	for i := range f.waiters {
		w := &f.waiters[i]
		if w.group != nil {
			w = &w.group.w
		}
		if w.c == c && !f.waiters[i].void() {
			return true
		}
	}
	return false
}

// ConflictError says that a chosen hook token is taken.
type ConflictError struct {
	Token  string `json:"-"` // what is recorded of the error has no token: who reads it may not send
	Holder string // the run that holds it
}

func (e *ConflictError) Error() string { return "the hook's token is held by run " + e.Holder }
