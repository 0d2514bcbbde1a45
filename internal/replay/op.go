package replay

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"time"

	"github.com/stepwell/stepwell/world"
)

// Op is one thing that workflow code asked for and that the log must record. The engine turns it into an event with
// [Op.Event], commits that, and feeds it back.
type Op struct {
	Type   world.EventType // step_created, wait_created, wait_completed (received), hook_created, hook_disposed, attr_set
	ID     string
	Key    world.Key
	Input  []byte          // of a step; metadata of a hook; value of an attribute
	Spec   any             // what the engine needs to run a step; the machine does not look at it
	Peer   string          // of a child or an await: the other run
	After  time.Duration   // wait: due so long after its wait_created is committed
	Until  time.Time       // wait: due at this time; used when After is zero
	Timed  bool            // wait: it has a time at all
	Match  json.RawMessage // event wait
	From   int64           // wait_completed: the signal that was taken
	Token  string          // hook
	Chosen bool            // hook: the author chose the token

	scope    *scope
	future   *Future
	hook     *hook
	index    uint64 // order in which ops were asked
	recorded bool   // its event is in the log
	pcs      [6]uintptr
}

// Future resolves with the operation's result.
func (o *Op) Future() *Future { return o.future }

// Event makes the event that records the operation, at a time, without a number. Until is fixed here.
func (o *Op) Event(at time.Time) world.Event {
	e := world.Event{Type: o.Type, Time: at, ID: o.ID}
	switch o.Type {
	case world.WaitCompleted:
		e.Outcome, e.From = world.OutcomeReceived, o.From
		return e
	case world.HookDisposed:
		return e
	case world.WaitCreated:
		e.Match = o.Match
		if o.Timed {
			e.Until = o.Until
			if o.After > 0 {
				e.Until = at.Add(o.After)
			}
		}
	}
	e.Name, e.Path, e.Occurrence, e.Payload = o.Key.Name, o.Key.Path, o.Key.Occurrence, o.Input
	e.Peer, e.Token, e.Chosen = o.Peer, o.Token, o.Chosen
	if o.Type == world.StepCreated || o.Type == world.WaitCreated {
		e.Kind = o.Key.Kind
	}
	return e
}

// Describe says what is asked for, as in "step "send-welcome" (2nd)".
func (o *Op) Describe() string { return describe(o.Type, o.Key) }

// Where is the source position of the call in the author's code, "file.go:58", or "".
func (o *Op) Where() string { return where(o.pcs[:]) }

func describe(t world.EventType, k world.Key) string {
	what := "step"
	switch {
	case t == world.HookDisposed:
		what = "dispose hook"
	case k.Kind == world.KindSleep:
		what = "sleep"
	case k.Kind == world.KindEvent:
		what = "wait for event"
	case k.Kind == world.KindCondition:
		what = "wait for condition"
	case k.Kind == world.KindHook:
		what = "hook"
	case k.Kind == world.KindAttr:
		what = "attribute"
	case k.Kind == world.KindChild:
		what = "child run"
	case k.Kind == world.KindAwait:
		what = "wait for run"
	case k.Kind == world.KindPatch:
		what = "patch"
	case k.Kind == world.KindTask:
		what = "registered step"
	}
	s := fmt.Sprintf("%s %q", what, k.Name)
	if k.Occurrence > 0 {
		s += " (" + ordinal(k.Occurrence+1) + ")"
	}
	if k.Path != "" {
		s += " in " + k.Path
	}
	return s
}

func ordinal(n int) string {
	suffix := "th"
	if n%100 < 11 || n%100 > 13 {
		switch n % 10 {
		case 1:
			suffix = "st"
		case 2:
			suffix = "nd"
		case 3:
			suffix = "rd"
		}
	}
	return fmt.Sprintf("%d%s", n, suffix)
}

// locate notes where in the author's code the running operation was called. Resolving it to a line is left to the rare reader.
func (o *Op) locate() { runtime.Callers(4, o.pcs[:]) }

// where finds the first frame outside Stepwell's own packages.
func where(pcs []uintptr) string {
	n := 0
	for n < len(pcs) && pcs[n] != 0 {
		n++
	}
	if n == 0 {
		return ""
	}
	frames := runtime.CallersFrames(pcs[:n])
	for {
		f, more := frames.Next()
		if f.Function != "" && !ours(f.Function) {
			file := f.File
			if i := strings.LastIndexByte(file, '/'); i >= 0 {
				file = file[i+1:]
			}
			return fmt.Sprintf("%s:%d", file, f.Line)
		}
		if !more {
			return ""
		}
	}
}

// ours reports whether a function belongs to the packages that authors call through.
func ours(fn string) bool {
	const module = "github.com/stepwell/stepwell"
	rest, ok := strings.CutPrefix(fn, module)
	return ok && (strings.HasPrefix(rest, ".") || strings.HasPrefix(rest, "/internal/replay."))
}

// Cancelled reports whether the part of the workflow that asked for the operation was cancelled.
func (o *Op) Cancelled() bool { return o.scope.isCancelled() }
