package world

// What a list of runs is filtered by beside its columns: the input and the attributes.

// Filtered reports whether the query asks for an input or for attributes. A page then looks at a bounded number of runs, and may be short, even
// empty, and have a cursor.
func (q *RunQuery) Filtered() bool { return len(q.Input)+len(q.Attributes) > 0 }

// Holds reports whether a run has the input and the attributes that the query asks for.
func (q *RunQuery) Holds(r *Run) bool {
	for name, pattern := range q.Attributes {
		if v, ok := r.Attributes[name]; !ok || !Contains(v, pattern) {
			return false
		}
	}
	for _, pattern := range q.Input {
		if !Contains(r.Input, pattern) {
			return false
		}
	}
	return true
}
