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

// ErrStreamClosed means that the stream is closed. Nothing was written to it.
var ErrStreamClosed = world.ErrStreamClosed

// StreamWriter writes to one stream of a run from the body of a step: see [Stream]. It is safe for
// concurrent use.
type StreamWriter[T any] struct {
	name  string
	s     *engine.Stream
	fault error
	kept  []engine.Earlier // what Written found
	read  bool
}

// Stream opens a stream of the step's run, with the context of the step's body. A run may have any
// number of streams; several steps may write to one, also at once. A name has 1 to 256 bytes of
// printable UTF-8. The first use reports a bad name or context.
//
// Chunks are durable and visible to readers (see [App.ReadStream]) about 10 ms after they were
// written, or after [StreamWriter.Flush]. The last ones are committed with the end of the attempt,
// so a short step costs no extra commit.
//
// Each further attempt starts over: its first write discards the step's earlier chunks in that
// stream, and readers get a [StreamChunk] with Reset. [StreamWriter.Keep] continues after earlier
// chunks instead.
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

// Write adds a chunk, as JSON of at most 1 MiB (or [Config].MaxPayload, if lower). It returns at
// once, unless 2 MiB of the stream wait to be stored.
//
// After [ErrTooLarge] and encoding errors you may write the next chunk. Other errors are final:
// [ErrStreamClosed] after a Close, [ErrLeaseLost] if the step now runs elsewhere, the cause of the
// step's context if that ended while Write waited. If chunks could not be written, a step that
// returns a value fails with that error.
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

// Flush returns once all written chunks are durable and visible to readers. It does not make a
// Close visible: that happens with the end of the step.
func (w *StreamWriter[T]) Flush() error {
	if err := w.check(); err != nil {
		return err
	}
	return w.s.Flush()
}

// Close ends the stream: nothing more can be written. Readers see the end once the step has ended;
// a failed attempt closes nothing. You need not close a stream: it ends with its run.
func (w *StreamWriter[T]) Close() error {
	if err := w.check(); err != nil {
		return err
	}
	return w.s.Close(nil)
}

// CloseWithError is Close for an incomplete stream: readers get the error as a [*StreamError].
// Unlike Close, it also takes effect if the step fails for good. CloseWithError(nil) is Close.
func (w *StreamWriter[T]) CloseWithError(err error) error {
	if err := w.check(); err != nil {
		return err
	}
	return w.s.Close(err)
}

// Written returns the chunks that earlier attempts of this step wrote to the stream. In the first
// attempt it returns none, at no cost.
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

// Keep makes this attempt continue after the first n chunks of [StreamWriter.Written]. The first
// write discards the others. Call Keep before it.
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

// WriteStream adds a chunk to a stream of the run from workflow code. It returns at once. The chunk
// is part of the run's next commit, with its record in the log. So it is written exactly once, and
// costs no commit of its own. Write large or many chunks from a step: see [Stream].
//
// Chunks after a close are dropped. Errors: [ErrInvalid] for a bad name, [ErrTooLarge], encoding
// errors, [ErrCancelled] if the run is cancelled.
func WriteStream[T any](ctx Context, name string, chunk T) error {
	b, err := outgoing(ctx, &chunk, min(ctx.x.MaxPayload(), world.MaxChunk), world.KindStream, name)
	if err != nil {
		return fmt.Errorf("stream %q: chunk: %w", name, err)
	}
	return askStream(ctx, name, &engine.StreamSpec{Chunk: json.RawMessage(b)})
}

// CloseStream ends a stream of the run from workflow code: see [WriteStream] and
// [StreamWriter.Close].
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
