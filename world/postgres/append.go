package postgres

// The way of what is written to streams while its writer goes on. Appends that arrive while others are being written share the next transaction. It
// locks what says that their writers are who they say, and leaves those to a transaction of their own whose rows others have locked: nobody stalls
// everybody.

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/stepwell/stepwell/world"
)

var (
	holdRuns    = load("hold_runs")
	holdTasks   = load("hold_tasks")
	writerHolds = load("writer_holds")
	lastChunks  = load("last_chunks")
	findChunks  = load("find_chunks")
	voidChunks  = load("void_chunks")
	cutChunks   = load("cut_chunks")
)

// appending is one append that waits for its transaction. Whoever made it waits for answered.
type appending struct {
	a        *world.Append
	run      int64 // its key, once the writer is known to be who it says
	written  bool
	done     world.Appended
	err      error
	answered chan struct{} // capacity 1
}

// appends write to streams.
//
//   - A write is made by the run's owner, or by who holds the task, and by nobody else: what says so is locked.
//   - Nobody stalls everybody: what others have locked, or what cannot be written, is tried alone.
type appends struct {
	*database
	line line[*appending]
	tell func(notices ...world.Notice)
}

func (ap *appends) init(db *database, tell func(notices ...world.Notice)) {
	ap.database, ap.tell = db, tell
	ap.line.init(db)
}

// close lets those that wait be written. The World is closed.
func (ap *appends) close() { ap.line.close() }

// Append adds chunks to a stream; see [world.Streams].
func (w *World) Append(ctx context.Context, a *world.Append) (world.Appended, error) {
	if err := world.CheckAppend(a); err != nil {
		return world.Appended{}, err
	}
	switch {
	case ctx.Err() != nil:
		return world.Appended{}, context.Cause(ctx)
	case w.isClosed():
		return world.Appended{}, world.ErrClosed
	case !storable([]any{a.Run, a.Worker, a.Step}):
		return world.Appended{}, noWriter(a)
	}
	return w.appends.write(ctx, a)
}

// write makes an append with others, or alone.
func (ap *appends) write(ctx context.Context, a *world.Append) (world.Appended, error) {
	m := &appending{a: a, answered: make(chan struct{}, 1)}
	err := errAlone
	if !a.Again && !a.Reset {
		if err = ap.line.put(ctx, m, m.answered); err == nil {
			err = m.err
		}
	}
	if err == errAlone { //nolint:errorlint // it is never wrapped
		m = &appending{a: a}
		err = ap.alone(ctx, m)
	}
	if err != nil {
		return world.Appended{}, err
	}
	return m.done, nil
}

func noWriter(a *world.Append) error {
	return fmt.Errorf("run %s: stream %q, written by worker %s: %w", a.Run, a.Stream, a.Worker, world.ErrLeaseLost)
}

// all is the goroutine that writes appends.
func (ap *appends) all(ctx context.Context) {
	var batch []*appending
	for first := range ap.line.out() {
		batch, _, _ = ap.line.gather(batch[:0], first, func(m *appending) int { return m.a.Bytes() }, nil)
		ap.group(ctx, batch)
		clear(batch)
	}
}

// group writes appends and answers them. Those that cannot be written with others are to be tried alone.
func (ap *appends) group(ctx context.Context, batch []*appending) {
	ctx, cancel := context.WithTimeout(ctx, groupPatience)
	defer cancel()
	err := ap.changeOnce(ctx, func(ctx context.Context, tx pgx.Tx) error {
		t := ap.in(tx)
		if err := ap.hold(ctx, t, batch); err != nil {
			return err
		}
		return ap.insert(ctx, t, batch, 0)
	})
	switch {
	case err == nil:
		ap.counters.groups.Add(1)
	case !errors.Is(err, world.ErrUnknownOutcome):
		err = errAlone
	}
	var notices []world.Notice
	for _, m := range batch {
		switch {
		case err != nil:
			m.err = err
		case m.run == 0:
			m.err = errAlone
		case !m.written: // the stream is closed, or it came before
			m.err = errAlone
		default:
			ap.counters.appends.Add(1)
			notices = append(notices, world.Notice{Kind: world.NoticeStream, Run: m.a.Run})
		}
		m.answered <- struct{}{}
	}
	ap.tell(notices...)
}

func closedStream(a *world.Append) error {
	return fmt.Errorf("run %s: stream %q: %w", a.Run, a.Stream, world.ErrStreamClosed)
}

// hold locks what says that writers are who they say, and notes the runs of those that are, and that nobody else has locked.
func (ap *appends) hold(ctx context.Context, tx txn, batch []*appending) error {
	var owners, holders []*appending
	for _, m := range batch {
		m.run, m.written = 0, false
		if m.a.Task == nil {
			owners = append(owners, m)
		} else {
			holders = append(holders, m)
		}
	}
	held := func(of []*appending) func(scanner) error {
		return func(row scanner) error {
			var ord, run int64
			if err := row.Scan(&ord, &run); err != nil {
				return err
			}
			of[ord-1].run = run
			return nil
		}
	}
	run := func(m **appending) string { return (*m).a.Run }
	worker := func(m **appending) string { return (*m).a.Worker }
	b := &script{db: ap.database}
	if len(owners) > 0 {
		b.items = append(b.items, item{s: holdRuns, each: held(owners), args: []any{
			column(owners, run), column(owners, worker), column(owners, func(m **appending) int64 { return (*m).a.Claim }),
		}})
	}
	if len(holders) > 0 {
		b.items = append(b.items, item{s: holdTasks, each: held(holders), args: []any{
			column(holders, run), column(holders, worker), column(holders, func(m **appending) int64 { return int64((*m).a.Task.Attempt) }),
			column(holders, func(m **appending) string { return (*m).a.Task.Step }),
		}})
	}
	return tx.run(ctx, b)
}

// insert writes what is held, at number least or behind.
func (ap *appends) insert(ctx context.Context, tx txn, batch []*appending, least int64) error {
	var rows []chunkRow
	by := make(map[chunkKey]*appending, len(batch))
	for _, m := range batch {
		if m.run == 0 {
			continue
		}
		of, err := chunkRowsOf(m.run, m.a.Run, &m.a.StreamWrite, least)
		if err != nil {
			return fmt.Errorf("run %s: %w", m.a.Run, err)
		}
		key := chunkKey{m.run, m.a.Stream, m.a.Step, int64(m.a.Attempt), m.a.Pos}
		if by[key] != nil && m.a.Step != "" { // the same twice in one transaction
			m.run = 0
			continue
		}
		rows = append(rows, of...)
		by[key] = m
	}
	b := &script{db: ap.database}
	b.writeChunks(rows, func(k chunkKey, index int64) {
		if m := by[k]; m != nil {
			m.written, m.done.First = true, index
		}
	})
	return tx.run(ctx, b)
}

// alone writes an append in a transaction of its own, which finds out why it cannot be written, or waits for its turn.
func (ap *appends) alone(ctx context.Context, m *appending) error {
	a := m.a
	err := ap.change(ctx, func(ctx context.Context, tx pgx.Tx) error {
		t := ap.in(tx)
		if err := ap.hold(ctx, t, []*appending{m}); err != nil {
			return err
		}
		if m.run == 0 {
			return ap.whyNotHeld(ctx, t, a)
		}
		find := func() error {
			return t.each(ctx, findChunks, func(row scanner) error { m.written = true; return row.Scan(&m.done.First) },
				m.run, a.Stream, a.Step, int32(a.Attempt), a.Pos)
		}
		if a.Again {
			if err := find(); err != nil || m.written {
				return err
			}
		}
		least, err := ap.reset(ctx, t, m)
		if err != nil {
			return err
		}
		err = ap.insert(ctx, t, []*appending{m}, least)
		switch {
		case sqlState(err) == codeUnique: // somebody else wrote to the stream meanwhile
			return fmt.Errorf("%w: %w", errAgain, err)
		case err == nil && a.Len() == 0: // a reset alone
			m.written, m.done.First = true, least
		case err == nil && !m.written:
			repeated := false
			if err := t.each(ctx, lastChunks, func(row scanner) error {
				l, err := scanLast(row)
				repeated = a.Repeats(l.step, l.attempt, l.pos)
				return err
			}, m.run, a.Stream); err != nil {
				return err
			}
			if repeated {
				return find()
			}
			return closedStream(a)
		}
		return err
	})
	if err != nil {
		return err
	}
	ap.counters.groups.Add(1)
	ap.counters.appends.Add(1)
	ap.tell(world.Notice{Kind: world.NoticeStream, Run: a.Run})
	return nil
}

// whyNotHeld tells a writer that lost its lease from one whose row somebody has locked just now.
func (ap *appends) whyNotHeld(ctx context.Context, tx txn, a *world.Append) error {
	number, step, holds := a.Claim, "", false
	if a.Task != nil {
		number, step = int64(a.Task.Attempt), a.Task.Step
	}
	if err := tx.each(ctx, writerHolds, func(scanner) error { holds = true; return nil }, a.Run, a.Worker, number, step); err != nil {
		return err
	}
	if holds {
		return errAgain
	}
	return noWriter(a)
}

// lastChunk is the last batch of a stream.
type lastChunk struct {
	idx, n  int64
	kind    world.ChunkKind
	step    string
	attempt int
	pos     int64
}

func scanLast(row scanner) (l lastChunk, err error) {
	return l, row.Scan(&l.idx, &l.n, &l.kind, &l.step, &l.attempt, &l.pos)
}

// reset makes void what earlier attempts wrote, if the append says so, and writes the mark that tells of it. It returns the lowest number that
// may follow.
func (ap *appends) reset(ctx context.Context, tx txn, m *appending) (least int64, err error) {
	a := m.a
	if !a.Reset {
		return 0, nil
	}
	var next int64
	open := true
	if err := tx.each(ctx, lastChunks, func(row scanner) error {
		l, err := scanLast(row)
		next = l.idx + l.n
		open = !l.kind.Closes() || a.Voids(l.step, l.attempt) && l.idx >= a.From
		return err
	}, m.run, a.Stream); err != nil {
		return 0, err
	}
	if !open {
		return 0, closedStream(a)
	}
	gone := int64(0)
	for _, s := range []*statement{voidChunks, cutChunks} {
		n, err := tx.exec(ctx, s, m.run, a.Stream, a.From, a.Step, int32(a.Attempt))
		if err != nil {
			return 0, err
		}
		gone += n
	}
	if gone == 0 {
		return next, nil
	}
	b := &script{db: ap.database}
	b.writeChunks([]chunkRow{chunkRowOf(m.run, a.Run, a.Stream, next, a.ResetRow())}, nil)
	if err := tx.run(ctx, b); err != nil && sqlState(err) == codeUnique {
		return 0, fmt.Errorf("%w: %w", errAgain, err)
	} else if err != nil {
		return 0, err
	}
	return next + 1, nil
}
