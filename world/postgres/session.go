package postgres

// The session: a connection of this World's own that listens and holds a lock for each of its workers, where no pooler stands in between. So the death of a process is
// seen: its lock is gone. Correctness rests on none of it; a World that has no session works by leases and polls.
//
//  1. A lock that is gone for a second is a death. A connection that is cut is made anew at once, and takes its locks again; a World that cannot says so in the workers'
//     rows (session = false), and is judged by its leases from then on.
//  2. Only a World judges that has seen the lock itself and whose own session is the same ever since. So a restart of the database is nobody's death.
//  3. Nobody waits for a lock: it is looked for in pg_locks, once a second while somebody else holds anything, and not at all otherwise.

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/stepwell/stepwell/world"
)

const (
	watchEvery    = 750 * time.Millisecond // between looks at the locks of others
	deathAfter    = time.Second            // a lock that is gone for so long is a death
	relockEvery   = 100 * time.Millisecond // while the server still has the connection before
	reconnectMost = 500 * time.Millisecond // between attempts to connect
	connectMost   = 5 * time.Second        // for one
	disclaimAfter = 300 * time.Millisecond // without a session its workers' rows say so
)

var (
	lockSession   = load("lock_session")
	unlockSession = load("unlock_session")
	claimSession  = load("claim_session")
	disclaim      = load("disclaim_session")
	watchWorkers  = load("watch_workers")
)

// session is what others see of the goroutine that keeps the connection.
type session struct {
	class     int32        // the first number of advisory locks: which schema it is
	listening atomic.Bool  // others' news arrives
	watch     atomic.Bool  // somebody else may hold something
	looks     atomic.Int64 // at the workers of others, so far
	passes    atomic.Int64 // of its loop, so far

	nudged chan struct{} // capacity 1: workers or listeners have changed, or there is something to watch
	mu     sync.Mutex
	wake   context.CancelFunc // under mu: ends the wait for notifications
}

// nudge makes the goroutine look at what has changed.
func (s *session) nudge() {
	select {
	case s.nudged <- struct{}{}:
	default:
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.wake != nil {
		s.wake()
	}
}

// watchPeers notes that somebody else holds something.
func (s *session) watchPeers() {
	if !s.watch.Swap(true) {
		s.nudge()
	}
}

// sessionKeeper keeps the connection, and tells and hears what is news across processes. It owns no state but the connection,
// which is one goroutine's: what others see of that is in session, what is to be told in news.
type sessionKeeper struct {
	*database
	crew    *crew
	queue   *queueing
	telling *telling
	burials *burials
	active  *sync.WaitGroup // what it started
}

// start starts what listens and tells. It ends with ctx.
func (se *sessionKeeper) start(ctx context.Context) {
	q := se.queue
	q.session.class, q.session.nudged = schemaClass(se.opt.Schema), make(chan struct{}, 1)
	q.news.from, q.news.nudge = rand.Text(), make(chan struct{}, 1)
	se.active.Go(func() { se.sendNewsLoop(ctx) })
	if !se.pooled {
		se.active.Go(func() { se.keepSession(ctx) })
	}
}

// wantsSession reports whether there is anything to lock or to listen for.
func (se *sessionKeeper) wantsSession() bool {
	return se.crew.works() || !se.opt.NoNotify && se.telling.heard()
}

// keepSession keeps the connection, until ctx ends.
func (se *sessionKeeper) keepSession(ctx context.Context) {
	s := &se.queue.session
	var lost time.Time // since when there is none; zero: there was none
	said := false      // that there is none
	for pause := time.Duration(0); ctx.Err() == nil; {
		if !se.wantsSession() {
			select {
			case <-ctx.Done():
			case <-s.nudged:
			}
			continue
		}
		if h, err := se.openSession(ctx); err == nil {
			said = false
			began := time.Now()
			h.hold(ctx)
			closeConn(ctx, h.conn)
			lost = time.Now()
			if s.listening.Swap(false) { // who relied on notices polls from now on
				se.telling.here([]world.Notice{{Kind: world.NoticeWork}})
			}
			if lost.Sub(began) > reconnectMost { // else it would be made again and again: on a server that takes no writes it cannot last
				pause = 0
				continue
			}
		} else if !lost.IsZero() && !said && time.Since(lost) > disclaimAfter {
			said = se.disclaim(ctx)
		}
		pause = min(max(2*pause, firstPause), reconnectMost)
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}

// disclaim says that this World's workers have no session.
func (se *sessionKeeper) disclaim(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, disclaimAfter)
	defer cancel()
	se.counters.housekeeping.Add(1)
	_, err := se.pool.Exec(ctx, se.sql(disclaim), se.crew.local())
	return err == nil
}

// holding is one connection, for as long as it lasts.
type holding struct {
	of     *sessionKeeper
	conn   *pgx.Conn
	age    age
	locked map[int64]bool
	seen   map[int64]bool      // locks of others
	gone   map[int64]time.Time // since when such a lock is gone
	looked time.Time
	work   bool      // others' work is to be told
	told   time.Time // when it was, last
	burial sync.Mutex
}

// openSession connects and begins to listen.
func (se *sessionKeeper) openSession(ctx context.Context) (*holding, error) {
	ctx, cancel := context.WithTimeout(ctx, connectMost)
	defer cancel()
	age := se.newAge()
	conn, err := pgx.ConnectConfig(ctx, se.cfg.ConnConfig.Copy())
	if err != nil {
		return nil, err
	}
	readTimes(conn)
	h := &holding{of: se, conn: conn, age: age, locked: make(map[int64]bool), seen: make(map[int64]bool), gone: make(map[int64]time.Time)}
	if se.opt.NoNotify {
		return h, nil
	}
	se.counters.housekeeping.Add(1)
	if _, err := conn.Exec(ctx, "LISTEN "+pgx.Identifier{se.queue.channel()}.Sanitize()); err != nil {
		closeConn(ctx, conn)
		return nil, err
	}
	se.queue.session.listening.Store(true)
	return h, nil
}

func closeConn(ctx context.Context, conn *pgx.Conn) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	_ = conn.Close(ctx)
}

// hold locks, listens and watches until the connection breaks or ctx ends.
func (h *holding) hold(ctx context.Context) {
	s := &h.of.queue.session
	s.watch.Store(true)
	first := true
	for ctx.Err() == nil && h.of.wantsSession() && !h.of.old(h.age) {
		s.passes.Add(1)
		all, err := h.lock(ctx)
		if err != nil {
			return
		}
		if first { // what was sent before, nobody here has heard
			first = false
			h.of.telling.here([]world.Notice{{Kind: world.NoticeWork}, {Kind: world.NoticeMail}, {Kind: world.NoticeEnded}, {Kind: world.NoticeLog}, {Kind: world.NoticeMessage}, newsOfTopics})
		}
		tell := h.tellWork() // before others are looked at: somebody waits for it
		wait, err := h.watch(ctx)
		if err != nil {
			return
		}
		if !all {
			wait = min(wait, relockEvery)
		}
		if err := h.listen(ctx, min(wait, tell)); err != nil {
			return
		}
	}
}

// tellWork tells of others' work, unless that was done a moment ago; then it returns how long to wait.
func (h *holding) tellWork() time.Duration {
	if !h.work {
		return math.MaxInt64
	}
	if d := workPause - time.Since(h.told); d > 0 {
		return d
	}
	h.work, h.told = false, time.Now()
	h.of.telling.here([]world.Notice{{Kind: world.NoticeWork}})
	return math.MaxInt64
}

// listen waits for a notification, a nudge, or for so long.
func (h *holding) listen(ctx context.Context, wait time.Duration) error {
	s := &h.of.queue.session
	wctx, cancel := context.WithTimeout(ctx, min(wait, cmp.Or(h.of.cfg.MaxConnLifetime, time.Hour)))
	defer cancel()
	s.mu.Lock()
	s.wake = cancel
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		s.wake = nil
		s.mu.Unlock()
	}()
	select {
	case <-s.nudged:
		return nil
	default:
	}
	n, err := h.conn.WaitForNotification(wctx)
	if err != nil {
		if wctx.Err() != nil && !h.conn.IsClosed() {
			return nil
		}
		return err
	}
	s.watch.Store(true) // somebody is at work
	work, hinted := h.of.hear(n.Payload)
	h.work = work || h.work
	if hinted { // what is to be claimed is known: nobody looks for it
		h.told = time.Time{}
	}
	return nil
}

// lock takes the locks of this World's workers, and gives back those of workers that are gone. It reports whether it has all.
func (h *holding) lock(ctx context.Context) (all bool, err error) {
	mine := make(map[int64]bool)
	for _, key := range h.of.crew.local() {
		mine[key] = true
	}
	all = true
	for key := range mine {
		if h.locked[key] {
			continue
		}
		h.of.counters.housekeeping.Add(1)
		var got bool
		if err := h.conn.QueryRow(ctx, h.of.sql(lockSession), h.of.queue.session.class, key).Scan(&got); err != nil {
			return false, err
		}
		if !got {
			all = false
			continue
		}
		h.locked[key] = true
		h.of.counters.housekeeping.Add(1)
		if _, err := h.conn.Exec(ctx, h.of.sql(claimSession), key); err != nil {
			return false, err
		}
	}
	for key := range h.locked {
		if mine[key] {
			continue
		}
		delete(h.locked, key)
		h.of.counters.housekeeping.Add(1)
		if _, err := h.conn.Exec(ctx, h.of.sql(unlockSession), h.of.queue.session.class, key); err != nil {
			return false, err
		}
	}
	return all, nil
}

// errSession: this session's own lock is not there.
var errSession = errors.New("session lock lost")

// watch looks at the workers of others, if it is time and somebody may hold something, and returns when it is next.
func (h *holding) watch(ctx context.Context) (next time.Duration, err error) {
	s := &h.of.queue.session
	if !h.of.crew.works() || !s.watch.Load() {
		return math.MaxInt64, nil
	}
	if d := h.nextWatch() - time.Since(h.looked); d > 0 {
		return d, nil
	}
	h.looked = time.Now()
	s.watch.Store(false)
	h.of.counters.housekeeping.Add(1)
	rows, err := h.conn.Query(ctx, h.of.sql(watchWorkers), s.class)
	if err != nil {
		return 0, err
	}
	var r watched
	mine := 0
	dead := make(map[int64]cause)
	if _, err := pgx.ForEachRow(rows, []any{&r.key, &r.session, &r.over, &r.ended, &r.holds, &r.locked}, func() error {
		switch {
		case h.locked[r.key] && r.locked:
			mine++
		case h.locked[r.key]:
			return errSession
		default:
			if why := h.judge(&r); why != "" {
				dead[r.key] = why
			}
			if r.holds {
				s.watch.Store(true)
			}
		}
		return nil
	}); err != nil {
		return 0, err
	}
	s.looks.Add(1)
	if len(dead) > 0 {
		h.bury(ctx, dead)
	}
	return h.nextWatch(), nil
}

// nextWatch is how long after a look the next one is: where a lock is gone, when it has been gone for long enough.
func (h *holding) nextWatch() time.Duration {
	next := watchEvery
	for _, since := range h.gone {
		next = min(next, max(time.Until(since.Add(deathAfter)), relockEvery))
	}
	return next
}

// watched is a worker as it is watched.
type watched struct {
	key                                 int64
	session, over, ended, holds, locked bool
}

// judge says why a worker of somebody else is to be buried, "" where it is not.
func (h *holding) judge(r *watched) cause {
	switch {
	case r.ended, r.over && r.holds:
		return leaseOver
	case r.locked:
		h.seen[r.key] = true
		delete(h.gone, r.key)
	case !r.session || !h.seen[r.key]:
		delete(h.gone, r.key)
	case h.gone[r.key].IsZero():
		h.gone[r.key] = time.Now()
		h.of.queue.session.watch.Store(true)
	case time.Since(h.gone[r.key]) < deathAfter:
		h.of.queue.session.watch.Store(true)
	default:
		delete(h.gone, r.key)
		delete(h.seen, r.key)
		return sessionGone
	}
	return ""
}

// bury buries workers on a goroutine, one batch at a time: news goes on meanwhile.
func (h *holding) bury(ctx context.Context, dead map[int64]cause) {
	h.of.active.Go(func() {
		h.burial.Lock()
		defer h.burial.Unlock()
		for key, why := range dead {
			if _, err := h.of.burials.bury(ctx, key, why); err != nil {
				h.of.queue.session.watchPeers() // whoever looks next goes on
			}
		}
	})
}
