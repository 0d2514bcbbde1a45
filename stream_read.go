package stepwell

// Reading streams, from any chunk on and while they grow.

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"time"

	"github.com/stepwell/stepwell/internal/codec"
	"github.com/stepwell/stepwell/internal/kit"
	"github.com/stepwell/stepwell/world"
)

// StreamChunk is a chunk, or a notice, that a reader of a stream gets.
type StreamChunk[T any] struct {
	Index   int64     `json:"index"`             // to continue later, read from Index + 1
	Step    string    `json:"step,omitempty"`    // ID of the step that wrote it; "": workflow code
	Attempt int       `json:"attempt,omitempty"` // attempt of that step
	Time    time.Time `json:"time"`              // when its batch was stored
	Value   T         `json:"value,omitempty"`   // the chunk; the zero value with Reset
	// Reset means that chunks of earlier attempts of Step, from index From on, are discarded. There
	// is no Value.
	Reset bool  `json:"reset,omitempty"`
	From  int64 `json:"from,omitempty"` // first discarded index, with Reset
	// Trimmed means that chunks before Index, which the reader has not seen, were deleted with
	// segments of the run: see [KeepSegments].
	Trimmed bool `json:"trimmed,omitempty"`
}

// StreamError ends an incomplete stream: its writer closed it with an error, or its run failed or
// was cancelled before the stream was closed.
type StreamError struct {
	Run, Stream string // run ID, and name of the stream
	Index       int64  // of the closing mark, or of the chunk that never came
	Message     string // why the stream is incomplete
	Code        string // code of the error of the writer, or of the run; "": none
	err         error
}

func (e *StreamError) Error() string {
	return fmt.Sprintf("stream %q of run %s: %s", e.Stream, e.Run, e.Message)
}

// Unwrap returns the error of the writer, or of the run, with its causes.
func (e *StreamError) Unwrap() error { return e.err }

// StreamInfo describes one stream of a run.
type StreamInfo struct {
	Name   string          `json:"name"`             // as given to Stream or WriteStream
	Next   int64           `json:"next"`             // index of the next chunk
	Closed world.ChunkKind `json:"closed,omitempty"` // how it was closed; "": it is open
	At     time.Time       `json:"at"`               // time of the last chunk
}

// Streams returns the streams of a run, by name, without those of [Heartbeat].
func (a *App) Streams(ctx context.Context, run string) ([]StreamInfo, error) {
	if _, err := a.Get(ctx, run); err != nil {
		return nil, err
	}
	rows, err := a.world.StreamsOf(ctx, run)
	if err != nil {
		return nil, fmt.Errorf("streams of run %s: %w", run, err)
	}
	var list []StreamInfo
	for _, row := range rows {
		if world.ProgressOf(row.Name) == "" {
			list = append(list, StreamInfo(row))
		}
	}
	return list, nil
}

// ReadStream yields the chunks of a run's stream from an index on (0: all), each once and in order,
// and then follows new chunks. It waits for a stream that does not exist yet. It ends when the
// stream is closed or its run has completed. It ends with a [*StreamError] if the stream was closed
// with an error or its run did not complete, and with the error of ctx.
//
// To continue later, also in another process, read from the last chunk's Index + 1: nothing is
// missed or repeated. Indexes grow, but may have gaps, because a later attempt of a step discards
// the step's earlier chunks. A reader that has seen discarded chunks gets a chunk with Reset. If
// chunks were deleted with their segment, the first chunk after them has Trimmed.
func (a *App) ReadStream(ctx context.Context, run, name string, from int64) iter.Seq2[StreamChunk[json.RawMessage], error] {
	return func(yield func(StreamChunk[json.RawMessage], error) bool) {
		r := streamReader{app: a, run: run, name: name, q: world.ChunkQuery{From: from}}
		defer func() { r.stop() }()
		for {
			page, err := r.page(ctx)
			if err != nil {
				yield(StreamChunk[json.RawMessage]{}, err)
				return
			}
			for i := range page.Chunks {
				c := &page.Chunks[i]
				if c.Kind.Closes() {
					if c.Error != nil {
						yield(StreamChunk[json.RawMessage]{}, r.failed(c.Index, c.Error, "closed with an error: "+c.Error.Message))
					}
					return
				}
				if !r.concerns(c) {
					continue
				}
				out := rawChunk(c)
				out.Trimmed, r.trimmed = r.trimmed, false
				if !yield(out, nil) {
					return
				}
			}
			if page.More {
				continue
			}
			if page.Over {
				if err := r.cut(ctx, page.Next); err != nil {
					yield(StreamChunk[json.RawMessage]{}, err)
				}
				return
			}
			if err := r.wait(ctx); err != nil {
				yield(StreamChunk[json.RawMessage]{}, err)
				return
			}
		}
	}
}

// ReadStream is [App.ReadStream] for chunks of a type.
func ReadStream[T any](ctx context.Context, app *App, run, name string, from int64) iter.Seq2[StreamChunk[T], error] {
	return func(yield func(StreamChunk[T], error) bool) {
		if app == nil {
			yield(StreamChunk[T]{}, kit.Missing("read a stream: the App"))
			return
		}
		for c, err := range app.ReadStream(ctx, run, name, from) {
			typed := StreamChunk[T]{Index: c.Index, Step: c.Step, Attempt: c.Attempt, Time: c.Time, Reset: c.Reset, From: c.From, Trimmed: c.Trimmed}
			if err == nil && !c.Reset {
				if err = codec.Decode(c.Value, &typed.Value); err != nil {
					err = fmt.Errorf("stream %q of run %s: chunk %d: %w", name, run, c.Index, err)
				}
			}
			if !yield(typed, err) || err != nil {
				return
			}
		}
	}
}

func rawChunk(c *world.Chunk) StreamChunk[json.RawMessage] {
	out := StreamChunk[json.RawMessage]{Index: c.Index, Step: c.Step, Attempt: c.Attempt, Time: c.Time, Value: c.Value}
	if c.Kind == world.ChunkReset {
		out.Reset, out.From = true, *c.From
	}
	return out
}

// Bounds of the time between looks at a stream that is not told of.
const (
	firstLook   = 10 * time.Millisecond
	longestLook = time.Second
)

// streamReader reads one stream.
type streamReader struct {
	app       *App
	run, name string
	q         world.ChunkQuery
	news      chan struct{} // holds one token when the stream may have grown; nil: nobody listens yet
	stopNews  func()
	poll      time.Duration // until the next look, if nothing is told
	quick     time.Duration // and behind a chunk
	trimmed   bool          // what is before the next chunk is gone

	resets map[string]int64 // from where the last reset of a step was, if nothing of that has come since
}

// concerns reports whether a chunk says something to this reader: not a second reset with nothing between, of what was gone before it could be read.
func (r *streamReader) concerns(c *world.Chunk) bool {
	if c.Kind != world.ChunkReset {
		delete(r.resets, c.Step)
		return true
	}
	if before, ok := r.resets[c.Step]; ok && *c.From >= before {
		return false
	}
	if r.resets == nil {
		r.resets = map[string]int64{}
	}
	r.resets[c.Step] = *c.From
	return true
}

// page reads the next page.
func (r *streamReader) page(ctx context.Context) (world.ChunkPage, error) {
	page, err := r.app.world.Chunks(ctx, r.run, r.name, r.q)
	if err == nil {
		err = r.app.readableStream(ctx, r.run, page.Chunks)
	}
	if err != nil {
		return page, fmt.Errorf("stream %q of run %s: %w", r.name, r.run, err)
	}
	r.q.From, r.trimmed = page.Next, r.trimmed || page.First > 0
	if len(page.Chunks) > 0 {
		r.poll = r.quick
	}
	return page, nil
}

// wait returns when the stream may have grown, or its run may be over. The first time it returns at once, and the world is listened to from then on.
func (r *streamReader) wait(ctx context.Context) error {
	if r.news == nil {
		r.news, r.quick = make(chan struct{}, 1), firstLook
		r.stopNews = r.app.world.Notify(r.tell)
		if p := r.app.able.Poller; p != nil && p.Poll() > 0 {
			r.quick = longestLook
		}
		r.poll = r.quick
		return nil
	}
	t := time.NewTimer(r.poll)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return fmt.Errorf("stream %q of run %s: %w", r.name, r.run, context.Cause(ctx))
	case <-r.news:
	case <-t.C:
		r.poll = min(r.poll*3/2, longestLook)
	}
	return nil
}

func (r *streamReader) tell(n world.Notice) {
	if (n.Kind == world.NoticeStream || n.Kind == world.NoticeEnded) && (n.Run == r.run || n.Run == "") {
		select {
		case r.news <- struct{}{}:
		default:
		}
	}
}

func (r *streamReader) stop() {
	if r.stopNews != nil {
		r.stopNews()
	}
}

// cut says how a run ended whose stream nobody closed; nil: well.
func (r *streamReader) cut(ctx context.Context, next int64) error {
	info, err := r.app.Get(ctx, r.run)
	switch {
	case err != nil:
		return err
	case info.Status == world.Completed:
		return nil
	}
	return r.failed(next, info.Error, fmt.Sprintf("its run was %s before the stream was closed", info.Status))
}

func (r *streamReader) failed(index int64, rec *world.Error, why string) error {
	e := &StreamError{Run: r.run, Stream: r.name, Index: index, Message: why}
	if rec != nil {
		e.Code, e.err = rec.Code, codec.ToError(rec, r.app.errors)
	}
	return e
}
