package sqlite

// This file says which rows a list of runs is read from: by the shortest way, and a bounded number at a time.

import (
	"slices"

	"github.com/stepwell/stepwell/world"
)

var (
	listRuns           = load("list_runs")
	listWorkflowRuns   = load("list_workflow_runs")
	edgeOfRuns         = load("edge_of_runs")
	edgeOfWorkflowRuns = load("edge_of_workflow_runs")
	fewerStand         = load("fewer_stand")
)

// listing is one page's way through the file: a statement that yields the runs between two keys, newest first, but for most of those that do
// not match, and one that says how far the page may look.
type listing struct {
	list, edge *statement
	args       []any // of list, behind the two keys
	edgeArgs   []any // of edge, behind its key and how many
	narrow     bool  // rows are left out: nobody knows how many it passes over

	merged map[int64]bool // runs that were given the input of the start whose key is asked for
}

// shortcut is the way to runs that have a place of their own: the queue has those that are not over,
// and nobody else; an index has those that are over and did not complete.
type shortcut struct {
	all             []world.Status
	stored          [2]any // what the place calls each of them
	list, edge, few *statement
}

var shortcuts = []shortcut{
	{[]world.Status{world.Pending, world.Running}, [2]any{int64(0), int64(1)}, load("list_live_runs"), load("edge_of_live_runs"), load("few_live_runs")},
	{[]world.Status{world.Failed, world.Cancelled}, [2]any{string(world.Failed), string(world.Cancelled)},
		load("list_failed_runs"), load("edge_of_failed_runs"), load("few_failed_runs")},
}

// shortcutOf is the way to all runs that a query asks for; nil: there is none.
func shortcutOf(q *world.RunQuery) *shortcut {
	stored := q.Stored()
	for i := range shortcuts {
		if s := &shortcuts[i]; len(stored) > 0 && !slices.ContainsFunc(stored, func(is world.Status) bool { return !slices.Contains(s.all, is) }) {
			return s
		}
	}
	return nil
}

// way finds it, for a page of runs before a key.
func way(c *conn, q *world.RunQuery, before int64) (listing, error) {
	if l, ok, err := byPick(c, q); ok || err != nil {
		return l, err
	}
	if l, ok := byRelative(q); ok {
		return l, nil
	}
	if l, ok, err := byAttribute(c, q, before); ok || err != nil {
		return l, err
	}
	if l, ok, err := byStanding(c, q); ok || err != nil {
		return l, err
	}
	from, until := microBounds(q)
	l := listing{narrow: narrowed(q)}
	l.list, l.edge = listRuns, edgeOfRuns
	l.args = overArgs(q, from, until)
	if q.Workflow != "" {
		l.list, l.edge = listWorkflowRuns, edgeOfWorkflowRuns
		l.args, l.edgeArgs = append(l.args, q.Workflow), []any{q.Workflow}
	}
	l.args = append(l.args, ofRow(q)...)
	return l, nil
}

// ofRow are the arguments that leave out children and other versions, null where that is not asked for.
func ofRow(q *world.RunQuery) []any {
	var roots, version any
	if q.Roots {
		roots = int64(1)
	}
	if q.Version != 0 {
		version = int64(q.Version)
	}
	return []any{roots, version}
}

// narrowed reports whether rows are left out by how they stand, their birth, their version or as they are children: [world.RunQuery.Fits] leaves out what
// statements do not.
func narrowed(q *world.RunQuery) bool {
	return len(q.Status) > 0 || !q.Since.IsZero() || !q.Until.IsZero() || q.Version != 0 || q.Roots || q.Prefix != "" || q.Key != ""
}

// overArgs are the arguments that say which statuses and births are asked for.
func overArgs(q *world.RunQuery, from, until any) []any {
	var live any // null: no status is asked for
	if len(q.Stored()) > 0 {
		live = bit(wanted(q, world.Pending, true) != nil || wanted(q, world.Running, true) != nil)
	}
	return []any{
		wanted(q, world.Completed, string(world.Completed)), wanted(q, world.Failed, string(world.Failed)),
		wanted(q, world.Cancelled, string(world.Cancelled)),
		live, from, until,
	}
}

// byStanding finds the way by how the runs stand that are asked for. It is no way where there are
// more of them than of the workflow that is asked for: then the workflow's own index is shorter.
func byStanding(c *conn, q *world.RunQuery) (l listing, ok bool, err error) {
	s := shortcutOf(q)
	if s == nil {
		return l, false, nil
	}
	if ok = true; q.Workflow != "" {
		if _, err = c.one(fewerStand, func(r row) error { ok = r.bool(0); return nil }, q.Workflow, string(s.all[0]), string(s.all[1])); !ok || err != nil {
			return l, false, err
		}
	}
	from, until := microBounds(q)
	args := append([]any{wanted(q, s.all[0], s.stored[0]), wanted(q, s.all[1], s.stored[1]), orNull(q.Workflow), from, until}, ofRow(q)...)
	return listing{list: s.list, edge: s.edge, narrow: true, args: args}, true, nil
}

// wanted is v where a query asks for a status, and null where it does not.
func wanted(q *world.RunQuery, s world.Status, v any) any {
	if stored := q.Stored(); len(stored) > 0 && !slices.Contains(stored, s) {
		return nil
	}
	return v
}

// microBounds are the microseconds that a birth must lie between, both included, null where there is no bound; [world.RunQuery.Fits] knows it to
// the nanosecond.
func microBounds(q *world.RunQuery) (from, until any) {
	if !q.Since.IsZero() {
		from = q.Since.UnixMicro()
	}
	if !q.Until.IsZero() {
		until = q.Until.UnixMicro()
	}
	return from, until
}

// reach is the key that a page must stay above to pass over so many runs at most, 0 where it may go down to the oldest one.
func (l *listing) reach(c *conn, before int64, most int) (edge int64, err error) {
	if !l.narrow {
		return 0, nil
	}
	args := append([]any{before, int64(most)}, l.edgeArgs...)
	_, err = c.one(l.edge, func(r row) error { edge = r.int(0); return nil }, args...)
	return edge, err
}
