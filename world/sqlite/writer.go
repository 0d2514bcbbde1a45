package sqlite

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	lib "modernc.org/sqlite/lib"

	"github.com/stepwell/stepwell/world"
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
	if err := w.files.whyLost(); err != nil {
		w.gate.RUnlock()
		w.spare.Put(r)
		return world.Committed{}, err
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
	w       *World
	c       *conn // nil after a commit with an unknown outcome
	version int64 // of the data when it was last read
	noted   int64 // what note read of it
	note    func(r row) error
	ringer  ringer
	batch   []*request
	group   group
	backlog backlog // what is in the log: see checkpoint.go
	doubt   doubt   // after a sync that failed: see sync_failed.go
	full    bool    // the disk is: see disk_full.go
	older   bool    // the file's age has grown in this log: see age.go
	reserve reserve
	from    time.Time // since when it has been busy: see stalled
}

func newWriter(w *World, c *conn) *writer {
	wr := &writer{w: w, c: c, version: -1, ringer: ringer{path: bellPath(w.path)}}
	wr.note = func(r row) error { wr.noted = r.int(0); return nil }
	wr.group.init(w)
	return wr
}

// close closes the connection, the last one of this world. Where nobody else has the file open SQLite copies the log and deletes it; but not where it is in doubt
// whether the file has all of it, nor where its path may be another file's by now.
func (wr *writer) close() error {
	err := wr.ringer.close()
	if wr.reserve.size() > 0 {
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
		if wr.w.lock == nil && wr.group.tx.wrote() > 0 {
			wr.ringer.ring()
		}
		for i, r := range wr.batch {
			wr.batch[i] = nil
			r.done <- struct{}{}
		}
		wr.w.listeners.Tell(wr.group.tx.news())
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
	wr.group.tx.told()
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
	g.tx.next()
	lazy := lazy(batch)
	err := wr.begin(lazy)
	wr.stalled()
	if err != nil {
		fail(batch, classify(wr.w.path, err))
		return nil
	}
	g.begin(wr.w, wr.c)
	defer func() { wr.backlog.grow(g.tx.grown()) }()
	for _, r := range batch {
		before := g.tx.wrote()
		r.err = nil
		if r.commit != nil {
			r.result, r.err = g.commit(r.commit)
		} else {
			r.err = r.change(g)
		}
		if r.err == nil || g.tx.wrote() == before && resultCode(r.err) == 0 {
			continue // made, or refused with nothing written
		}
		wr.giveUp()
		if len(batch) > 1 {
			return errAlone
		}
		r.err = classify(wr.w.path, r.err)
		return nil
	}
	if err := g.totals.write(); err != nil {
		wr.giveUp()
		fail(batch, classify(wr.w.path, err))
		return nil
	}
	if g.tx.wrote() == 0 {
		_, _ = wr.c.exec(rollback)
		g.tx.committed()
		return nil
	}
	if !wr.older {
		if err := growOlder(wr.c); err != nil {
			wr.giveUp()
			fail(batch, classify(wr.w.path, err))
			return nil
		}
	}
	if _, err := wr.c.exec(commit); err != nil {
		wr.notCommitted(batch, err)
		return nil
	}
	wr.older = true
	if err := wr.w.lookAtMain(); err != nil { // it went to a file that nobody finds again
		g.forget()
		g.tx.retract()
		failAll(batch, err)
		return nil
	}
	wr.backlog.add(pagesOf(int64(g.tx.wrote()) - g.tx.count().rowsWritten))
	g.tx.committed()
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
		wr.group.forget()
		wr.version = wr.noted
	}
	wr.group.runs.shrink()
	return nil
}

// giveUp rolls back, and forgets what the group has changed in memory.
func (wr *writer) giveUp() {
	_, _ = wr.c.exec(rollback) // fails where SQLite has rolled back itself
	wr.group.spoil()
	wr.group.tx.retract()
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
// line with a heartbeat is not silent.
func (wr *writer) stalled() {
	now := time.Now()
	d := now.Sub(wr.from)
	wr.from = now
	if d >= leastStall {
		wr.w.crew.forgive(d)
	}
}
