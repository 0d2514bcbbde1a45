// What operators and clients read, and the sweeper.

package memory

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/layout"
	"github.com/stepwell/stepwell/world/rules"
)

// Run reads one run; see [world.Admin].
func (w *World) Run(ctx context.Context, id string) (world.Run, error) {
	if err := w.enter(ctx); err != nil {
		return world.Run{}, err
	}
	defer w.mu.Unlock()
	r := w.runs[id]
	if r == nil {
		return world.Run{}, fmt.Errorf("run %s: %w", id, world.ErrNotFound)
	}
	row := []world.Run{shown(w, r)}
	row[0].Late = slices.Clone(r.late)
	tellHeirs(w, row, false)
	return row[0], nil
}

// shown is the row of a run as clients read it.
func shown(w *World, r *run) world.Run {
	out := world.RunOf(r.id, r.birth, r.created)
	out.Version, out.Status, out.Claims, out.Attributes = r.version, r.status, r.claim, cloneAttributes(r.attrs)
	out.Input, out.Encryption, out.Encrypted = r.input, r.encrypted, r.encrypted != ""
	out.Error, out.StartedAt, out.EndedAt, out.InputApart = r.err, r.startedAt(), r.endedAt(), r.apart
	if r.end != nil {
		if r.status == world.Completed {
			out.Output, out.OutputApart = r.end.Payload, r.end.Apart
		}
		return out
	}
	out.Queue = &world.QueueRow{WakeAt: r.wakeAt, Paused: r.paused, Full: r.full, Waiting: world.WaitingFor(r.waiting, r.retrying()), Mail: len(r.inbox)}
	if r.owner != nil {
		out.Queue.Owner, out.Queue.OwnerName = r.owner.ID, r.owner.Name
	} else {
		out.Queue.Held = w.said.starts.keep(r)
	}
	if r.placed != nil && r.placed.Parked {
		p := &r.placed.places[r.placed.Has]
		out.Queue.Limit, out.Queue.LimitKey = p.Limit, p.Key
		if world.SingleOf(p.Limit) != "" {
			out.Queue.Behind = r.placed.behind
		}
	}
	if r.blocked != nil {
		b := *r.blocked
		out.Queue.Blocked = &b
	}
	return out
}

// startedAt is when the run began, as the first rows of its log say it.
func (r *run) startedAt() time.Time {
	for i := range r.log {
		rec := &r.log[i]
		if rec.first > world.StartWithin {
			break
		}
		if at := layout.StartOf(string(rec.row[:rec.head]), r.created); !at.IsZero() {
			return at
		}
	}
	return time.Time{}
}

// Runs lists runs, newest first; see [world.Admin]. Cursors stay valid while runs are created and
// end.
func (w *World) Runs(ctx context.Context, q world.RunQuery) (world.RunPage, error) {
	if err := q.Check(); err != nil {
		return world.RunPage{}, err
	}
	before, err := rules.ParseRunCursor(q.Cursor)
	if err != nil {
		return world.RunPage{}, err
	}
	if err := w.enter(ctx); err != nil {
		return world.RunPage{}, err
	}
	defer w.mu.Unlock()
	var page world.RunPage
	list, stored := rules.RunPage{Query: &q}, q.Stored()
	for i := w.createdIndex(before); i > 0; i-- {
		r := w.created[i-1].run
		if r == nil || !matches(w, r, &q, stored) {
			continue
		}
		if list.Full() {
			page.Cursor = rules.RunCursor(w.created[i].key)
			break
		}
		row := shown(w, r)
		row.Merged = q.Key != "" && r.birth.Key != q.Key
		page.Reached = row.CreatedAt
		if err := list.Add(&row); err != nil {
			return world.RunPage{}, err
		}
	}
	if page.Runs = tellHeirs(w, list.Runs, q.Roots); page.Cursor == "" {
		page.Reached = time.Time{}
	}
	return page, nil
}

// tellHeirs says of runs that did not complete what is in their places, and of those that took a place which key they
// took over. Where no children are asked for, it leaves out those in the places of some.
func tellHeirs(w *World, runs []world.Run, roots bool) []world.Run {
	heirs := rules.Heirs{}
	for _, id := range rules.Bequeathed(runs) {
		for r := w.runs[id]; r != nil; {
			next := w.keys[idempotencyKey{r.birth.Workflow, world.RetryKey(r.id)}]
			if heirs[r.id] != nil || next == nil {
				break
			}
			heirs[r.id] = &world.Heir{Run: next.id, Status: next.status}
			r = next
		}
	}
	heirs.Tell(runs)
	forebears := rules.Forebears{}
	for _, id := range rules.Replacing(runs) {
		for r := w.runs[id]; r != nil; r = w.runs[rules.Replaces(r.birth.Key)] {
			if _, known := forebears[r.id]; known {
				break
			}
			forebears[r.id] = rules.Forebear{Key: r.birth.Key, Child: r.birth.Parent != nil}
		}
	}
	return forebears.Tell(runs, roots)
}

// createdIndex is where the run with a key, or the first one after it, stands among those created.
func (w *World) createdIndex(key int64) int {
	i, _ := slices.BinarySearchFunc(w.created, key, func(b birth, key int64) int { return cmp.Compare(b.key, key) })
	return i
}

// matches is what is known without the row.
func matches(w *World, r *run, q *world.RunQuery, stored []world.Status) bool {
	return (q.Workflow == "" || r.birth.Workflow == q.Workflow) &&
		(q.Key == "" || r.birth.Key == q.Key || w.said.gathers.keys[idempotencyKey{r.birth.Workflow, q.Key}] == r) && strings.HasPrefix(r.id, q.Prefix) && (!q.Roots || r.birth.Parent == nil) &&
		(q.Parent == "" || r.birth.Parent != nil && r.birth.Parent.Run == q.Parent) &&
		(q.Origin == "" || r.birth.Origin != nil && r.birth.Origin.Run == q.Origin) &&
		(stored == nil || slices.Contains(stored, r.status)) &&
		(q.Since.IsZero() || !r.created.Before(q.Since)) &&
		(q.Until.IsZero() || r.created.Before(q.Until))
}

// Hooks lists active hooks, oldest first; see [world.Admin].
func (w *World) Hooks(ctx context.Context, q world.HookQuery) ([]world.HookRow, error) {
	if err := w.enter(ctx); err != nil {
		return nil, err
	}
	defer w.mu.Unlock()
	var out []world.HookRow
	for token, h := range w.tokens {
		if (q.Run == "" || h.run.id == q.Run) && (q.Token == "" || token == q.Token) {
			out = append(out, world.HookRow{ID: h.id, Run: h.run.id, Token: token, Metadata: h.meta, CreatedAt: h.created})
		}
	}
	if h := w.lastEnded(q.Token); q.Ended && len(out) == 0 && h != nil && (q.Run == "" || h.run.id == q.Run) {
		out = append(out, world.HookRow{ID: h.id, Run: h.run.id, Token: h.token, Metadata: h.meta, CreatedAt: h.created, Ended: true})
	}
	world.SortHooks(out)
	n, bytes := 0, 0
	for most := min(len(out), rules.ListLimit(q.Limit)); n < most && bytes < world.PageBytes; n++ {
		bytes += len(out[n].Metadata)
	}
	return out[:n], nil
}

// Stats returns counts and workers; see [world.Admin].
func (w *World) Stats(ctx context.Context) (world.Stats, error) {
	if err := w.enter(ctx); err != nil {
		return world.Stats{}, err
	}
	defer w.mu.Unlock()
	out := world.Stats{Now: w.now(), Counters: w.counters}
	out.Counters.RowsRead = w.rowsRead.Load()
	byName := make(map[string]*world.WorkflowStats)
	for _, r := range w.runs {
		s := byName[r.birth.Workflow]
		if s == nil {
			s = &world.WorkflowStats{Workflow: r.birth.Workflow}
			byName[s.Workflow] = s
		}
		count(s, r)
	}
	for _, s := range byName {
		out.Workflows = append(out.Workflows, *s)
	}
	for _, wk := range w.workers {
		out.Workers = append(out.Workers, world.WorkerRow{
			Worker: wk.Worker, JoinedAt: wk.joined, Until: wk.until, Runs: len(wk.runs), Tasks: len(wk.tasks),
		})
	}
	slices.SortFunc(out.Workflows, func(a, b world.WorkflowStats) int { return cmp.Compare(a.Workflow, b.Workflow) })
	slices.SortFunc(out.Workers, func(a, b world.WorkerRow) int { return cmp.Compare(a.ID, b.ID) })
	return out, nil
}

func count(s *world.WorkflowStats, r *run) {
	switch r.status {
	case world.Pending:
		s.Pending++
	case world.Running:
		s.Running++
	case world.Completed:
		s.Completed++
	case world.Failed:
		s.Failed++
	case world.Cancelled:
		s.Cancelled++
	}
	if r.blocked != nil {
		s.Blocked++
	}
	if r.paused {
		s.Paused++
	}
}

// Sweep deletes runs whose retention is over, oldest end first; see [world.Admin].
func (w *World) Sweep(ctx context.Context, limit int) (int, error) {
	if err := w.enter(ctx); err != nil {
		return 0, err
	}
	now, n := w.now().UnixMicro(), 0
	for ; n < limit; n++ {
		e := w.ended.head()
		if e == nil || e.due > now {
			break
		}
		w.sweepLocked(e.run)
	}
	w.forget()
	w.topics.sweep(w.now())
	w.apart.sweep(w.now(), w.runs)
	w.mu.Unlock()
	return n, w.sweepSegments(ctx)
}
