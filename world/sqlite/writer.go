package sqlite

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	lib "modernc.org/sqlite/lib"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/rules"
)

// maxGroup is how many requests a transaction holds at most.
const maxGroup = 1024

var dataVersion = load("data_version")

// request is one change that waits for its transaction. Whoever made it waits for done.
type request struct {
	commit *world.Commit // the usual one, or
	change func(g *group) error
	lazy   bool            // it need not be durable when it is answered
	result world.Committed // of commit
	err    error
	done   chan struct{} // capacity 1; gets one value when the change is made, and durable unless lazy, or refused
}

// newRequest fills a World's pool. There is no pool for all, as a testing/synctest bubble does not let others use its channels.
func newRequest() any { return &request{done: make(chan struct{}, 1)} }

// write makes one change, in a transaction with others. A refusal leaves nothing behind.
func (w *World) write(ctx context.Context, change func(g *group) error) error {
	_, err := w.send(ctx, nil, change, false)
	return err
}

// ask is write for a change that has an answer. The answer is the writer's until the change is made: a caller that gave up has returned,
// and must share no variable with what the writer goes on with.
func ask[T any](ctx context.Context, w *World, change func(g *group) (T, error)) (T, error) {
	return askFor(ctx, w, false, change)
}

// askFor is ask for a change that may be lazy: it gives runs, or is about a worker's lease. See sync.go.
func askFor[T any](ctx context.Context, w *World, lazy bool, change func(g *group) (T, error)) (T, error) {
	answer := new(T)
	_, err := w.send(ctx, nil, func(g *group) (err error) {
		*answer, err = change(g)
		return err
	}, lazy)
	if err != nil {
		return *new(T), err
	}
	return *answer, nil
}

func (w *World) send(ctx context.Context, c *world.Commit, change func(g *group) error, lazy bool) (world.Committed, error) {
	if ctx.Err() != nil {
		return world.Committed{}, context.Cause(ctx)
	}
	r := w.spare.Get().(*request)
	r.commit, r.change, r.lazy, r.result, r.err = c, change, lazy, world.Committed{}, nil
	w.gate.RLock()
	if w.closed {
		w.gate.RUnlock()
		w.spare.Put(r)
		return world.Committed{}, world.ErrClosed
	}
	if lost := w.files.lost.Load(); lost != nil {
		w.gate.RUnlock()
		w.spare.Put(r)
		return world.Committed{}, *lost
	}
	w.requests <- r // the writer drains it, also while the world is being closed
	w.gate.RUnlock()
	select {
	case <-r.done:
		result, err := r.result, r.err
		r.commit, r.change = nil, nil
		w.spare.Put(r)
		return result, err
	case <-ctx.Done():
		return world.Committed{}, context.Cause(ctx) // the request is the writer's now
	}
}

// writer is the goroutine that makes all changes of a World. What it remembers of the file holds until another connection writes.
type writer struct {
	w         *World
	c         *conn // nil after a commit with an unknown outcome
	version   int64 // of the data when it was last read
	noted     int64 // what note read of it
	note      func(r row) error
	ringer    ringer
	batch     []*request
	group     group
	cache     cache
	lastClass int64  // the last key of a class that there ever was, as far as it is known; 0: not read yet
	head      []byte // of the row that is being written
	body      []byte
	backlog   backlog // what is in the log: see checkpoint.go
	doubt     doubt   // after a sync that failed: see mend.go
	full      bool    // the disk is: see full.go
	reserve   reserve
	from      time.Time // since when it has been busy: see stalled
}

func newWriter(w *World, c *conn) *writer {
	wr := &writer{w: w, c: c, version: -1, ringer: ringer{path: bellPath(w.path)}}
	wr.head, wr.body = make([]byte, 0, 4096), make([]byte, 0, 4096) // never nil, which would be null
	wr.note = func(r row) error { wr.noted = r.int(0); return nil }
	wr.cache.clear()
	return wr
}

// close closes the connection, the last one of this world. Where nobody else has the file open SQLite copies the log and deletes it; but not where it is in doubt
// whether the file has all of it, nor where its path may be another file's by now.
func (wr *writer) close() error {
	err := wr.ringer.close()
	if wr.reserve.limit > 0 {
		wr.reserve.giveUp(wr.w.path)
	}
	if wr.c != nil {
		if wr.doubt == noDoubt && wr.w.lookAtMain() == nil {
			err = errors.Join(err, wr.c.keepLog(false))
		}
		err = errors.Join(err, wr.c.close())
	}
	return err
}

func (wr *writer) loop() {
	for first := range wr.w.requests {
		wr.from = time.Now()
		if wr.w.bell.heard() {
			time.Sleep(bellPause)
		}
		wr.gather(first)
		if wr.w.lock == nil {
			wr.ringer.ring()
		}
		wr.writeBatch()
		if wr.w.lock == nil && wr.group.writes > 0 {
			wr.ringer.ring()
		}
		for i, r := range wr.batch {
			wr.batch[i] = nil
			r.done <- struct{}{}
		}
		wr.w.listeners.Tell(wr.group.notices)
		wr.checkpoint()
		wr.refill()
		wr.stalled()
	}
}

// gather takes what has arrived. Those that the last group woke get the processor first: what they send belongs to this group.
func (wr *writer) gather(first *request) {
	wr.batch = append(wr.batch[:0], first)
	runtime.Gosched()
	for len(wr.batch) < maxGroup {
		select {
		case r, ok := <-wr.w.requests:
			if !ok {
				return
			}
			wr.batch = append(wr.batch, r)
		default:
			return
		}
	}
}

// errAlone: the group was given up; its members are to be tried one by one.
var errAlone = errors.New("group given up")

func (wr *writer) writeBatch() {
	wr.group.notices = wr.group.notices[:0]
	if errors.Is(wr.transaction(wr.batch), errAlone) {
		for i := range wr.batch {
			_ = wr.transaction(wr.batch[i : i+1])
		}
	}
	wr.retryFull()
}

// transaction makes the changes of a batch. Each request gets its own error; errAlone is returned where nothing was written since
// one of several failed in an unforeseen way.
func (wr *writer) transaction(batch []*request) error {
	g := &wr.group
	wr.group.mark = len(wr.group.notices)
	lazy := lazy(batch)
	err := wr.begin(lazy)
	wr.stalled()
	if err != nil {
		fail(batch, classify(wr.w.path, err))
		return nil
	}
	g.begin(wr)
	for _, r := range batch {
		before := g.writes
		r.err = nil
		if r.commit != nil {
			r.result, r.err = g.commit(r.commit)
		} else {
			r.err = r.change(g)
		}
		if r.err == nil || g.writes == before && resultCode(r.err) == 0 {
			continue // made, or refused with nothing written
		}
		wr.giveUp()
		if len(batch) > 1 {
			return errAlone
		}
		r.err = classify(wr.w.path, r.err)
		return nil
	}
	if err := g.writeTotals(); err != nil {
		wr.giveUp()
		fail(batch, classify(wr.w.path, err))
		return nil
	}
	if g.writes == 0 {
		_, _ = wr.c.exec(rollback)
		g.after()
		return nil
	}
	if _, err := wr.c.exec(commit); err != nil {
		wr.notCommitted(batch, err)
		return nil
	}
	if err := wr.w.files.look(&wr.w.files.main); err != nil { // it went to a file that nobody finds again
		wr.cache.clear()
		wr.group.notices = wr.group.notices[:wr.group.mark]
		failAll(batch, err)
		return nil
	}
	wr.backlog.groups++
	wr.backlog.pages += pagesOf(int64(g.writes) - g.rowsWritten)
	g.after()
	return nil
}

// begin takes the lock, and forgets what others have changed. A connection that cannot be made to wait for the disk is given up.
func (wr *writer) begin(lazy bool) error {
	if err := wr.mend(); err != nil {
		return err
	}
	if wr.c == nil {
		c, err := wr.w.connectKeeping()
		if err != nil {
			return err
		}
		if err := wr.w.files.connected(); err != nil {
			return errors.Join(err, c.close())
		}
		wr.c, wr.version = c, -1
	}
	if err := wr.room(lazy); err != nil {
		return err
	}
	if err := wr.c.setLazy(lazy); err != nil {
		wr.drop()
		return err
	}
	if _, err := wr.c.exec(begin); err != nil {
		return err
	}
	if _, err := wr.c.one(dataVersion, wr.note); err != nil {
		wr.giveUp()
		return err
	}
	if wr.noted != wr.version {
		wr.cache.clear()
		wr.version = wr.noted
	}
	wr.cache.shrink()
	return nil
}

// giveUp rolls back, and forgets what the group has changed in memory.
func (wr *writer) giveUp() {
	_, _ = wr.c.exec(rollback) // fails where SQLite has rolled back itself
	wr.cache.spoil()
	wr.group.notices = wr.group.notices[:wr.group.mark]
}

// notCommitted answers those whose COMMIT failed. A full disk or a lock is known to have written nothing; after anything else
// only the file knows, read anew.
func (wr *writer) notCommitted(batch []*request, err error) {
	wr.giveUp()
	switch resultCode(err) {
	case lib.SQLITE_FULL, lib.SQLITE_BUSY, lib.SQLITE_READONLY:
		fail(batch, classify(wr.w.path, err))
		return
	}
	wr.distrust(logDoubt, err)
	fail(batch, fmt.Errorf("%w: %w", world.ErrUnknownOutcome, classify(wr.w.path, err)))
}

// drop gives up the connection; the next group makes another.
func (wr *writer) drop() {
	_ = wr.c.close()
	wr.c = nil
}

// fail gives an error to those that have none of their own.
func fail(batch []*request, err error) {
	for _, r := range batch {
		if r.err == nil {
			r.err, r.result = err, world.Committed{}
		}
	}
}

// failAll gives an error to all, also to those that were done.
func failAll(batch []*request, err error) {
	for _, r := range batch {
		r.err, r.result = err, world.Committed{}
	}
}

// leastStall is the time of a group from which it may matter to a lease.
const leastStall = 100 * time.Millisecond

// stalled gives back to the workers the time for which this goroutine could not serve them: another process held the lock, or the disk was slow. Who waits in
// line with a beat is not silent.
func (wr *writer) stalled() {
	now := time.Now()
	d := now.Sub(wr.from)
	wr.from = now
	if d >= leastStall {
		wr.w.crew.forgive(d)
	}
}

// group is one transaction.
type group struct {
	wr      *writer
	c       *conn
	crew    *crew
	turns   rules.Turns
	now     time.Time
	steady  time.Time // by which leases go
	writes  int       // statements that wrote
	quiet   bool      // nobody listens
	totals  map[total]int64
	buried  map[int64]bool // workers whose lease ends with it
	givenUp map[int64]bool // runs that their owners gave up in it: not lost, says a beat of the same group
	gave    bool           // it gave somebody a run, which he does not know of yet
	voided  bool           // it ends what the worker process before this one left
	notices []world.Notice
	mark    int      // notices of the batch before this transaction
	hooks   []func() // to be called once it is committed

	commits, takes, deliveries, appends, rowsWritten, rowsTrimmed, rowsRead int64
}

func (g *group) begin(wr *writer) {
	notices, hooks, totals := g.notices, g.hooks, g.totals
	clear(hooks)
	clear(totals)
	now, steady := wr.w.crew.times()
	*g = group{wr: wr, c: wr.c, crew: &wr.w.crew, turns: g.turns, now: now, steady: steady, notices: notices, mark: len(notices), hooks: hooks[:0], totals: totals, quiet: !wr.w.listeners.Any()}
}

// after follows a transaction that is committed, and durable unless it is lazy.
func (g *group) after() {
	n := &g.wr.w.counters
	if g.writes > 0 {
		n.groups.Add(1)
	}
	n.commits.Add(g.commits)
	n.takes.Add(g.takes)
	n.deliveries.Add(g.deliveries)
	n.appends.Add(g.appends)
	n.rowsWritten.Add(g.rowsWritten)
	n.rowsRead.Add(g.rowsRead)
	n.rowsTrimmed.Add(g.rowsTrimmed)
	for _, f := range g.hooks {
		f()
	}
}

// onCommit calls f, on the writer's goroutine, once the group is committed.
func (g *group) onCommit(f func()) { g.hooks = append(g.hooks, f) }

func (g *group) notice(kind world.NoticeKind, run string) {
	if !g.quiet {
		g.notices = append(g.notices, world.Notice{Kind: kind, Run: run})
	}
}

func (g *group) exec(s *statement, args ...any) error {
	g.writes++
	_, err := g.c.exec(s, args...)
	return err
}

// changed is exec that tells how many rows were changed.
func (g *group) changed(s *statement, args ...any) (int64, error) {
	n, err := g.c.exec(s, args...)
	if n > 0 || err != nil {
		g.writes++
	}
	return n, err
}

// insert is exec that tells the key of the row, 0 where nothing was inserted.
func (g *group) insert(s *statement, args ...any) (int64, error) {
	key, err := g.c.insert(s, args...)
	if key != 0 || err != nil {
		g.writes++
	}
	return key, err
}
