package main

// This file has the tools that look at runs.

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/operate"
	"github.com/stepwell/stepwell/world"
)

// How many of what is listed an answer has, unless told, and at most.
const (
	someRuns, mostRuns     = 20, 50
	someEvents, mostEvents = 50, 100
	mostCauses             = 50
	mostFindings           = 100
)

func (t *tools) addReads(s *mcp.Server) {
	read(t, s, "list_runs", "List runs, newest first: how each stands, and why it does not move. With a cursor in the answer there are more.", t.listRuns)
	read(t, s, "get_run", "Show one run: how it stands, why it does not move, its steps and waits, and what a retry would do.", t.getRun)
	read(t, s, "explain_why", "Say why a run does not move, or what it does, in one sentence, and what can be done about it.", t.explainWhy)
	read(t, s, "get_events", "Read the log of a run, oldest first, a page at a time.", t.getEvents)
	read(t, s, "list_failures", "Sort what failed and was not healed, what is blocked and what is tried again by its cause, with the IDs of runs.", t.listFailures)
	read(t, s, "doctor", "Examine the database: runs that stand still, lost workers, what makes it slow or loses data, with what to do.", t.doctor)
}

// limitOf is how many of a list are asked for.
func limitOf(asked, usual, most int) (int, error) {
	if asked < 0 || asked > most {
		return 0, fmt.Errorf("limit is %d: want 1 to %d", asked, most)
	}
	return cmp.Or(asked, usual), nil
}

// filter says which runs are meant.
type filter struct {
	Workflow string   `json:"workflow,omitempty" jsonschema:"only runs of the workflow with this name"`
	Status   []string `json:"status,omitempty" jsonschema:"only runs that have, or stand in, one of: pending, running, completed, failed, cancelled, blocked, paused, held, delayed, limited, queued, working, retrying, sleeping, waiting"`
	Since    string   `json:"since,omitempty" jsonschema:"only runs created since then: so long ago (90s, 5m, 2h, 7d), or 2026-11-27 or 2026-11-27T09:12:00Z"`
	Until    string   `json:"until,omitempty" jsonschema:"only runs created before then, written as since"`
	Parent   string   `json:"parent,omitempty" jsonschema:"only children of the run with this ID"`
	Search   string   `json:"search,omitempty" jsonschema:"an ID or its beginning, an idempotency key, a workflow, or an attribute as NAME=VALUE"`
}

func (f *filter) add(l *line) *line {
	return l.flag("workflow", f.Workflow).flag("status", strings.Join(f.Status, ",")).flag("since", f.Since).flag("until", f.Until).flag("parent", f.Parent).flag("search", f.Search)
}

type listRunsIn struct {
	filter
	Limit  int    `json:"limit,omitempty" jsonschema:"how many runs, 1 to 50; 20 unless told"`
	Cursor string `json:"cursor,omitempty" jsonschema:"the cursor of an answer before, with the same filter: the runs behind it"`
}

type listedRun struct {
	Run
	Why Why `json:"why"`
}

type listRunsOut struct {
	Runs   []listedRun `json:"runs"`
	Cursor string      `json:"cursor,omitempty" jsonschema:"for the next page; none: these were the last"`
}

func (t *tools) listRuns(ctx context.Context, who caller, in listRunsIn) (out listRunsOut, err error) {
	limit, err := limitOf(in.Limit, someRuns, mostRuns)
	if err != nil {
		return out, err
	}
	type listed struct {
		stepwell.RunInfo
		Why stepwell.Why `json:"why"`
	}
	page, err := one[struct {
		Runs   []listed `json:"runs"`
		Cursor string   `json:"cursor"`
	}](ctx, t.commands, who, in.add(commandLine("runs", "list", "--page", "--limit="+strconv.Itoa(limit))).flag("cursor", in.Cursor))
	out = listRunsOut{Runs: []listedRun{}, Cursor: page.Cursor}
	for i := range page.Runs {
		r := &page.Runs[i]
		out.Runs = append(out.Runs, listedRun{t.run(&r.RunInfo, mostOfList), t.why(&r.Why)})
	}
	return out, err
}

type runIn struct {
	Run string `json:"run" jsonschema:"RUN: the ID of a run, its beginning, or its idempotency key"`
}

func (in *runIn) noted() []any { return []any{"run_id", in.Run} }

type getRunOut struct {
	Run     Run               `json:"run"`
	Why     Why               `json:"why"`
	Journal Journal           `json:"journal"`
	Retry   *Retry            `json:"retry,omitempty" jsonschema:"of a run that failed or was cancelled"`
	Peers   map[string]string `json:"peers,omitempty" jsonschema:"how runs stand that open steps wait for"`
	Made    []string          `json:"made,omitempty" jsonschema:"runs that were made of this one: forks, restarts and retries"`
	Damage  string            `json:"damage,omitempty"`
}

func (t *tools) story(ctx context.Context, who caller, in runIn) (stepwell.Story, error) {
	s, err := one[stepwell.Story](ctx, t.commands, who, commandLine("runs", "show").with(in.Run))
	if err == nil && s.Journal == nil {
		err = fmt.Errorf("there is no journal of run %s", in.Run)
	}
	return s, err
}

func (t *tools) getRun(ctx context.Context, who caller, in runIn) (out getRunOut, err error) {
	s, err := t.story(ctx, who, in)
	if err != nil {
		return out, err
	}
	out = getRunOut{Run: t.run(&s.Run, mostOfRun), Why: t.why(&s.Why), Journal: t.journal(s.Journal), Retry: retryOf(s.Retry), Peers: s.Peers, Damage: t.text(s.Damage)}
	for i := range s.Made {
		out.Made = append(out.Made, s.Made[i].ID)
	}
	return out, nil
}

type explainOut struct {
	Run      string       `json:"run"`
	Workflow string       `json:"workflow"`
	Status   world.Status `json:"status"`
	Why      Why          `json:"why"`
	Retry    *Retry       `json:"retry,omitempty" jsonschema:"of a run that failed or was cancelled: what a retry would do, or what there is instead"`
}

func (t *tools) explainWhy(ctx context.Context, who caller, in runIn) (out explainOut, err error) {
	s, err := t.story(ctx, who, in)
	if err != nil {
		return out, err
	}
	return explainOut{s.Run.ID, s.Run.Workflow, s.Run.Status, t.why(&s.Why), retryOf(s.Retry)}, nil
}

type getEventsIn struct {
	runIn
	Types []string `json:"types,omitempty" jsonschema:"only events of these types, such as step_failed, step_retrying, wait_created, signal_received, run_failed"`
	ID    string   `json:"id,omitempty" jsonschema:"only events about the step, wait or hook with this correlation ID"`
	After int64    `json:"after,omitempty" jsonschema:"only events behind the one with this number (seq): the next of an answer before"`
	Limit int      `json:"limit,omitempty" jsonschema:"how many events, 1 to 100; 50 unless told"`
}

type getEventsOut struct {
	Events []Event `json:"events"`
	Next   int64   `json:"next,omitempty" jsonschema:"after of the next page; none: these were the last, so far"`
}

func (t *tools) getEvents(ctx context.Context, who caller, in getEventsIn) (out getEventsOut, err error) {
	limit, err := limitOf(in.Limit, someEvents, mostEvents)
	if err != nil {
		return out, err
	}
	l := commandLine("events").with(in.Run).flag("type", strings.Join(in.Types, ",")).flag("id", in.ID).flag("limit", strconv.Itoa(limit+1))
	if in.After != 0 {
		l.flag("after", strconv.FormatInt(in.After, 10))
	}
	out.Events = []Event{}
	err = t.commands.call(ctx, who, l, func(value json.RawMessage) error {
		if len(out.Events) == limit {
			out.Next = out.Events[limit-1].Seq
			return nil
		}
		var e world.NamedEvent
		err := json.Unmarshal(value, &e)
		out.Events = append(out.Events, t.event(&e))
		return err
	})
	return out, err
}

type listFailuresIn struct {
	Workflow string `json:"workflow,omitempty" jsonschema:"only runs of the workflow with this name"`
	Since    string `json:"since,omitempty" jsonschema:"only runs created since then, such as 2h, 7d or 2026-11-27T09:12:00Z"`
}

type listFailuresOut struct {
	Causes   []Cause `json:"causes" jsonschema:"those of most runs first"`
	Failed   int     `json:"failed"`
	Blocked  int     `json:"blocked"`
	Retrying int     `json:"retrying"`
	Healed   int     `json:"healed" jsonschema:"failed runs in whose place another is: they are not among the others"`
	More     bool    `json:"more" jsonschema:"there are more than were looked at"`
}

func (t *tools) listFailures(ctx context.Context, who caller, in listFailuresIn) (out listFailuresOut, err error) {
	f, err := one[operate.Failures](ctx, t.commands, who, commandLine("failures").flag("workflow", in.Workflow).flag("since", in.Since))
	out = listFailuresOut{Causes: []Cause{}, Failed: f.Failed, Blocked: f.Blocked, Retrying: f.Retrying, Healed: f.Healed, More: f.More || len(f.Causes) > mostCauses}
	for _, c := range f.Causes[:min(len(f.Causes), mostCauses)] {
		out.Causes = append(out.Causes, t.cause(c))
	}
	return out, err
}

type nothing struct{}

type finding struct {
	Check  string       `json:"check"`
	Health world.Health `json:"health" jsonschema:"good, warning or bad"`
	Found  string       `json:"found"`
	Advice string       `json:"advice,omitempty"`
}

type doctorOut struct {
	Findings []finding `json:"findings"`
	Bad      bool      `json:"bad" jsonschema:"something is bad"`
}

func (t *tools) doctor(ctx context.Context, who caller, _ nothing) (out doctorOut, err error) {
	found, _, err := all[finding](ctx, t.commands, who, commandLine("doctor"), mostFindings)
	out.Findings = found
	for i := range found {
		f := &found[i]
		f.Found, f.Advice = short(f.Found), short(f.Advice)
		out.Bad = out.Bad || f.Health == world.HealthBad
	}
	if out.Bad && failedWith(err, 1) { // it says so, behind what it found
		err = nil
	}
	return out, err
}
