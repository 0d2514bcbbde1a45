package world

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// EventType is the type of an event, as the log stores it.
type EventType string

// All event types. [State.Apply] says when each is legal, and its effect.
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

// Kind is the kind of a step, wait or hook. It is part of the entity's [Key].
type Kind string

// Kinds of steps, waits, hooks and attributes.
const (
	KindClosure Kind = "closure" // a step that the run's worker runs
	KindTask    Kind = "task"    // a registered step, which any worker with its definition can run
	KindChild   Kind = "child"   // a child run; the step ends with it
	KindAwait   Kind = "await"   // the result of any other run
	// KindSend: a signal to another run, in the same commit; the step ends with it.
	KindSend  Kind = "send"
	KindPatch Kind = "patch" // the record of a decision about changed code; complete at birth
	// KindAside records a payload that was set aside because it does not fit the code; complete at
	// birth.
	KindAside Kind = "aside"
	// KindAccepted records that the code took a hook's payload, if no other event does; complete at
	// birth.
	KindAccepted Kind = "taken"
	// KindStream records what workflow code wrote to the stream of that name, in the same commit;
	// complete at birth.
	KindStream Kind = "stream"
	// KindMessage: a message to the queue of that name, in the same commit; complete at birth.
	KindMessage Kind = "message"

	// KindPublication is a publication under the topic of that name, in the same commit; complete
	// at birth.
	KindPublication Kind = "publication"

	KindSleep     Kind = "sleep"     // a wait for a time
	KindEvent     Kind = "event"     // a wait for a matching signal, possibly until a time
	KindCondition Kind = "condition" // a wait for a condition of the code, until a time
	// KindReceive: a wait for the next payload of the hook of that name, until a time.
	KindReceive Kind = "receive"

	KindHook Kind = "hook"
	KindAttr Kind = "attr"
)

// Decision reports whether a step of the kind records what happened to a payload: set aside, or
// taken.
func (k Kind) Decision() bool { return k == KindAside || k == KindAccepted }

// Posts reports whether a step of the kind records a message or a publication of its commit.
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

// Outcome is how a wait ended.
type Outcome string

// Outcomes of a wait.
const (
	OutcomeDue      Outcome = "due"      // its time came
	OutcomeWoken    Outcome = "woken"    // an operator woke it
	OutcomeReceived Outcome = "received" // its event came, or its condition holds

	OutcomeTold Outcome = "told" // of a set-aside payload: the code was told, which ended the wait
	// OutcomePassed: of a set-aside payload: the code was not told, and the wait went on.
	OutcomePassed Outcome = "passed"
)

// Event is one immutable fact in a run's log. Fields that a type does not use are zero; the
// comments say which types use a field. Do not change byte slices of an event.
type Event struct {
	Seq  int64     `json:"seq"`  // 1, 2, 3… within the run
	Type EventType `json:"type"` //
	// the owner's clock at append; never before the previous event
	Time       time.Time `json:"time"`
	OccurredAt time.Time `json:"occurredAt,omitzero"` // when it happened elsewhere, if not at Time
	ID         string    `json:"id,omitempty"`        // correlation ID of the step, wait, hook or attribute
	Delivery   string    `json:"delivery,omitempty"`  // delivery ID, if it came through the inbox
	Kind       Kind      `json:"kind,omitempty"`      // step_created, wait_created
	// Name: *_created, signal_received, attr_set: the author's name; input_received: its
	// idempotency key.
	Name       string `json:"name,omitempty"`
	Path       string `json:"path,omitempty"`       // *_created, attr_set: the coroutine
	Occurrence int    `json:"occurrence,omitempty"` // *_created, attr_set: which use of the name in its coroutine

	// Attempt: step_started, step_retrying, step_woken, step_completed, step_failed; from 1.
	Attempt int             `json:"attempt,omitempty"`
	Queued  bool            `json:"queued,omitempty"`  // step_created: a task was queued with it
	Payload json.RawMessage `json:"payload,omitempty"` // input, output, result, payload, metadata or attribute value
	// Error: run_failed, run_cancelled, step_retrying, step_failed; step_created of kind aside:
	// what did not fit.
	Error   *Error    `json:"error,omitempty"`
	RetryAt time.Time `json:"retryAt,omitzero"` // step_retrying: not before this time
	// Until is, of wait_created, when it is due; of step_created, when it fails if no worker has
	// begun it. Zero: never.
	Until time.Time `json:"until,omitzero"`
	// Match: wait_created of kind event: JSON that a payload must contain.
	Match json.RawMessage `json:"match,omitempty"`
	// Outcome: wait_completed; step_created of kind aside: whether the code was told.
	Outcome Outcome `json:"outcome,omitempty"`
	// From is, of wait_completed with outcome received, the number of the signal_received that it
	// took; of step_created of kind aside or taken, that of the event with the payload.
	From   int64  `json:"from,omitempty"`
	Token  string `json:"token,omitempty"`  // hook_created, hook_conflict
	Chosen bool   `json:"chosen,omitempty"` // hook_created: the author chose the token
	// Peer is the other run: a child, an awaited run, the receiver of a send, the holder of a
	// token. Of hook_created it is the run from which a fork has the hook. Of step_created of kind
	// aside or taken, and wait_created of kind receive, it is the hook.
	Peer string `json:"peer,omitempty"`
	// By is, of run_paused, run_resumed, cancel_requested, run_cancelled and step_woken, who asked
	// for it; of the end of a remote step's attempt, its step worker.
	By string `json:"by,omitempty"`
	// Reason: their reason; run_continued and terminal events: see NotCreated.
	Reason string `json:"reason,omitempty"`
	// Version: run_started: the version, if the birth left it open.
	Version int           `json:"version,omitempty"`
	Birth   *Birth        `json:"birth,omitempty"` // run_created
	Next    *Continuation `json:"next,omitempty"`  // run_continued
	// Places: step_created, queued: limits whose places each attempt needs.
	Places []Place `json:"places,omitempty"`
	// Listen: wait_created of kind event: it also receives publications.
	Listen *Listen `json:"listen,omitempty"`
	// Listened means, of wait_completed, run_continued and terminal events, that a wait ends that
	// received publications.
	Listened bool `json:"listened,omitempty"`
	// Encrypted is the ID of the key that encrypts payload, match and error; of run_created, that
	// of the whole run. "": plain.
	Encrypted string `json:"sealed,omitempty"`
	// Apart: the value that the payload refers to, see [SplitApart]; "": it is the value.
	Apart string `json:"apart,omitempty"`
	// MaxPayload and MaxValue are, of run_started and run_continued, the limits in bytes of what
	// the segment's code sends, and of one of its values. 0: [DefaultMaxPayload],
	// [DefaultMaxValue].
	MaxPayload int    `json:"maxPayload,omitempty"`
	MaxValue   int    `json:"maxValue,omitempty"`
	Build      string `json:"build,omitempty"` // build of the writing program; stored once a commit
	// Commit: set on reading: Seq of the first event of the same commit.
	Commit int64 `json:"commit,omitempty"`
}

// Limits of workflow code if the log has none: see [Event.MaxPayload]. Logs rely on these values,
// so they never change.
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

// Continuation is what a new segment starts from, besides its input, which is the event's payload.
// All that it does not list is over. With a Base, a log can be read from its run_continued on, with
// the first event and those of [Continuation.Stands].
type Continuation struct {
	Version int `json:"version,omitempty"` // 0: unchanged
	// Unread: numbers of the signals and payloads not yet taken.
	Unread     []int64                    `json:"unread,omitempty"`
	Hooks      []string                   `json:"hooks,omitempty"` // IDs of the open hooks
	Attributes map[string]json.RawMessage `json:"attributes,omitempty"`

	// nil: only a reader of all earlier events can continue from here
	Base *Base `json:"base,omitempty"`
	// Segment: number of the segment, if this log lacks earlier ones; 0: the next.
	Segment int `json:"segment,omitempty"`
	// Trim is the number of a run_continued with a Base, possibly this one: earlier segments are
	// not needed any more. From this commit on the store may delete older commits than the one of
	// that event, at any time, except the first and those with events of [Continuation.Stands]. 0:
	// nothing new.
	Trim int64 `json:"trim,omitempty"`
}

// IsResult reports whether events of this type drive the machine: its state is a function of these
// events in their order. A hook with a chosen token is a result too: see [Event.Result].
func (t EventType) IsResult() bool {
	switch t {
	case StepCompleted, StepFailed, WaitCompleted, HookReceived, HookConflict, SignalReceived, CancelRequested,
		RunPaused, RunResumed:
		return true
	}
	return false
}

// Result reports whether the event drives the machine. A wait that ended because its signal came is
// not a result, because the signal is one. The grant of a chosen token is a result.
func (e *Event) Result() bool {
	switch e.Type {
	case WaitCompleted:
		return e.Outcome != OutcomeReceived
	case HookCreated:
		return e.Chosen
	}
	return e.Type.IsResult()
}

// Creation reports whether the event records a request of the code.
func (e *Event) Creation() bool {
	switch e.Type {
	case StepCreated, WaitCreated, HookCreated, HookConflict, AttrSet, HookDisposed:
		return true
	case WaitCompleted:
		return e.Outcome == OutcomeReceived
	}
	return false
}

// Pauses returns whether a run is paused after the event; says is false if the event does not
// change that. A cancel ends a pause.
func (e *Event) Pauses() (paused, says bool) {
	switch e.Type {
	case RunPaused:
		return true, true
	case RunResumed, CancelRequested:
		return false, true
	}
	return false, e.Type == RunContinued && e.Next != nil && e.Next.Base != nil
}

// Frees reports whether one of a run's events ends a hook: by its disposal, or by a new segment
// that does not carry it over.
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

// WithNotCreated adds to the reason of an event that ends a run or a segment the last requests that
// were not created.
func WithNotCreated(reason, what string) string {
	if reason != "" {
		reason += "; "
	}
	return reason + notCreated + what
}

// NotCreated returns the requests of the code's last turn that were not created because the run or
// segment ended: steps, waits and attached children, as in `step "mail", sleep "rest"`; "": none.
// For run_continued and terminal events.
func (e *Event) NotCreated() string {
	if e.Type != RunContinued && !e.Type.Terminal() {
		return ""
	}
	_, what, _ := strings.Cut(e.Reason, notCreated)
	return what
}

// FreesKey reports whether the event, the end of a run that had begun or not, frees the run's
// idempotency key: its input did not fit, and none of its code has run.
func (e *Event) FreesKey(began bool) bool {
	return e.Type == RunFailed && !began && e.Error != nil && e.Error.Code == CodeDecode
}

// Terminal reports whether the event ends its run.
func (t EventType) Terminal() bool {
	return t == RunCompleted || t == RunFailed || t == RunCancelled
}

// Key returns what a creation's ID derives from, in a segment of the run.
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

// Error is a failure as the log stores it, for replay.
type Error struct {
	// Name: registered name of a sentinel or type, else the Go type.
	Name    string `json:"name,omitempty"`
	Message string `json:"message"` //
	// one of the Code constants, or the author's own
	Code      string   `json:"code,omitempty"`
	Causes    []*Error `json:"causes,omitempty"`    // wrapped errors, outermost first
	Where     string   `json:"where,omitempty"`     // file:line of its origin
	Stack     string   `json:"stack,omitempty"`     // of a panic
	Permanent bool     `json:"permanent,omitempty"` // another attempt would not help

	Value json.RawMessage `json:"value,omitempty"` // of a registered type: the error as JSON
	// Matches: names of registered sentinels that its own Is method matches.
	Matches []string `json:"matches,omitempty"`

	// Step is the ID of the step that failed, in errors that wrap its failure, such as that of its
	// run.
	Step string `json:"step,omitempty"`
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

// Codes of failures that Stepwell itself reports. Lower layers and authors may have their own. The
// codes after blocked: are those of a [Block].
const (
	CodeEncode     = "ENCODE"      // a value does not encode
	CodeTooLarge   = "TOO_LARGE"   // a value is over its limit
	CodePanic      = "PANIC"       // a step's body, or workflow code, panicked
	CodeTimeout    = "TIMEOUT"     // an attempt, or the run, took too long
	CodeHeartbeat  = "HEARTBEAT"   // an attempt sent no heartbeat in time
	CodeNotStarted = "NOT_STARTED" // no worker began the step, or the run, in time
	CodeCancelled  = "CANCELLED"   // the run was cancelled before the step ended
	CodeCrashLoop  = "CRASH_LOOP"  // it ended its process again and again
	// CodeAbandoned: its worker gave the attempt up: drained, or its lease lost.
	CodeAbandoned = "ABANDONED"
	CodeRunExists = "RUN_EXISTS"          // the ID of a child is taken
	CodeNotFound  = "NOT_FOUND"           // the awaited run, or the receiver of a send, is unknown
	CodeRunOver   = "RUN_OVER"            // the receiver of a send is over
	CodeDiverged  = "DIVERGED"            // blocked: the code does not match the log
	CodeCorrupt   = "CORRUPTED_EVENT_LOG" // blocked: the log is damaged
	CodeFormat    = "UNKNOWN_FORMAT"      // blocked: a newer release wrote the log
	CodeNoWorker  = "NO_WORKER"           // no live worker has this workflow, version or step
	// CodeDecode: blocked: the code's type cannot hold a recorded value; failed: the input does not
	// fit.
	CodeDecode   = "DECODE"
	CodeStorage  = "STORAGE"  // blocked: the log cannot be read now
	CodeInternal = "INTERNAL" // blocked: a fault of Stepwell; please report it
	CodeNoKey    = "NO_KEY"   // blocked: this worker lacks the run's encryption key
	// CodeForeign blocks a run whose Context was used by a goroutine of a go statement or by a
	// step's body. Of an attempt: that body used it.
	CodeForeign = "FOREIGN_GOROUTINE"
)
