package world

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// EventType names what happened. The value is what the log keeps.
type EventType string

// All event types; each is legal and has its effect as [State.Apply] says.
const (
	RunCreated      EventType = "run_created"
	RunStarted      EventType = "run_started"
	RunContinued    EventType = "run_continued"
	RunCompleted    EventType = "run_completed"
	RunFailed       EventType = "run_failed"
	RunCancelled    EventType = "run_cancelled"
	CancelRequested EventType = "cancel_requested"
	InputReceived   EventType = "input_received"
	RunPaused       EventType = "run_paused"
	RunResumed      EventType = "run_resumed"
	StepCreated     EventType = "step_created"
	StepStarted     EventType = "step_started"
	StepRetrying    EventType = "step_retrying"
	StepWoken       EventType = "step_woken"
	StepCompleted   EventType = "step_completed"
	StepFailed      EventType = "step_failed"
	WaitCreated     EventType = "wait_created"
	WaitCompleted   EventType = "wait_completed"
	HookCreated     EventType = "hook_created"
	HookConflict    EventType = "hook_conflict"
	HookReceived    EventType = "hook_received"
	HookDisposed    EventType = "hook_disposed"
	SignalReceived  EventType = "signal_received"
	AttrSet         EventType = "attr_set"
)

// EventTypes lists all event types, in the order of the design's table.
var EventTypes = []EventType{
	RunCreated, RunStarted, RunContinued, RunCompleted, RunFailed, RunCancelled, CancelRequested, InputReceived, RunPaused, RunResumed,
	StepCreated, StepStarted, StepRetrying, StepWoken, StepCompleted, StepFailed, WaitCreated, WaitCompleted,
	HookCreated, HookConflict, HookReceived, HookDisposed, SignalReceived, AttrSet,
}

// Kind says what sort of step, wait or hook an entity is. It is part of the entity's [Key].
type Kind string

// The kinds of steps, waits, hooks and attributes.
const (
	KindClosure  Kind = "closure" // a step that the session's worker runs
	KindTask     Kind = "task"    // a registered step, which any worker that knows it can run
	KindChild    Kind = "child"   // a child run; the step ends with it
	KindAwait    Kind = "await"   // the result of any other run
	KindSend     Kind = "send"    // a signal to another run, in the same commit; the step ends with it
	KindPatch    Kind = "patch"   // the record of a decision about changed code; complete at birth
	KindAside    Kind = "aside"   // the record of a payload that was set aside, as it does not fit the code that was to take it; complete at birth
	KindAccepted Kind = "taken"   // the record that the code took a hook's payload, where nothing else in the log says so; complete at birth
	KindStream   Kind = "stream"  // what the workflow's code wrote to the stream of that name, in the same commit; complete at birth
	KindMessage  Kind = "message" // a message for the queue of that name, in the same commit; complete at birth

	// KindPublication is what was published under the topic of that name, in the same commit; complete at birth.
	KindPublication Kind = "publication"

	KindSleep     Kind = "sleep"     // a wait for a time
	KindEvent     Kind = "event"     // a wait for a signal that matches, perhaps until a time
	KindCondition Kind = "condition" // a wait for a condition of the code, until a time
	KindReceive   Kind = "receive"   // a wait for the next payload of the hook of that name, until a time

	KindHook Kind = "hook"
	KindAttr Kind = "attr"
)

// Decision reports whether a step of the kind is the record of what became of a payload: that it was set aside, or taken.
func (k Kind) Decision() bool { return k == KindAside || k == KindAccepted }

// Posts reports whether a step of the kind is the record of what its commit puts into a queue, or publishes.
func (k Kind) Posts() bool { return k == KindMessage || k == KindPublication }

func (k Kind) prefix() string {
	switch k {
	case KindSleep, KindEvent, KindCondition, KindReceive:
		return PrefixWait
	case KindHook:
		return PrefixHook
	case KindAttr:
		return PrefixAttr
	default:
		return PrefixStep
	}
}

// Outcome says how a wait ended.
type Outcome string

// How a wait can end.
const (
	OutcomeDue      Outcome = "due"      // its time came
	OutcomeWoken    Outcome = "woken"    // an operator woke it
	OutcomeReceived Outcome = "received" // its event came, or its condition holds

	OutcomeTold   Outcome = "told"   // of a payload that was set aside: the code was told, which ended the wait
	OutcomePassed Outcome = "passed" // the same: the code was not told, and the wait went on
)

// Event is one immutable fact in a run's log. Fields that a type does not use are zero; the comment of a field says which types
// use it. Byte slices belong to the event: nobody changes them.
type Event struct {
	Seq        int64     `json:"seq"`                  // 1, 2, 3… within the run
	Type       EventType `json:"type"`                 //
	Time       time.Time `json:"time"`                 // the owner's clock at append; never before the event before it
	OccurredAt time.Time `json:"occurredAt,omitzero"`  // when it happened elsewhere, if not at Time
	ID         string    `json:"id,omitempty"`         // correlation ID of the step, wait, hook or attribute
	Delivery   string    `json:"delivery,omitempty"`   // delivery ID of what came through the inbox
	Kind       Kind      `json:"kind,omitempty"`       // step_created, wait_created
	Name       string    `json:"name,omitempty"`       // *_created, signal_received, attr_set: what the author wrote; input_received: its idempotency key
	Path       string    `json:"path,omitempty"`       // *_created, attr_set: the coroutine
	Occurrence int       `json:"occurrence,omitempty"` // *_created, attr_set: which use of the name in its coroutine

	Attempt int             `json:"attempt,omitempty"` // step_started, step_retrying, step_woken, step_completed, step_failed; from 1
	Queued  bool            `json:"queued,omitempty"`  // step_created: a task was queued with it
	Payload json.RawMessage `json:"payload,omitempty"` // input, output, result, payload, metadata or attribute value
	Error   *Error          `json:"error,omitempty"`   // run_failed, run_cancelled, step_retrying, step_failed; step_created of kind aside: what did not fit
	RetryAt time.Time       `json:"retryAt,omitzero"`  // step_retrying: not before this time
	Until   time.Time       `json:"until,omitzero"`    // wait_created: due at this time; step_created: it fails where no worker has begun it by then; zero: never
	Match   json.RawMessage `json:"match,omitempty"`   // wait_created of kind event: the JSON that a payload must contain
	Outcome Outcome         `json:"outcome,omitempty"` // wait_completed; step_created of kind aside: whether the code was told
	From    int64           `json:"from,omitempty"`    // wait_completed, received: the number of the signal_received that was taken; step_created of kind aside or taken: of the event with the payload
	Token   string          `json:"token,omitempty"`   // hook_created, hook_conflict
	Chosen  bool            `json:"chosen,omitempty"`  // hook_created: the author chose the token
	Peer    string          `json:"peer,omitempty"`    // the other run: a child, an awaited run, one that is sent to, the holder of a token; hook_created: the run that a fork has the hook from; step_created of kind aside or taken, wait_created of kind receive: the hook
	By      string          `json:"by,omitempty"`      // run_paused, run_resumed, cancel_requested, run_cancelled, step_woken: who; the end of a remote step's attempt: its step worker
	Reason  string          `json:"reason,omitempty"`  // the same: why; run_continued and what ends a run: see NotCreated
	Version int             `json:"version,omitempty"` // run_started: the version, where the birth left it open
	Birth   *Birth          `json:"birth,omitempty"`   // run_created
	Next    *Continuation   `json:"next,omitempty"`    // run_continued
	Places  []Place         `json:"places,omitempty"`  // step_created, queued: what each attempt needs
	Listen  *Listen         `json:"listen,omitempty"`  // wait_created of kind event: it gets what is published, too
	// Listened is of wait_completed, run_continued and what ends a run: a wait ends with it that listened.
	Listened  bool   `json:"listened,omitempty"`
	Encrypted string `json:"sealed,omitempty"` // ID of the key that payload, match and error are encrypted with; run_created: that of the whole run; "": plain
	Apart     string `json:"apart,omitempty"`  // of the value that the payload refers to; "": it is the value
	// MaxPayload and MaxValue are of run_started and run_continued: how many bytes the code of the segment may send, and
	// how many one value that it hands over may have. 0: [DefaultMaxPayload], [DefaultMaxValue].
	MaxPayload int    `json:"maxPayload,omitempty"`
	MaxValue   int    `json:"maxValue,omitempty"`
	Build      string `json:"build,omitempty"`  // of the program that wrote it; kept once a commit
	Commit     int64  `json:"commit,omitempty"` // set on reading: Seq of the first event of the same commit
}

// What workflow code is held to where the log does not say it: see [Event.MaxPayload]. Logs rely on these figures, so they
// stay what they are.
const (
	DefaultMaxPayload = 1 << 20
	DefaultMaxValue   = 64 << 20
)

// checkSizes refuses limits that no configuration can have.
func (e *Event) checkSizes() error {
	switch p, v := e.MaxPayload, e.MaxValue; {
	case p == 0 && v == 0:
		return nil
	case e.Type != RunStarted && e.Type != RunContinued:
		return fmt.Errorf("%w: a %s has no limits of payloads", ErrInvalid, e.Type)
	case p < 0 || v < 0 || p > MaxCommit/4 || v > MaxApart:
		return fmt.Errorf("%w: limits of %d and %d bytes: want 0 to %d, and 0 to %d", ErrInvalid, p, v, MaxCommit/4, MaxApart)
	}
	return nil
}

// Continuation is what a new segment starts from, beside its input, which is the event's payload. Whatever is not listed
// is over. A log can be read from a run_continued with a Base on: with the first event, and those that it stands on, see [Continuation.Stands].
type Continuation struct {
	Version    int                        `json:"version,omitempty"` // 0: as before
	Unread     []int64                    `json:"unread,omitempty"`  // numbers of the signals and payloads not yet taken
	Hooks      []string                   `json:"hooks,omitempty"`   // IDs of the open hooks
	Attributes map[string]json.RawMessage `json:"attributes,omitempty"`

	Base    *Base `json:"base,omitempty"`    // nil: only who has read all that was before can go on from here
	Segment int   `json:"segment,omitempty"` // the segment's number, where others before it are not in this log; 0: one more than the last
	// Trim is the number of a run_continued with a Base, perhaps of this one: segments before it are not wanted any more. From this commit on the world may delete
	// commits before the one that holds it, at any time, but for the first and those that hold what it stands on. 0: nothing new.
	Trim int64 `json:"trim,omitempty"`
}

// IsResult reports whether the machine is driven by events of this type: its state is a function of these alone, in their order.
// A hook with a chosen token is a result too: see [Event.Result].
func (t EventType) IsResult() bool {
	switch t {
	case StepCompleted, StepFailed, WaitCompleted, HookReceived, HookConflict, SignalReceived, CancelRequested,
		RunPaused, RunResumed:
		return true
	}
	return false
}

// Result reports whether the event drives the machine. A wait that ended because its event came is not a result, as the
// signal itself was; the grant of a chosen token is one.
func (e *Event) Result() bool {
	switch e.Type {
	case WaitCompleted:
		return e.Outcome != OutcomeReceived
	case HookCreated:
		return e.Chosen
	}
	return e.Type.IsResult()
}

// Creation reports whether the event records what the code asked for.
func (e *Event) Creation() bool {
	switch e.Type {
	case StepCreated, WaitCreated, HookCreated, HookConflict, AttrSet, HookDisposed:
		return true
	case WaitCompleted:
		return e.Outcome == OutcomeReceived
	}
	return false
}

// Pauses tells whether a run is paused behind the event, where that says so. A cancel ends a pause. None goes on into a segment that needs but a part of what was
// before.
func (e *Event) Pauses() (paused, says bool) {
	switch e.Type {
	case RunPaused:
		return true, true
	case RunResumed, CancelRequested:
		return false, true
	}
	return false, e.Type == RunContinued && e.Next != nil && e.Next.Base != nil
}

// Frees reports whether one of the events of a run ends a hook of it: by its disposal, or by a new segment that does not carry it over.
func Frees(events []Event, hook string) bool {
	for i := range events {
		switch e := &events[i]; {
		case e.Type == HookDisposed && e.ID == hook, e.Type == RunContinued && !slices.Contains(e.Next.Hooks, hook):
			return true
		}
	}
	return false
}

// notCreated begins the part of a reason that says what was not created.
const notCreated = "not created, as nobody waited: "

// WithNotCreated adds to the reason of an event that ends a run or a segment what its code asked for last and what
// was not created.
func WithNotCreated(reason, what string) string {
	if reason != "" {
		reason += "; "
	}
	return reason + notCreated + what
}

// NotCreated is what the code asked for in its last turn and what was not created, as it would have ended before
// anybody had waited for it: steps, waits and attached children, as in `step "mail", sleep "rest"`; or "". Of
// run_continued and of the events that end a run.
func (e *Event) NotCreated() string {
	if e.Type != RunContinued && !e.Type.Terminal() {
		return ""
	}
	_, what, _ := strings.Cut(e.Reason, notCreated)
	return what
}

// FreesKey reports whether the event, the end of a run that had begun or not, gives the run's idempotency key back: its input did not fit, and nothing of it
// has run.
func (e *Event) FreesKey(began bool) bool {
	return e.Type == RunFailed && !began && e.Error != nil && e.Error.Code == CodeDecode
}

// Terminal reports whether the event ends its run.
func (t EventType) Terminal() bool {
	return t == RunCompleted || t == RunFailed || t == RunCancelled
}

// Key returns what a creation's ID was made from, for a segment of the run.
func (e *Event) Key(segment int) Key {
	k := Key{Segment: segment, Path: e.Path, Kind: e.Kind, Name: e.Name, Occurrence: e.Occurrence}
	switch e.Type {
	case HookCreated, HookConflict:
		k.Kind = KindHook
	case AttrSet:
		k.Kind = KindAttr
	}
	return k
}

// Error is a failure as the log keeps it: what survives a replay.
type Error struct {
	Name      string   `json:"name,omitempty"`      // the registered name of a sentinel or type, else the Go type
	Message   string   `json:"message"`             //
	Code      string   `json:"code,omitempty"`      // one of the Code constants, or the author's own
	Causes    []*Error `json:"causes,omitempty"`    // what it wraps, outermost first
	Where     string   `json:"where,omitempty"`     // file:line where it came from
	Stack     string   `json:"stack,omitempty"`     // of a panic
	Permanent bool     `json:"permanent,omitempty"` // not worth another attempt

	Value   json.RawMessage `json:"value,omitempty"`   // of a registered type: the error as JSON
	Matches []string        `json:"matches,omitempty"` // registered sentinels that it is by its own Is method, by name

	Step string `json:"step,omitempty"` // ID of the step whose failure it is: in what came of that, as the end of its run
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

// Codes of failures that Stepwell itself reports. Lower layers and authors may have their own.
const (
	CodeEncode     = "ENCODE"              // a value does not encode
	CodeTooLarge   = "TOO_LARGE"           // a value is over its limit
	CodePanic      = "PANIC"               // a body, or workflow code, panicked
	CodeTimeout    = "TIMEOUT"             // an attempt, or the run, took too long
	CodeHeartbeat  = "HEARTBEAT"           // an attempt sent no heartbeat for longer than its heartbeat timeout
	CodeNotStarted = "NOT_STARTED"         // no worker began the step, or the run, in time
	CodeCancelled  = "CANCELLED"           // the run was cancelled before the step ended
	CodeCrashLoop  = "CRASH_LOOP"          // it ended its process, again and again
	CodeAbandoned  = "ABANDONED"           // an attempt was given up by its worker: drained, or its lease lost
	CodeRunExists  = "RUN_EXISTS"          // the ID of a child is taken
	CodeNotFound   = "NOT_FOUND"           // the run that is awaited, or sent to, is unknown
	CodeRunOver    = "RUN_OVER"            // the run that is sent to is over
	CodeDiverged   = "DIVERGED"            // blocked: the code no longer matches the log
	CodeCorrupt    = "CORRUPTED_EVENT_LOG" // blocked: the log cannot be right
	CodeFormat     = "UNKNOWN_FORMAT"      // blocked: the log is of a newer release
	CodeNoWorker   = "NO_WORKER"           // nobody knows this workflow, version or step
	CodeDecode     = "DECODE"              // blocked: today's type cannot hold a recorded value; failed: the input does not fit, nothing has run
	CodeStorage    = "STORAGE"             // blocked: the log could not be read just now
	CodeInternal   = "INTERNAL"            // blocked: a fault of Stepwell's own; please report it
	CodeNoKey      = "NO_KEY"              // blocked: the run is encrypted with a key that this worker does not have
	CodeForeign    = "FOREIGN_GOROUTINE"   // blocked: a goroutine of its own, or a step's body, used the workflow's Context; of an attempt: that body's
)
