package sqlite

// Streams: what steps and workflow code write while a run goes on, and others read.

import (
	"context"
	"errors"
	"fmt"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/layout"
)

var (
	insertChunks = load("insert_chunks")
	lastChunks   = load("last_chunks")
	findChunks   = load("find_chunks")
	voidChunks   = load("void_chunks")
	cutChunks    = load("cut_chunks")
	streamRun    = load("stream_run")
	readChunks   = load("read_chunks")
	listStreams  = load("list_streams")
)

// streams are what runs write for others to read while they go on.
//
//   - Chunks are numbered without gaps. A number is never given twice, also where a later attempt makes void what an
//     earlier one wrote.
//   - A stream that is closed takes nothing any more. A write that comes again is found, and not made twice.
type streams struct{ tx *txn }

// Append adds chunks to a stream; see [world.Streams].
func (w *World) Append(ctx context.Context, a *world.Append) (world.Appended, error) {
	if err := world.CheckAppend(a); err != nil {
		return world.Appended{}, err
	}
	if err := w.know(ctx, a.Worker); err != nil {
		return world.Appended{}, err
	}
	return ask(ctx, w, func(g *group) (world.Appended, error) { return g.appendChunks(a) })
}

func (g *group) appendChunks(a *world.Append) (done world.Appended, err error) {
	r, err := g.runs.get(a.Run)
	if err != nil {
		return done, err
	}
	if may, err := g.mayAppend(a, r); err != nil {
		return done, err
	} else if !may {
		return done, fmt.Errorf("run %s: stream %q, written by worker %s: %w", a.Run, a.Stream, a.Worker, world.ErrLeaseLost)
	}
	if a.Again {
		if first, found, err := g.streams.find(r, a); found || err != nil {
			return world.Appended{First: first}, err
		}
	}
	first, open, err := g.streams.write(r, &a.StreamWrite)
	switch {
	case errors.Is(err, errRepeated):
		first, _, err := g.streams.find(r, a)
		return world.Appended{First: first}, err
	case err != nil:
		return done, err
	case !open:
		return done, fmt.Errorf("run %s: stream %q: %w", a.Run, a.Stream, world.ErrStreamClosed)
	}
	g.tx.count().appends++
	return world.Appended{First: first}, nil
}

// mayAppend reports whether who appends is who may: the run's owner, or the holder of one of its tasks. r is nil where there is no run.
func (g *group) mayAppend(a *world.Append, r *run) (bool, error) {
	switch {
	case r == nil || !r.live:
		return false, nil
	case a.Task != nil:
		return g.tasks.holds(a.Worker, r, *a.Task)
	}
	return r.owner != 0 && r.claim == a.Claim && r.owner == g.workers.key(a.Worker), nil
}

// find looks for a write that may have been made before, and tells its first number.
func (st *streams) find(r *run, a *world.Append) (first int64, found bool, err error) {
	found, err = st.tx.one(findChunks, func(row row) error { first = row.int(0); return nil }, r.key, a.Stream, a.Step, int64(a.Attempt), a.Pos)
	return first, found, err
}

// writeAll writes what a commit adds to streams.
func (st *streams) writeAll(c *world.Commit, r *run) error {
	for i := range c.Streams {
		if _, _, err := st.write(r, &c.Streams[i]); err != nil && !errors.Is(err, errRepeated) {
			return err
		}
	}
	return nil
}

// errRepeated: the write is there already.
var errRepeated = errors.New("written before")

// write adds a write to a stream, and tells its first number. Where the stream is closed nothing happens.
func (st *streams) write(r *run, write *world.StreamWrite) (first int64, open bool, err error) {
	open = true
	if _, err := st.tx.one(lastChunks, func(row row) error {
		at, step, attempt := row.int(0), row.text(3), int(row.int(4))
		if write.Repeats(step, attempt, row.int(5)) {
			return errRepeated
		}
		first = at + row.int(1)
		open = !world.ChunkKind(row.text(2)).Closes() || write.Voids(step, attempt) && at >= write.From
		return nil
	}, r.key, write.Stream); err != nil || !open {
		return 0, open, err
	}
	if write.Reset {
		if first, err = st.reset(r, write, first); err != nil {
			return 0, true, err
		}
	}
	rows, err := write.Rows()
	if err != nil {
		return 0, true, fmt.Errorf("run %s: %w", r.id, err)
	}
	next := first
	for i := range rows {
		rows[i].Index = next
		next += int64(rows[i].N)
		if err := st.insert(r, write.Stream, &rows[i]); err != nil {
			return 0, true, err
		}
	}
	st.tx.notice(world.NoticeStream, r.id)
	return first, true, nil
}

// reset makes void what earlier attempts wrote, and tells the next number then.
func (st *streams) reset(r *run, write *world.StreamWrite, next int64) (int64, error) {
	gone := int64(0)
	for _, s := range []*statement{voidChunks, cutChunks} {
		n, err := st.tx.changed(s, r.key, write.Stream, write.From, write.Step, int64(write.Attempt))
		if err != nil {
			return 0, err
		}
		gone += n
	}
	if gone == 0 {
		return next, nil
	}
	mark := write.ResetRow()
	mark.Index = next
	return next + 1, st.insert(r, write.Stream, &mark)
}

func (st *streams) insert(r *run, stream string, row *world.ChunkRow) error {
	st.tx.grow(len(row.Data))
	return st.tx.exec(insertChunks, r.key, stream, row.Index, int64(row.N), string(row.Kind), row.Step, int64(row.Attempt), row.Pos,
		st.tx.now().UnixMicro(), row.Data, int64(layout.ChunkSum(r.id, stream, row).Value()), r.key)
}

// Chunks reads chunks of a stream; see [world.Streams].
func (w *World) Chunks(ctx context.Context, id, stream string, q world.ChunkQuery) (page world.ChunkPage, err error) {
	q.From = max(q.From, 0)
	page.Next = q.From
	err = w.read(ctx, func(c *conn) error {
		var key int64
		found, err := c.one(streamRun, func(r row) error { key, page.Over = r.int(0), r.bool(1); return nil }, id)
		if err != nil {
			return err
		}
		if !found {
			return fmt.Errorf("run %s: %w", id, world.ErrNotFound)
		}
		size := 0
		return c.query(readChunks, func(r row) (bool, error) {
			b := world.ChunkRow{
				Index: r.int(0), N: int(r.int(1)), Kind: world.ChunkKind(r.text(2)), Step: r.text(3), Attempt: int(r.int(4)), Time: r.time(5), Data: r.bytes(6), Pos: r.int(8),
			}
			if err := layout.CheckChunks(id, stream, &b, r.sum(7)); err != nil {
				return false, err
			}
			room, err := page.Add(&b, q.From, &q, &size)
			if err != nil {
				err = fmt.Errorf("run %s: stream %q: %w", id, stream, err)
			}
			return room, err
		}, key, stream, q.From)
	})
	if err != nil {
		return world.ChunkPage{}, err
	}
	return page, nil
}

// StreamsOf lists the streams of a run; see [world.Streams].
func (w *World) StreamsOf(ctx context.Context, run string) (rows []world.StreamRow, err error) {
	err = w.read(ctx, func(c *conn) error {
		return c.query(listStreams, func(r row) (bool, error) {
			s := world.StreamRow{Name: r.text(0), Next: r.int(1), At: r.time(3)}
			if kind := world.ChunkKind(r.text(2)); kind.Closes() {
				s.Closed = kind
			}
			rows = append(rows, s)
			return true, nil
		}, run)
	})
	return rows, err
}
