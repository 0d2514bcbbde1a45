package world

// This file says what a world keeps of streams: chunks that steps and workflow code write while a run goes on, and that others read meanwhile.

import (
	"context"
	"encoding/json"
	"fmt"
	"time"
)

// MaxChunk is how many bytes one chunk of a stream may have.
const MaxChunk = 1 << 20

// Streams keeps the streams of runs. A stream belongs to a run and has a name; it begins with its first chunk. Chunks are numbered 0, 1, 2… in
// the order in which they become visible, which is the order of the commits that wrote them: who has read up to a number misses nothing before
// it. A number is used once. Streams are deleted with their run; before that, what was written in segments that are not wanted any more, see
// [Continuation].Trim, but for a mark that closed the stream: numbers go on behind it, and pages say which is the first that is left. Answers to
// webhooks, in streams whose name begins with [WebhookAnswers], go with their streams. A batch belongs to the segment that is the newest when it is
// written; what a commit adds to streams belongs to the segment that the commit begins, if it begins one.
type Streams interface {
	// Append adds chunks to a stream while its writer goes on; it is durable when it returns, and shares its transaction with others that arrive
	// meanwhile. It is refused with nothing written: with [ErrLeaseLost] unless the writer is still who it says, with [ErrStreamClosed] behind
	// a mark that closed the stream. After [ErrUnknownOutcome] the same Append with Again set writes what is not there yet. One that comes twice in
	// a row, as networks do it, is written once, and answered alike, without that.
	Append(ctx context.Context, a *Append) (Appended, error)

	// Chunks reads a stream from a number on. A stream that nobody has written to is empty. An unknown run: [ErrNotFound].
	Chunks(ctx context.Context, run, stream string, q ChunkQuery) (ChunkPage, error)

	// StreamsOf lists the streams of a run by name. An unknown run has none.
	StreamsOf(ctx context.Context, run string) ([]StreamRow, error)
}

// StreamWrite is what one writer adds to one stream at once.
type StreamWrite struct {
	Stream  string
	Step    string // correlation ID of the step that writes; "": the workflow's code
	Attempt int    // of the step
	// Pos is how many chunks and marks this attempt has added to the stream before; workflow code counts nothing. It tells a write that is repeated
	// from the next one.
	Pos       int64
	Chunks    []json.RawMessage
	End       ChunkKind // [ChunkClose] or [ChunkError]: a mark behind the chunks that closes the stream; "": none
	Error     *Error    // of a ChunkError
	Encrypted string    // ID of the key that the chunks and the error are encrypted with; "": plain. Worlds do not keep it

	// Reset makes void, before anything is added, what earlier attempts of Step have written at number From and behind. Where that is anything a
	// [ChunkReset] says so to readers. A commit cannot have it. With it there may be nothing to add.
	Reset bool
	From  int64
}

// Append is a [StreamWrite] of its own. Either Worker owns the run under Claim, or it holds Task.
type Append struct {
	Run    string
	Worker string
	Claim  int64
	Task   *TaskKey
	Again  bool // the outcome of an earlier try is not known
	StreamWrite
}

// Appended is what became of an [Append].
type Appended struct {
	First int64 // number of the first chunk, or of the mark where there are no chunks
}

// ChunkKind says what a chunk is. All but the first are marks.
type ChunkKind string

// The kinds of chunks.
const (
	ChunkData  ChunkKind = "data"
	ChunkReset ChunkKind = "reset" // what its step's earlier attempts wrote at number From and behind is void
	ChunkClose ChunkKind = "close" // nothing follows
	ChunkError ChunkKind = "error" // nothing follows, as something went wrong
)

// Closes reports whether the stream ends with such a chunk. A later attempt of the step that wrote it may take that back with a reset.
func (k ChunkKind) Closes() bool { return k == ChunkClose || k == ChunkError }

// Chunk is one piece of a stream. Numbers grow, but not always by one: what was made void is gone, for whoever comes later.
type Chunk struct {
	Index   int64           `json:"index"`
	Kind    ChunkKind       `json:"kind"`
	Step    string          `json:"step,omitempty"`    // "": the workflow's code
	Attempt int             `json:"attempt,omitempty"` // of the step
	Time    time.Time       `json:"time"`              // of its batch, by the world's clock
	Value   json.RawMessage `json:"value,omitempty"`   // data
	From    *int64          `json:"from,omitempty"`    // reset
	Error   *Error          `json:"error,omitempty"`   // error
}

// ChunkQuery selects a page of a stream.
type ChunkQuery struct {
	From  int64 // the first number of the page; below 0: 0
	Limit int   // chunks a page at most; default and most 1,000. A page ends earlier behind 256 KiB, about.
}

// ChunkPage is a page of a stream.
type ChunkPage struct {
	Chunks []Chunk
	Next   int64 // read on from here
	More   bool  // further chunks are there already
	Over   bool  // the run is over: nothing follows, but for what More tells of
	// First is the first number that is left, where some from which the page was asked for on were deleted with segments of the run; else 0.
	First int64
}

// StreamRow is one stream of a run.
type StreamRow struct {
	Name   string    `json:"name"`
	Next   int64     `json:"next"`             // number of the next chunk
	Closed ChunkKind `json:"closed,omitempty"` // the mark that closed it; "": it is open
	At     time.Time `json:"at"`               // of the last chunk
}

// Bounds of a page of chunks.
const (
	mostChunks = 1000
	chunkBytes = 256 << 10
)

// Room tells how many chunks a page may have, and behind how many bytes it ends.
func (q *ChunkQuery) Room() (chunks, bytes int) {
	if q.Limit > 0 {
		return min(q.Limit, mostChunks), chunkBytes
	}
	return mostChunks, chunkBytes
}

// Len is how many numbers the write takes, its mark included.
func (w *StreamWrite) Len() int64 {
	n := int64(len(w.Chunks))
	if w.End != "" {
		n++
	}
	return n
}

// Bytes is how much of a commit's limit the write takes.
func (w *StreamWrite) Bytes() int {
	n := len(w.Stream) + len(w.Step)
	for _, c := range w.Chunks {
		n += encryptedBytes(len(c), w.Encrypted)
	}
	if w.Error != nil {
		n += w.Error.Size()
	}
	return n
}

// Repeats reports whether the write comes again behind the last row of its stream: its writer has been at that position before. Workflow code counts nothing.
func (w *StreamWrite) Repeats(step string, attempt int, pos int64) bool {
	return w.Step != "" && w.Len() > 0 && w.Step == step && w.Attempt == attempt && w.Pos <= pos
}

// Voids reports whether the reset of the write makes void what a row of chunks holds at number From and behind.
func (w *StreamWrite) Voids(step string, attempt int) bool {
	return w.Reset && step == w.Step && attempt < w.Attempt
}

// CheckAppend refuses, with [ErrInvalid] or [ErrTooLarge], what no world can accept. Worlds call it before they look at anything.
func CheckAppend(a *Append) error {
	switch {
	case a.Run == "" || a.Worker == "":
		return fmt.Errorf("%w: stream %q: run %q, written by worker %q", ErrInvalid, a.Stream, a.Run, a.Worker)
	case a.Task != nil && a.Task.Run != a.Run:
		return fmt.Errorf("%w: stream %q of run %s: written by a task of run %s", ErrInvalid, a.Stream, a.Run, a.Task.Run)
	case a.Task != nil && (a.Task.Step != a.Step || a.Task.Attempt != a.Attempt):
		return fmt.Errorf("%w: stream %q of run %s: task %s writes for step %s", ErrInvalid, a.Stream, a.Run, a.Task.Step, a.Step)
	}
	if err := checkStreamWrite(&a.StreamWrite); err != nil {
		return fmt.Errorf("run %s: %w", a.Run, err)
	}
	if n := a.Bytes(); n > MaxCommit {
		return fmt.Errorf("%w: run %s: stream %q: %d bytes at once, more than %d; split them", ErrTooLarge, a.Run, a.Stream, n, MaxCommit)
	}
	return nil
}

func checkStreamWrite(w *StreamWrite) error {
	if err := CheckName("stream name", w.Stream); err != nil {
		return err
	}
	switch {
	case w.Len() == 0 && !w.Reset:
		return fmt.Errorf("%w: stream %q: nothing to write", ErrInvalid, w.Stream)
	case w.End != "" && !w.End.Closes():
		return fmt.Errorf("%w: stream %q: it cannot end with %q", ErrInvalid, w.Stream, w.End)
	case (w.End == ChunkError) != (w.Error != nil):
		return fmt.Errorf("%w: stream %q: the mark %q and the error do not fit", ErrInvalid, w.Stream, w.End)
	case w.Attempt < 0 || w.Pos < 0 || w.From < 0:
		return fmt.Errorf("%w: stream %q: attempt %d, position %d, from %d", ErrInvalid, w.Stream, w.Attempt, w.Pos, w.From)
	}
	for i, c := range w.Chunks {
		if encryptedBytes(len(c), w.Encrypted) > MaxChunk {
			return fmt.Errorf("%w: stream %q: chunk %d has %d bytes, more than %d", ErrTooLarge, w.Stream, i, len(c), MaxChunk)
		}
	}
	return nil
}

// checkStreams refuses what a commit cannot add to streams, and tells how many bytes it adds.
func checkStreams(c *Commit) (bytes int, err error) {
	for i := range c.Streams {
		w := &c.Streams[i]
		if err := checkStreamWrite(w); err != nil {
			return bytes, fmt.Errorf("run %s: %w", c.Run, err)
		}
		if w.Reset {
			return bytes, fmt.Errorf("%w: run %s: stream %q: a commit cannot reset it", ErrInvalid, c.Run, w.Stream)
		}
		bytes += w.Bytes()
	}
	return bytes, nil
}
