package engine

import "time"

// notes are what the Observer is to be told as soon as it is durable, in the order of the log. Without an Observer
// they stay empty.
type notes struct {
	list  []note
	began map[string]time.Time // when tasks began whose end is being appended, by step
}

// note is what is to be told as soon as an event is durable.
type note struct {
	seq  int64
	tell func()
}

// add notes what is to be told when an event is durable; nil: nothing.
func (n *notes) add(seq int64, tell func()) {
	if tell != nil {
		n.list = append(n.list, note{seq, tell})
	}
}

// some reports whether something is to be told.
func (n *notes) some() bool { return len(n.list) > 0 }

// tell tells what is durable up to an event.
func (n *notes) tell(durable int64, tell func(func())) {
	told := 0
	for told < len(n.list) && n.list[told].seq <= durable {
		tell(n.list[told].tell)
		told++
	}
	if told > 0 {
		n.list = append(n.list[:0], n.list[told:]...)
	}
}

// begins keeps when the first attempt of a task began.
func (n *notes) begins(step string, at time.Time) {
	if _, known := n.began[step]; known {
		return
	}
	if n.began == nil {
		n.began = map[string]time.Time{}
	}
	n.began[step] = at
}

// beginOf is when the first attempt of a task began; ok is false where that is not known.
func (n *notes) beginOf(step string) (at time.Time, ok bool) {
	at, ok = n.began[step]
	return at, ok
}

// ends forgets a task.
func (n *notes) ends(step string) { delete(n.began, step) }
