package stepwell

// Streams: what a run says while it goes on. Steps write to them, and so does workflow code; see stream_read.go for those who read.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/stepwell/stepwell/internal/codec"
	"github.com/stepwell/stepwell/internal/engine"
	"github.com/stepwell/stepwell/internal/kit"
	"github.com/stepwell/stepwell/internal/replay"
	"github.com/stepwell/stepwell/world"
)

// ErrStreamClosed: the stream was closed; nothing was written to it.
var ErrStreamClosed = world.ErrStreamClosed

// StreamWriter writes to one stream of a run from the body of a step: see [Stream]. It is safe for concurrent use.
type StreamWriter[T any] struct {
	name  string
	s     *engine.Stream
	fault error
	kept  []engine.Earlier // what Written found
	read  bool
}

// Stream opens a stream of the run that a step belongs to, with the context that its body was given. A run has any number of streams, each under
// a name, that of a step: 1 to 256 bytes of printable UTF-8; several steps may write to one, at once too. What is wrong with the name or the
// context shows at the first use.
//
// What is written is durable, and visible to readers (see [App.ReadStream]), while the step runs: some 10 ms later, or after [StreamWriter.Flush].
// The rest is committed with the end of the attempt, so that a step that writes little, or does not take long, costs nothing more for it.
//
// An attempt after the first starts over: with the first thing that it writes, what earlier attempts of the step wrote to that stream is void, and
// readers are told so by a [StreamChunk] that is a reset. An attempt that can go on where the last one stood says so with [StreamWriter.Keep].
func Stream[T any](ctx context.Context, name string) *StreamWriter[T] {
	s, err := engine.OpenStream(ctx, name)
	if err != nil {
		err = fmt.Errorf("stream %q: %w", name, err)
	}
	return &StreamWriter[T]{name: name, s: s, fault: err}
}

// check is what is wrong with the writer, or what its context is for.
func (w *StreamWriter[T]) check() error {
	if w == nil || w.s == nil && w.fault == nil {
		return kit.Missing("the stream")
	}
	return w.fault
}

// Write adds a chunk, as JSON of 1 MiB at most. It returns at once, unless 2 MiB of the stream wait to be stored: then it waits as well.
//
// Errors: [ErrTooLarge] and encoding errors, after which the next chunk may be written; all others are final: [ErrStreamClosed] after a Close,
// [ErrLeaseLost] where the step runs elsewhere by now, the cause of the step's context where that ended while Write waited. A step that returns a
// value though chunks could not be written fails with that error.
func (w *StreamWriter[T]) Write(chunk T) error {
	if err := w.check(); err != nil {
		return err
	}
	b, err := sent(&chunk, w.s.Limit())
	if err != nil {
		return fmt.Errorf("stream %q: chunk: %w", w.name, err)
	}
	return w.s.Write(b)
}

// Flush returns when all that was written is durable and visible to readers, but for the end that Close says: that comes with the end of the step.
func (w *StreamWriter[T]) Flush() error {
	if err := w.check(); err != nil {
		return err
	}
	return w.s.Flush()
}

// Close ends the stream: readers come to its end, and nothing more can be written. The mark becomes durable with the end of the step, and readers
// come to it then; an attempt that fails has closed nothing. A stream need not be closed: its readers come to the end with that of the run.
func (w *StreamWriter[T]) Close() error {
	if err := w.check(); err != nil {
		return err
	}
	return w.s.Close(nil)
}

// CloseWithError is Close for a stream that ends before it is complete: readers get the error, as a [*StreamError]. It stands where the step
// fails for good. nil is Close.
func (w *StreamWriter[T]) CloseWithError(err error) error {
	if err := w.check(); err != nil {
		return err
	}
	return w.s.Close(err)
}

// Written returns what earlier attempts of this step wrote to the stream, and stands; nothing in the first attempt, which costs nothing then.
func (w *StreamWriter[T]) Written() ([]T, error) {
	if err := w.check(); err != nil {
		return nil, err
	}
	if !w.read {
		var err error
		if w.kept, err = w.s.Earlier(); err != nil {
			return nil, err
		}
		w.read = true
	}
	values := make([]T, len(w.kept))
	for i, c := range w.kept {
		if err := codec.Decode(c.Value, &values[i]); err != nil {
			return nil, fmt.Errorf("stream %q: chunk %d: %w", w.name, c.Index, err)
		}
	}
	return values, nil
}

// Keep lets this attempt go on behind the first n chunks of what [StreamWriter.Written] returns; where there were more, they are void with the first thing
// that it writes. It must be called before that.
func (w *StreamWriter[T]) Keep(n int) error {
	if _, err := w.Written(); err != nil {
		return err
	}
	switch {
	case n < 0 || n > len(w.kept):
		return fmt.Errorf("%w: stream %q: earlier attempts wrote %d chunks: cannot keep %d", ErrInvalid, w.name, len(w.kept), n)
	case n == 0:
		return w.s.Keep(0)
	}
	return w.s.Keep(w.kept[n-1].Index + 1)
}

// WriteStream adds a chunk to a stream of the run from workflow code. It returns at once; the chunk is part of the run's next commit, together with its record
// in the log. So it is written once, however often the code runs again, and costs no commit of its own. Larger or many chunks are better
// written by a step.
//
// Errors: [ErrInvalid] for a bad name, [ErrTooLarge], encoding errors, [ErrCancelled] when the run is cancelled. What is written behind a Close is dropped.
func WriteStream[T any](ctx Context, name string, chunk T) error {
	b, err := outgoing(ctx, &chunk, min(ctx.x.MaxPayload(), world.MaxChunk), world.KindStream, name)
	if err != nil {
		return fmt.Errorf("stream %q: chunk: %w", name, err)
	}
	return askStream(ctx, name, &engine.StreamSpec{Chunk: json.RawMessage(b)})
}

// CloseStream ends a stream of the run from workflow code: see [WriteStream] and [StreamWriter.Close].
func CloseStream(ctx Context, name string) error { return askStream(ctx, name, &engine.StreamSpec{}) }

func askStream(ctx Context, name string, spec *engine.StreamSpec) error {
	err := world.CheckName("stream name", name)
	if err == nil {
		err = record(ctx, world.KindStream, name, nil, spec)
	}
	return err
}

// record asks for the record of something that is done with the commit that holds it.
func record(ctx Context, kind world.Kind, name string, input []byte, spec any) error {
	err := ctx.x.Record(kind, name, input, spec)
	if errors.Is(err, replay.ErrCancelled) {
		return ErrCancelled
	}
	return err
}
