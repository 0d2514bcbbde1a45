package postgres

// Reading streams, and what commits write to them.

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/layout"
)

var (
	insertChunks = load("insert_chunks")
	readChunks   = load("read_chunks")
	listStreams  = load("list_streams")
)

// chunkRows is how many batches a page is made of at most.
const chunkRows = 256

// chunkRow is a batch of chunks that is to be written.
type chunkRow struct {
	run    int64
	stream string
	least  int64 // its number is no lower
	sum    int32
	world.ChunkRow
}

// chunkRowsOf are the rows of a write to a stream of a run.
func chunkRowsOf(run int64, id string, w *world.StreamWrite, least int64) ([]chunkRow, error) {
	batches, err := w.Rows()
	if err != nil {
		return nil, err
	}
	rows := make([]chunkRow, len(batches))
	for i, b := range batches {
		rows[i] = chunkRowOf(run, id, w.Stream, least, b)
	}
	return rows, nil
}

func chunkRowOf(run int64, id, stream string, least int64, b world.ChunkRow) chunkRow {
	b.Step = clean(b.Step)
	return chunkRow{run: run, stream: stream, least: least, sum: layout.ChunkSum(id, stream, &b).Value(), ChunkRow: b}
}

// streams puts on the sheet what a commit adds to streams.
func (d *draft) streams(c *world.Commit, r *run) error {
	for i := range c.Streams {
		rows, err := chunkRowsOf(r.key, r.id, &c.Streams[i], 0)
		if err != nil {
			return fmt.Errorf("run %s: %w", c.Run, err)
		}
		d.sheet.chunks = append(d.sheet.chunks, rows...)
		for j := range rows {
			d.bytes += len(rows[j].Data)
		}
	}
	d.notice(world.NoticeStream, r.id)
	return nil
}

// writeChunks adds the rows of streams. each is called for those that were written, with what names them; nil: it does not matter.
func (b *script) writeChunks(rows []chunkRow, each func(k chunkKey, index int64)) {
	if len(rows) == 0 {
		return
	}
	i := item{s: insertChunks, args: []any{
		column(rows, func(r *chunkRow) int64 { return r.run }), column(rows, func(r *chunkRow) string { return r.stream }),
		column(rows, func(r *chunkRow) int32 { return int32(r.N) }), column(rows, func(r *chunkRow) string { return string(r.Kind) }),
		column(rows, func(r *chunkRow) string { return r.Step }), column(rows, func(r *chunkRow) int32 { return int32(r.Attempt) }),
		column(rows, func(r *chunkRow) int64 { return r.Pos }), column(rows, func(r *chunkRow) []byte { return r.Data }),
		column(rows, func(r *chunkRow) int64 { return r.least }),
		column(rows, func(r *chunkRow) int32 { return r.sum }),
	}}
	if each != nil {
		i.each = func(row scanner) error {
			var k chunkKey
			var index int64
			if err := row.Scan(&k.run, &k.stream, &k.step, &k.attempt, &k.pos, &index); err != nil {
				return err
			}
			each(k, index)
			return nil
		}
	}
	b.items = append(b.items, i)
}

// chunkKey names a batch by its writer.
type chunkKey struct {
	run          int64
	stream, step string
	attempt, pos int64
}

// Chunks reads a stream from a number on; see [world.Streams].
func (rd *reader) Chunks(ctx context.Context, id, stream string, q world.ChunkQuery) (page world.ChunkPage, err error) {
	q.From = max(q.From, 0)
	page.Next = q.From
	_, bytes := q.Room()
	known, room, size := false, true, 0
	err = rd.read(ctx, readChunks, func(row pgx.Rows) error {
		var last, index *int64
		var n, attempt *int
		var kind, step *string
		var at *time.Time
		var b world.ChunkRow
		var pos *int64
		var sum *int32
		if err := row.Scan(&page.Over, &last, &index, &n, &kind, &step, &attempt, &at, &b.Data, &pos, &sum); err != nil {
			return err
		}
		known = true
		if index == nil || !room {
			return nil
		}
		b.Index, b.N, b.Kind, b.Step, b.Attempt, b.Time = *index, *n, world.ChunkKind(*kind), *step, *attempt, world.Within(at.UTC())
		b.Pos = *pos
		if err := layout.CheckChunks(id, stream, &b, sumOf(sum)); err != nil {
			return err
		}
		var err error
		if room, err = page.Add(&b, q.From, &q, &size); err != nil {
			return fmt.Errorf("run %s: stream %q: %w", id, stream, err)
		}
		page.More = !room || *last > *index
		return nil
	}, id, stream, q.From, chunkRows, int64(bytes))
	switch {
	case err != nil:
		return world.ChunkPage{}, err
	case !known:
		return world.ChunkPage{}, fmt.Errorf("run %s: %w", id, world.ErrNotFound)
	}
	return page, nil
}

// StreamsOf lists the streams of a run; see [world.Streams].
func (rd *reader) StreamsOf(ctx context.Context, run string) (rows []world.StreamRow, err error) {
	err = rd.read(ctx, listStreams, func(row pgx.Rows) error {
		var s world.StreamRow
		var kind world.ChunkKind
		if err := row.Scan(&s.Name, &s.Next, (*string)(&kind), &s.At); err != nil {
			return err
		}
		if s.At = world.Within(s.At.UTC()); kind.Closes() {
			s.Closed = kind
		}
		rows = append(rows, s)
		return nil
	}, run)
	return rows, err
}
