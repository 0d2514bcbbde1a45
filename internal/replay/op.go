package replay

import (
	"encoding/json"
	"fmt"
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
	Apart  string          // step: the value that a recorded input refers to; "": it is the input
	Spec   any             // what the engine needs to run a step; the machine does not look at it
	Peer   string          // of a child or an await: the other run
	After  time.Duration   // wait: due so long after its wait_created is committed
	Until  time.Time       // wait: due at this time; used when After is zero
	Timed  bool            // wait: it has a time at all
	Match  json.RawMessage // event wait
	Listen *Listening      // event wait: it gets what is published, too; nil: it does not
	From   int64           // wait_completed: the signal that was taken; of a payload that is taken or set aside: the event that brought it
	Reason *world.Error    // of a payload that is set aside: why it does not fit
	Told   bool            // of a payload that is set aside: the code gets an error
	Token  string          // hook
	Chosen bool            // hook: the author chose the token; child: the ID

	scope    *scope
	member   member // of scope, while it is open
	future   *Future
	own      Future // what future points to, for operations that have an end
	hook     *hook
	receiver *receiver                         // of a wait of kind receive: who waits until then
	check    *Check                            // of an event wait; nil: it takes all
	alike    func(asked, recorded []byte) bool // of a hook: see HookSpec
	kept     []byte                            // of a hook: the metadata that was recorded, where that is known; else nil. Of a child: see recordedPeer
	recorded bool                              // its event is in the log
	order    uint64                            // in which it was asked for
	attempt  int                               // of a step that has ended: its last attempt, as far as its end tells
	told     bool                              // its cancel was noted for the engine
	pcs      []uintptr
}

// Future resolves with the operation's result.
func (o *Op) Future() *Future { return o.future }

// Disposed reports whether the operation is a hook that the code has given back.
func (o *Op) Disposed() bool { return o.hook != nil && o.hook.disposed }

// Metadata is that of a hook, as it was recorded; as the code asks for it, where that is not known yet.
func (o *Op) Metadata() []byte {
	if o.kept != nil {
		return o.kept
	}
	return o.Input
}

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
		e.Match, e.Until = o.Match, o.until(at)
		if o.Listen != nil {
			e.Listen = world.NewListen(o.Key.Name, o.Listen.Since, o.Match, "", nil)
		}
	}
	e.Name, e.Path, e.Occurrence, e.Payload = o.Key.Name, o.Key.Path, o.Key.Occurrence, o.Input
	e.Apart = o.Apart
	e.Peer, e.Token = o.Peer, o.Token
	e.Chosen = o.Chosen && o.Type == world.HookCreated
	if o.Key.Kind.Decision() {
		e.From, e.Error = o.From, o.Reason
	}
	if o.Key.Kind == world.KindAside {
		if e.Outcome = world.OutcomePassed; o.Told {
			e.Outcome = world.OutcomeTold
		}
	}
	if o.Type == world.StepCreated || o.Type == world.WaitCreated {
		e.Kind = o.Key.Kind
	}
	return e
}

// until is when a wait that is created at a time is over; zero where it has no time.
func (o *Op) until(at time.Time) time.Time {
	switch {
	case !o.Timed:
		return time.Time{}
	case o.After > 0:
		return ceil(world.After(at, o.After))
	}
	return o.Until
}

// ceil is the time to the microsecond that the log keeps, rounded up: a timer never fires early.
func ceil(t time.Time) time.Time {
	return world.After(t, time.Microsecond-1).Truncate(time.Microsecond)
}

// Describe says what is asked for, as in "step "send-welcome" (2nd)".
func (o *Op) Describe() string { return describe(o.Type, o.Key) }

// Where is the source position of the call in the author's code, "file.go:58", or "" where it was not noted: see [Machine.Feed].
func (o *Op) Where() string {
	at := where(o.pcs)
	for s := o.scope; s != nil && at == ""; s = s.parent {
		if s.from != 0 {
			at = where([]uintptr{s.from})
		}
	}
	return at
}

func describe(t world.EventType, k world.Key) string {
	what := words[k.Kind]
	switch {
	case t == world.HookDisposed:
		what = "the end of hook"
	case t == world.WaitCompleted && k.Kind == world.KindEvent:
		what = "the end, by its event, of the wait for event"
	case t == world.WaitCompleted && k.Kind == world.KindReceive:
		what = "the end, by a payload, of the " + what
	case t == world.WaitCompleted:
		what = "the end, by its condition, of the " + what
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

// words are what people call the kinds.
var words = map[world.Kind]string{
	world.KindClosure: "step", world.KindTask: "registered step", world.KindChild: "child run", world.KindAwait: "wait for run", world.KindSend: "event sent",
	world.KindPatch: "patch", world.KindSleep: "sleep", world.KindEvent: "wait for event", world.KindCondition: "wait for condition", world.KindReceive: "wait for a payload at hook",
	world.KindHook: "hook", world.KindAttr: "attribute", world.KindStream: "chunk of stream", world.KindMessage: "message for queue", world.KindPublication: "publication under topic",
	world.KindAside: "record of a payload that does not fit", world.KindAccepted: "record of a payload that was taken",
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

// Cancelled reports whether the operation was cancelled, by itself or with the part of the workflow that asked for it.
func (o *Op) Cancelled() bool { return o.told || o.scope.isCancelled() }

// Late reports whether that was as the time of the part was up.
func (o *Op) Late() bool { return o.scope.isLate() }

// Attempt is the last attempt of a step that has ended: how many have begun. 0: its end tells of none.
func (o *Op) Attempt() int { return o.attempt }
