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
}

func (e *DivergedError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "the code no longer matches its log (event %d)\n  the log has    %s", e.Seq, e.Log)
	if e.Build != "" {
		fmt.Fprintf(&b, "   recorded by build %s", e.Build)
	}
	fmt.Fprintf(&b, "\n  the code asks  %s", e.Code)
	if e.Where != "" {
		fmt.Fprintf(&b, "   %s", e.Where)
	}
	if e.Name != "" {
		fmt.Fprintf(&b, "\n  Deploy code that asks for %q here; nothing is lost meanwhile.", e.Name)
	}
	return b.String()
}

// unexpected reports a creation in the log that the code did not ask for.
func (m *Machine) unexpected(e *world.Event) error {
	k := e.Key(m.cfg.Segment)
	return m.diverged(e, describe(e.Type, k), m.instead(k))
}

// unasked reports a result in the log that nobody asked for.
func (m *Machine) unasked(e *world.Event) error {
	return m.diverged(e, fmt.Sprintf("the end (%s) of %s", e.Type, e.ID), m.instead(world.Key{}))
}

// instead guesses which operation of the code stands where the log has another: the first that is not recorded, of the
// same coroutine if there is one.
func (m *Machine) instead(k world.Key) *Op {
	for _, op := range m.asked {
		if op.Key.Path == k.Path {
			return op
		}
	}
	if len(m.asked) > 0 {
		return m.asked[0]
	}
	return nil
}

func (m *Machine) diverged(e *world.Event, log string, op *Op) error {
	d := &DivergedError{Run: m.cfg.Run, Seq: e.Seq, Log: log, Build: e.Build, Name: e.Name}
	switch {
	case op != nil:
		d.Code, d.Where = op.Describe(), op.Where()
	case m.outcome != nil && m.outcome.Continue != nil:
		d.Code = "to continue as new"
	case m.outcome != nil:
		d.Code = "nothing more: it has returned"
	default:
		d.Code, d.Where = m.blockedOn()
	}
	return d
}

// blockedOn says what the code waits for while it asks for nothing.
func (m *Machine) blockedOn() (what, where string) {
	ops := m.openOps(func(op *Op) bool { return op.recorded })
	if len(ops) == 0 {
		return "nothing: it is blocked for ever", ""
	}
	return "nothing more yet: it waits for " + ops[0].Describe(), ops[0].Where()
}

// Mismatch reports how what two machines of one log ask for differs, or nil. Strict mode holds the live machine against a replayed one with
// it; seq is the last event that both saw.
func Mismatch(live, replayed *Machine, seq int64) error {
	a, b := live.pending(), replayed.pending()
	for i := range max(len(a), len(b)) {
		switch {
		case i >= len(a):
			return replayed.strictly(seq, "nothing more", b[i])
		case i >= len(b):
			return replayed.strictly(seq, a[i].Describe(), nil)
		case a[i].ID != b[i].ID || a[i].Type != b[i].Type:
			return replayed.strictly(seq, a[i].Describe(), b[i])
		case string(a[i].Input) != string(b[i].Input):
			return replayed.strictly(seq, fmt.Sprintf("%s with input %s", a[i].Describe(), clip(a[i].Input)), b[i])
		}
	}
	if (live.outcome == nil) != (replayed.outcome == nil) {
		return replayed.strictly(seq, "an end or none, differently", nil)
	}
	return nil
}

func (m *Machine) strictly(seq int64, live string, op *Op) error {
	return m.diverged(&world.Event{Seq: seq, Build: m.cfg.Build}, "(live, strict mode) "+live, op)
}

func (m *Machine) pending() []*Op {
	return m.openOps(func(*Op) bool { return true })
}

// ForeignError says that workflow code used its Context on a goroutine of its own. Use stepwell.Go instead of go.
type ForeignError struct {
	Run   string
	Stack []byte // of the goroutine
}

func (e *ForeignError) Error() string {
	return "workflow code used its Context on a goroutine that is not its own; use stepwell.Go instead of the go statement, and do I/O in steps"
}

// ConflictError says that a chosen hook token is taken.
type ConflictError struct {
	Token  string
	Holder string // the run that holds it
}

func (e *ConflictError) Error() string {
	return fmt.Sprintf("hook token %q is held by run %s", e.Token, e.Holder)
}
