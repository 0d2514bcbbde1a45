package postgres

// How a list finds what was made of one run.

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
	var workflow *string
	if q.Workflow != "" {
		workflow = &q.Workflow
	}
	l.args, l.edgeArgs = []any{of, workflow}, []any{of}
	both := q.Parent != "" && q.Origin != ""
	l.narrow = len(q.Status) > 0 || q.Workflow != ""
	l.exact = !q.Filtered() && !both && !ofRow(q)
	return l, of != ""
}
