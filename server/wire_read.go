package server

// This file reads for remote workers and clients.

import (
	"fmt"
	"slices"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/remote/wire"
)

func wireReadRoutes() []route {
	all := []route{
		wireRoute("events", Viewer, "Read a run's log from a cursor", "WireEventQuery", "WireEventPage", (*doors).events),
		wireRoute("run", Viewer, "Read a run's row", "WireRunID", "WireOneRun", (*doors).run),
		wireRoute("runs", Viewer, "List runs, newest first", "WireRunQuery", "WireRunPage", (*doors).runs),
		wireRoute("hooks", Operator, "List active hooks", "WireHookQuery", "WireHooks", (*doors).hooks),
		wireRoute("tasks", Viewer, "List the queued steps of a run", "WireRunID", "WireTasks", (*doors).tasks),
		wireRoute("ready", Viewer, "List what a worker could take", "WireReadyQuery", "WireReady", (*doors).ready),
		wireRoute("chunks", Viewer, "Read a stream from a number", "WireChunkQuery", "WireChunkPage", (*doors).chunks),
		wireRoute("streams", Viewer, "List the streams of a run", "WireRunID", "WireStreams", (*doors).streams),
		wireRoute("stats", Viewer, "Count runs and workers", "WireNothing", "WireStats", (*doors).stats),
		wireRoute("doctor", Operator, "Examine the database", "WireNothing", "WireFindings", (*doors).doctor),
	}
	for i := range all {
		all[i].wide = slices.Contains([]string{"worldEvents", "worldRuns", "worldHooks", "worldChunks"}, all[i].op.id)
	}
	return all
}

// nothing is the body of a question without one.
type nothing struct{}

// events reads a page. It ends early where its payloads are large; commits are not cut.
func (d *doors) events(r *request, in *wire.EventQuery) (wire.EventPage, error) {
	if err := d.guard.mayRun(r, in.Run); err != nil {
		return wire.EventPage{}, err
	}
	limit := mostEvents
	if in.Limit > 0 {
		limit = min(in.Limit, mostEvents)
	}
	q := world.EventQuery{Cursor: in.Cursor, Types: in.Types, CorrelationID: in.CorrelationID}
	out := wire.EventPage{Events: []wire.Event{}}
	for bytes := 0; ; {
		q.Limit = limit - len(out.Events)
		page, err := d.below.Events(r.Context(), in.Run, q)
		if err != nil {
			return out, err
		}
		events, cut := someEventsOf(page.Events, *d.pageBytes-bytes)
		if cut {
			page.Cursor, page.More = world.Cursor(events[len(events)-1].Seq), true
		}
		bytes += eventsBytes(events)
		out.Events = append(out.Events, wire.OfEvents(shown(r, events))...)
		out.Cursor, out.More, out.Trimmed, q.Cursor = page.Cursor, page.More, page.Trimmed, page.Cursor
		if cut || !out.More || len(out.Events) >= limit || bytes >= *d.pageBytes {
			return out, nil
		}
	}
}

// someEventsOf is the beginning of a page, of whole commits: the first, and those that have no more than so many bytes with it.
func someEventsOf(events []world.Event, bytes int) (some []world.Event, cut bool) {
	for i := 0; i < len(events); {
		end := i + 1
		for end < len(events) && events[end].Commit == events[i].Commit {
			end++
		}
		if bytes -= eventsBytes(events[i:end]); i > 0 && bytes < 0 {
			return events[:i], true
		}
		i = end
	}
	return events, false
}

func (d *doors) run(r *request, in *wire.RunID) (wire.OneRun, error) {
	row, err := d.below.Run(r.Context(), in.Run)
	if err == nil {
		err = r.mayWorkflow(row.Workflow)
	}
	if err != nil {
		return wire.OneRun{}, err
	}
	return wire.OneRun{Run: wire.OfRun(&row)}, nil
}

// The runs of a page, as [world.RunQuery] has it.
const (
	pageRuns     = 100
	mostPageRuns = 1000
)

// runs reads a page. It ends early where its payloads are large.
func (d *doors) runs(r *request, in *wire.RunQuery) (wire.RunPage, error) {
	q := in.World()
	if l := r.limited(); l != nil {
		switch {
		case q.Workflow == "" && len(l.Workflows) == 1:
			q.Workflow = l.Workflows[0]
		case q.Workflow != "":
			if err := r.mayWorkflow(q.Workflow); err != nil {
				return wire.RunPage{}, err
			}
		}
	}
	limit := pageRuns
	if q.Limit > 0 {
		limit = min(q.Limit, mostPageRuns)
	}
	out := wire.RunPage{Runs: []wire.Run{}}
	for bytes := 0; ; {
		q.Limit = min(limit-len(out.Runs), runsAtOnce)
		page, err := d.below.Runs(r.Context(), q)
		if err != nil {
			return out, err
		}
		cut := q.Filtered()
		if l := r.limited(); l != nil {
			cut = true // a page may be short
			page.Runs = slices.DeleteFunc(page.Runs, func(run world.Run) bool { return !slices.Contains(l.Workflows, run.Workflow) })
		}
		for i := range page.Runs {
			bytes += page.Runs[i].Size()
		}
		out.Runs = append(out.Runs, wire.OfRuns(page.Runs)...)
		out.Cursor, q.Cursor, out.Reached = page.Cursor, page.Cursor, page.Reached
		if page.Cursor == "" || len(out.Runs) >= limit || bytes > *d.pageBytes || cut {
			return out, nil
		}
	}
}

func (d *doors) hooks(r *request, in *wire.HookQuery) (wire.Hooks, error) {
	hooks, err := d.below.Hooks(r.Context(), world.HookQuery(*in))
	if r.limited() != nil {
		hooks = slices.DeleteFunc(slices.Clone(hooks), func(h world.HookRow) bool { return d.guard.mayRun(r, h.Run) != nil })
	}
	return wire.Hooks{Hooks: wire.OfHooks(hooks)}, err
}

func (d *doors) tasks(r *request, in *wire.RunID) (wire.Tasks, error) {
	if err := d.guard.mayRun(r, in.Run); err != nil {
		return wire.Tasks{}, err
	}
	tasks, err := d.below.Tasks(r.Context(), in.Run)
	return wire.Tasks{Tasks: wire.OfTasks(tasks)}, err
}

func (d *doors) ready(r *request, in *wire.ReadyQuery) (wire.Ready, error) {
	if err := r.mayHave(in.Classes, in.Steps); err != nil {
		return wire.Ready{}, err
	}
	ready, err := d.below.Ready(r.Context(), world.ReadyQuery(*in))
	if l := r.limited(); l != nil { // runs to be cancelled are listed whatever their workflow is
		ready.Items = slices.DeleteFunc(ready.Items, func(it world.ReadyItem) bool {
			return it.Step == "" && !slices.Contains(l.Workflows, it.Class.Workflow)
		})
	}
	return wire.OfReady(&ready), err
}

func (d *doors) chunks(r *request, in *wire.ChunkQuery) (wire.ChunkPage, error) {
	if err := d.guard.mayRun(r, in.Run); err != nil {
		return wire.ChunkPage{}, err
	}
	page, err := d.below.Chunks(r.Context(), in.Run, in.Stream, world.ChunkQuery{From: in.From, Limit: in.Limit})
	return wire.OfChunkPage(&page), err
}

func (d *doors) streams(r *request, in *wire.RunID) (wire.Streams, error) {
	if err := d.guard.mayRun(r, in.Run); err != nil {
		return wire.Streams{}, err
	}
	all, err := d.below.StreamsOf(r.Context(), in.Run)
	return wire.Streams{Streams: all}, err
}

func (d *doors) stats(r *request, _ *nothing) (wire.Stats, error) {
	stats, err := d.below.Stats(r.Context())
	r.ours(&stats)
	return wire.OfStats(&stats), err
}

func (d *doors) doctor(r *request, _ *nothing) (wire.Findings, error) {
	if r.limited() != nil {
		return wire.Findings{}, fmt.Errorf("%w: it is limited, and the database is everybody's", errScope)
	}
	if d.able.Doctor == nil {
		return wire.Findings{}, fmt.Errorf("an examination of the server's database: %w", world.ErrNotFound)
	}
	all, err := world.Findings(r.Context(), d.able.Doctor)
	return wire.Findings{Findings: all}, err
}
