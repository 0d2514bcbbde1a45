package world

import "fmt"

// What a list of runs is filtered by beside its columns: the run that they were made of, the input and the attributes.

// Filtered reports whether the query asks for an input or for attributes. A page then looks at a bounded number of runs, and may be short, even
// empty, and have a cursor.
func (q *RunQuery) Filtered() bool { return len(q.Input)+len(q.Attributes) > 0 }

// Holds reports whether a run has the parent, the origin, the input and the attributes that the query asks for. A run with the attributes whose input nobody can look into, as
// it is encrypted, is [ErrInvalid]: to leave it out would be an answer that is wrong. Of one that is damaged nobody knows.
func (q *RunQuery) Holds(r *Run) (bool, error) {
	if q.Parent != "" && (r.Parent == nil || r.Parent.Run != q.Parent) || q.Origin != "" && (r.Origin == nil || r.Origin.Run != q.Origin) {
		return false, nil
	}
	for name, pattern := range q.Attributes {
		if v, ok := r.Attributes[name]; !ok || !Contains(v, pattern) {
			return false, nil
		}
	}
	if len(q.Input) > 0 && r.Encryption != "" && r.Damage == "" {
		return false, fmt.Errorf("%w: run %s is encrypted, so runs cannot be filtered by input: filter by attributes", ErrInvalid, r.ID)
	}
	for _, pattern := range q.Input {
		if !Contains(r.Input, pattern) {
			return false, nil
		}
	}
	return true, nil
}
