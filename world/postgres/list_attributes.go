package postgres

// How a list that asks for attributes finds the few that have them among many that have not.

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/rules"
)

var (
	listAttributeRuns   = load("list_attribute_runs")
	edgeOfAttributeRuns = load("edge_of_attribute_runs")
	fewAttributeRuns    = load("few_attribute_runs")
	fewWorkflowRuns     = load("few_workflow_runs")
)

// few is how many runs a page may look at: a way with no more of them ahead is short enough.
const few = rules.MostListed

// listing is one page's way through the database: a statement that yields runs, newest first, but for most of those that do not match, and one that says
// how far the page may look.
type listing struct {
	list, edge *statement
	args       []any // of list, behind the places, the statuses and the limit
	edgeArgs   []any // of edge, behind the places and how many
	narrow     bool  // rows are left out: nobody knows how many it passes over
	exact      bool  // hardly any row that it yields does not match

	merged map[int64]bool // runs that were given the input of the start whose key is asked for
}

// way finds it, for the runs between two places.
func (rd *reader) way(ctx context.Context, q *world.RunQuery, before, from rank) (listing, error) {
	if l, ok, err := byPick(ctx, rd, q); ok || err != nil {
		return l, err
	}
	if l, ok := byRelative(q); ok {
		return l, nil
	}
	if len(q.Attributes) > 0 {
		if l, ok, err := rd.byAttribute(ctx, q, before, from); ok || err != nil {
			return l, err
		}
	}
	if l, ok, err := rd.byStanding(ctx, q); ok || err != nil {
		return l, err
	}
	l := listing{list: listRuns, edge: edgeOfRuns, narrow: len(q.Status) > 0 || ofRow(q), exact: !q.Filtered()}
	if q.Workflow != "" {
		l.list, l.edge = listWorkflowRuns, edgeOfWorkflowRuns
		l.args, l.edgeArgs = []any{q.Workflow}, []any{q.Workflow}
	}
	l.args = append(l.args, q.Roots, q.Version)
	return l, nil
}

// standings are runs that have an index of their own: those that are not over, and those that ended and did not complete.
var standings = []struct {
	all        []world.Status
	list, edge *statement
}{
	{[]world.Status{world.Pending, world.Running}, load("list_live_runs"), load("edge_of_live_runs")},
	{[]world.Status{world.Failed, world.Cancelled}, load("list_failed_runs"), load("edge_of_failed_runs")},
}

var fewerStand = load("fewer_stand")

// byStanding finds the way by how the runs stand that are asked for. It is no way where there are more of them than of the workflow
// that is asked for.
func (rd *reader) byStanding(ctx context.Context, q *world.RunQuery) (l listing, ok bool, err error) {
	stored := q.Stored()
	for _, s := range standings {
		if len(stored) == 0 || slices.ContainsFunc(stored, func(is world.Status) bool { return !slices.Contains(s.all, is) }) {
			continue
		}
		var workflow *string
		if ok = true; q.Workflow != "" {
			workflow = &q.Workflow
			if err = rd.read(ctx, fewerStand, func(row pgx.Rows) error { return row.Scan(&ok) }, q.Workflow, statusTexts(s.all)); err != nil {
				return l, false, err
			}
		}
		return listing{list: s.list, edge: s.edge, narrow: true, args: []any{workflow, q.Roots, q.Version}}, ok, nil
	}
	return l, false, nil
}

// ofRow reports whether a query leaves out children, or other versions.
func ofRow(q *world.RunQuery) bool { return q.Roots || q.Version != 0 }

// scalar reports whether all values with a key are equal, but for some that are large.
func scalar(key string) bool { return key != "o" && key != "a" && key != "n" && key != "s" }

// byAttribute finds the way by one of the attributes that are asked for: that which fewest have; where many have each, that which the fewest of
// the newest have. It is no way where many have it and few runs are of the workflow that is asked for.
func (rd *reader) byAttribute(ctx context.Context, q *world.RunQuery, before, from rank) (l listing, ok bool, err error) {
	var n int64
	var since time.Time
	for _, name := range slices.Sorted(maps.Keys(q.Attributes)) {
		args := []any{clean(name), world.AttributeKey(q.Attributes[name])}
		if err := rd.read(ctx, fewAttributeRuns, func(row pgx.Rows) error {
			var runs int64
			var created *time.Time
			if err := row.Scan(&runs, &created); err != nil {
				return err
			}
			if !ok || runs < n || runs == n && at(created).Before(since) {
				ok, n, since, l.edgeArgs = true, runs, at(created), args
			}
			return nil
		}, append([]any{before.created, before.key, from.created, from.key, few + 1}, args...)...); err != nil {
			return l, false, err
		}
	}
	if n > few && q.Workflow != "" {
		shorter := false
		if err := rd.read(ctx, fewWorkflowRuns, func(row pgx.Rows) error {
			var runs int64
			err := row.Scan(&runs)
			shorter = runs <= few
			return err
		}, before.created, before.key, from.created, from.key, few+1, q.Workflow); shorter || err != nil {
			return l, false, err
		}
	}
	l.list, l.edge, l.narrow = listAttributeRuns, edgeOfAttributeRuns, n > few && (len(q.Status) > 0 || q.Workflow != "")
	var workflow *string
	if q.Workflow != "" {
		workflow = &q.Workflow
	}
	l.args = append(slices.Clone(l.edgeArgs), workflow)
	rest := *q
	rest.Attributes = nil
	l.exact = len(q.Attributes) == 1 && !rest.Filtered() && !ofRow(q) && scalar(l.edgeArgs[1].(string))
	return l, true, nil
}
