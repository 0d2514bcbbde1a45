package world

import (
	"cmp"
	"encoding/json"
	"slices"
	"time"
)

// Run is the row of a run: what is listed and looked up.
type Run struct {
	ID       string          `json:"id"`
	Workflow string          `json:"workflow"`
	Version  int             `json:"version"`
	Status   Status          `json:"status"`
	Key      string          `json:"key,omitempty"`
	FirstKey string          `json:"firstKey,omitempty"` // that it took over with another's place
	Merged   bool            `json:"merged,omitempty"`   // in a list by key: the start with that key was merged into it
	Priority int             `json:"priority"`
	Input    json.RawMessage `json:"input,omitempty"`
	Output   json.RawMessage `json:"output,omitempty"`

	InputApart  string `json:"inputApart,omitempty"`  // see [Apart]; "": the input is the value
	OutputApart string `json:"outputApart,omitempty"` // the same of the output

	Error      *Error                     `json:"error,omitempty"`
	Parent     *Parent                    `json:"parent,omitempty"`
	Origin     *Origin                    `json:"origin,omitempty"` // of a fork, a restart, a retry
	Newest     *Heir                      `json:"newest,omitempty"` // in its place; nil: nothing took it
	CreatedAt  time.Time                  `json:"createdAt"`
	StartedAt  time.Time                  `json:"startedAt,omitzero"` // see [StartWithin]; zero: not begun
	EndedAt    time.Time                  `json:"endedAt,omitzero"`
	Retention  time.Duration              `json:"retention,omitempty"` // ns; 0: for ever
	Timeout    time.Duration              `json:"timeout,omitempty"`   // of the whole run from run_started, ns; 0: none
	Gather     *Gather                    `json:"gather,omitempty"`    // see [Birth.Gather]: Input is the first
	StartTTL   time.Duration              `json:"startTTL,omitempty"`  // see [Birth.StartTTL]
	Attributes map[string]json.RawMessage `json:"attributes,omitempty"`
	Claims     int64                      `json:"claims"`               // so far
	Encryption string                     `json:"encryption,omitempty"` // ID of the key that its payloads are encrypted with; "": none
	Encrypted  bool                       `json:"sealed,omitempty"`     // and they are shown so: whoever reads does not have the key
	Queue      *QueueRow                  `json:"queue,omitempty"`      // nil when it is over
	Late       []Late                     `json:"late,omitempty"`       // of a run that is over, where one is read alone: what came too late, in order of arrival; at most 100
	Damage     string                     `json:"damage,omitempty"`     // what of it is not what was written, and is left out here; "": nothing
}

// StartWithin is up to which number commits are looked at for the beginning of a run, where its row is read: one that
// nobody acted on before has it in the first or second.
const StartWithin = 20

// Heir is the newest run in the place of one that did not complete: its retry or restart in place, or, where that did
// not complete either, what took its place in turn. See [RetryKey].
type Heir struct {
	Run    string `json:"run"`
	Status Status `json:"status"`
}

// RunOf is the row of a run with what it was created with, and nothing of what became of it. It is for worlds that keep
// births as they came.
func RunOf(id string, b *Birth, created time.Time) Run {
	return Run{
		ID: id, Workflow: b.Workflow, Version: b.Version, Key: b.Key, Priority: b.Priority, Parent: b.Parent, Origin: b.Origin,
		CreatedAt: created, Retention: b.Retention, Timeout: b.Timeout, StartTTL: b.StartTTL, Gather: b.Gather,
	}
}

// Birth takes what the row of a run shows of its first event. It is for worlds.
func (r *Run) Birth(created *Event) {
	r.Input, r.InputApart, r.Encryption, r.Encrypted = created.Payload, created.Apart, created.Encrypted, created.Encrypted != ""
	if created.Birth != nil {
		r.Origin, r.Timeout, r.StartTTL, r.Gather = created.Birth.Origin, created.Birth.Timeout, created.Birth.StartTTL, created.Birth.Gather
	}
}

// QueueRow is where a run that is not over stands.
type QueueRow struct {
	Owner     string    `json:"owner,omitempty"`     // worker ID
	OwnerName string    `json:"ownerName,omitempty"` // and what people call it
	WakeAt    time.Time `json:"wakeAt,omitzero"`     // zero: only mail wakes it
	Paused    bool      `json:"paused,omitempty"`
	Blocked   *Block    `json:"blocked,omitempty"`
	Full      bool      `json:"full,omitempty"`
	Waiting   string    `json:"waiting,omitempty"`
	Held      bool      `json:"held,omitempty"`     // it has not begun, and is not to: its workflow is held
	Limit     string    `json:"limit,omitempty"`    // it stands in line for a place of this limit
	LimitKey  string    `json:"limitKey,omitempty"` // of this key; "": the limit has none
	Behind    string    `json:"behind,omitempty"`   // of a singleton: the run for whose end it waits there
	Mail      int       `json:"mail"`               // deliveries in the inbox
}

// RunQuery selects a page of runs, newest first.
type RunQuery struct {
	Workflow string    // "": all
	Status   []Status  // of any of these, or that stand so: see [StatusWords]; empty: all
	Since    time.Time // created at or after
	Until    time.Time // created before
	Cursor   string
	Limit    int // default 100, most 1,000

	Key     string // the run of each workflow that has this idempotency key, or is [Run.Merged]
	Prefix  string // only runs whose ID begins so
	Version int    // only runs of this version; 0: all
	Roots   bool   // no children

	Parent string // only children of this run
	Origin string // only runs that were made of this one: its forks, restarts and retries

	Input      []json.RawMessage          // JSON that the run's input contains, all of it; see [Contains]
	Attributes map[string]json.RawMessage // attributes that the run has, with values that contain these
}

// RunPage is a page of runs. Cursor is empty when the end is reached. A page of a filtered list may be short, even empty, and have one; any page ends
// early behind [PageBytes].
type RunPage struct {
	Runs   []Run
	Cursor string

	// Reached is, where there is a cursor, when the last run was created that was looked at: a filter may look at many to find few. Zero: it is not known.
	Reached time.Time
}

// LateShown is how many of the deliveries that came too late the row of a run shows.
const LateShown = 100

// HookQuery selects active hooks. A list ends early behind [PageBytes] of metadata: the hook with which it has so many is its last.
type HookQuery struct {
	Run   string // "": all
	Token string // "": all
	Limit int    // default 100, most 1,000
	// Ended, with Token: where no active hook has the token, the last that had it, for as long as its run is kept.
	Ended bool
}

// HookRow is one hook, active unless it says otherwise.
type HookRow struct {
	ID        string          `json:"id"`
	Run       string          `json:"run"`
	Token     string          `json:"token"`
	Metadata  json.RawMessage `json:"metadata,omitempty"`
	Encrypted string          `json:"sealed,omitempty"`    // set by who lists them: ID of the key that Metadata is encrypted with, where that is not there; "": readable
	Heartbeat string          `json:"heartbeat,omitempty"` // set by who lists them: its timeout, like "10m"; "": none
	CreatedAt time.Time       `json:"createdAt"`
	Ended     bool            `json:"ended,omitempty"` // it is over, with its run or before
}

// SortHooks puts a page of hooks in its order: oldest first, and by ID what was created at one time. It is for worlds.
func SortHooks(rows []HookRow) {
	slices.SortFunc(rows, func(a, b HookRow) int { return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.ID, b.ID)) })
}

// Stats is what a world can count.
type Stats struct {
	Now       time.Time
	Workflows []WorkflowStats
	Workers   []WorkerRow
	Counters  Counters
}

// WorkflowStats counts the runs of one workflow.
type WorkflowStats struct {
	Workflow                                       string
	Pending, Running, Completed, Failed, Cancelled int
	Blocked, Paused                                int // of the pending and running
}

// WorkerRow is a worker that is alive, or was not yet found dead.
type WorkerRow struct {
	Worker
	JoinedAt time.Time
	// Until is the end of its lease. One that owns nothing need not renew it for minutes, and is shown as if it had: one that died idle is listed until then.
	Until time.Time
	Runs  int // it owns
	Tasks int // it holds
}

// Counters count what this World did since it was opened. Tests assert them where they must not assert times.
type Counters struct {
	Commits     int64 // changes made, births and releases included
	Groups      int64 // transactions that made them
	Claims      int64 // runs given to workers
	Deliveries  int64
	Appends     int64 // to streams, beside commits
	RowsRead    int64 // log rows (a commit each)
	RowsWritten int64
	RowsTrimmed int64 // deleted, of segments that are not wanted any more
	Statements  int64 // calls to the storage below, where there is one
}
