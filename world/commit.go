package world

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

// MaxCommit is the largest size of a commit in bytes of payloads and names; writers split larger
// ones. A birth by a client may be larger if each of its events is not.
const MaxCommit = 4 << 20

// LogFormat is the log format of new runs in this release.
const LogFormat = 1

// Commit is one atomic change to one run: a birth, a turn, a release, an end, or several of these.
// The store checks, in this order, and refuses without any change:
//
//   - A birth (Events[0] is run_created): the run ID must be new, else [ErrRunExists], unless that
//     run also has the idempotency key: see [CreatedBefore]. The idempotency key must be new for
//     the workflow; else Committed.Existing names the run that has it, and nothing is written and
//     no error returned.
//   - Otherwise Worker must be alive, and nobody else may have written at First or after, else
//     [ErrLeaseLost]. A First beyond the next number is [ErrInvalid]; an unknown run is
//     [ErrLeaseLost]. A birth by a worker is [ErrLeaseLost] if the worker is not alive or the
//     workflow is held: see [Starter].
//   - With Release and no events, the queue must still show Worker and Claim, else [ErrLeaseLost].
//   - Worker must still hold each of Held, else [ErrLeaseLost].
//   - The queue of each of Messages must be declared, else [ErrNotFound].
//   - If a Condition does not hold, the store writes what the condition says instead. Without a
//     condition, a hook whose token is held is refused with [ErrConflict], and a child whose ID or
//     idempotency key is taken with [ErrRunExists].
//
// A birth with Ack acknowledges a message, also if it returns Existing. If the receipt is not
// valid, the error is [ErrReceipt].
//
// A birth with Schedule changes that row as [Scheduler].PutSchedule does, also if it returns
// Existing. If the row has changed, the error is [ErrConflict].
//
// A birth by a client may have events after run_created, as a fork's does. The run is then due at
// once, or over, as the events say. They may exceed MaxCommit: the store splits them with [Parts],
// and writes a row for each part, with the commit's ID, all or nothing.
//
// A terminal event deletes the run's queue row, tasks, inbox and hooks, writes the outcome to the
// run's row, and sends [ResultFor] to the parent's step and to each awaiting step whose run is not
// over. A run_continued deletes the run's tasks and the hooks that it does not list; mail stays.
type Commit struct {
	ID     [16]byte // random: identifies this commit among others at the same number
	Run    string
	Worker string // owner of the run (after a birth); "" for a birth by a client: the run is queued
	Claim  int64  // the claim under which Worker owns the run; a birth by a worker is claim 1
	Build  string // build of the writing program
	First  int64  // number of Events[0]: the fence; without events, the next number
	Events []Event

	Mail    []int64   // inbox rows that this commit appends or drops: they are deleted
	Tasks   []Task    // new tasks
	Held    []TaskKey // tasks that Worker holds and whose end is among Events: they are deleted
	Dropped []TaskKey // tasks to delete, whoever holds them
	Births  []*Commit // children: births without a worker
	// Send is mail to other runs. Mail to an unknown or ended run or token is dropped; a full inbox
	// accepts it.
	Send       []Delivery
	Conditions []Condition   // parts that only the store can decide
	Anew       []Anew        // steps that wait on, for the replacement of an ended run
	Streams    []StreamWrite // additions to the run's streams; those to a closed stream are dropped
	Messages   []Message     // messages to send, in order; without dedupe IDs
	Published  []Publication // publications, in order; without delivery IDs
	Release    *Release      // the worker releases the run
	Ack        string        // of a birth by a client: the receipt of a message to acknowledge
	Schedule   *Schedule     // of a birth by a client: the new row of the schedule that starts it
	// Items allows a client's birth with Birth.Gather to be merged, and is its number of inputs; a
	// debounce has one. 0: it is not merged.
	//
	// If a run of the workflow and key gathers, and the inputs fit, nothing is written or
	// acknowledged: Committed.Existing names that run, Gathering is set, and the caller delivers
	// the input to it, by an act. Otherwise the birth opens a gathering of its own, and closes an
	// older one. The idempotency key of a merged start also belongs to its run: for any birth of
	// the workflow with that key, Existing names the run, without Gathering.
	Items int
	// Prints are the fingerprints of deliveries sent with a birth, in the order of
	// [BirthDeliveries]: see Delivery.Print. A missing one is made from the payload.
	Prints [][]byte
	// Unread is the number of payloads in the log that the code has not taken. A store may count
	// them toward the limit of the inbox.
	Unread int
}

// CreatedBefore returns the result of a birth whose run ID is taken. holder is the run that has its
// idempotency key; "": none. If that is the run with the ID, the birth is a repeat and returns the
// existing run. Otherwise it is refused, with the holder of the key.
func CreatedBefore(c *Commit, holder string) (Committed, error) {
	switch holder {
	case c.Run:
		return Committed{Existing: holder}, nil
	case "":
		return Committed{}, fmt.Errorf("run %s: %w", c.Run, ErrRunExists)
	}
	return Committed{}, fmt.Errorf("run %s: %w, and the idempotency key %q is that of another: run %s", c.Run, ErrRunExists, c.Events[0].Birth.Key, holder)
}

// Birth reports whether the commit begins a run.
func (c *Commit) Birth() bool { return len(c.Events) > 0 && c.Events[0].Type == RunCreated }

// End returns the terminal event of the commit, or nil.
func (c *Commit) End() *Event {
	if n := len(c.Events); n > 0 && c.Events[n-1].Type.Terminal() {
		return &c.Events[n-1]
	}
	return nil
}

// Written returns the events for [Committed]: those that the commit wrote, as they are read from
// the log. It is for stores.
func (c *Commit) Written(events []Event) []Event {
	out := slices.Clone(events)
	parts := [][]Event{out}
	if c.Birth() && c.Worker == "" {
		parts = Parts(out)
	}
	first := c.First
	for _, part := range parts {
		for i := range part {
			part[i].Seq, part[i].Commit, part[i].Build = first+int64(i), first, c.Build
		}
		first += int64(len(part))
	}
	return out
}

// HasRow reports whether a log that ends at event last has a row of this commit, if the commit was
// written. Other commits change only the queue. It is for stores.
func (c *Commit) HasRow(last int64) bool {
	return len(c.Events) > 0 || len(c.Anew) > 0 && c.First <= last
}

// Told returns the events for [Log.Outcome], from the events of the commit's row: nil unless a
// condition changed them. It is for stores.
func (c *Commit) Told(events []Event) []Event {
	for i := range events {
		if i >= len(c.Events) || events[i].Type != c.Events[i].Type {
			return events
		}
	}
	return nil
}

// Release is what the queue keeps of a released run.
type Release struct {
	WakeAt  time.Time // due at this time; zero: only mail wakes it
	Blocked *Block    // it cannot continue; WakeAt is the next try
	Full    bool      // its unread payloads are at the limit
	Waiting string    // for people: what it waits for, short
}

// Block says why a run cannot continue. Nothing is lost: it is tried again with backoff.
type Block struct {
	Code      string    `json:"code"` // CodeDiverged, CodePanic, …
	Message   string    `json:"message"`
	Seq       int64     `json:"seq,omitempty"`  // number of the event where it was found
	Step      string    `json:"step,omitempty"` // correlation ID
	Since     time.Time `json:"since"`
	Tries     int       `json:"tries"`            // number of tries so far
	Build     string    `json:"build,omitempty"`  // build of the worker that found it
	Encrypted string    `json:"sealed,omitempty"` // ID of the key that encrypts Message; "": plain
	// CodeCrashLoop: the next claim evaluates it alone in quarantine
	Alone bool `json:"alone,omitempty"`
}

// ReadBlock parses a stored Block; nil: there is none. Text that does not decode gives a Block that
// says so.
func ReadBlock(text []byte) *Block {
	if text == nil {
		return nil
	}
	b := new(Block)
	if err := json.Unmarshal(text, b); err != nil {
		return &Block{Code: CodeCorrupt, Message: "the reason why it is blocked cannot be read: " + err.Error()}
	}
	return b
}

// Condition is a part of a commit that depends on what others have done. A commit with conditions
// is not grouped with others.
type Condition struct {
	// Event is the index in Commit.Events of the request:
	//
	//   - hook_created: its token must be free among all active hooks. Otherwise hook_conflict
	//     replaces the event, with the same ID, name, path, occurrence and token, and the token's
	//     holder as Peer.
	//   - step_created of kind child: the ID and the idempotency key of Births[Birth] must be new.
	//     Otherwise that birth is left out, and step_failed with [CodeRunExists] is appended after
	//     all events.
	//   - step_created of kind await: if the run Peer is not over, the awaiting step is recorded.
	//     Otherwise its [ResultFor], or step_failed with [CodeNotFound] for an unknown run, is
	//     appended after all events.
	//   - step_created of kind send: if the run Peer is not over, Send[Send] is delivered, and
	//     step_completed is appended after all events. Otherwise step_failed is appended, with
	//     [CodeNotFound] or [CodeRunOver].
	Event int
	Birth int // index in Commit.Births, for a child
	Send  int // index in Commit.Send, for a send
}

// Anew is a step, a child run or an await, whose run ended without completing and was replaced: see
// [RetryKey]. Its owner received the end as mail, which the commit deletes without appending it.
// The step then waits for the newest replacement. If that is over, its [ResultFor] is appended
// after all events. A commit with such steps is not grouped with others.
type Anew struct {
	Step string
	Run  string    // the ended run
	At   time.Time // time of the appended event, if the commit has no events
}

// Committed is the result of a commit.
type Committed struct {
	Events   []Event // as read from the log, if a condition changed them; nil: as sent
	Existing string  // of a birth with a known idempotency key: the run that has it
	Mail     bool    // the inbox of the released run has mail: claim again

	// Gathering means that Existing gathers, and takes the birth's input when it is delivered: see
	// [Commit].Items.
	Gathering bool
}

// Task is a step that is queued for any worker.
type Task struct {
	Run      string
	Step     string // correlation ID
	Name     string // of the registered step
	Workflow string
	Input    []byte
	// Encrypted is, in a Commit, the ID of the key that encrypts Input. Stores do not keep it:
	// Options have it, see [EncryptedOptions].
	Encrypted string
	Options   []byte // options of the call, JSON: retry policy and timeout
	Priority  int
	Visible   time.Time // not before; zero: now
	Worker    string    // in a Commit: this worker holds it as attempt 1; claimed: its holder
	Attempt   int       // claimed: this attempt's number
	// History is set when claimed: the step_started, step_retrying and step_woken of at most the
	// last ten earlier attempts. No attempt has an end without its start.
	History  []Event
	First    time.Time // claimed: start of the first attempt; zero before
	Failures int       // claimed: attempts that ended with an error of their own

	// Abandoned is set when claimed: how many attempts their workers gave up, of all attempts. They
	// count neither as failures nor as deaths.
	Abandoned int

	// Places are the limits whose places each attempt needs, in order. Only a Commit has them, for
	// a task that no worker holds.
	Places []Place

	// Apart is the value that Input refers to: see [ApartOptions]. Only [Admin].Tasks sets it,
	// which returns neither Input nor Options. "": none.
	Apart string

	// Damage says, when claimed, why the stored task is unusable: then its run must be blocked. "":
	// usable.
	Damage string
}

// TaskKey names a held task. Attempt is its lease.
type TaskKey struct {
	Run, Step string
	Attempt   int
}

// Delivery is a message to a run from somebody who does not own it. It is exactly one of these:
//
//   - Mail: Events has one event without a number: signal_received, hook_received,
//     cancel_requested, run_paused, run_resumed, wait_completed; a step's end that comes from
//     elsewhere; a step_woken, with the last ended attempt, which ends the retry delay; or a
//     step_retrying with [CodeAbandoned] and its attempt, from a worker that has lost the run. It
//     is put in the inbox. A full inbox accepts a cancel.
//   - An input: Act and Items are set, and Events has one input_received, for a run that gathers:
//     see [Commit].Items. It is appended to the log, with its ID and, as its Name, the idempotency
//     key. If the run no longer gathers, or the input does not fit, the error is [ErrConflict] or
//     [ErrTerminal]. If another run has the key, Delivered.Run names that run, with Duplicate.
//   - An act: Act is set, and Events has one run_paused, run_resumed or run_cancelled. If nobody
//     owns the run and no earlier act waits, it is appended to the log at once; otherwise it is put
//     in the inbox, where a run_resumed makes a paused run runnable. run_cancelled is a forced
//     cancel: it is appended and ends the run, whoever owns it, and sends a cancel_requested to
//     each child that is not detached. An act that says nothing new is accepted and writes nothing.
//     A resumed running run is due at once. So is a resumed blocked run that nobody owns, paused or
//     not, with its tries reset: see [Delivery.Wakes].
//   - The end of a task's attempt: Task is set. With a zero RetryAt, Events (of all its attempts
//     that are not in the log) are put in the inbox, and the task is deleted. Otherwise Events (one
//     step_retrying) are kept with the task, which is visible again at RetryAt. Both need Task to
//     be held, else [ErrLeaseLost]. One exception: a step_retrying with [CodeAbandoned] about one
//     of the last ten attempts, which is no longer held and whose end is unknown, is recorded and
//     counted, and has no other effect. Its worker had lost its lease, and is back.
//   - The wake of a task: Task is set, with the last ended attempt, and Events has one step_woken.
//     If nobody holds the task, that was its last attempt, and it is not visible yet, it becomes
//     visible at once, and the event is kept with it. Otherwise it is a Duplicate.
//   - The end of a task that never began: Task is set, with attempt 0, and Events has one
//     step_failed. If no attempt has begun, the event is put in the inbox and the task is deleted.
//     Otherwise it is a Duplicate.
//
// Repeated mail and acts are recognised by their ID, for as long as [Delivery.Key] says. A repeat
// is accepted and ignored, also after the run's or the hook's end. A repeat with another payload is
// refused with [ErrDeliveryUsed].
//
// Errors: [ErrNotFound] for an unknown run or token. [ErrTerminal] for an ended run, also that of a
// token whose hook ended with it. [ErrInboxFull] for a signal_received or hook_received if too many
// payloads wait (10,000), or the run's owner marked it full.
type Delivery struct {
	Run     string
	Token   string // instead of Run: of an active hook; the store sets Events[0].ID
	ID      string // delivery ID, for this event or hook; "": none
	Events  []Event
	Act     bool
	Task    *TaskKey
	Worker  string // with Task: its holder
	RetryAt time.Time

	// Sender is the run whose step sends this under its own idempotency key, and may repeat it
	// until that run is over. "": no step.
	Sender string
	// Of is the token of the hook, for a hook_received that names the hook by ID: see
	// [Delivery.Key].
	Of string
	// Print identifies the content: a repeat must have the same. At most 64 bytes. Nil: the payload
	// does.
	Print []byte
	// Repeat means that the delivery must be a repeat of an accepted one with this ID. Otherwise it
	// is refused with [ErrNotFound].
	Repeat bool
	// Items is the number of inputs in an input_received.
	Items int
	// Unbegun limits a run_cancelled, as an act, to a run that has not begun and that nobody owns.
	// Otherwise it is accepted and does nothing. It is not sent over networks.
	Unbegun bool
}

// Delivered is the result of a delivery.
type Delivered struct {
	Run string
	// Duplicate means that the delivery was a repeat, or the wake or end of a task that did not
	// apply: see [Delivery].
	Duplicate bool
	Late      bool   // it is a repeat, and the run ended without reading the first copy
	Owner     string // the worker that owns the run now, or ""
}

// Mail is a delivery that waits in an inbox.
type Mail struct {
	Row       int64 // the inbox row; grows with arrival
	Run       string
	ID        string    // delivery ID
	ArrivedAt time.Time // by the store's clock
	Events    []Event   // without numbers

	// Damage says why the row cannot be read. Then there are no Events, and the run is blocked. "":
	// readable.
	Damage string
}

// Resumes reports whether the mail ends a pause.
func (m Mail) Resumes() bool { return len(m.Events) == 1 && m.Events[0].Type == RunResumed }

// OriginRun returns the [Origin] of a birth, whose stored-apart values the new run may hold; "":
// none, or not a birth.
func (c *Commit) OriginRun() string {
	if !c.Birth() || c.Events[0].Birth == nil || c.Events[0].Birth.Origin == nil {
		return ""
	}
	return c.Events[0].Birth.Origin.Run
}

// ResultFor returns the event that tells a waiting step how another run ended.
func ResultFor(end *Event, step string) Event {
	e := Event{Type: StepFailed, ID: step, Error: end.Error, Encrypted: end.Encrypted}
	switch end.Type {
	case RunCompleted:
		e.Type, e.Payload, e.Apart, e.Error = StepCompleted, end.Payload, end.Apart, nil
	case RunCancelled:
		e.Error = &Error{Message: "the run was cancelled", Code: CodeCancelled, Permanent: true}
		if end.Error != nil { // what its code returned
			e.Error.Causes = []*Error{end.Error}
		}
	}
	return e
}
