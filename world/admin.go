package world

import (
	"cmp"
	"encoding/json"
	"slices"
	"time"
)

// Run is the row of a run, for lists and lookups.
type Run struct {
	ID       string `json:"id"`
	Workflow string `json:"workflow"`
	Version  int    `json:"version"`
	Status   Status `json:"status"`
	Key      string `json:"key,omitempty"`
	FirstKey string `json:"firstKey,omitempty"` // idempotency key of the run that it replaced
	// Merged: in a list by key: the start with that key was merged into this run.
	Merged   bool            `json:"merged,omitempty"`
	Priority int             `json:"priority"`
	Input    json.RawMessage `json:"input,omitempty"`
	Output   json.RawMessage `json:"output,omitempty"`

	InputApart  string `json:"inputApart,omitempty"`  // see [Apart]; "": Input is the value
	OutputApart string `json:"outputApart,omitempty"` // the same for the output

	Error     *Error        `json:"error,omitempty"`
	Parent    *Parent       `json:"parent,omitempty"`
	Origin    *Origin       `json:"origin,omitempty"` // the source of a fork, restart or retry
	Newest    *Heir         `json:"newest,omitempty"` // the newest run that replaced it; nil: none
	CreatedAt time.Time     `json:"createdAt"`
	StartedAt time.Time     `json:"startedAt,omitzero"` // see [StartWithin]; zero: not begun
	EndedAt   time.Time     `json:"endedAt,omitzero"`
	Retention time.Duration `json:"retention,omitempty"` // 0: for ever
	// Timeout: of the whole run, from run_started; 0: none.
	Timeout time.Duration `json:"timeout,omitempty"`
	// Gather: see [Birth.Gather]; Input is the first input.
	Gather     *Gather                    `json:"gather,omitempty"`
	StartTTL   time.Duration              `json:"startTTL,omitempty"` // see [Birth.StartTTL]
	Attributes map[string]json.RawMessage `json:"attributes,omitempty"`
	Claims     int64                      `json:"claims"` // number of claims so far
	// ID of the key that encrypts its payloads; "": none
	Encryption string `json:"encryption,omitempty"`
	// Encrypted: the payloads here are still encrypted: the reader lacks the key.
	Encrypted bool      `json:"sealed,omitempty"`
	Queue     *QueueRow `json:"queue,omitempty"` // nil once the run is over
	// Late lists deliveries that came after the run's end, in order of arrival, at most 100. Only
	// reads of a single run that is over set it.
	Late   []Late `json:"late,omitempty"`
	Damage string `json:"damage,omitempty"` // which damaged parts of the row are left out; "": none
}

// StartWithin is the number of commits that reading a run's row searches for its start. A run that
// no operator acted on before has it in the first or second commit.
const StartWithin = 20

// Heir is the newest run that replaced one that did not complete: the last in the chain of its
// retries and restarts in place. See [RetryKey].
type Heir struct {
	Run    string `json:"run"`
	Status Status `json:"status"`
}

// RunOf returns the row of a new run, from its birth. It is for stores that keep births as they
// came.
func RunOf(id string, b *Birth, created time.Time) Run {
	return Run{
		ID: id, Workflow: b.Workflow, Version: b.Version, Key: b.Key, Priority: b.Priority, Parent: b.Parent, Origin: b.Origin,
		CreatedAt: created, Retention: b.Retention, Timeout: b.Timeout, StartTTL: b.StartTTL, Gather: b.Gather,
	}
}

// Birth copies into the row what it shows of the run's first event. It is for stores.
func (r *Run) Birth(created *Event) {
	r.Input, r.InputApart, r.Encryption, r.Encrypted = created.Payload, created.Apart, created.Encrypted, created.Encrypted != ""
	if created.Birth != nil {
		r.Origin, r.Timeout, r.StartTTL, r.Gather = created.Birth.Origin, created.Birth.Timeout, created.Birth.StartTTL, created.Birth.Gather
	}
}

// QueueRow is the queue's row of a run that is not over.
type QueueRow struct {
	Owner     string    `json:"owner,omitempty"`     // worker ID
	OwnerName string    `json:"ownerName,omitempty"` // name of that worker
	WakeAt    time.Time `json:"wakeAt,omitzero"`     // zero: only mail wakes it
	Paused    bool      `json:"paused,omitempty"`
	Blocked   *Block    `json:"blocked,omitempty"`
	Full      bool      `json:"full,omitempty"`     // its unread payloads are at the limit
	Waiting   string    `json:"waiting,omitempty"`  // what it waits for, for people
	Held      bool      `json:"held,omitempty"`     // it has not begun, and its workflow is held
	Limit     string    `json:"limit,omitempty"`    // the limit in whose line it waits
	LimitKey  string    `json:"limitKey,omitempty"` // and the key; "": the limit has none
	// Behind: of a [Single]: the run whose end it waits for there.
	Behind string `json:"behind,omitempty"`
	Mail   int    `json:"mail"` // deliveries in the inbox
}

// RunQuery selects a page of runs, newest first.
type RunQuery struct {
	// "": all
	Workflow string `json:"workflow,omitzero"`
	// any of these statuses or other [StatusWords]; empty: all
	Status []Status `json:"status,omitzero"`
	// created at or after
	Since time.Time `json:"since,omitzero"`
	// created before
	Until  time.Time `json:"until,omitzero"`
	Cursor string    `json:"cursor,omitzero"`
	// default 100, most 1,000
	Limit int `json:"limit,omitzero"`

	// Key selects the run of each workflow with this idempotency key, or with a start of this key
	// merged into it (see [Run.Merged]).
	Key string `json:"key,omitzero"`
	// beginning of the run ID
	Prefix string `json:"prefix,omitzero"`
	// 0: all
	Version int `json:"version,omitzero"`
	// only runs without a parent
	Roots bool `json:"roots,omitzero"`

	// only children of this run
	Parent string `json:"parent,omitzero"`
	// only forks, restarts and retries of this run
	Origin string `json:"origin,omitzero"`

	// JSON that the run's input contains, all of it; see [Contains]
	Input []json.RawMessage `json:"input,omitzero"`
	// attributes of the run, whose values contain these
	Attributes map[string]json.RawMessage `json:"attributes,omitzero"`
}

// RunPage is a page of runs. Cursor is "" at the end of the list. With a filter, a page may be
// short, or empty, and still have a cursor. A page ends once it has [PageBytes].
type RunPage struct {
	Runs   []Run  `json:"runs,omitzero"`
	Cursor string `json:"cursor,omitzero"`

	// Reached is the creation time of the last run that was examined, if there is a cursor. Zero:
	// unknown.
	Reached time.Time `json:"reached,omitzero"`
}

// LateShown is how many late deliveries the row of a run shows.
const LateShown = 100

// HookQuery selects active hooks. A list ends with the hook with which it has [PageBytes] of
// metadata.
type HookQuery struct {
	Run   string `json:"run,omitzero"`   // "": all
	Token string `json:"token,omitzero"` // "": all
	Limit int    `json:"limit,omitzero"` // default 100, most 1,000
	// Ended, with Token, also finds the last hook that had the token, if no active hook has it, for
	// as long as its run is kept.
	Ended bool `json:"ended,omitzero"`
}

// HookRow is one hook. It is active unless Ended.
type HookRow struct {
	ID       string          `json:"id"`
	Run      string          `json:"run"`
	Token    string          `json:"token"`
	Metadata json.RawMessage `json:"metadata,omitempty"`
	// Encrypted is the ID of the missing key if Metadata is still encrypted; "": readable. The
	// reader sets it.
	Encrypted string `json:"sealed,omitempty"`
	// Heartbeat is the heartbeat timeout, like "10m"; "": none. The reader sets it.
	Heartbeat string    `json:"heartbeat,omitempty"`
	CreatedAt time.Time `json:"createdAt"`
	Ended     bool      `json:"ended,omitempty"` // the hook is over
}

// SortHooks sorts a page of hooks by creation time, then by ID. It is for stores.
func SortHooks(rows []HookRow) {
	slices.SortFunc(rows, func(a, b HookRow) int { return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.ID, b.ID)) })
}

// Stats are a store's counts and workers.
type Stats struct {
	Now       time.Time       `json:"now"`
	Workflows []WorkflowStats `json:"workflows,omitzero"`
	Workers   []WorkerRow     `json:"workers,omitzero"`
	Counters  Counters        `json:"counters"`
}

// WorkflowStats counts the runs of one workflow.
type WorkflowStats struct {
	Workflow  string `json:"workflow"`
	Pending   int    `json:"pending"` // numbers of runs by status
	Running   int    `json:"running"`
	Completed int    `json:"completed"`
	Failed    int    `json:"failed"`
	Cancelled int    `json:"cancelled"`
	Blocked   int    `json:"blocked"` // included in Pending and Running
	Paused    int    `json:"paused"`
}

// WorkerRow is a worker that has not left and was not found dead.
type WorkerRow struct {
	Worker
	JoinedAt time.Time `json:"joinedAt"`
	// Until is the end of its lease. A worker that owns nothing renews its lease only every few
	// minutes, so one that died idle is listed until then.
	Until time.Time `json:"until"`
	Runs  int       `json:"runs"`  // that it owns
	Tasks int       `json:"tasks"` // that it holds
}

// Counters count what this World has done since it was opened. Tests use them instead of times.
type Counters struct {
	Commits     int64 `json:"commits"` // commits, with births and releases
	Groups      int64 `json:"groups"`  // transactions of these commits
	Claims      int64 `json:"claims"`  // runs given to workers
	Deliveries  int64 `json:"deliveries"`
	Appends     int64 `json:"appends"`  // batches added to streams, without those of commits
	RowsRead    int64 `json:"rowsRead"` // log rows; a commit is a row
	RowsWritten int64 `json:"rowsWritten"`
	RowsTrimmed int64 `json:"rowsTrimmed"` // deleted log rows of old segments
	Statements  int64 `json:"statements"`  // calls to the storage below, if there is one
}
