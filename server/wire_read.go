package server

// This file reads for remote workers and clients.

import (
	"slices"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/remote/wire"
)

// events reads a page. It ends early where its payloads are large; commits are not cut.
func (d *doors) events(r *request, in *wire.EventsIn) (out world.EventPage, err error) {
	limit := mostEvents
	if in.Limit > 0 {
		limit = min(in.Limit, mostEvents)
	}
	q := in.EventQuery
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
		out.Events = append(out.Events, shown(r, events)...)
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

// The runs of a page, as [world.RunQuery] has it.
const (
	pageRuns     = 100
	mostPageRuns = 1000
)

// runs reads a page. It ends early where its payloads are large.
func (d *doors) runs(r *request, in *world.RunQuery) (out world.RunPage, err error) {
	q := *in
	if l := r.limited(); l != nil {
		switch {
		case q.Workflow == "" && len(l.Workflows) == 1:
			q.Workflow = l.Workflows[0]
		case q.Workflow != "":
			if err := r.mayWorkflow(q.Workflow); err != nil {
				return out, err
			}
		}
	}
	limit := pageRuns
	if q.Limit > 0 {
		limit = min(q.Limit, mostPageRuns)
	}
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
		out.Runs = append(out.Runs, page.Runs...)
		out.Cursor, q.Cursor, out.Reached = page.Cursor, page.Cursor, page.Reached
		if page.Cursor == "" || len(out.Runs) >= limit || bytes > *d.pageBytes || cut {
			return out, nil
		}
	}
}

func (d *doors) hooks(r *request, in *world.HookQuery) ([]world.HookRow, error) {
	hooks, err := d.below.Hooks(r.Context(), *in)
	if r.limited() != nil {
		hooks = slices.DeleteFunc(slices.Clone(hooks), func(h world.HookRow) bool { return d.guard.mayRun(r, h.Run) != nil })
	}
	return hooks, err
}

func (d *doors) tasks(r *request, in *wire.RunID) ([]world.Task, error) {
	return d.below.Tasks(r.Context(), in.Run)
}

func (d *doors) ready(r *request, in *world.ReadyQuery) (world.Ready, error) {
	ready, err := d.below.Ready(r.Context(), *in)
	if l := r.limited(); l != nil { // runs to be cancelled are listed whatever their workflow is
		ready.Items = slices.DeleteFunc(ready.Items, func(it world.ReadyItem) bool {
			return it.Step == "" && !slices.Contains(l.Workflows, it.Class.Workflow)
		})
	}
	return ready, err
}

func (d *doors) stats(r *request, _ *wire.Nothing) (world.Stats, error) {
	stats, err := d.below.Stats(r.Context())
	r.ours(&stats)
	return stats, err
}
