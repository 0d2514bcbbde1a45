package postgres

// Deaths that are seen: by a session lock that is gone, long before the lease is over. And what is none.

import (
	"testing"
	"time"

	"github.com/stepwell/stepwell/internal/pgtest"
	"github.com/stepwell/stepwell/world"
)

// watchdog shows how often a World has looked at the locks of others.
type watchdog struct {
	*testing.T
	w *World
}

// looks waits until the World has looked n times more.
func (g *watchdog) looks(n int64) {
	g.Helper()
	from := g.w.queue.session.looks.Load()
	eventually(g, "a peer looks at the locks", func() bool { return g.w.queue.session.looks.Load() >= from+n })
}

// sessions tells how many workers have a session, by their rows.
func sessions(t testing.TB, w *World) (n int) {
	t.Helper()
	if err := w.pool.QueryRow(t.Context(), `SELECT count(*) FROM stepwell.workers WHERE session`).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// locksHeld counts session locks.
func locksHeld(t testing.TB, w *World) (n int) {
	t.Helper()
	if err := w.pool.QueryRow(t.Context(), `SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND classid = $1::integer::oid AND granted
		AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`, w.queue.session.class).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// watchedDuel is a duel in which the old worker owns a run, for a minute, and the heir has seen its lock.
func watchedDuel(t *testing.T) (*duel, *watchdog) {
	t.Helper()
	d := newDuel(t, time.Minute, Options{Writers: 1})
	g := &watchdog{T: t, w: d.heir}
	eventually(t, "both have sessions", func() bool { return sessions(t, d.heir) == 2 })
	d.create("r")
	g.looks(2)
	return d, g
}

// sessionLink is the connection of a World's session, found by its lock.
func sessionLink(t *testing.T, d *duel, key int64) *pgtest.Link {
	t.Helper()
	var pid int
	if err := d.heir.pool.QueryRow(t.Context(), `SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND classid = $1::integer::oid AND objid = $2::integer::oid AND granted
		AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`, d.heir.queue.session.class, key).Scan(&pid); err != nil {
		t.Fatal(err)
	}
	for _, l := range d.proxy.Links() {
		if l.PID() == uint32(pid) {
			return l
		}
	}
	t.Fatalf("no link to process %d", pid)
	return nil
}

// A process that is gone is buried though its lease has most of a minute to run.
func TestDeathIsSeen(t *testing.T) {
	t.Parallel()
	d, _ := watchedDuel(t)
	d.proxy.Refuse(true)
	d.proxy.CutAll()
	if got := d.takeover("r"); got.Claim != 2 {
		t.Fatalf("took %+v, want take 2", got)
	}
	if n := countRows(t, d.heir, "workers"); n != 1 {
		t.Fatalf("got %d workers, want the heir alone", n)
	}
	d.proxy.Refuse(false)
	_, err := d.old.Commit(t.Context(), stepCommit("r", d.oldWk.ID, 0))
	wantErr(t, err, world.ErrLeaseLost)
	_, err = d.old.Heartbeat(t.Context(), world.HeartbeatQuery{Worker: d.oldWk.ID})
	wantErr(t, err, world.ErrLeaseLost)
}

// A session's connection that is cut is made anew, with its lock: that is no death.
func TestSessionIsMadeAnew(t *testing.T) {
	t.Parallel()
	d, g := watchedDuel(t)
	key := d.old.crew.worker(d.oldWk.ID).key
	for range 3 {
		link := sessionLink(t, d, key)
		link.Cut()
		eventually(t, "the lock is taken again", func() bool {
			var other bool
			err := d.heir.pool.QueryRow(t.Context(), `SELECT pid <> $3 FROM pg_locks WHERE locktype = 'advisory' AND classid = $1::integer::oid AND objid = $2::integer::oid AND granted
				AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`, d.heir.queue.session.class, key, int(link.PID())).Scan(&other)
			return err == nil && other
		})
		g.looks(3)
	}
	d.stillOwned()
}

// stillOwned: the old worker owns its run, and goes on.
func (d *duel) stillOwned() {
	d.Helper()
	if got := d.owner("r"); got != d.oldWk.ID {
		d.Fatalf("got owner %q, want %s, which is alive", got, d.oldWk.ID)
	}
	row, err := d.heir.Run(d.Context(), "r")
	if err != nil {
		d.Fatal(err)
	}
	page, err := d.heir.Events(d.Context(), "r", world.EventQuery{})
	if err != nil {
		d.Fatal(err)
	}
	must(d, d.old, stepCommit("r", d.oldWk.ID, int64(len(page.Events))-2))
	if row.Claims != 1 {
		d.Fatalf("got %d claims, want the first", row.Claims)
	}
}

// A process that cannot have a session, but is at work, says so before it is believed dead; when it has one again it is watched again.
func TestNoSessionIsNoDeath(t *testing.T) {
	t.Parallel()
	d, g := watchedDuel(t)
	link := sessionLink(t, d, d.old.crew.worker(d.oldWk.ID).key)
	must(t, d.old, stepCommit("r", d.oldWk.ID, 0)) // its connections to work with are open
	d.proxy.Refuse(true)
	link.Cut()
	eventually(t, "it says that it has no session", func() bool { return sessions(t, d.heir) == 1 })
	g.looks(4)
	d.stillOwned()
	d.proxy.Refuse(false)
	eventually(t, "both have sessions", func() bool { return sessions(t, d.heir) == 2 })
	g.looks(2)
	d.stillOwned()
}

// A peer whose own session broke has not seen the lock, and does not judge.
func TestBrokenSessionDoesNotJudge(t *testing.T) {
	t.Parallel()
	d, g := watchedDuel(t)
	d.proxy.Refuse(true)
	d.proxy.CutAll()
	if _, err := d.heir.pool.Exec(t.Context(), `SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND classid = $1::integer::oid
		AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`, d.heir.queue.session.class); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the heir has its lock again, and the dead has none", func() bool { return locksHeld(t, d.heir) == 1 })
	g.looks(5)
	if got := d.owner("r"); got != d.oldWk.ID {
		t.Fatalf("got owner %q, want %s: nobody saw its lock go", got, d.oldWk.ID)
	}
}

// A restart of the database is nobody's death.
func TestRestartIsNoDeath(t *testing.T) {
	t.Parallel()
	c := pgtest.New(t, pgtest.Config{NoSync: true})
	url := c.URL(t)
	d := &duel{T: t, proxy: pgtest.NewProxy(t, url), url: url}
	d.heir = openAt(t, url)
	d.old = openAt(t, d.proxy.URL(url))
	t.Cleanup(func() { d.proxy.Refuse(false) })
	d.oldWk, d.heirWk = d.join(d.old, time.Minute), d.join(d.heir, time.Minute)
	g := &watchdog{T: t, w: d.heir}
	eventually(t, "both have sessions", func() bool { return locksHeld(t, d.heir) == 2 })
	d.create("r")
	g.looks(2)
	for _, away := range []bool{false, true} {
		d.proxy.Refuse(away)
		if err := c.Restart(pgtest.Immediate); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the heir has its lock again", func() bool {
			var n int
			err := d.heir.pool.QueryRow(t.Context(), `SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND classid = $1::integer::oid AND granted`, d.heir.queue.session.class).Scan(&n)
			return err == nil && n > 0
		})
		g.looks(4)
		if got := d.owner("r"); got != d.oldWk.ID {
			t.Fatalf("away %v: got owner %q, want %s", away, got, d.oldWk.ID)
		}
		if !away {
			d.stillOwned()
		}
	}
}

// Without a session, by choice or behind a pooler, leases alone decide.
func TestLeaseWithoutSession(t *testing.T) {
	t.Parallel()
	b := pgtest.Pooler(t, pgtest.Shared(t))
	url := pgtest.URL(t)
	w, heir := openAt(t, b.URL(url)), openAt(t, b.URL(url))
	d := &duel{T: t, old: w, heir: heir, url: url}
	d.oldWk, d.heirWk = d.join(w, shortLease), d.join(heir, time.Minute)
	d.create("r")
	if got := d.takeover("r"); got.Claim != 2 {
		t.Fatalf("took %+v, want take 2", got)
	}
	if n := sessions(t, heir); n != 0 {
		t.Fatalf("got %d sessions, want none", n)
	}
	if w.Poll() != 0 {
		t.Fatalf("got a poll of %s, want none: it hears nothing", w.Poll())
	}
}

// Leaving gives the lock back, and a World with no worker left and nobody who listens has no session.
func TestSessionEnds(t *testing.T) {
	t.Parallel()
	w := open(t)
	wk := join(t, w, time.Minute, class1)
	eventually(t, "it has a session", func() bool { return locksHeld(t, w) == 1 && w.Poll() > 0 })
	if err := w.Leave(t.Context(), wk.ID); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the session is closed", func() bool { return locksHeld(t, w) == 0 && w.Poll() == 0 })
	stop := w.Notify(func(world.Notice) {})
	defer stop()
	eventually(t, "it listens", func() bool { return w.Poll() > 0 })
	if n := locksHeld(t, w); n != 0 {
		t.Fatalf("got %d locks, want none", n)
	}
}
