package world

// This file says what a world keeps of streams: chunks that steps and workflow code write while a run goes on, and that others read meanwhile.

import (
	"context"
	"encoding/json"
	"fmt"
	"time"
)

// MaxChunk is the largest size of a stream's chunk in bytes.
const MaxChunk = 1 << 20

// Streams keeps the streams of runs. A stream belongs to a run, has a name, and begins with its
// first chunk.
//
// Chunks are numbered 0, 1, 2… in the order in which they become visible, which is the order of the
// commits that wrote them. So a reader that has read up to a number has missed nothing before it. A
// number is used once.
//
// Streams are deleted with their run. Chunks of trimmed segments (see [Continuation].Trim) are
// deleted earlier, except a mark that closed the stream. Numbers continue after them, and pages say
// which is the first left. Streams whose names begin with [WebhookAnswers] are answers to webhooks.
// A batch belongs to the newest segment when it is written. What a commit adds belongs to the
// segment that the commit begins, if it begins one.
type Streams interface {
	// Append adds chunks to a stream, durably. It shares its transaction with concurrent calls. It
	// writes nothing and returns [ErrLeaseLost] if the writer no longer holds the run or task, and
	// [ErrStreamClosed] after a mark that closed the stream. After [ErrUnknownOutcome], the same
	// Append with Again writes what is missing. The same Append twice in a row is written once, and
	// answered alike, even without Again.
	Append(ctx context.Context, a *Append) (Appended, error)

	// Chunks reads a page of a stream, from a number on. A stream without chunks is empty. Error:
	// [ErrNotFound] for an unknown run.
	Chunks(ctx context.Context, run, stream string, q ChunkQuery) (ChunkPage, error)

	// StreamsOf returns the streams of a run, by name. An unknown run has none.
	StreamsOf(ctx context.Context, run string) ([]StreamRow, error)
}

// StreamWrite is a batch of chunks for one stream.
type StreamWrite struct {
	Stream string `json:"stream"`
	// correlation ID of the writing step; "": workflow code
	Step string `json:"step,omitzero"`
	// attempt of that step
	Attempt int `json:"attempt,omitzero"`
	// Pos is how many chunks and marks this attempt has added to the stream before. It
	// distinguishes a repeated write from the next one. Workflow code does not count.
	Pos    int64             `json:"pos,omitzero"`
	Chunks []json.RawMessage `json:"chunks,omitzero"`
	// End is [ChunkClose] or [ChunkError]: a mark after the chunks that closes the stream. "":
	// none.
	End ChunkKind `json:"end,omitzero"`
	// of a ChunkError
	Error *Error `json:"error,omitzero"`
	// Encrypted is the ID of the key that encrypts the chunks and the error; "": plain. Stores do
	// not keep it.
	Encrypted string `json:"sealed,omitzero"`

	// Reset first discards what earlier attempts of Step have written at number From and later. If
	// there is any, readers get a [ChunkReset]. The write may then be empty otherwise. A Commit
	// cannot reset.
	Reset bool  `json:"reset,omitzero"`
	From  int64 `json:"from,omitzero"`
}

// Append is a [StreamWrite] outside a commit. Worker must own the run under Claim, or hold Task.
type Append struct {
	Run    string   `json:"run"`
	Worker string   `json:"worker"`
	Claim  int64    `json:"take,omitzero"`
	Task   *TaskKey `json:"task,omitzero"`
	Again  bool     `json:"again,omitzero"` // the outcome of an earlier try is unknown
	StreamWrite
}

// Appended is the result of an [Append].
type Appended struct {
	First int64 `json:"first"` // number of the first chunk, or of the mark if there are no chunks
}

// ChunkKind is the kind of a chunk. All except data are marks.
type ChunkKind string

// Kinds of chunks.
const (
	ChunkData ChunkKind = "data"
	// chunks of its step's earlier attempts, from number From on, are discarded
	ChunkReset ChunkKind = "reset"
	ChunkClose ChunkKind = "close" // nothing follows
	ChunkError ChunkKind = "error" // nothing follows, because of an error
)

// Closes reports whether such a chunk ends the stream. A later attempt of the step that wrote it
// may discard it by a reset.
func (k ChunkKind) Closes() bool { return k == ChunkClose || k == ChunkError }

// Chunk is one piece of a stream. Numbers grow, but may have gaps: discarded chunks are gone for
// later readers.
type Chunk struct {
	Index   int64           `json:"index"`
	Kind    ChunkKind       `json:"kind"`
	Step    string          `json:"step,omitempty"`    // "": workflow code
	Attempt int             `json:"attempt,omitempty"` // of the step
	Time    time.Time       `json:"time"`              // of its batch, by the store's clock
	Value   json.RawMessage `json:"value,omitempty"`   // data
	From    *int64          `json:"from,omitempty"`    // reset
	Error   *Error          `json:"error,omitempty"`   // error
}

// ChunkQuery selects a page of a stream.
type ChunkQuery struct {
	// first number of the page; below 0: 0
	From int64 `json:"from,omitzero"`
	// chunks of a page; default and maximum 1,000; a page also ends after about 256 KiB
	Limit int `json:"limit,omitzero"`
}

// ChunkPage is a page of a stream.
type ChunkPage struct {
	Chunks []Chunk `json:"chunks,omitzero"`
	Next   int64   `json:"next"`          // read on from here
	More   bool    `json:"more,omitzero"` // further chunks exist already
	Over   bool    `json:"over,omitzero"` // the run is over: nothing follows, except what More says
	// First is the first number left, if requested chunks were deleted with segments of the run;
	// else 0.
	First int64 `json:"first,omitzero"`
}

// StreamRow is one stream of a run.
type StreamRow struct {
	Name   string    `json:"name"`
	Next   int64     `json:"next"`             // number of the next chunk
	Closed ChunkKind `json:"closed,omitempty"` // the mark that closed it; "": it is open
	At     time.Time `json:"at"`               // time of the last chunk
}

// Bounds of a page of chunks.
const (
	mostChunks = 1000
	chunkBytes = 256 << 10
)

// Room returns how many chunks a page may have, and after how many bytes it ends.
func (q *ChunkQuery) Room() (chunks, bytes int) {
	if q.Limit > 0 {
		return min(q.Limit, mostChunks), chunkBytes
	}
	return mostChunks, chunkBytes
}

// Len returns how many numbers the write takes, with its mark.
func (w *StreamWrite) Len() int64 {
	n := int64(len(w.Chunks))
	if w.End != "" {
		n++
	}
	return n
}

// Bytes returns how much of a commit's limit the write takes.
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

// Repeats reports whether the write repeats the last row of its stream, by its position. Workflow
// code does not count.
func (w *StreamWrite) Repeats(step string, attempt int, pos int64) bool {
	return w.Step != "" && w.Len() > 0 && w.Step == step && w.Attempt == attempt && w.Pos <= pos
}

// Voids reports whether the write's reset discards chunks of a row with this step and attempt.
func (w *StreamWrite) Voids(step string, attempt int) bool {
	return w.Reset && step == w.Step && attempt < w.Attempt
}

// CheckAppend returns [ErrInvalid] or [ErrTooLarge] for an Append that no store can accept. Stores
// call it first.
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
