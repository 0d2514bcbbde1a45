package world

import (
	"context"
	"slices"
	"time"
)

// World is a backend. All methods are safe for concurrent use. A method whose context ends returns its error; what it was
// doing may or may not have happened.
type World interface {
	Log
	Queue
	Streams
	Admin
}

// Log keeps the events of runs and what was sent to them.
type Log interface {
	// Commit makes one atomic change, durable when it returns, and shares its transaction with others that arrive meanwhile. It
	// succeeds or fails alone. See [Commit] for what it checks; a failed commit changes nothing, but for [ErrUnknownOutcome].
	Commit(ctx context.Context, c *Commit) (Committed, error)

	// Outcome tells whether a commit whose answer was lost was written: it compares the row at c.First with c.ID (a release
	// without events: the queue's claim). Nil: it was written. [ErrNotFound]: it was not, and may be tried again.
	// [ErrLeaseLost]: somebody else wrote there.
	Outcome(ctx context.Context, c *Commit) (Committed, error)

	// Deliver sends to a run's inbox, or ends an attempt of a task; see [Delivery]. It waits for no owner of a run. It is durable when it
	// returns.
	Deliver(ctx context.Context, d *Delivery) (Delivered, error)

	// Events reads a run's log in order, from a cursor, in pages of whole commits. An unknown run: [ErrNotFound]. Of a log that was trimmed it
	// reads what is left: a page may leave numbers out, and a cursor into what is gone goes on behind it. See [EventPage].
	Events(ctx context.Context, run string, q EventQuery) (EventPage, error)
}

// Queue gives runs and tasks to workers. A run that nobody owns is runnable
//
//   - when it is due (its WakeAt has come) and neither paused nor blocked; a blocked one when its backoff ends, which is its
//     WakeAt; or
//   - when it is running, neither paused nor blocked, and mail waits in its inbox; or
//   - when a cancel_requested waits in its inbox, whatever else: then any worker gets it, whatever it has registered. But where the run is
//     running and not blocked its code cleans up, and so only a worker that has registered its class gets it, as long as there is one.
//
// A task is ready when it is visible and nobody holds it. What a worker gives back by dying or leaving is due at once.
type Queue interface {
	// Join registers a worker process, gives it a lease and begins its first heartbeat. A world whose files allow one worker process
	// refuses a second with [ErrWorkerExists].
	Join(ctx context.Context, w Worker) (Heartbeat, error)

	// Claim gives the worker runnable runs and ready tasks, at most as many as asked for: higher priority first, where every minute of
	// waiting counts one priority more; then in turn across workflows; then what is due longest; then what was created first. A run is due since the first that
	// lets it be claimed: what waits for a paused one does not, and a cancel takes no run's place. It renews nothing. It also ends the leases of workers that died.
	// Where the answer was lost, the error is [ErrUnknownOutcome]: the worker may hold what it does not know of, and leaves. It can name one run or
	// task: see [ClaimQuery].
	Claim(ctx context.Context, q ClaimQuery) (Claimed, error)

	// Heartbeat renews the worker's lease, all it holds with it, and tells what came for what it owns. A worker whose lease was ended gets
	// [ErrLeaseLost] and must Join anew under a new ID.
	Heartbeat(ctx context.Context, q HeartbeatQuery) (Heartbeat, error)

	// Leave ends the worker's lease at once and hands back all it still holds; nobody died, so the strikes of those runs end. Leaving twice
	// is legal.
	Leave(ctx context.Context, worker string) error
}

// Admin is what operators and clients read, and housekeeping.
type Admin interface {
	// Run reads one run. Unknown: [ErrNotFound].
	Run(ctx context.Context, id string) (Run, error)
	// Runs lists runs, newest first, under a stable cursor.
	Runs(ctx context.Context, q RunQuery) (RunPage, error)
	// Hooks lists active hooks, of one run or with one token; not all, where there are more than [HookQuery] lets through.
	Hooks(ctx context.Context, q HookQuery) ([]HookRow, error)
	// Stats counts runs and tells of workers, and of what this World has done since it was opened.
	Stats(ctx context.Context) (Stats, error)
	// Sweep deletes at most limit terminal runs whose retention ended, with all that hangs on them, and returns how many it
	// deleted. Runs that are not over are never deleted. It also deletes what segments have said is not wanted any more: see [Continuation].
	Sweep(ctx context.Context, limit int) (int, error)
	// Close waits for commits under way, ends what Open started, and closes the storage. Closing twice is legal.
	Close() error
}

// Notifier is a [World] that tells of news at once. Correctness never rests on it: notices may be lost and may repeat.
type Notifier interface {
	// Notify calls fn after each change that others may wait for, until stop is called. fn is called from any goroutine, must not block
	// and must not call the world.
	Notify(fn func(Notice)) (stop func())
}

// Poller is a [Notifier] that knows how reliable its notices are just now.
type Poller interface {
	// Poll is how often a worker needs to look for work beside notices and beside [Claimed.Next]; 0: as often as it is told to. It may change with each notice.
	Poll() time.Duration
}

// Timekeeper is a world whose time can be had without asking anybody: it is in this process, or has measured how far the database's clock is from the process's
// monotonic one.
type Timekeeper interface {
	// Time is the world's time; zero: it is not known.
	Time() time.Time
}

// Notice is one piece of news.
type Notice struct {
	Kind NoticeKind
	Run  string // "": unknown, look at everything of the kind
}

// NoticeKind says what the news is about.
type NoticeKind string

// What a [Notice] can be about.
const (
	NoticeWork  NoticeKind = "work"  // a run or a task may have become ready to claim, or due at an earlier time than before
	NoticeMail  NoticeKind = "mail"  // the inbox of an owned run has news: heartbeat now
	NoticeEnded NoticeKind = "ended" // the run is over
	NoticeLog   NoticeKind = "log"   // the run's log grew
	// NoticeStream: a stream of the run grew.
	NoticeStream NoticeKind = "stream"
	// NoticeMessage: something can be received from a queue of messages, or its next message is due earlier than
	// before. Run is the queue's name.
	NoticeMessage NoticeKind = "message"
	// NoticeTopic: something that was published is to be spread, or is due earlier than what was next before.
	NoticeTopic NoticeKind = "topic"
	// NoticeSchedule: a schedule was made or changed, and may be due earlier than what was next before.
	NoticeSchedule NoticeKind = "schedule"
)

// Worker is one process that works on runs.
type Worker struct {
	ID      string        // "wrkr_" and a ULID, new for each Join
	Name    string        // for people: host and process ID
	Build   string        // of the program
	Classes []Class       // the workflows and versions that it registered
	Steps   []string      // the steps that it registered
	Lease   time.Duration // how long it is believed alive after a heartbeat; default 10 s

	// Remote says that it lives in another process than the one that calls Join for it: behind a server. The end of
	// that process is not its death: whichever comes after it on the same storage goes on with its lease, and, where
	// the storage is for several processes, so does any that is beside it.
	Remote bool

	// Definitions and MaxRetention are what its code says of its workflows, and how long its program wants ended runs kept
	// at most: see [Definer.Define] and [Definer.LimitRetention]. A world that is a [Definer] notes them with the
	// registration, in one: nobody sees the worker without them, and one that is refused has said nothing. Who lists
	// workers is not told them.
	Definitions  []Definition
	MaxRetention time.Duration

	// StepLimits are what its code says of the limits of its steps; they are noted in the same way.
	StepLimits []SaidLimit
}

// Says are the limits that its code names, in order of their names; of two that say the same name the last.
func (w *Worker) Says() []SaidLimit {
	all := slices.Clone(w.StepLimits)
	for i := range all {
		all[i].Steps = true
	}
	return sortLimits(append(all, LimitsOf(w.Definitions)...))
}

// Class is a workflow and a version of it. Version 0 in a run's row means that its birth left the version open; a worker names it
// beside its versions to claim such runs.
type Class struct {
	Workflow string `json:"workflow"`
	Version  int    `json:"version"`
}

// PageBytes is how large a page of events or runs, or a list of hooks, is, about: it ends behind the commit, the run or the hook with which it has so many
// bytes. Whoever reads has little more in memory, however large payloads are.
const PageBytes = 2 << 20

// EventQuery selects a page of a run's log.
type EventQuery struct {
	Cursor        string      // from a page before; "": from the start
	Limit         int         // events a page, about: commits are not cut; default and most 1,000. A page ends earlier behind PageBytes
	Types         []EventType // only these; empty: all
	CorrelationID string      // only events about this entity; "": all
}

// EventPage is a page of a run's log. Cursor is never empty when the run has events, on the last page too: reading on from
// it later gives what was appended meanwhile, exactly once.
type EventPage struct {
	Events []Event
	Cursor string
	More   bool // further events are there already

	// Trimmed is the number of a run_continued before which numbers may be missing: a fold of the whole log enters there, see [State].EnterAt.
	// 0: the log is whole. It may have grown on a later page.
	Trimmed int64
}
