package wdk

// The streams of runs: what the DevKit's are is what ours are.

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"time"

	"github.com/stepwell/stepwell/world"
)

type writeIn struct {
	RunID  string            `json:"runId"`
	Name   string            `json:"name"`
	Chunks []json.RawMessage `json:"chunks"`
	Close  bool              `json:"close"`
	Call   string            `json:"call"`  // names the call: what comes twice under it is done once
	Again  bool              `json:"again"` // it was sent before, and no answer came
}

// writeStream adds to a stream, or closes it. What comes when the run is over, or the stream closed, comes too
// late, and is dropped.
func (h *Host) writeStream(ctx context.Context, in *writeIn) (any, error) {
	if isHealth(in.RunID) {
		return h.beside.answer(ctx, in)
	}
	if in.Call == "" {
		in.Call = rand.Text()
	}
	err := trying(ctx, in.Again, func(again bool) error {
		err := h.with(ctx, in.RunID, again, func(r *run) error { return h.write(ctx, r, in, again) })
		if errors.Is(err, world.ErrStreamClosed) || errors.Is(err, world.ErrTerminal) {
			return nil
		}
		return err
	})
	return struct{}{}, err
}

// write adds to a stream of a run. The call's name makes the position of what it writes, by which the world finds what
// comes again: readers are shown numbers, and the world counts nothing of who owns the run.
func (h *Host) write(ctx context.Context, r *run, in *writeIn, again bool) error {
	if r.state.Status.Terminal() {
		return world.ErrTerminal
	}
	if err := h.own(ctx, r); err != nil {
		return err
	}
	sum := sha256.Sum256([]byte(in.Call))
	a := &world.Append{Run: r.id, Worker: r.worker, Claim: r.claim, Again: again}
	a.StreamWrite = world.StreamWrite{Stream: in.Name, Pos: int64(binary.BigEndian.Uint64(sum[:]) >> 2), Chunks: in.Chunks}
	if in.Close {
		a.End = world.ChunkClose
	}
	_, err := h.world.Append(ctx, a)
	if err != nil && !errors.Is(err, world.ErrStreamClosed) {
		r.forget()
	}
	return err
}

type readIn struct {
	RunID  string `json:"runId"`
	Name   string `json:"name"`
	From   int64  `json:"from"` // below 0: so many before the end
	Limit  int    `json:"limit"`
	WaitMs int64  `json:"waitMs"`
}

type readOut struct {
	Chunks []chunkOut `json:"chunks"`
	Next   int64      `json:"next"`
	More   bool       `json:"more"`
	Done   bool       `json:"done"`
}

type chunkOut struct {
	Index int64           `json:"index"`
	Data  json.RawMessage `json:"data"`
}

func (h *Host) readStream(ctx context.Context, in *readIn) (any, error) {
	if isHealth(in.RunID) {
		var out readOut
		err := h.await(ctx, in.RunID, time.Duration(in.WaitMs)*time.Millisecond, func() (bool, time.Duration, error) {
			var err error
			out, err = h.beside.health(ctx, in.RunID, in.Name, max(in.From, 0))
			return len(out.Chunks) > 0 || out.Done, healthLook, err
		})
		return out, err
	}
	if err := h.with(ctx, in.RunID, false, ours); err != nil {
		return nil, err
	}
	if in.From < 0 {
		info, err := h.info(ctx, in)
		if err != nil {
			return nil, err
		}
		in.From = max(info.Tail+1+in.From, 0)
	}
	out := readOut{Chunks: []chunkOut{}, Next: in.From}
	err := h.await(ctx, in.RunID, time.Duration(in.WaitMs)*time.Millisecond, func() (bool, time.Duration, error) {
		p, err := h.world.Chunks(ctx, in.RunID, in.Name, world.ChunkQuery{From: out.Next, Limit: in.Limit})
		if errors.Is(err, world.ErrNotFound) {
			return false, look, noRun(in.RunID, world.ErrNotFound)
		}
		if err != nil {
			return false, look, err
		}
		for i := range p.Chunks {
			switch c := &p.Chunks[i]; {
			case c.Kind == world.ChunkData:
				out.Chunks = append(out.Chunks, chunkOut{c.Index, c.Value})
			case c.Kind.Closes():
				out.Done = true
			}
		}
		out.Next, out.More = p.Next, p.More
		out.Done = out.Done || p.Over && !p.More
		return len(out.Chunks) > 0 || out.Done, look, nil
	})
	return out, err
}

func (h *Host) listStreams(ctx context.Context, in *readIn) (any, error) {
	if err := h.with(ctx, in.RunID, false, ours); err != nil {
		return nil, err
	}
	rows, err := h.world.StreamsOf(ctx, in.RunID)
	names := make([]string, len(rows))
	for i := range rows {
		names[i] = rows[i].Name
	}
	return names, err
}

type infoOut struct {
	Tail int64 `json:"tailIndex"`
	Done bool  `json:"done"`
}

func (h *Host) streamInfo(ctx context.Context, in *readIn) (any, error) {
	if err := h.with(ctx, in.RunID, false, ours); err != nil {
		return nil, err
	}
	return h.info(ctx, in)
}

// ours asks nothing of a run, but that it is the DevKit's.
func ours(*run) error { return nil }

func (h *Host) info(ctx context.Context, in *readIn) (infoOut, error) {
	rows, err := h.world.StreamsOf(ctx, in.RunID)
	for i := range rows {
		if row := &rows[i]; row.Name == in.Name {
			out := infoOut{Tail: row.Next - 1, Done: row.Closed != ""}
			if out.Done { // the mark has a number too
				out.Tail--
			}
			return out, err
		}
	}
	return infoOut{Tail: -1}, err
}
