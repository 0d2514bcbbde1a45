package wire

// This file has the messages that are not types of package world.

import (
	"encoding/json"
	"time"

	"github.com/stepwell/stepwell/world"
)

// Nothing is a message without members.
type Nothing struct{}

// HelloOut is what a server says of itself at [Prefix].
type HelloOut struct {
	Protocol int    `json:"protocol"`
	Version  string `json:"version"`         // of the server
	Server   string `json:"server"`          // this process of it
	Format   int    `json:"format"`          // of new logs: [world.LogFormat]
	Scope    string `json:"scope"`           // of the key that asked; admin where no key is needed
	Doctor   bool   `json:"doctor"`          // the database can be examined
	Apart    bool   `json:"apart,omitempty"` // the database keeps large values apart
}

// RunID names a run.
type RunID struct {
	Run string `json:"run"`
}

// OfRun returns the run.
func (r RunID) OfRun() string { return r.Run }

// WorkerID names a worker.
type WorkerID struct {
	Worker string `json:"worker"`
}

// OfWorker returns the worker.
func (w WorkerID) OfWorker() string { return w.Worker }

// CommitIn is a commit.
type CommitIn struct {
	world.Commit
	// Again means that it was sent before and the answer was lost: if it was written then, this is
	// answered as that was.
	Again bool `json:"again,omitzero"`
}

// EventsIn asks for a page of a run's log.
type EventsIn struct {
	RunID
	world.EventQuery
}

// ClaimIn asks for runs and tasks. Number counts the claims of the worker, from 1. The server
// remembers the answer to the last one: the same number with Again is answered with it. 0: it is
// not remembered.
type ClaimIn struct {
	world.ClaimQuery
	// WaitMs is how long to wait until there is something; 30 s at most.
	WaitMs int64 `json:"waitMs,omitzero"`
	Again  bool  `json:"again,omitzero"`
	// Server is, with Again, the [HeartbeatOut].Server of the worker's last join or heartbeat before
	// the first try.
	Server string `json:"server,omitzero"`
}

// HeartbeatIn is a heartbeat. Again means that the answer to the last one was lost: the runs that
// it reported as lost are reported again.
type HeartbeatIn struct {
	world.HeartbeatQuery
	Again bool `json:"again,omitzero"`
}

// OfWorker returns the worker.
func (h HeartbeatIn) OfWorker() string { return h.Worker }

// HeartbeatOut answers a join and a heartbeat.
type HeartbeatOut struct {
	world.Heartbeat
	Server string `json:"server"` // the process of the server that answered
}

// HeldIn asks what a worker holds. Claims with a lower number are over, or come too late.
type HeldIn struct {
	WorkerID
	Number int64 `json:"n"`
}

// ChunksIn asks for a page of a stream.
type ChunksIn struct {
	RunID
	Stream string `json:"stream"`
	world.ChunkQuery
}

// SweepIn bounds a sweep.
type SweepIn struct {
	Limit int `json:"limit"`
}

// KeyIn asks which key an ID stands for, and binds one that stands for none.
type KeyIn struct {
	ID    string `json:"id"`
	Print []byte `json:"print,omitzero"` // the fingerprint; nil: it only asks
}

// KeyOut is the fingerprint that an ID is bound to; nil: it is bound to none.
type KeyOut struct {
	Print []byte `json:"print,omitzero"`
}

// DefineIn has definitions of workflows.
type DefineIn struct {
	Definitions []world.Definition `json:"definitions"`
}

// DefinedIn asks for workflows.
type DefinedIn struct {
	Workflows []string `json:"workflows,omitzero"`
}

// OfWorkflows returns the workflows.
func (d DefinedIn) OfWorkflows() []string { return d.Workflows }

// SchemasIn asks for the schemas of a version of a workflow.
type SchemasIn struct {
	world.Class
}

// OfWorkflows returns the workflow.
func (s SchemasIn) OfWorkflows() []string { return []string{s.Workflow} }

// SchemasOut has schemas; nil: nobody has declared any.
type SchemasOut struct {
	Schemas json.RawMessage `json:"schemas,omitzero"`
}

// RetentionIn asks for the longest retention, and changes it.
type RetentionIn struct {
	Retention time.Duration `json:"retention,omitzero"` // -1: for ever; 0: it only asks
	Raise     bool          `json:"raise,omitzero"`     // this needs scope admin
}

// RetentionOut is the longest retention.
type RetentionOut struct {
	Before time.Duration `json:"before,omitzero"`
	Now    time.Duration `json:"now,omitzero"`
}

// ValueIn names a value that a run holds.
type ValueIn struct {
	RunID
	Value string `json:"value"`
}

// PieceIn names a piece of a value.
type PieceIn struct {
	ValueIn
	Number int `json:"number"`
}

// QueueName names a queue.
type QueueName struct {
	Queue string `json:"queue"`
}

// Names selects queues or subscriptions; nil: all.
type Names struct {
	Names []string `json:"names,omitzero"`
}

// PauseIn pauses a queue; without Pause, it resumes it.
type PauseIn struct {
	QueueName
	Pause *world.QueuePause `json:"pause,omitzero"`
}

// SendIn has messages to send.
type SendIn struct {
	Messages []world.Message `json:"messages"`
}

// SettleIn has receives to end or extend.
type SettleIn struct {
	Settlements []world.Settlement `json:"settlements"`
}

// PurgeIn selects the messages to delete.
type PurgeIn struct {
	QueueName
	Dead bool `json:"dead,omitzero"` // only dead letters
}

// RedriveIn selects dead letters; IDs nil: all.
type RedriveIn struct {
	QueueName
	IDs []string `json:"ids,omitzero"`
}

// MovedOut counts messages that were purged or redriven.
type MovedOut struct {
	Messages int  `json:"messages"`
	More     bool `json:"more,omitzero"` // there are others
}

// PublishIn has publications.
type PublishIn struct {
	Publications []world.Publication `json:"publications"`
}

// DueSchedulesIn asks for schedules that are due: see [world.Scheduler].
type DueSchedulesIn struct {
	Code  string        `json:"code,omitzero"`
	Limit int           `json:"limit"`
	Hold  time.Duration `json:"hold,omitzero"`
}

// ScheduleName names a schedule.
type ScheduleName struct {
	Name string `json:"name"`
}

// WorkflowName names a workflow.
type WorkflowName struct {
	Workflow string `json:"workflow"`
}

// SetLimitIn changes the number of a limit; nil: the number that code declares.
type SetLimitIn struct {
	Limit  string `json:"limit"`
	Number *int   `json:"number,omitzero"`
}

// LimitKeysIn asks for keys of a limit, after one.
type LimitKeysIn struct {
	Limit string `json:"limit"`
	After string `json:"after,omitzero"`
	Most  int    `json:"most"`
}

// HoldersIn asks what holds places of a key.
type HoldersIn struct {
	Limit string `json:"limit"`
	Key   string `json:"key,omitzero"`
	Most  int    `json:"most"`
}

// InLineIn asks where a run waits in line or, with Step, a task of it.
type InLineIn struct {
	RunID
	Step string `json:"step,omitzero"`
}

// InLineOut is where that is; nil: in no line.
type InLineOut struct {
	InLine *world.InLine `json:"inLine,omitzero"`
}
