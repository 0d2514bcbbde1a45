package replay

import (
	"slices"

	"github.com/stepwell/stepwell/world"
)

// asked is what the code asked for and the log does not hold yet, in order. Records come in that order as a rule; where they do not, an index
// finds them, so that a record costs the same however many are asked for.
type asked struct {
	ops   []*Op // nil where one was recorded out of order
	from  int   // of ops: all before it are recorded
	holes int   // nil behind head
	index map[creation]int
}

// creation tells creations from one another: a wait's creation and its taking of a signal have the same ID.
type creation struct {
	t  world.EventType
	id string
}

// nearby is how far a record is looked for without the index.
const nearby = 8

func (a *asked) add(op *Op) {
	if a.index != nil {
		a.index[creation{op.Type, op.ID}] = len(a.ops)
	}
	a.ops = append(a.ops, op)
}

// list returns what is left.
func (a *asked) list() []*Op {
	if a.holes > 0 {
		a.ops = append(a.ops[:0], slices.DeleteFunc(a.ops[a.from:], func(op *Op) bool { return op == nil })...)
		a.from, a.holes, a.index = 0, 0, nil
	}
	return a.ops[a.from:]
}

// find returns the place of the operation that an event of the type and ID records, or -1.
func (a *asked) find(t world.EventType, id string) int {
	for i := a.from; i < len(a.ops) && i < a.from+nearby; i++ {
		if op := a.ops[i]; op != nil && op.ID == id && sameCreation(op.Type, t) {
			return i
		}
	}
	if len(a.ops) <= a.from+nearby {
		return -1
	}
	if a.index == nil {
		a.index = make(map[creation]int, len(a.ops)-a.from)
		for i, op := range a.ops[a.from:] {
			if op != nil {
				a.index[creation{op.Type, op.ID}] = a.from + i
			}
		}
	}
	if t == world.HookConflict {
		t = world.HookCreated
	}
	if i, ok := a.index[creation{t, id}]; ok {
		return i
	}
	return -1
}

// remove removes the operation at a place.
func (a *asked) remove(i int) *Op {
	op := a.ops[i]
	if a.index != nil {
		delete(a.index, creation{op.Type, op.ID})
	}
	a.ops[i] = nil
	a.holes++
	for a.from < len(a.ops) && a.ops[a.from] == nil {
		a.from++
		a.holes--
	}
	if a.from == len(a.ops) {
		a.ops, a.from, a.holes, a.index = a.ops[:0], 0, 0, nil
	}
	return op
}

// sameCreation reports whether an event of type e can record an op of type o.
func sameCreation(o, e world.EventType) bool {
	return o == e || o == world.HookCreated && e == world.HookConflict
}
