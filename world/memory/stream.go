// Streams: what steps and workflow code write while a run goes on, and others read.

package memory

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/stepwell/stepwell/world"
)

// stream is one stream of a run.
type stream struct {
	name   string
	chunks []chunk // in order; what was made void is not among them
	next   int64
	first  int64     // the first number that is left, where some were deleted with their segments; else 0
	at     time.Time // of the last chunk
}

type chunk struct {
	world.Chunk
	pos     int64
	segment int64 // number of the run_continued that began the segment in which it was written; 0: the first
}

// Append adds chunks to a stream; see [world.Streams].
func (w *World) Append(ctx context.Context, a *world.Append) (world.Appended, error) {
	if err := world.CheckAppend(a); err != nil {
		return world.Appended{}, err
	}
	if err := w.enter(ctx); err != nil {
		return world.Appended{}, err
	}
	done, err := w.appendChunks(a)
	w.mu.Unlock()
	if err == nil {
		w.listeners.Tell([]world.Notice{{Kind: world.NoticeStream, Run: a.Run}})
	}
	return done, err
}

func (w *World) appendChunks(a *world.Append) (done world.Appended, err error) {
	r := w.runs[a.Run]
	if !r.writes(a) {
		return done, fmt.Errorf("run %s: stream %q, written by worker %s: %w", a.Run, a.Stream, a.Worker, world.ErrLeaseLost)
	}
	s := r.stream(a.Stream)
	if a.Again || s.repeated(&a.StreamWrite) {
		if i := slices.IndexFunc(s.chunks, func(c chunk) bool {
			return c.pos == a.Pos && c.Step == a.Step && c.Attempt == a.Attempt && c.Kind != world.ChunkReset
		}); i >= 0 {
			return world.Appended{First: s.chunks[i].Index}, nil
		}
	}
	if s.closed(&a.StreamWrite) {
		return done, fmt.Errorf("run %s: stream %q: %w", a.Run, a.Stream, world.ErrStreamClosed)
	}
	w.counters.Appends++
	return world.Appended{First: w.writeChunks(r, s, &a.StreamWrite)}, nil
}

// writes reports whether who appends is who may: the run's owner, or the holder of one of its tasks. r is nil where there is no run.
func (r *run) writes(a *world.Append) bool {
	switch {
	case r == nil || r.end != nil:
		return false
	case a.Task != nil:
		t := r.tasks[a.Task.Step]
		return t != nil && t.heldBy(a.Worker, a.Task.Attempt)
	}
	return r.owner != nil && r.owner.ID == a.Worker && r.claim == a.Claim
}

// stream returns a stream of the run, new ones too.
func (r *run) stream(name string) *stream {
	i := slices.IndexFunc(r.streams, func(s *stream) bool { return s.name == name })
	if i < 0 {
		i = len(r.streams)
		r.streams = append(r.streams, &stream{name: name})
	}
	return r.streams[i]
}

// closed reports whether the stream takes nothing more from a write.
func (s *stream) closed(write *world.StreamWrite) bool {
	n := len(s.chunks)
	return n > 0 && s.chunks[n-1].Kind.Closes() && !s.chunks[n-1].void(write)
}

// repeated reports whether a write comes again behind what it wrote.
func (s *stream) repeated(write *world.StreamWrite) bool {
	n := len(s.chunks)
	return n > 0 && write.Repeats(s.chunks[n-1].Step, s.chunks[n-1].Attempt, s.chunks[n-1].pos)
}

// void reports whether the write resets the chunk.
func (c *chunk) void(write *world.StreamWrite) bool {
	return write.Voids(c.Step, c.Attempt) && c.Index >= write.From && c.Kind != world.ChunkReset
}

// commitChunks writes what a commit adds to streams.
func (w *World) commitChunks(c *world.Commit, r *run, n *notices) {
	for i := range c.Streams {
		if s := r.stream(c.Streams[i].Stream); !s.closed(&c.Streams[i]) && !s.repeated(&c.Streams[i]) {
			w.writeChunks(r, s, &c.Streams[i])
			n.add(world.NoticeStream, r.id)
		}
	}
}

// writeChunks adds a write to a stream that is open, and returns its first number.
func (w *World) writeChunks(r *run, s *stream, write *world.StreamWrite) (first int64) {
	add := func(kind world.ChunkKind, pos int64) *world.Chunk {
		c := world.Chunk{Index: s.next, Kind: kind, Step: write.Step, Attempt: write.Attempt, Time: w.now()}
		s.next++
		s.at = c.Time
		s.chunks = append(s.chunks, chunk{c, pos, r.segment})
		return &s.chunks[len(s.chunks)-1].Chunk
	}
	if write.Reset {
		before := len(s.chunks)
		s.chunks = slices.DeleteFunc(s.chunks, func(c chunk) bool { return c.void(write) })
		if len(s.chunks) < before {
			from := write.From
			add(world.ChunkReset, -1).From = &from
		}
	}
	first = s.next
	for i, value := range write.Chunks {
		add(world.ChunkData, write.Pos+int64(i)).Value = json.RawMessage(slices.Clone(value))
	}
	if write.End != "" {
		add(write.End, write.Pos+int64(len(write.Chunks))).Error = write.Error
	}
	return first
}

// trimStreams deletes what was written in segments before the one that is kept first. Who reads meanwhile keeps the chunks that it has.
func (r *run) trimStreams() {
	r.streams = slices.DeleteFunc(r.streams, func(s *stream) bool {
		if strings.HasPrefix(s.name, world.WebhookAnswers) {
			s.chunks = slices.DeleteFunc(slices.Clone(s.chunks), func(c chunk) bool { return c.segment < r.trim })
			return len(s.chunks) == 0
		}
		gone := 0
		for gone < len(s.chunks) && s.chunks[gone].segment < r.trim && !s.chunks[gone].Kind.Closes() {
			gone++
		}
		if gone > 0 {
			s.first, s.chunks = s.chunks[gone-1].Index+1, slices.Clone(s.chunks[gone:])
		}
		return false
	})
}

// Chunks reads chunks of a stream; see [world.Streams].
func (w *World) Chunks(ctx context.Context, run, name string, q world.ChunkQuery) (page world.ChunkPage, err error) {
	if err := w.enter(ctx); err != nil {
		return page, err
	}
	defer w.mu.Unlock()
	r := w.runs[run]
	if r == nil {
		return page, fmt.Errorf("run %s: %w", run, world.ErrNotFound)
	}
	page.Next, page.Over = max(q.From, 0), r.end != nil
	i := slices.IndexFunc(r.streams, func(s *stream) bool { return s.name == name })
	if i < 0 {
		return page, nil
	}
	if first := r.streams[i].first; page.Next < first {
		page.First, page.Next = first, first
	}
	chunks := r.streams[i].chunks
	most, bytes := q.Room()
	for at := sort.Search(len(chunks), func(i int) bool { return chunks[i].Index >= q.From }); at < len(chunks); at++ {
		if len(page.Chunks) == most || bytes <= 0 {
			page.More = true
			break
		}
		page.Chunks = append(page.Chunks, chunks[at].Chunk)
		page.Next = chunks[at].Index + 1
		bytes -= len(chunks[at].Value) + 64
	}
	return page, nil
}

// StreamsOf lists the streams of a run; see [world.Streams].
func (w *World) StreamsOf(ctx context.Context, run string) (rows []world.StreamRow, err error) {
	if err := w.enter(ctx); err != nil {
		return nil, err
	}
	defer w.mu.Unlock()
	r := w.runs[run]
	if r == nil {
		return nil, nil
	}
	for _, s := range r.streams {
		if s.next == 0 {
			continue
		}
		row := world.StreamRow{Name: s.name, Next: s.next, At: s.at}
		if n := len(s.chunks); n > 0 && s.chunks[n-1].Kind.Closes() {
			row.Closed = s.chunks[n-1].Kind
		}
		rows = append(rows, row)
	}
	slices.SortFunc(rows, func(a, b world.StreamRow) int { return cmp.Compare(a.Name, b.Name) })
	return rows, nil
}
