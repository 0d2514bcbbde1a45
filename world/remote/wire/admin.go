package wire

// This file has what operators and clients read.

import (
	"math"
	"time"

	"github.com/stepwell/stepwell/world"
)

// Hello is what a server says of itself at [Prefix].
type Hello struct {
	Answer
	Protocol int    `json:"protocol"`
	Version  string `json:"version"`         // of the server
	Server   string `json:"server"`          // this process of it
	Format   int    `json:"format"`          // of new logs: [world.LogFormat]
	Scope    string `json:"scope"`           // of the key that asked; admin where no key is needed
	Doctor   bool   `json:"doctor"`          // the database can be examined
	Apart    bool   `json:"apart,omitempty"` // the database keeps large values apart
}

// Whole reports whether it has what each has.
func (h *Hello) Whole() bool { return h.Protocol != 0 }

// RunID names a run.
type RunID struct {
	Run string `json:"run"`
}

// Run is a [world.Run].
type Run struct {
	world.Run
	Input      Bytes            `json:"input,omitzero"`
	Output     Bytes            `json:"output,omitzero"`
	Attributes map[string]Bytes `json:"attributes,omitempty"`
}

// OneRun is the answer with one run.
type OneRun struct {
	Answer
	Run
}

// Whole reports whether it has what each has.
func (r *OneRun) Whole() bool { return r.ID != "" }

// OfRun makes a message of a run's row.
func OfRun(in *world.Run) Run {
	out := Run{Run: *in, Input: Bytes(in.Input), Output: Bytes(in.Output), Attributes: named[raw, Bytes](in.Attributes)}
	out.Run.Input, out.Run.Output, out.Run.Attributes = nil, nil, nil
	return out
}

// World is the row of a message.
func (r *Run) World() world.Run {
	out := r.Run
	out.Input, out.Output, out.Attributes = raw(r.Input), raw(r.Output), named[Bytes, raw](r.Attributes)
	return out
}

// RunQuery is a [world.RunQuery].
type RunQuery struct {
	Workflow   string           `json:"workflow,omitempty"`
	Status     []world.Status   `json:"status,omitempty"`
	Since      time.Time        `json:"since,omitzero"`
	Until      time.Time        `json:"until,omitzero"`
	Parent     string           `json:"parent,omitempty"`
	Origin     string           `json:"origin,omitempty"`
	Cursor     string           `json:"cursor,omitempty"`
	Limit      int              `json:"limit,omitempty"`
	Input      []Bytes          `json:"input,omitempty"`
	Attributes map[string]Bytes `json:"attributes,omitempty"`
	Key        string           `json:"key,omitempty"`
	Prefix     string           `json:"prefix,omitempty"`
	Version    int              `json:"version,omitempty"`
	Roots      bool             `json:"roots,omitempty"`
}

// OfRunQuery makes a message of a query.
func OfRunQuery(q *world.RunQuery) RunQuery {
	return RunQuery{
		q.Workflow, q.Status, q.Since, q.Until, q.Parent, q.Origin, q.Cursor, q.Limit, list(q.Input, func(p *raw) Bytes { return Bytes(*p) }), named[raw, Bytes](q.Attributes),
		q.Key, q.Prefix, q.Version, q.Roots,
	}
}

// World is the query of a message.
func (q *RunQuery) World() world.RunQuery {
	return world.RunQuery{
		Workflow: q.Workflow, Status: q.Status, Since: q.Since, Until: q.Until, Parent: q.Parent, Origin: q.Origin, Cursor: q.Cursor, Limit: q.Limit,
		Input: list(q.Input, func(p *Bytes) raw { return raw(*p) }), Attributes: named[Bytes, raw](q.Attributes), Key: q.Key, Prefix: q.Prefix, Version: q.Version, Roots: q.Roots,
	}
}

// RunPage is a [world.RunPage].
type RunPage struct {
	Answer
	Runs    []Run     `json:"runs,omitempty"`
	Cursor  string    `json:"cursor,omitempty"`
	Reached time.Time `json:"reached,omitzero"`
}

// OfRuns makes messages of rows.
func OfRuns(in []world.Run) []Run { return list(in, OfRun) }

// WorldRuns are the rows of messages.
func WorldRuns(in []Run) []world.Run { return list(in, (*Run).World) }

// HookQuery is a [world.HookQuery].
type HookQuery struct {
	Run   string `json:"run,omitempty"`
	Token string `json:"token,omitempty"`
	Limit int    `json:"limit,omitempty"`
	Ended bool   `json:"ended,omitempty"`
}

// Hook is a [world.HookRow].
type Hook struct {
	world.HookRow
	Metadata Bytes `json:"metadata,omitzero"`
}

// OfHooks makes messages of hooks.
func OfHooks(in []world.HookRow) []Hook {
	return list(in, func(h *world.HookRow) Hook {
		out := Hook{HookRow: *h, Metadata: Bytes(h.Metadata)}
		out.HookRow.Metadata = nil
		return out
	})
}

// WorldHooks are the hooks of messages.
func WorldHooks(in []Hook) []world.HookRow {
	return list(in, func(h *Hook) world.HookRow {
		out := h.HookRow
		out.Metadata = raw(h.Metadata)
		return out
	})
}

// Hooks is a list of hooks.
type Hooks struct {
	Answer
	Hooks []Hook `json:"hooks,omitempty"`
}

// Streams is a list of the streams of a run.
type Streams struct {
	Answer
	Streams []world.StreamRow `json:"streams,omitempty"`
}

// Tasks is a list of the tasks of a run.
type Tasks struct {
	Answer
	Tasks []Task `json:"tasks,omitempty"`
}

// OfTasks makes messages of tasks.
func OfTasks(in []world.Task) []Task { return list(in, OfTask) }

// WorldTasks are the tasks of messages.
func WorldTasks(in []Task) []world.Task { return list(in, (*Task).World) }

// SweepQuery bounds a sweep.
type SweepQuery struct {
	Limit int `json:"limit"`
}

// Swept counts the runs that were deleted.
type Swept struct {
	Answer
	Runs int `json:"runs"`
}

// Blank makes it lack what each has.
func (s *Swept) Blank() { s.Runs = math.MinInt }

// Whole reports whether it has what each has.
func (s *Swept) Whole() bool { return s.Runs != math.MinInt }

// Findings are those of an examination of the database.
type Findings struct {
	Answer
	Findings []world.Finding `json:"findings,omitempty"`
}

// Stats is a [world.Stats].
type Stats struct {
	Answer
	Now       time.Time       `json:"now"`
	Workflows []WorkflowStats `json:"workflows,omitempty"`
	Workers   []WorkerRow     `json:"workers,omitempty"`
	Counters  Counters        `json:"counters"`
}

// WorkflowStats is a [world.WorkflowStats].
type WorkflowStats struct {
	Workflow  string `json:"workflow"`
	Pending   int    `json:"pending"`
	Running   int    `json:"running"`
	Completed int    `json:"completed"`
	Failed    int    `json:"failed"`
	Cancelled int    `json:"cancelled"`
	Blocked   int    `json:"blocked"`
	Paused    int    `json:"paused"`
}

// WorkerRow is a [world.WorkerRow].
type WorkerRow struct {
	Worker
	JoinedAt time.Time `json:"joinedAt"`
	Until    time.Time `json:"until"`
	Runs     int       `json:"runs"`
	Tasks    int       `json:"tasks"`
}

// Counters are [world.Counters].
type Counters struct {
	Commits     int64 `json:"commits"`
	Groups      int64 `json:"groups"`
	Claims      int64 `json:"claims"`
	Deliveries  int64 `json:"deliveries"`
	Appends     int64 `json:"appends"`
	RowsRead    int64 `json:"rowsRead"`
	RowsWritten int64 `json:"rowsWritten"`
	RowsTrimmed int64 `json:"rowsTrimmed"`
	Statements  int64 `json:"statements"`
}

// Whole reports whether it has what each has.
func (s *Stats) Whole() bool { return !s.Now.IsZero() }

// OfStats makes a message of counts.
func OfStats(in *world.Stats) Stats {
	return Stats{
		Now: in.Now, Counters: Counters(in.Counters),
		Workflows: list(in.Workflows, func(w *world.WorkflowStats) WorkflowStats {
			return WorkflowStats{w.Workflow, w.Pending, w.Running, w.Completed, w.Failed, w.Cancelled, w.Blocked, w.Paused}
		}),
		Workers: list(in.Workers, func(w *world.WorkerRow) WorkerRow {
			return WorkerRow{OfWorker(&w.Worker), w.JoinedAt, w.Until, w.Runs, w.Tasks}
		}),
	}
}

// World are the counts of a message.
func (s *Stats) World() world.Stats {
	return world.Stats{
		Now: s.Now, Counters: world.Counters(s.Counters),
		Workflows: list(s.Workflows, func(w *WorkflowStats) world.WorkflowStats {
			return world.WorkflowStats{
				Workflow: w.Workflow, Pending: w.Pending, Running: w.Running, Completed: w.Completed, Failed: w.Failed, Cancelled: w.Cancelled,
				Blocked: w.Blocked, Paused: w.Paused,
			}
		}),
		Workers: list(s.Workers, func(w *WorkerRow) world.WorkerRow {
			return world.WorkerRow{Worker: w.Worker.World(), JoinedAt: w.JoinedAt, Until: w.Until, Runs: w.Runs, Tasks: w.Tasks}
		}),
	}
}
