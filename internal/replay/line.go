package replay

import "slices"

// line is a first-in, first-out list that things are also taken out of the middle of: whatever is gone is skipped, and swept out now and
// then, so that taking costs the same however long the line is.
type line[T interface{ gone() bool }] struct {
	items []T
	head  int // nothing before it is left
	dead  int // gone, at or behind head
}

func (l *line[T]) add(v T) { l.items = append(l.items, v) }

// first returns the first that is left.
func (l *line[T]) first() (v T, ok bool) {
	if l.head == len(l.items) {
		return v, false
	}
	return l.items[l.head], true
}

// dropped says that one of the line is gone.
func (l *line[T]) dropped() {
	l.dead++
	var zero T
	for l.head < len(l.items) && l.items[l.head].gone() {
		l.items[l.head] = zero
		l.head++
		l.dead--
	}
	switch {
	case l.head == len(l.items):
		l.items, l.head = l.items[:0], 0
	case l.head+l.dead > 32 && l.head+l.dead > len(l.items)/2:
		left := l.items[l.head:]
		n := copy(l.items, left)
		clear(l.items[n:])
		l.items = slices.DeleteFunc(l.items[:n], func(v T) bool { return v.gone() })
		l.head, l.dead = 0, 0
	}
}
