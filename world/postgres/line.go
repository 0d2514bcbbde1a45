package postgres

import (
	"context"
	"runtime"

	"github.com/stepwell/stepwell/world"
)

// line is where requests wait that are written with others.
//
//   - What is put in is taken out and answered, also while the World is being closed: whoever takes out goes on to the
//     end.
//   - Nothing is put in once the World is closed.
type line[R any] struct {
	db      *database
	waiting chan R // up to maxGroup
}

func (l *line[R]) init(db *database) { l.db, l.waiting = db, make(chan R, maxGroup) }

// put puts a request in, and waits until it is answered.
func (l *line[R]) put(ctx context.Context, r R, answered <-chan struct{}) error {
	l.db.gate.RLock()
	if l.db.closed {
		l.db.gate.RUnlock()
		return world.ErrClosed
	}
	l.waiting <- r
	l.db.gate.RUnlock()
	select {
	case <-answered:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx) // the request is the writer's now
	}
}

// out is where requests are taken out, until the World is closed and none is left.
func (l *line[R]) out() <-chan R { return l.waiting }

// close lets those who take out come to the end. The World is closed: nobody puts anything in.
func (l *line[R]) close() { close(l.waiting) }

// gather takes what has arrived behind a first request, as long as there is room in a group; bytes is what one brings.
// Those that the last group woke get the processor first: what they send belongs to this group. Where fits says of one
// that it does not belong to it, that is the next group's first.
func (l *line[R]) gather(batch []R, first R, bytes func(R) int, fits func(R) bool) (group []R, next R, some bool) {
	batch = append(batch, first)
	size := bytes(first)
	runtime.Gosched()
	for len(batch) < maxGroup && size < maxGroupBytes {
		select {
		case r, ok := <-l.waiting:
			switch {
			case !ok:
				return batch, next, false
			case fits != nil && !fits(r):
				return batch, r, true
			}
			batch = append(batch, r)
			size += bytes(r)
		default:
			return batch, next, false
		}
	}
	return batch, next, false
}
