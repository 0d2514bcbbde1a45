package replay

import "slices"

// line is a first-in, first-out list that things are also taken out of the middle of: whatever is gone is skipped, and swept out now and
// then, so that taking costs the same however long the line is.
type line[T interface{ gone() bool }] struct {
	items []T
	from  int // nothing before it is left
	dead  int // gone, at or behind head
}

func (l *line[T]) add(v T) { l.items = append(l.items, v) }

// first returns the first that is left.
func (l *line[T]) first() (v T, ok bool) {
	if l.from == len(l.items) {
		return v, false
	}
	return l.items[l.from], true
}

// dropped says that one of the line is gone.
func (l *line[T]) dropped() {
	l.dead++
	var zero T
	for l.from < len(l.items) && l.items[l.from].gone() {
		l.items[l.from] = zero
		l.from++
		l.dead--
	}
	switch {
	case l.from == len(l.items):
		l.items, l.from = l.items[:0], 0
	case l.from+l.dead > 32 && l.from+l.dead > len(l.items)/2:
		left := l.items[l.from:]
		n := copy(l.items, left)
		clear(l.items[n:])
		l.items = slices.DeleteFunc(l.items[:n], func(v T) bool { return v.gone() })
		l.from, l.dead = 0, 0
	}
}
