package world

import (
	"fmt"
	"strings"
)

// What a list of runs is filtered by.

// Filtered reports whether the query needs more than the list's columns: inputs, attributes, status
// words, or ID prefixes. Then each page examines a bounded number of runs, and may be short, or
// empty, and still have a cursor.
func (q *RunQuery) Filtered() bool {
	return len(q.Input)+len(q.Attributes) > 0 || q.Prefix != "" || q.words()
}

// Fits reports whether the row of a run matches the query, without its attributes and its input:
// see [RunQuery.Holds].
func (q *RunQuery) Fits(r *Run) bool {
	return (q.Workflow == "" || r.Workflow == q.Workflow) &&
		(q.Since.IsZero() || !r.CreatedAt.Before(q.Since)) && (q.Until.IsZero() || r.CreatedAt.Before(q.Until)) &&
		(q.Key == "" || r.Key == q.Key || r.Merged) && strings.HasPrefix(r.ID, q.Prefix) && (q.Version == 0 || r.Version == q.Version) &&
		(!q.Roots || r.Parent == nil) && (q.Parent == "" || r.Parent != nil && r.Parent.Run == q.Parent) && q.stands(r)
}

// Holds reports whether a run matches the query's origin, input and attributes. It returns
// [ErrInvalid] for a run with matching attributes whose encrypted input cannot be read, because
// leaving it out could be wrong. A damaged run is compared by what can be read of it. A run whose
// input is stored apart may match: the caller reads the value and checks it.
func (q *RunQuery) Holds(r *Run) (bool, error) {
	if !q.Fits(r) || q.Origin != "" && (r.Origin == nil || r.Origin.Run != q.Origin) {
		return false, nil
	}
	for name, pattern := range q.Attributes {
		if v, ok := r.Attributes[name]; !ok || !Contains(v, pattern) {
			return false, nil
		}
	}
	if len(q.Input) > 0 && r.Encryption != "" && r.Damage == "" {
		return false, fmt.Errorf("%w: run %s is encrypted, so you cannot filter runs by input: filter by attributes", ErrInvalid, r.ID)
	}
	if WholeApart(r.InputApart) != "" {
		return true, nil
	}
	for _, pattern := range q.Input {
		if !Contains(r.Input, pattern) {
			return false, nil
		}
	}
	return true, nil
}
