package sqlite

// This file says which rows a list of runs is read from: by the shortest way, and a bounded number at a time.

import (
	"slices"

	"github.com/stepwell/stepwell/world"
)

var (
	listRuns           = load("list_runs")
	listWorkflowRuns   = load("list_workflow_runs")
	listLiveRuns       = load("list_live_runs")
	edgeOfRuns         = load("edge_of_runs")
	edgeOfWorkflowRuns = load("edge_of_workflow_runs")
	edgeOfLiveRuns     = load("edge_of_live_runs")
	fewerLive          = load("fewer_live")
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

// way finds it, for a page of runs before a key. Those that are not over are in the queue, which holds nobody else; where it holds more than there are
// of the workflow that is asked for, as with many that sleep, the workflow's own index is shorter.
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
	from, until := microBounds(q)
	l := listing{narrow: narrowed(q)}
	if live, err := byQueue(c, q); err != nil {
		return listing{}, err
	} else if live {
		l.list, l.edge = listLiveRuns, edgeOfLiveRuns
		l.args = append([]any{wanted(q, world.Pending, int64(0)), wanted(q, world.Running, int64(1)), orNull(q.Workflow), from, until}, ofRow(q)...)
		return l, nil
	}
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

// onlyLive reports whether runs that are over are not asked for.
func onlyLive(q *world.RunQuery) bool {
	stored := q.Stored()
	return len(stored) > 0 && !slices.ContainsFunc(stored, world.Status.Terminal)
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

// byQueue reports whether the queue is where to look.
func byQueue(c *conn, q *world.RunQuery) (yes bool, err error) {
	if !onlyLive(q) {
		return false, nil
	}
	if q.Workflow == "" {
		return true, nil
	}
	_, err = c.one(fewerLive, func(r row) error { yes = r.bool(0); return nil }, q.Workflow)
	return yes, err
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
