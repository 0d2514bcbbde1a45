package world

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

// MaxCommit is how many bytes of payloads and names a commit may hold; a writer that has more splits it. A birth by a client may hold more, as
// long as none of its events does.
const MaxCommit = 4 << 20

// LogFormat is the format in which this release begins new runs.
const LogFormat = 1

// Commit is one atomic change to one run: a birth, a turn, a release, an end, or several of these at once. The world checks,
// in this order, and refuses with nothing changed:
//
//   - a birth (Events[0] is run_created): the run ID is new, else [ErrRunExists], unless the idempotency key is that run's: see [CreatedBefore];
//     the idempotency key is new for the workflow, else Committed.Existing names the run that has it, with no error and nothing written;
//   - otherwise, that Worker is alive and nobody else wrote at First or after, else [ErrLeaseLost]; a First beyond the next number is
//     [ErrInvalid], an unknown run [ErrLeaseLost]; a birth by a worker that is not alive is [ErrLeaseLost] too,
//     and so is one of a workflow that is held: see [Starter];
//   - with Release and no events, that the queue still shows Worker and Claim, else [ErrLeaseLost];
//   - each of Held is still held by Worker, else [ErrLeaseLost];
//   - the queue of each of Messages was declared, else [ErrNotFound];
//   - each Condition: where it does not hold, the world writes what the condition says instead. What no condition names is refused:
//     a hook whose token is held with [ErrConflict], a child whose ID (or idempotency key) is taken with [ErrRunExists].
//
// A birth with Ack acknowledges a message, also where Existing is told: where the receipt does not hold it is [ErrReceipt], and nothing is written.
//
// A birth with Schedule changes that row as [Scheduler].PutSchedule does, also where Existing is told: where the row
// has changed it is [ErrConflict], and nothing is written.
//
// A birth by a client may hold events behind run_created, as a fork's does: the run is in the queue as they leave it, due at once, or over. They
// may be more than MaxCommit: the world cuts them with [Parts], and writes a row for each part, with the commit's ID, all or nothing.
//
// A terminal event deletes the run's queue row, tasks, inbox and hooks, writes the outcome to the run's row, and sends
// [ResultFor] to the parent's step and to every awaiting step whose run is not over. A run_continued deletes the run's tasks and the
// hooks that it does not list; mail stays.
type Commit struct {
	ID     [16]byte // random; tells this commit from any other at the same number
	Run    string
	Worker string // who owns the run after a birth, or who owns it now; "" for a birth by a client: the run is put in the queue
	Claim  int64  // the claim under which Worker owns the run; a birth by a worker is claim 1
	Build  string // of the program that writes
	First  int64  // number of Events[0]: the fence; with no events, the next number
	Events []Event

	Mail       []int64       // inbox rows that are appended or dropped by this commit: they are deleted
	Tasks      []Task        // created with it
	Held       []TaskKey     // tasks that Worker holds and whose end is among Events: they are deleted
	Dropped    []TaskKey     // tasks, whoever holds them, that nobody needs any more
	Births     []*Commit     // children: births without a worker
	Send       []Delivery    // mail to other runs; one to a run or token that is unknown or over is dropped, no inbox is full for it
	Conditions []Condition   // what only the world can decide
	Anew       []Anew        // steps that wait on, for what took the place of a run that is over
	Streams    []StreamWrite // what it adds to the run's streams; what comes behind a mark that closed one is dropped
	Messages   []Message     // put into queues with it, in order; without dedupe IDs
	Published  []Publication // published with it, in order; without delivery IDs
	Release    *Release      // the worker gives the run up
	Ack        string        // of a birth by a client: the receipt of a message that is deleted with it
	Schedule   *Schedule     // of a birth by a client: the schedule that it is started by, as it is from now on
	// Items says of a client's birth, which has Birth.Gather, that it may be merged: with so many inputs, of which a
	// debounce has one. Where a run of its workflow and key gathers, and they fit, Committed.Existing names that one
	// and Gathering is set, and nothing is written, nor acknowledged: the input is to be delivered to it, by an act.
	// Else it opens one itself; one that was there is closed. The key of a start that was merged is an idempotency
	// key of its run as well: Existing tells it, without Gathering, to whatever birth of the workflow has it. 0: it is
	// born as any.
	Items int
	// Prints are of what was sent with a birth, in the order of BirthDeliveries: see Delivery.Print. Of what has none
	// here it is the payload.
	Prints [][]byte
	Unread int // payloads in the log that the code has not taken yet: a world may count them toward the limit of the inbox
}

// CreatedBefore is what a birth comes to whose run ID is taken; holder is the run that has its idempotency key, "" where none has. Where that is the run with the
// ID it is the same start again: the run that exists. Else the birth is refused, and tells whose the key is.
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

// Written is what [Committed] tells of events that the commit has written, its own or what conditions made of them: as they are read from the log. It is
// for worlds.
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

// HasRow reports whether a log that ends at an event has a row of this commit, if it was written: with events of its own,
// or with those that tell its steps what they wait for anew. Of another only the queue knows. It is for worlds.
func (c *Commit) HasRow(last int64) bool {
	return len(c.Events) > 0 || len(c.Anew) > 0 && c.First <= last
}

// Told is what [Log.Outcome] tells of events that were read from the commit's row: nil, unless a condition changed what was sent. It is for worlds.
func (c *Commit) Told(events []Event) []Event {
	for i := range events {
		if i >= len(c.Events) || events[i].Type != c.Events[i].Type {
			return events
		}
	}
	return nil
}

// Release is what the queue keeps of a run that its worker gives up.
type Release struct {
	WakeAt  time.Time // due at this time; zero: only mail wakes it
	Blocked *Block    // it cannot go on; WakeAt is when to try again
	Full    bool      // its unread payloads are at the limit
	Waiting string    // for people: what it waits for, short
}

// Block says why a run cannot go on. Nothing is lost: it is tried again with backoff.
type Block struct {
	Code      string    `json:"code"` // CodeDiverged, CodePanic, …
	Message   string    `json:"message"`
	Seq       int64     `json:"seq,omitempty"`  // the event where it was found
	Step      string    `json:"step,omitempty"` // correlation ID
	Since     time.Time `json:"since"`
	Tries     int       `json:"tries"`            // so far
	Build     string    `json:"build,omitempty"`  // of the worker that found it
	Encrypted string    `json:"sealed,omitempty"` // ID of the key that Message is encrypted with; "": plain
	Alone     bool      `json:"alone,omitempty"`  // CodeCrashLoop: its next claim evaluates it as the worker's only one in quarantine
}

// ReadBlock reads a block as worlds keep it, JSON; nil: there is none. One that does not decode says so.
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

// Condition is a part of a commit whose content depends on what others have done. A commit with conditions goes alone.
type Condition struct {
	// Event is the index in Commit.Events of what is asked for:
	//
	//   - hook_created: its token is free among all active hooks; otherwise the event is replaced by hook_conflict with the same
	//     ID, name, path, occurrence and token, whose Peer is the run that holds it;
	//   - step_created of kind child: the ID of Births[Birth] is new, and so is its idempotency key; otherwise that birth is left out and step_failed with
	//     [CodeRunExists] is appended after all events;
	//   - step_created of kind await: the run Peer is not over, and the awaiting step is noted; otherwise its [ResultFor], or
	//     step_failed with [CodeNotFound] where it is unknown, is appended after all events;
	//   - step_created of kind send: the run Peer is not over, Send[Send] arrives there, and step_completed is appended after all events; otherwise nothing
	//     arrives, and that is step_failed, with [CodeNotFound] or [CodeRunOver].
	Event int
	Birth int // index in Commit.Births, for a child
	Send  int // index in Commit.Send, for what is sent
}

// Anew is a step, a child run or an await, whose run is over and did not complete, while another has taken its place,
// see [RetryKey]: its owner has been told of the end, by mail that goes with the commit, and does not put it into the
// log. The step waits for the newest run in the place, or, where that is over, its [ResultFor] is appended after all
// events. A commit with such steps goes alone.
type Anew struct {
	Step string
	Run  string    // that is over
	At   time.Time // the time of what is appended, where the commit has no events
}

// Committed is what became of a commit.
type Committed struct {
	Events   []Event // as they are read from the log, where a condition changed them; else nil: as sent
	Existing string  // a birth with a known idempotency key: the run that has it
	Mail     bool    // mail waits in the inbox of the run that was released: claim again

	Gathering bool // Existing gathers, and takes the input of the birth when it is delivered; see [Commit].Items
}

// Task is a step that is queued for any worker.
type Task struct {
	Run       string
	Step      string // correlation ID
	Name      string // of the registered step
	Workflow  string
	Input     []byte
	Encrypted string // Commit: ID of the key that Input is encrypted with; worlds do not keep it, Options say it: see EncryptedOptions
	Options   []byte // what the calling code asked for: retry policy and timeout, JSON
	Priority  int
	Visible   time.Time // not before; zero: now
	Worker    string    // Commit: created held by this worker as attempt 1; Claimed: who holds it
	Attempt   int       // Claimed: this attempt's number
	History   []Event   // Claimed: step_started, step_retrying and step_woken of at most the last ten attempts before, of none the end without the start
	First     time.Time // Claimed: the first attempt's start; zero before
	Failures  int       // Claimed: attempts that ended with an error of their own

	// Abandoned counts the attempts that their worker gave up, of all, not of the last ten: neither failures nor deaths. Set when claimed.
	Abandoned int

	// Places are what each attempt needs, in order; nobody holds the task as it is created. Commit only.
	Places []Place

	// Apart is the value that Input refers to, as Options say: see ApartOptions. It is set by a [TaskReader], which
	// gives neither. "": none.
	Apart string

	// Damage says why the task cannot be run: what is kept of it is not what was written. Its run is to be blocked. "": it can. Set when claimed.
	Damage string
}

// TaskKey names a held task: Attempt is the lease.
type TaskKey struct {
	Run, Step string
	Attempt   int
}

// Delivery is what somebody who does not own a run sends to it. Exactly one of these:
//
//   - mail: Events has one event without a number (signal_received, hook_received, cancel_requested, run_paused, run_resumed,
//     wait_completed, a step's end driven from elsewhere, a step_woken with the attempt that ended last, which ends the delay before the
//     next, or a step_retrying with [CodeAbandoned] and its attempt, from a worker that has lost the run). It is put in the inbox. A cancel is accepted by a full inbox.
//   - an input: Act and Items are set and Events has one input_received, for a run that gathers: see [Commit].Items.
//     It is appended to the log, under its ID, and the idempotency key that is its Name. Where the run gathers no
//     more, or it does not fit, it is [ErrConflict] or [ErrTerminal]. Where another run has the key, Delivered.Run
//     names that one, and it is a Duplicate.
//   - an act: Act is set and Events has one run_paused, run_resumed or run_cancelled. Where nobody owns the run, and no earlier act waits, it is appended to the
//     log at once, else put in the inbox, where a run_resumed makes a paused run runnable as other mail does one that is not; run_cancelled is forced: it is appended and ends the run, whoever owns it, and sends a cancel_requested to each
//     child that is not detached, as no owner will. An act that says nothing new is accepted and writes nothing. A running run that
//     is resumed is due at once. So is a blocked one that nobody owns, paused or not, and its tries count anew: see [Delivery.Wakes].
//   - the end of a task's attempt: Task is set. With RetryAt zero, Events (of all its attempts that are not in the log) are put in
//     the inbox and the task is deleted; otherwise Events (one step_retrying) is kept with the task, which is visible again at
//     RetryAt. Both only while Task is held, else [ErrLeaseLost]; but a step_retrying with [CodeAbandoned] about one of the last ten attempts,
//     that is no longer held and whose end is not known, is kept and counted, and nothing else happens: its worker had lost its lease, and is back.
//   - the wake of a task: Task is set, with the attempt that ended last, and Events has one step_woken. Where nobody holds the task, that was
//     its last attempt, and it is not visible yet, it is visible at once, and the event is kept with it; nothing else about it changes.
//     Otherwise, or where there is no such task, it says nothing new: it is a Duplicate.
//   - the end of a task that nobody has begun: Task is set, with attempt 0, and Events has one step_failed. Where no attempt of the task has begun, the event is
//     put in the inbox and the task is deleted. Otherwise, or where there is no such task, it is a Duplicate, and nothing happens.
//
// Mail and acts with an ID are known when they come again, for how long see [Delivery.Key]: they are accepted and
// ignored, also where the run is over or the hook
// closed by now; with another payload they are refused with [ErrDeliveryUsed].
//
// Unknown run or token: [ErrNotFound]; run over, also that of a token whose hook ended with it: [ErrTerminal]. Where
// too many payloads wait (10,000), or the run's owner marked it
// full, a signal_received or hook_received gets [ErrInboxFull]; nothing else is held up.
type Delivery struct {
	Run     string
	Token   string // instead of Run: of an active hook; the world fills in Events[0].ID
	ID      string // delivery ID, of this event or hook; "": none
	Events  []Event
	Act     bool
	Task    *TaskKey
	Worker  string // with Task: who holds it
	RetryAt time.Time

	// Sender is the run whose step sends this under its own idempotency key, and may do so again for as long as that
	// run is not over. "": nobody's step.
	Sender string
	// Of is the token of the hook, where a hook_received goes by its ID: see [Delivery.Key].
	Of string
	// Print is what a repeat must have in common with the first copy, where that is not the payload as it is sent; at
	// most 64 bytes. Nil: the payload.
	Print []byte
	// Repeat says that it may only be a repeat, of something with this ID that was accepted before: what is not is
	// refused with [ErrNotFound], and nothing is written. A repeat is answered as always.
	Repeat bool
	// Items is how many inputs an input_received has.
	Items int
	// Unbegun says that a run_cancelled, as an act, holds only while the run has not begun, and nobody owns it: else it
	// is accepted, and does nothing. It stays within a process.
	Unbegun bool
}

// Delivered is what became of a delivery.
type Delivered struct {
	Run       string
	Duplicate bool   // it came before; or it is the wake of a task that waits for nothing, or the end of one that has begun
	Late      bool   // it came before, and the run ended without reading it: it had no effect
	Owner     string // the worker that owns the run now, or ""
}

// Mail is a delivery that waits in an inbox.
type Mail struct {
	Row       int64 // the inbox row; grows with arrival
	Run       string
	ID        string    // delivery ID
	ArrivedAt time.Time // by the world's clock
	Events    []Event   // without numbers

	// Damage says why what the row holds cannot be read, and then there are no Events: the run is blocked. "": it can.
	Damage string
}

// Resumes reports whether the mail ends a pause. A run for which it waits is not claimed to be cancelled only.
func (m Mail) Resumes() bool { return len(m.Events) == 1 && m.Events[0].Type == RunResumed }

// OriginRun is the run that a birth has values of, which are kept apart, beside the run whose commit has it; "":
// none, or no birth.
func (c *Commit) OriginRun() string {
	if !c.Birth() || c.Events[0].Birth == nil || c.Events[0].Birth.Origin == nil {
		return ""
	}
	return c.Events[0].Birth.Origin.Run
}

// ResultFor is the event that tells a waiting step how another run ended.
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
