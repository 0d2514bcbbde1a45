package wire

// This file has streams.

import (
	"math"

	"github.com/stepwell/stepwell/world"
)

// StreamWrite is a [world.StreamWrite].
type StreamWrite struct {
	Stream    string          `json:"stream"`
	Step      string          `json:"step,omitempty"`
	Attempt   int             `json:"attempt,omitempty"`
	Pos       int64           `json:"pos,omitempty"`
	Chunks    []Bytes         `json:"chunks,omitempty"`
	End       world.ChunkKind `json:"end,omitempty"`
	Error     *world.Error    `json:"error,omitempty"`
	Encrypted string          `json:"sealed,omitempty"`
	Reset     bool            `json:"reset,omitempty"`
	From      int64           `json:"from,omitempty"`
}

func ofWrite(in *world.StreamWrite) StreamWrite {
	return StreamWrite{
		Stream: in.Stream, Step: in.Step, Attempt: in.Attempt, Pos: in.Pos, End: in.End, Error: in.Error, Encrypted: in.Encrypted, Reset: in.Reset, From: in.From,
		Chunks: list(in.Chunks, func(c *raw) Bytes { return Bytes(*c) }),
	}
}

func (w *StreamWrite) world() world.StreamWrite {
	return world.StreamWrite{
		Stream: w.Stream, Step: w.Step, Attempt: w.Attempt, Pos: w.Pos, End: w.End, Error: w.Error, Encrypted: w.Encrypted, Reset: w.Reset, From: w.From,
		Chunks: list(w.Chunks, func(c *Bytes) raw { return raw(*c) }),
	}
}

// Append is a [world.Append].
type Append struct {
	Run    string   `json:"run"`
	Worker string   `json:"worker"`
	Claim  int64    `json:"take,omitempty"`
	Task   *TaskKey `json:"task,omitempty"`
	Again  bool     `json:"again,omitempty"`
	StreamWrite
}

// OfAppend makes a message of an append. They share memory.
func OfAppend(in *world.Append) *Append {
	a := &Append{Run: in.Run, Worker: in.Worker, Claim: in.Claim, Again: in.Again, StreamWrite: ofWrite(&in.StreamWrite)}
	if in.Task != nil {
		k := TaskKey(*in.Task)
		a.Task = &k
	}
	return a
}

// World is the append of a message. They share memory.
func (a *Append) World() *world.Append {
	out := &world.Append{Run: a.Run, Worker: a.Worker, Claim: a.Claim, Again: a.Again, StreamWrite: a.StreamWrite.world()}
	if a.Task != nil {
		k := world.TaskKey(*a.Task)
		out.Task = &k
	}
	return out
}

// Appended is a [world.Appended].
type Appended struct {
	Answer
	First int64 `json:"first"`
}

// Blank makes it lack what each has.
func (a *Appended) Blank() { a.First = math.MinInt64 }

// Whole reports whether it has what each has.
func (a *Appended) Whole() bool { return a.First != math.MinInt64 }

// OfAppended makes a message of what became of an append.
func OfAppended(in world.Appended) Appended { return Appended{First: in.First} }

// World is what became of an append.
func (a *Appended) World() world.Appended { return world.Appended{First: a.First} }

// ChunkQuery is a [world.ChunkQuery] about a stream of a run.
type ChunkQuery struct {
	Run    string `json:"run"`
	Stream string `json:"stream"`
	From   int64  `json:"from,omitempty"`
	Limit  int    `json:"limit,omitempty"`
}

// Chunk is a [world.Chunk].
type Chunk struct {
	world.Chunk
	Value Bytes `json:"value,omitzero"`
}

// ChunkPage is a [world.ChunkPage].
type ChunkPage struct {
	Answer
	Chunks []Chunk `json:"chunks,omitempty"`
	Next   int64   `json:"next"`
	More   bool    `json:"more,omitempty"`
	Over   bool    `json:"over,omitempty"`
	First  int64   `json:"first,omitempty"`
}

// Blank makes it lack what each has.
func (p *ChunkPage) Blank() { p.Next = math.MinInt64 }

// Whole reports whether it has what each has.
func (p *ChunkPage) Whole() bool { return p.Next != math.MinInt64 }

// OfChunkPage makes a message of a page.
func OfChunkPage(in *world.ChunkPage) ChunkPage {
	return ChunkPage{Next: in.Next, More: in.More, Over: in.Over, First: in.First, Chunks: list(in.Chunks, func(c *world.Chunk) Chunk {
		out := Chunk{Chunk: *c, Value: Bytes(c.Value)}
		out.Chunk.Value = nil
		return out
	})}
}

// World is the page of a message.
func (p *ChunkPage) World() world.ChunkPage {
	return world.ChunkPage{Next: p.Next, More: p.More, Over: p.Over, First: p.First, Chunks: list(p.Chunks, func(c *Chunk) world.Chunk {
		out := c.Chunk
		out.Value = raw(c.Value)
		return out
	})}
}
