package engine

// This file says why a run is blocked.

import (
	"errors"
	"strings"
	"time"

	"github.com/stepwell/stepwell/internal/replay"
	"github.com/stepwell/stepwell/world"
)

// failure is why a run is to be blocked, as soon as no body runs. The first one stands: what follows may come of it.
// Nothing is delivered to the code
// behind it.
type failure struct {
	err    error        // nil: none
	seq    int64        // number of the event that it is about; 0: of none
	before *world.Block // as the run was blocked when it was claimed
}

// some reports whether there is one.
func (f *failure) some() bool { return f.err != nil }

// cause is the failure as an error; nil: there is none.
func (f *failure) cause() error { return f.err }

// set notes a failure, unless there is one. A use of the workflow's Context by the body of a step is seen when it
// happens, and again when the body ends: only then is it known whose body it was.
func (f *failure) set(err error, seq int64) {
	if f.err == nil {
		f.err, f.seq = err, seq
	} else if first, ok := f.err.(*replay.ForeignError); ok && first.Step == "" {
		if ended, ok := err.(*replay.ForeignError); ok {
			f.err = ended
		}
	}
}

// was notes how the run was blocked when it was claimed.
func (f *failure) was(b *world.Block) { f.before = b }

// last is how the run was blocked when it was claimed; nil: it was not.
func (f *failure) last() *world.Block { return f.before }

// record is what the world is told of why the run cannot go on.
func (f *failure) record(err error, build string, now time.Time) *world.Block {
	b := BlockOf(err)
	if b.Since, b.Tries, b.Build = now, 1, build; b.Seq == 0 {
		b.Seq = f.seq
	}
	if f.before != nil {
		b.Tries = f.before.Tries + 1
		if f.before.Code == b.Code {
			b.Since = f.before.Since
		}
	}
	return &b
}

// thrown returns the error of ours that blocked a run by a panic of its code, and any other error as it is.
func thrown(err error) error {
	if p, ok := err.(*replay.PanicError); ok {
		if own, ok := p.Value.(*blockError); ok {
			return own
		}
	}
	return err
}

// BlockOf says what an error of a run's evaluation blocks it as: the code, the message and, where it is known, the
// event.
func BlockOf(err error) world.Block {
	err = thrown(err)
	b := world.Block{Code: world.CodeInternal, Message: err.Error()}
	var (
		panicked *replay.PanicError
		foreign  *replay.ForeignError
		diverged *replay.DivergedError
		blocking *blockError
	)
	switch {
	case errors.As(err, &diverged):
		b.Code, b.Seq = world.CodeDiverged, diverged.Seq
	case errors.As(err, &blocking):
		b.Code, b.Message, b.Step = blocking.code, blocking.Error(), blocking.step
	case errors.As(err, &panicked):
		b.Code, b.Message = world.CodePanic, headline(err.Error(), panicked.Stack)+"\n"+trimStack(panicked.Stack)
	case errors.As(err, &foreign):
		b.Code, b.Message = world.CodeForeign, err.Error()+"\n"+trimStack(foreign.Stack)
	case errors.Is(err, world.ErrNoKey):
		b.Code = world.CodeNoKey
	case errors.Is(err, world.ErrStorage):
		b.Code = world.CodeStorage
	case errors.Is(err, world.ErrFormat):
		b.Code = world.CodeFormat
	case errors.Is(err, world.ErrCorrupt):
		b.Code = world.CodeCorrupt
		var c *world.CorruptError
		if errors.As(err, &c) {
			b.Seq = c.Seq
		}
	}
	return b
}

// headline is a message whose first line names the first of the author's places in a stack.
func headline(message string, stack []byte) string {
	_, at := replay.AuthorsStack(stack)
	if at == "" {
		return message
	}
	first, rest, more := strings.Cut(message, "\n")
	if first += " (" + at + ")"; more {
		first += "\n" + rest
	}
	return first
}

// blockError blocks a run with a code of its own.
type blockError struct {
	code string
	err  error
	step string // correlation ID of what it is about; "": none
}

func (e *blockError) Error() string { return e.err.Error() }

// Unwrap returns what is behind it.
func (e *blockError) Unwrap() error { return e.err }

// Block makes an error that blocks the run of the workflow code that panics with it: see the root package's decoding.
func Block(code string, err error) error { return &blockError{code: code, err: err} }

// BlockOver is Block where what a step came to is the reason.
func BlockOver(f *replay.Future, code string, err error) error {
	b := &blockError{code: code, err: err}
	if op := f.Op(); op != nil {
		b.step = op.ID
	}
	return b
}

// blockBackoff is how long a blocked run rests: 1 s, doubled each time, at most a minute.
func blockBackoff(tries int) time.Duration {
	return min(time.Second<<min(max(tries-1, 0), 6), time.Minute)
}

// trimStack is the author's part of a stack, cut to what fits a screen.
func trimStack(b []byte) string {
	const limit = 2000
	text, _ := replay.AuthorsStack(b)
	if len(text) > limit {
		return strings.ToValidUTF8(text[:limit], "") + "…"
	}
	return text
}
