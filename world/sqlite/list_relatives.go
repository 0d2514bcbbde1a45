package sqlite

// This file says how a list finds what was made of one run.

import "github.com/stepwell/stepwell/world"

var (
	listChildRuns   = load("list_child_runs")
	edgeOfChildRuns = load("edge_of_child_runs")
	listMadeRuns    = load("list_made_runs")
	edgeOfMadeRuns  = load("edge_of_made_runs")
)

// byRelative is the way by the run that others were made of, if the query names one.
func byRelative(q *world.RunQuery) (l listing, ok bool) {
	of := q.Origin
	l.list, l.edge = listMadeRuns, edgeOfMadeRuns
	if of == "" { // where both are asked for, few have that origin
		of = q.Parent
		l.list, l.edge = listChildRuns, edgeOfChildRuns
	}
	from, until := microBounds(q)
	l.args, l.edgeArgs = append(overArgs(q, from, until), of, orNull(q.Workflow)), []any{of}
	l.narrow = narrowed(q) || q.Workflow != ""
	return l, of != ""
}
