package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/stepwell/stepwell/world"
)

// Bounds of a group. A writer whose server does not answer at all for groupPatience gives its connection up.
const (
	maxWriters    = 16
	maxGroup      = 1024
	maxGroupBytes = 16 << 20
	groupPatience = 30 * time.Second
)

// A stranger's lock stalls a group for no longer; then those that may have to wait go alone.
const groupLockTimeout = "250ms"

var (
	setLockTimeout  = load("set_lock_timeout")
	keepLockTimeout = load("keep_lock_timeout")
	mailWaits       = load("mail_waits")
	noteBackend     = load("note_backend")
	backendStart    = load("backend_start")
	endBackend      = load("end_backend")
)

// errAlone: the commit is to be tried in a transaction of its own, which can say what is wrong with it.
var errAlone = errors.New("to be tried alone")

// writing is what a World has for commits and deliveries.
type writing struct {
	writers   sync.WaitGroup
	spare     sync.Pool // of *request
	config    *pgx.ConnConfig
	lanes     chan int16 // those that are free for transactions of single commits
	backends  [maxWriters]backend
	steps     stepPool
	patience  time.Duration // lockPatience, but in tests
	groupLock string        // groupLockTimeout, but in tests

	mu sync.Mutex // guards backends
}

// request is one commit that waits for its transaction. Whoever made it waits for done.
type request struct {
	draft *draft
	err   error
	done  chan struct{} // capacity 1; gets one value when the commit is durable, or refused
}

// startWriters starts what Close ends.
func (w *World) startWriters(ctx context.Context) {
	g := &w.writing
	w.commits.init(&w.database)
	w.appends.init(&w.database, w.telling.tell)
	g.spare.New = func() any { return &request{done: make(chan struct{}, 1)} }
	g.lanes = make(chan int16, lanesAlone)
	for i := range int16(lanesAlone) {
		g.lanes <- laneAlone + i
	}
	g.config = w.cfg.ConnConfig.Copy()
	g.patience, g.groupLock = lockPatience, groupLockTimeout
	for lane := range w.opt.Writers {
		wr := &writer{w: w, lane: int16(lane)}
		g.writers.Go(func() { wr.loop(ctx) })
	}
	g.writers.Go(func() { w.sender.loop(ctx) })
	g.writers.Go(func() { w.appends.all(ctx) })
	g.writers.Go(func() { w.messaging.sending(ctx) })
	g.writers.Go(func() { w.messaging.settlement(ctx) })
}

// stopWriters waits until all that was sent is written. The World is closed: nothing more is sent.
func (w *World) stopWriters() {
	w.commits.close()
	w.sender.close()
	w.appends.close()
	w.messaging.close()
	w.writing.writers.Wait()
	w.writing.steps.close()
}

// send gives a commit to the writers and waits for it.
func (w *World) send(ctx context.Context, d *draft) (world.Committed, error) {
	r := w.writing.spare.Get().(*request)
	r.draft, r.err = d, nil
	if err := w.commits.put(ctx, r, r.done); err != nil {
		return world.Committed{}, err
	}
	err := r.err
	r.draft = nil
	w.writing.spare.Put(r)
	if err != nil {
		return world.Committed{}, err
	}
	return d.done, nil
}

// backend is the server's process behind a connection. Its number may be used again, but not with the same start.
type backend struct {
	pid   uint32
	start time.Time
}

// writer is a goroutine that writes groups of commits on a connection of its own.
type writer struct {
	w     *World
	lane  int16
	conn  *pgx.Conn // nil until the first group, and after a failure
	age   age       // of conn
	used  time.Time // when conn was last
	batch []*request
	sheet sheet
	news  []world.Notice
	sums  map[[2]string]int64
}

func (wr *writer) loop(ctx context.Context) {
	defer wr.drop()
	for first := range wr.w.commits.out() {
		wr.batch, _, _ = wr.w.commits.gather(wr.batch[:0], first, func(r *request) int { return r.draft.bytes }, nil)
		wr.write(ctx, wr.batch)
		clear(wr.batch)
	}
}

// write writes a group, and answers all its members. Where the server refuses it, its halves are tried, and in the end whoever it was about
// alone.
func (wr *writer) write(ctx context.Context, batch []*request) {
	err := wr.transaction(ctx, batch)
	switch {
	case err == nil:
		wr.finish(ctx, batch)
	case errors.Is(err, world.ErrUnknownOutcome), errors.Is(err, world.ErrStorage):
		answer(batch, err)
	case len(batch) == 1:
		answer(batch, errAlone)
	case sqlState(err) == codeLockTimeout:
		waiting := func(r *request) bool { return r.draft.mayWait() }
		rest := slices.DeleteFunc(slices.Clone(batch), waiting)
		answer(slices.DeleteFunc(slices.Clone(batch), func(r *request) bool { return !waiting(r) }), errAlone)
		if len(rest) == len(batch) { // nobody could have waited
			answer(batch, errAlone)
		} else if len(rest) > 0 {
			wr.write(ctx, rest)
		}
	default:
		wr.write(ctx, batch[:len(batch)/2])
		wr.write(ctx, batch[len(batch)/2:])
	}
}

// mayWait reports whether the commit locks or inserts what others may lock or insert as well.
func (d *draft) mayWait() bool {
	s := &d.sheet
	return len(s.births)+len(s.locked)+len(s.ended)+len(s.sent)+len(s.hooks)+len(s.held)+len(s.dropped)+len(s.noTasks)+len(s.chunks) > 0
}

// answer ends requests with an error.
func answer(batch []*request, err error) {
	for _, r := range batch {
		r.err = err
		r.done <- struct{}{}
	}
}

// transaction sends a group. An error is what the server says, or ErrUnknownOutcome, or ErrStorage where there is no server.
func (wr *writer) transaction(ctx context.Context, batch []*request) error {
	began, pause := time.Now(), firstPause
	for try := 0; ; try++ {
		err := wr.attempt(ctx, batch)
		switch {
		case sqlState(err) == codeReadOnly && try > 0:
			return wr.w.failed(err)
		case sqlState(err) == codeReadOnly: // the next connection may be another server's
		case err == nil || refused(err) && sqlState(err) != codeTooMany:
			return err
		case errors.Is(err, world.ErrUnknownOutcome):
			return err
		case time.Since(began) > wr.w.patience:
			return wr.w.failed(err)
		}
		select { // nothing was sent
		case <-ctx.Done():
			return wr.w.failed(err)
		case <-time.After(pause):
			pause = min(2*pause, longestPause)
		}
	}
}

// attempt connects where that is needed and sends the group as one batch: one implicit transaction, that the server commits when it has read it
// to the end. An error that is neither the server's refusal nor ErrUnknownOutcome means that nothing was sent.
func (wr *writer) attempt(ctx context.Context, batch []*request) error {
	ctx, cancel := context.WithTimeout(ctx, groupPatience)
	defer cancel()
	if err := wr.connect(ctx); err != nil {
		return err
	}
	script := script{db: &wr.w.database}
	if wr.w.pooled {
		script.put(1, setLockTimeout, func() []any { return []any{wr.w.writing.groupLock} })
	}
	renewed, fence := wr.merge(batch)
	renew := column(renewed, func(wk **worker) int64 { return (*wk).key })
	script.write(&wr.sheet)
	script.put(len(renew), renewWorkers, func() []any { return []any{renew} })
	script.put(len(fence), lockLanes, func() []any { return []any{fence, wr.lane} })
	wr.w.counters.statements.Add(int64(len(script.items)))
	sent := wr.w.now()
	err := wr.conn.SendBatch(ctx, script.batch()).Close()
	wr.used = time.Now()
	if err == nil {
		for _, wk := range renewed {
			wr.w.crew.renewed(wk, sent)
		}
		wr.news = script.news
		return nil
	}
	if refused(err) && (!wr.conn.IsClosed() || sqlState(err) == codeReadOnly) {
		return err
	}
	if unsent(err) {
		wr.drop()
		return err
	}
	return wr.lost(ctx, batch, err)
}

// merge puts all drafts on one sheet, and tells whose leases are to be renewed, and who must be alive.
func (wr *writer) merge(batch []*request) (renew []*worker, fence []int64) {
	s := &wr.sheet
	s.clear()
	for _, r := range batch {
		d := r.draft
		s.add(&d.sheet)
		if d.wk != nil && !slices.Contains(fence, d.wk.key) {
			fence = append(fence, d.wk.key)
		}
		if d.wk != nil && d.c.Birth() && !slices.Contains(renew, d.wk) && wr.w.crew.stale(d.wk) {
			renew = append(renew, d.wk)
		}
	}
	if len(s.chunks) > 1 {
		slices.SortStableFunc(s.chunks, func(a, b chunkRow) int { return cmp.Or(cmp.Compare(a.run, b.run), cmp.Compare(a.stream, b.stream)) })
	}
	slices.SortFunc(s.log, func(a, b logRow) int { return cmp.Or(cmp.Compare(a.run, b.run), cmp.Compare(a.seq, b.seq)) })
	if wr.sums == nil {
		wr.sums = make(map[[2]string]int64)
	}
	clear(wr.sums)
	for _, t := range s.totals {
		wr.sums[[2]string{t.workflow, t.status}] += t.n
	}
	s.totals = s.totals[:0]
	for k, n := range wr.sums {
		if n != 0 {
			s.totals = append(s.totals, totalRow{k[0], k[1], n})
		}
	}
	slices.SortFunc(renew, func(a, b *worker) int { return cmp.Compare(a.key, b.key) })
	slices.Sort(fence)
	return renew, fence
}

// finish follows a group that is durable.
func (wr *writer) finish(ctx context.Context, batch []*request) {
	w := wr.w
	drafts := make([]*draft, len(batch))
	var freed []int64
	for i, r := range batch {
		drafts[i] = r.draft
		if r.draft.freed != 0 {
			freed = append(freed, r.draft.freed)
		}
	}
	w.counters.groups.Add(1)
	notices := w.telling.late(append(w.durable(drafts...), wr.news...))
	w.telling.nameWork(notices) // who asks for work when it has its answer is told of what it committed
	for i, r := range batch {
		if drafts[i].freed == 0 {
			r.done <- struct{}{}
		}
	}
	w.telling.spread(notices)
	if len(freed) == 0 {
		return
	}
	waits := wr.mail(ctx, freed)
	wr.news = wr.news[:0]
	for i, r := range batch {
		if d := drafts[i]; d.freed != 0 {
			d.done.Mail = waits == nil || waits[d.freed]
			wr.news = append(wr.news, d.foundMail()...)
			r.done <- struct{}{}
		}
	}
	w.telling.tell(wr.news...)
}

// foundMail is what is news where mail waits for a run that was released: whoever sent it took the run for owned.
func (d *draft) foundMail() []world.Notice {
	if !d.done.Mail {
		return nil
	}
	return []world.Notice{{Kind: noticePost, Run: d.c.Run}}
}

// mail looks which runs that were released have mail. Nil: nobody knows.
func (wr *writer) mail(ctx context.Context, runs []int64) map[int64]bool {
	ctx, cancel := context.WithTimeout(ctx, groupPatience)
	defer cancel()
	wr.w.counters.statements.Add(1)
	rows, err := wr.conn.Query(ctx, wr.w.sql(mailWaits), runs)
	if err != nil {
		return nil
	}
	keys, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	if err != nil {
		return nil
	}
	waits := make(map[int64]bool, len(keys))
	for _, key := range keys {
		waits[key] = true
	}
	return waits
}

// durable brings this World's memory in step with commits that are durable, counts them, and tells what is news.
func (w *World) durable(drafts ...*draft) (notices []world.Notice) {
	w.crew.settle(drafts, w.queue.resting.note)
	var rows, sent int64
	for _, d := range drafts {
		rows += int64(len(d.sheet.log))
		sent += int64(len(d.sheet.sent))
		notices = append(notices, d.notices...)
	}
	w.counters.commits.Add(int64(len(drafts)))
	w.counters.rowsWritten.Add(rows)
	w.counters.deliveries.Add(sent)
	return notices
}

// connect opens the writer's connection, or finds out whether the one it has was idle too long to be trusted.
func (wr *writer) connect(ctx context.Context) error {
	if wr.conn != nil && (wr.conn.IsClosed() || wr.w.old(wr.age)) {
		wr.drop()
	}
	if wr.conn != nil && time.Since(wr.used) > time.Second {
		wr.w.counters.statements.Add(1)
		if err := wr.conn.Ping(ctx); err != nil {
			wr.drop()
		}
	}
	if wr.conn != nil {
		return nil
	}
	w := wr.w
	age := w.newAge()
	conn, err := pgx.ConnectConfig(ctx, w.writing.config.Copy())
	if err != nil {
		return err
	}
	readTimes(conn)
	wr.conn, wr.age, wr.used = conn, age, time.Now()
	if w.pooled {
		return nil
	}
	if err := wr.note(ctx, conn); err != nil {
		wr.drop()
		return fmt.Errorf("%w: %w", errAgain, err)
	}
	return nil
}

// note notes which process of the server is behind a connection, here and in the workers' rows.
func (wr *writer) note(ctx context.Context, conn *pgx.Conn) error {
	w := wr.w
	b := backend{pid: conn.PgConn().PID()}
	if err := conn.QueryRow(ctx, w.sql(backendStart)).Scan(&b.start); err != nil {
		return err
	}
	if _, err := conn.Exec(ctx, w.sql(keepLockTimeout), w.writing.groupLock); err != nil {
		return err
	}
	// Where it is refused somebody holds a row; nothing rests on it.
	if _, err := conn.Exec(ctx, w.sql(noteBackend), w.crew.local(), wr.lane, int32(b.pid)); err != nil && !refused(err) {
		return err
	}
	w.writing.mu.Lock()
	w.writing.backends[wr.lane] = b
	w.writing.mu.Unlock()
	return nil
}

// drop closes the connection.
func (wr *writer) drop() {
	if wr.conn == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = wr.conn.Close(ctx)
	wr.conn = nil
}

// lost says that the answer to a group was lost. Before it does so it makes sure, if it can, that the server's end of the connection is not still
// writing, so that who asks for the outcome gets the last word.
func (wr *writer) lost(ctx context.Context, batch []*request, err error) error {
	wr.drop()
	w := wr.w
	w.writing.mu.Lock()
	old := w.writing.backends[wr.lane]
	w.writing.mu.Unlock()
	commits := make([]*world.Commit, len(batch))
	for i, r := range batch {
		commits[i] = r.draft.c
	}
	w.unknown.note(commits...)
	if !w.pooled && old.pid != 0 {
		w.endBackend(ctx, old)
	}
	return fmt.Errorf("%w: %s: the answer to a commit was lost: %w", world.ErrUnknownOutcome, w.place, err)
}

// endBackend ends a process of the server's that has lost its client, and waits until it is gone; not for long.
func (w *World) endBackend(ctx context.Context, b backend) {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	for {
		var alive bool
		err := w.pool.QueryRow(ctx, w.sql(endBackend), int32(b.pid), b.start).Scan(&alive)
		if err == nil && !alive {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(firstPause):
		}
	}
}
