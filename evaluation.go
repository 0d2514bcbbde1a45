package stepwell

// What one evaluation of a run's code keeps beside the machine.

import (
	"github.com/stepwell/stepwell/internal/engine"
	"github.com/stepwell/stepwell/internal/replay"
)

// local is what is kept; each evaluation has its own.
type local struct {
	undos    []*undo             // the stack of undo functions; nil: there never were any
	added    int                 // how many were put on it
	undoing  *replay.Future      // what runs some of them, or did last; nil: nothing has
	answered map[string]struct{} // requests of webhooks that were answered, by where their answers go
	read     int                 // bytes of large values that the code was given, each time
}

// localOf is nil on a foreign goroutine: the run is blocked for that.
func localOf(ctx Context) *local {
	at := ctx.x.Local()
	if at == nil {
		return nil
	}
	l, _ := (*at).(*local)
	if l == nil {
		l = &local{}
		*at = l
	}
	return l
}

// answer writes the answer to a request, the one chunk of a stream.
func answer(ctx Context, stream string, chunk []byte) error {
	kept := localOf(ctx)
	if kept == nil {
		return ctx.x.Refusal()
	}
	if _, ok := kept.answered[stream]; ok {
		return ErrAnswered
	}
	if err := askStream(ctx, stream, &engine.StreamSpec{Chunk: chunk}); err != nil {
		return err
	}
	if kept.answered == nil {
		kept.answered = map[string]struct{}{}
	}
	kept.answered[stream] = struct{}{}
	return nil
}

// Holds is about how many bytes the code may hold of large values. It is for the estimate of what a kept
// run takes.
func (l *local) Holds() int { return l.read }

// Undos are the names of the undo functions that are on the stack, in that order. It is for the engine, where code cannot go on.
func (l *local) Undos() (names []string) {
	for _, u := range l.undos {
		names = append(names, u.name)
	}
	return names
}
