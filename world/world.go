package world

import (
	"context"
	"slices"
	"time"
)

// World is a store. All methods are safe for concurrent use. If the context ends, a method returns
// its error, and its change may or may not have happened.
//
// A type that embeds a World has all that the World has, except methods that it replaces. A new
// store embeds [Unimplemented] until it has all methods.
type World interface {
	Log
	Queue
	Streams
	Admin
	Notifier
	KeyBook
	Definer
	MetricsKeeper

	// Messages returns the queues of messages.
	Messages() Messenger
	// Topics returns the topics and subscriptions.
	Topics() Publisher
	// Schedules returns the schedules.
	Schedules() Scheduler
	// Starts returns the held workflows, and runs that did not begin in time.
	Starts() Starter
	// Limits returns the limits.
	Limits() Limiter
	// Values returns the values that are stored apart from logs.
	Values() Values

	// Abilities returns what else the store can do. It does not change while the store is open.
	Abilities() Abilities
}

// Log keeps the events of runs and their inboxes.
type Log interface {
	// Commit writes one atomic change, durably. It shares its transaction with concurrent commits,
	// but succeeds or fails alone. [Commit] says what it checks. After [ErrUnknownOutcome] the
	// change may have happened; any other error means that nothing changed.
	Commit(ctx context.Context, c *Commit) (Committed, error)

	// Outcome reports whether a commit with a lost answer was written. It compares the row at
	// c.First with c.ID; for a release without events, the queue's claim. Nil: it was written.
	// [ErrNotFound]: it was not, and may be tried again. [ErrLeaseLost]: somebody else wrote there.
	Outcome(ctx context.Context, c *Commit) (Committed, error)

	// Deliver sends to a run's inbox, or ends an attempt of a task, durably: see [Delivery]. It
	// does not wait for the run's owner.
	Deliver(ctx context.Context, d *Delivery) (Delivered, error)

	// Events reads a page of a run's log in order, from a cursor, in whole commits. Error:
	// [ErrNotFound] for an unknown run. In a trimmed log, numbers may be missing, and a cursor into
	// a gap continues after it: see [EventPage].
	Events(ctx context.Context, run string, q EventQuery) (EventPage, error)
}

// Queue gives runs and tasks to workers. A run that nobody owns is runnable if one of these is
// true:
//
//   - It is due (its WakeAt has come) and neither paused nor blocked. A blocked run is due when its
//     backoff ends, which is its WakeAt.
//   - It is running, neither paused nor blocked, and has mail in its inbox.
//   - It has a cancel_requested in its inbox. Then any worker gets it, whatever the worker has
//     registered. But if the run is running and not blocked, its code must clean up: while there is
//     a worker that has registered its class, only such a worker gets it.
//
// A task is ready if it is visible and nobody holds it. Work that a worker gives back by dying or
// leaving is due at once.
type Queue interface {
	// Join registers a worker process, and gives it a lease and its first heartbeat. A store that
	// allows one worker process refuses a second with [ErrWorkerExists].
	Join(ctx context.Context, w Worker) (Heartbeat, error)

	// Claim gives the worker runnable runs and ready tasks, at most as many as it asks for, or one
	// that it names: see [ClaimQuery]. It does not renew the lease. It also ends the leases of dead
	// workers.
	//
	// The order is: higher priority first, where each minute of waiting counts as one priority
	// more; then in turn across workflows; then the longest due; then the oldest. A run is due
	// since the first reason that makes it runnable. Mail to a paused run does not make it due, and
	// a cancel takes no other run's place.
	//
	// If the answer was lost, the error is [ErrUnknownOutcome]: the worker may hold work that it
	// does not know of, and must leave.
	Claim(ctx context.Context, q ClaimQuery) (Claimed, error)

	// Heartbeat renews the worker's lease, and returns news about its work. If the lease was ended,
	// the error is [ErrLeaseLost], and the worker must Join again under a new ID.
	Heartbeat(ctx context.Context, q HeartbeatQuery) (Heartbeat, error)

	// Leave ends the worker's lease at once and hands back all its work, with strikes reset.
	// Calling it twice is harmless.
	Leave(ctx context.Context, worker string) error

	// Held lists what a worker owns, for a worker that lost the answer to a claim. All earlier
	// claims of the worker must be over, and none may take effect later; a store that cannot
	// promise that returns an error, and the worker gives up all its work. With several servers,
	// earlier claims are those with lower numbers than the last one (see [ClaimQuery].Number):
	// first claim nothing under the next number, then call Held. [ErrLeaseLost]: the worker holds
	// nothing.
	Held(ctx context.Context, worker string) (Account, error)
}

// Admin is for operators, clients and housekeeping.
type Admin interface {
	// Run reads one run. Error: [ErrNotFound].
	Run(ctx context.Context, id string) (Run, error)
	// Runs lists runs, newest first, with stable cursors.
	Runs(ctx context.Context, q RunQuery) (RunPage, error)
	// Tasks returns at most 1,000 tasks of a run, oldest first: the holder of each and its attempt,
	// its history, and when it is visible. The history is what the log will contain, attempt by
	// attempt, with the running one. Input and Options are left out. A run that is over or unknown
	// has none.
	Tasks(ctx context.Context, run string) ([]Task, error)
	// Ready lists runs and tasks that a worker with these classes and steps could claim now,
	// roughly in the order of claims; it does not take turns between workflows. No worker need
	// exist. The list includes what a worker with an expired lease held. It may include what cannot
	// be claimed after all. It omits only what the limit cuts.
	Ready(ctx context.Context, q ReadyQuery) (Ready, error)
	// Hooks lists active hooks, of a run or with a token, up to the limits of [HookQuery].
	Hooks(ctx context.Context, q HookQuery) ([]HookRow, error)
	// Stats returns counts of runs, the workers, and the counters of this World.
	Stats(ctx context.Context) (Stats, error)
	// Sweep deletes at most limit ended runs whose retention is over, with all their data, and
	// returns their number. It also deletes trimmed segments: see [Continuation].Trim.
	Sweep(ctx context.Context, limit int) (int, error)
	// Close waits for running commits, ends what Open started, and closes the storage. Calling it
	// twice is harmless.
	Close() error
}

// Notifier announces changes at once. Correctness never depends on notices: they may be lost or
// repeated. Without them, work starts up to 5 s late.
type Notifier interface {
	// Notify calls fn after each change that others may wait for, until stop is called. fn runs on
	// any goroutine. It must not block, and must not call the store. Do not call it under a lock
	// that it could need; [Listeners] implements the common half.
	Notify(fn func(Notice)) (stop func())
}

// Notice announces a change.
type Notice struct {
	Kind NoticeKind
	Run  string // "": unknown; look at everything of the kind
}

// NoticeKind is what a notice is about.
type NoticeKind string

// Kinds of notices.
const (
	// NoticeWork: a run or task may be ready to claim, or due earlier than before.
	NoticeWork  NoticeKind = "work"
	NoticeMail  NoticeKind = "mail"  // the inbox of an owned run has news: send a heartbeat now
	NoticeEnded NoticeKind = "ended" // the run is over
	NoticeLog   NoticeKind = "log"   // the run's log grew
	// NoticeStream means that a stream of the run grew.
	NoticeStream NoticeKind = "stream"
	// NoticeMessage means that a queue has a message to receive, or that its next message is due
	// earlier than before. Run is the queue's name.
	NoticeMessage NoticeKind = "message"
	// NoticeTopic means that a publication is to be spread, or is due earlier than the next one
	// was.
	NoticeTopic NoticeKind = "topic"
	// NoticeSchedule means that a schedule was created or changed, and may be due earlier than the
	// next one was.
	NoticeSchedule NoticeKind = "schedule"
)

// Worker is one process that works on runs.
type Worker struct {
	ID      string        // "wrkr_" and a ULID, new for each Join
	Name    string        // for people; by default host and process ID
	Build   string        // build of the program
	Classes []Class       // registered workflow versions
	Steps   []string      // registered steps
	Lease   time.Duration // how long its work stays its own without a heartbeat; default 10 s

	// Remote means that a server calls Join for a worker in another process. The end of the server
	// process does not end the worker's lease: the next process on the same storage continues it,
	// and so can any other process on storage for several.
	Remote bool

	// Definitions are the definitions of its workflows: see [Definer.Define]. The store records
	// them, and MaxRetention, in one step with the registration: if it refuses one, it records
	// nothing. Lists of workers do not return them.
	Definitions []Definition
	// MaxRetention is the longest retention that its program allows: see [Definer.LimitRetention].
	MaxRetention time.Duration

	// StepLimits are the limits of its steps, recorded in the same way.
	StepLimits []SaidLimit
}

// Says returns the limits that its code names, by name. Of two with the same name the last counts.
func (w *Worker) Says() []SaidLimit {
	all := slices.Clone(w.StepLimits)
	for i := range all {
		all[i].Steps = true
	}
	return sortLimits(append(all, LimitsOf(w.Definitions)...))
}

// Class is a workflow and a version. Version 0 in a run's row means that its birth left the version
// open. To claim such runs, a worker registers version 0 besides its versions.
type Class struct {
	Workflow string `json:"workflow"`
	Version  int    `json:"version"`
}

// PageBytes is about how large a page of events or runs, or a list of hooks, is: it ends after the
// commit, run or hook with which it reaches this size. So a reader needs little more memory,
// however large payloads are.
const PageBytes = 2 << 20

// EventQuery selects a page of a run's log.
type EventQuery struct {
	Cursor string // from an earlier page; "": from the start
	// Limit is about how many events a page has, in whole commits; default and maximum 1,000. A
	// page also ends after [PageBytes].
	Limit         int
	Types         []EventType // only these; empty: all
	CorrelationID string      // only events about this entity; "": all
}

// EventPage is a page of a run's log. Cursor is set on every page of a run with events, also the
// last: reading from it later returns what was appended since, exactly once.
type EventPage struct {
	Events []Event
	Cursor string
	More   bool // further events exist already

	// Trimmed is the number of a run_continued before which numbers may be missing: a fold of the
	// whole log begins there, see [State].EnterAt. 0: the log is complete. It may be higher on a
	// later page.
	Trimmed int64
}
