package world

// How SQL worlds keep chunks: a row for each batch, of one writer. Its data are the chunks one behind the other, each behind its length.

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"time"
)

// ChunkRow is a stored batch of chunks.
type ChunkRow struct {
	Index   int64 // of the first chunk
	N       int   // number of chunks; less than in Data if the last were discarded
	Kind    ChunkKind
	Step    string
	Attempt int
	Pos     int64
	Time    time.Time
	Data    []byte
}

// ChunkTrim is the kind of the row at the last number of a stream whose chunks were deleted with
// segments of its run. Readers never see it.
const ChunkTrim ChunkKind = "trim"

// Rows returns the rows of a write: its chunks, then its mark. Index and Time are not set.
func (w *StreamWrite) Rows() ([]ChunkRow, error) {
	rows := make([]ChunkRow, 0, 2)
	if len(w.Chunks) > 0 {
		r := ChunkRow{N: len(w.Chunks), Kind: ChunkData, Step: w.Step, Attempt: w.Attempt, Pos: w.Pos}
		size := 0
		for _, c := range w.Chunks {
			size += len(c) + 3
		}
		r.Data = make([]byte, 0, size)
		for _, c := range w.Chunks {
			r.Data = append(binary.AppendUvarint(r.Data, uint64(len(c))), c...)
		}
		rows = append(rows, r)
	}
	if w.End != "" {
		r := ChunkRow{N: 1, Kind: w.End, Step: w.Step, Attempt: w.Attempt, Pos: w.Pos + int64(len(w.Chunks)), Data: []byte{}}
		if w.Error != nil {
			var err error
			if r.Data, err = json.Marshal(w.Error); err != nil {
				return nil, fmt.Errorf("stream %q: error: %w", w.Stream, err)
			}
		}
		rows = append(rows, r)
	}
	return rows, nil
}

// ResetRow returns the mark for the reset of a write.
func (w *StreamWrite) ResetRow() ChunkRow {
	return ChunkRow{N: 1, Kind: ChunkReset, Step: w.Step, Attempt: w.Attempt, Pos: -1, Data: binary.AppendUvarint(nil, uint64(w.From))}
}

// Add adds the chunks of the next row, from number from on, to the page, and reports whether the
// page has room for another row. size counts the page's bytes. An invalid row is [ErrCorrupt].
func (p *ChunkPage) Add(r *ChunkRow, from int64, q *ChunkQuery, size *int) (room bool, err error) {
	most, bytes := q.Room()
	c := Chunk{Kind: r.Kind, Step: r.Step, Attempt: r.Attempt, Time: r.Time}
	data := r.Data
	if r.Kind == ChunkTrim {
		if next := r.Index + 1; next > from {
			p.First, p.Next = next, max(p.Next, next)
		}
		return true, nil
	}
	if r.N < 0 || r.N != 1 && r.Kind != ChunkData {
		return false, fmt.Errorf("%w: chunk %d: a batch of %d of kind %q", ErrCorrupt, r.Index, r.N, r.Kind)
	}
	for i := range r.N {
		c.Index = r.Index + int64(i)
		if c.Value, data, err = c.read(data); err != nil {
			return false, fmt.Errorf("%w: chunk %d: %w", ErrCorrupt, c.Index, err)
		}
		switch {
		case c.Index < from:
			continue
		case len(p.Chunks) >= most || *size >= bytes:
			p.More = true
			return false, nil
		}
		p.Chunks = append(p.Chunks, c)
		p.Next = c.Index + 1
		*size += len(c.Value) + 64
	}
	return true, nil
}

// read takes a chunk, or what a mark says, from the data of a row.
func (c *Chunk) read(data []byte) (value json.RawMessage, rest []byte, err error) {
	switch c.Kind {
	case ChunkClose:
		return nil, nil, nil
	case ChunkError:
		c.Error = &Error{}
		return nil, nil, json.Unmarshal(data, c.Error)
	}
	n, used := binary.Uvarint(data)
	switch {
	case used <= 0:
		return nil, nil, fmt.Errorf("no length in %d bytes", len(data))
	case c.Kind == ChunkReset:
		from := int64(n)
		c.From = &from
		return nil, nil, nil
	case c.Kind != ChunkData:
		return nil, nil, fmt.Errorf("a chunk of kind %q", c.Kind)
	case n > uint64(len(data)-used):
		return nil, nil, fmt.Errorf("%d bytes of %d", len(data)-used, n)
	}
	end := used + int(n)
	return data[used:end:end], data[end:], nil
}
