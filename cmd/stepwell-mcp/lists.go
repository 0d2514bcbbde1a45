package main

// This file has the tools that list what there is beside runs.

import (
	"context"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/stepwell/stepwell/world"
)

// mostListed is how many of these an answer has.
const mostListed = 100

func (t *tools) addLists(s *mcp.Server) {
	read(t, s, "list_workflows", "Count the runs of each workflow by how they stand, and say which workflows are held.", listOf(t, shortWorkflow, "workflows"))
	read(t, s, "list_workers", "List the workers, with their build, what they have just now, and which workflows, versions and steps they can run.", listOf(t, shortWorker, "workers"))
	read(t, s, "list_queues", "List the queues, with how many messages each has by their state.", listOf(t, shortQueue, "queues", "list"))
	read(t, s, "list_schedules", "List the schedules, with their next times, and what keeps one from going on.", listOf(t, t.shortSchedule, "schedules", "list"))
	read(t, s, "list_limits", "List the limits: how many runs may be at work at once, or begin in a period.", listOf(t, shortLimit, "limits", "list"))
}

type listOut[T any] struct {
	Items []T  `json:"items"`
	More  bool `json:"more,omitempty" jsonschema:"there are more than these"`
}

// listOf answers with what a command lists, each made short.
func listOf[T any](t *tools, cut func(*T), words ...string) handler[nothing, listOut[T]] {
	return func(ctx context.Context, who caller, _ nothing) (listOut[T], error) {
		items, more, err := all[T](ctx, t.commands, who, commandLine(words...), mostListed)
		for i := range items {
			cut(&items[i])
		}
		return listOut[T]{items, more}, err
	}
}

// pause is what somebody stopped, when and why.
type pause struct {
	By     string    `json:"by,omitempty"`
	Reason string    `json:"reason,omitempty"`
	Note   string    `json:"note,omitempty"`
	Since  time.Time `json:"since,omitzero"`
}

func (p *pause) cut() {
	if p != nil {
		p.By, p.Reason, p.Note = short(p.By), short(p.Reason), short(p.Note)
	}
}

type workflowRow struct {
	Name      string `json:"name"`
	Pending   int    `json:"pending"`
	Running   int    `json:"running"`
	Completed int    `json:"completed"`
	Failed    int    `json:"failed"`
	Cancelled int    `json:"cancelled"`
	Blocked   int    `json:"blocked"`
	Paused    int    `json:"paused"`
	Held      *pause `json:"held,omitempty" jsonschema:"none of its runs begins"`
}

func shortWorkflow(w *workflowRow) { w.Held.cut() }

type workerRow struct {
	ID        string        `json:"id"`
	Name      string        `json:"name"`
	Build     string        `json:"build,omitempty"`
	Lost      bool          `json:"lost" jsonschema:"not heard of: what it had goes to others"`
	JoinedAt  time.Time     `json:"joinedAt"`
	Until     time.Time     `json:"until" jsonschema:"the end of its lease"`
	Runs      int           `json:"runs" jsonschema:"that it has just now"`
	Tasks     int           `json:"tasks" jsonschema:"queued steps that it has just now"`
	Workflows []world.Class `json:"workflows"`
	Steps     []string      `json:"steps"`
}

func shortWorker(w *workerRow) {
	w.Name, w.Build, w.Workflows, w.Steps = short(w.Name), short(w.Build), some(w.Workflows), some(w.Steps)
}

type queueRow struct {
	Name        string           `json:"name"`
	Visibility  string           `json:"visibility" jsonschema:"how long a message is out with who received it"`
	MaxReceives int              `json:"maxReceives"`
	Paused      *pause           `json:"paused,omitempty"`
	Counts      map[string]int64 `json:"counts" jsonschema:"messages that are ready, delayed, out, parked and dead"`
	Oldest      time.Time        `json:"oldest,omitzero" jsonschema:"since when the first message that is ready is so"`
}

func shortQueue(q *queueRow) { q.Paused.cut() }

type scheduleRow struct {
	Name      string              `json:"name"`
	Workflow  string              `json:"workflow"`
	Version   int                 `json:"version,omitempty"`
	Times     []string            `json:"times"`
	Words     string              `json:"words" jsonschema:"what the times are"`
	Zone      string              `json:"zone,omitempty"`
	CatchUp   string              `json:"catchUp"`
	Overlap   world.Overlap       `json:"overlap"`
	Set       string              `json:"set,omitempty" jsonschema:"of a program, that it was declared in"`
	By        string              `json:"by,omitempty"`
	Paused    *pause              `json:"paused,omitempty"`
	Next      []time.Time         `json:"next,omitempty"`
	Waits     time.Time           `json:"waits,omitzero" jsonschema:"since when it waits for the end of its last run"`
	Last      *world.ScheduledRun `json:"last,omitempty"`
	Completed time.Time           `json:"completed,omitzero"`
	Count     int                 `json:"count" jsonschema:"runs that it started"`
	Skipped   int                 `json:"skipped"`
	Missed    int                 `json:"missed"`
	Error     string              `json:"error,omitempty" jsonschema:"why the next run could not be started; hidden unless payloads are shown"`
	Damage    string              `json:"damage,omitempty"`
}

func (t *tools) shortSchedule(s *scheduleRow) {
	s.Words, s.By, s.Error, s.Damage = short(s.Words), short(s.By), t.text(s.Error), t.text(s.Damage)
	s.Times, s.Next = some(s.Times), s.Next[:min(len(s.Next), 3)]
	s.Paused.cut()
}

type limitRow struct {
	Name     string `json:"name"`
	Number   int    `json:"number" jsonschema:"places of a key, or, of a rate, how many begin in a period"`
	Said     int    `json:"said" jsonschema:"as code says"`
	Set      *int   `json:"set,omitempty" jsonschema:"as an operator says, and then that holds"`
	UntilEnd bool   `json:"untilEnd,omitempty" jsonschema:"runs count until their end, and not only while they are at work"`
	Per      string `json:"per,omitempty" jsonschema:"the period of a rate"`
	Burst    int    `json:"burst,omitempty"`
	Refuse   bool   `json:"refuse,omitempty" jsonschema:"of a rate: what is too much is refused"`
}

func shortLimit(*limitRow) {}
