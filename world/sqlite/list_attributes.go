package sqlite

// This file says how a list that asks for attributes finds the few that have them among many that have not.

import (
	"maps"
	"slices"

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

// byAttribute finds the way by one of the attributes that are asked for: that which fewest have; where many have each, that which the fewest of
// the newest have. It is no way where many have it and few runs are of the workflow, or stand so, that is asked for.
func byAttribute(c *conn, q *world.RunQuery, before int64) (l listing, ok bool, err error) {
	var n, oldest int64
	for _, name := range slices.Sorted(maps.Keys(q.Attributes)) {
		value := world.AttributeKey(q.Attributes[name])
		if _, err := c.one(fewAttributeRuns, func(r row) error {
			if !ok || r.int(0) < n || r.int(0) == n && r.int(1) < oldest {
				ok, n, oldest = true, r.int(0), r.int(1)
				l.args, l.edgeArgs = []any{name, value}, []any{name, value}
			}
			return nil
		}, name, value, before, int64(few+1)); err != nil {
			return l, false, err
		}
	}
	if !ok {
		return l, false, nil
	}
	if n > few {
		if shorter, err := fewOthers(c, q, before); shorter || err != nil {
			return l, false, err
		}
	}
	from, until := microBounds(q)
	l.list, l.edge = listAttributeRuns, edgeOfAttributeRuns
	l.args = append(overArgs(q, from, until), l.args[0], l.args[1], orNull(q.Workflow))
	l.narrow = n > few && (narrowed(q) || q.Workflow != "")
	return l, true, nil
}

// fewOthers reports whether a way that knows nothing of attributes has few runs ahead.
func fewOthers(c *conn, q *world.RunQuery, before int64) (yes bool, err error) {
	count := func(r row) error { yes = r.int(0) <= few; return nil }
	if s := shortcutOf(q); s != nil {
		if _, err := c.one(s.few, count, before, int64(few+1)); yes || err != nil {
			return yes, err
		}
	}
	if q.Workflow != "" {
		_, err = c.one(fewWorkflowRuns, count, q.Workflow, before, int64(few+1))
	}
	return yes, err
}
