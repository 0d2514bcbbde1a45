package postgres

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/rules"
)

// wires are connections of a World's writers that a test can break.
type wires struct {
	mu    sync.Mutex
	fault func(c *wire, b []byte) (int, error) // stands between a write and the server; nil: none
}

// wire is one connection.
type wire struct {
	net.Conn
	all *wires

	deaf atomic.Bool   // what comes from now on is lost
	cut  chan struct{} // and, when this is closed, so is the connection
}

func (c *wire) Write(b []byte) (int, error) {
	c.all.mu.Lock()
	fault := c.all.fault
	c.all.mu.Unlock()
	if fault == nil {
		return c.Conn.Write(b)
	}
	return fault(c, b)
}

func (c *wire) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if c.deaf.Load() {
		<-c.cut
		return 0, errors.New("the line is cut")
	}
	return n, err
}

// smallest is less than a group has, and more than a look whether the server is there.
const smallest = 60

// set makes the next group the last one of its connection.
func (ws *wires) set(fault func(c *wire, b []byte) (int, error)) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	ws.fault = func(c *wire, b []byte) (int, error) {
		if len(b) < smallest {
			return c.Conn.Write(b)
		}
		ws.mu.Lock()
		ws.fault = nil
		ws.mu.Unlock()
		return fault(c, b)
	}
}

// wired opens a World with one writer whose connections a test can break.
func wired(t *testing.T) (*World, *wires) {
	t.Helper()
	w, ws := open(t, Options{Writers: 1}), &wires{}
	w.writing.config.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := (&net.Dialer{}).DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &wire{Conn: c, all: ws, cut: make(chan struct{})}, nil
	}
	return w, ws
}

// locked is a transaction of a stranger's that holds locks until it is ended.
func locked(t *testing.T, w *World, text string) (end func()) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	tx, err := w.pool.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(ctx, inSchema(text, w.opt.Schema)); err != nil {
		t.Fatal(err)
	}
	var once sync.Once
	end = func() { once.Do(func() { _ = tx.Rollback(ctx) }) }
	t.Cleanup(end)
	return end
}

// A connection that breaks when a group was sent, or a part of it, leaves an unknown outcome. The writer goes on with another connection, and Outcome
// tells what became of it.
func TestUnknownOutcome(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		fault   func(t *testing.T, w *World, c *wire, b []byte) (int, error)
		written bool
	}{
		"the answer is lost": {written: true, fault: func(t *testing.T, w *World, c *wire, b []byte) (int, error) {
			before := countRows(t, w, "log")
			c.deaf.Store(true)
			n, err := c.Conn.Write(b)
			for end := time.Now().Add(20 * time.Second); countRows(t, w, "log") == before; {
				if time.Now().After(end) {
					t.Error("the group was not written")
					break
				}
			}
			close(c.cut)
			return n, err
		}},
		"a part was sent": {fault: func(t *testing.T, w *World, c *wire, b []byte) (int, error) {
			n, _ := c.Conn.Write(b[:len(b)/2])
			_ = c.Conn.Close()
			return n, net.ErrClosed
		}},
		"the server's end goes on without a client": {fault: func(t *testing.T, w *World, c *wire, b []byte) (int, error) {
			locked(t, w, "SELECT 1 FROM {schema}.lanes FOR UPDATE") // nobody can commit
			c.deaf.Store(true)
			n, err := c.Conn.Write(b)
			waitForLock(t, w)
			close(c.cut)
			_ = c.SetReadDeadline(time.Now())
			return n, err
		}},
	}
	for name, tt := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, ws := wired(t)
			w.writing.groupLock = "20s"
			wk := join(t, w, 0, class1)
			for i, what := range []func(c *world.Commit) *world.Commit{
				func(c *world.Commit) *world.Commit { return c },
				func(c *world.Commit) *world.Commit { c.Release = &world.Release{}; return c },
				func(c *world.Commit) *world.Commit { c.Release, c.Events = &world.Release{}, nil; return c },
				func(c *world.Commit) *world.Commit { return eager(c.Run+"-new", "w", wk.ID) },
			} {
				if name == "the server's end goes on without a client" && i > 0 {
					break // its lock is held until the end of the test
				}
				made := func() (run string, c *world.Commit) {
					run = world.NewID(world.PrefixRun, time.Now())
					must(t, w, eager(run, "w", wk.ID))
					if c = what(stepCommit(run, wk.ID, 0)); c.Birth() {
						c.Run = world.NewID(world.PrefixRun, time.Now())
					}
					return run, c
				}
				_, first := made()
				must(t, w, first) // its statements are prepared from now on
				run, c := made()
				if len(c.Events) == 0 && tt.written {
					continue // it writes no row to be waited for
				}
				ws.set(func(c *wire, b []byte) (int, error) { return tt.fault(t, w, c, b) })
				_, err := w.Commit(t.Context(), c)
				wantErr(t, err, world.ErrUnknownOutcome)
				_, err = w.Outcome(t.Context(), c)
				if tt.written {
					wantErr(t, err, nil)
				} else {
					wantErr(t, err, world.ErrNotFound)
				}
				if name == "the server's end goes on without a client" {
					if n := backends(t, w); n != 0 {
						t.Errorf("%d transactions of a lost connection still wait", n)
					}
					continue
				}
				if !tt.written {
					must(t, w, c)
				}
				if c.Release == nil && !c.Birth() {
					must(t, w, stepCommit(run, wk.ID, 1))
				}
				if c.Birth() {
					must(t, w, stepCommit(c.Run, wk.ID, 0))
				}
			}
		})
	}
}

// backends counts transactions that wait for a lock.
func backends(t testing.TB, w *World) (n int) {
	t.Helper()
	const waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
	if err := w.pool.QueryRow(t.Context(), waiting).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// A commit that was sent again after its outcome was unknown, though it had been written, is known by its ID; any other at its number is late.
func TestSentAgain(t *testing.T) {
	t.Parallel()
	w := open(t)
	wk := join(t, w, 0, class1)
	must(t, w, eager("r", "w", wk.ID))
	c := stepCommit("r", wk.ID, 0)
	must(t, w, c)
	_, err := w.Commit(t.Context(), c)
	wantErr(t, err, world.ErrLeaseLost)
	w.unknown.note(c)
	if _, err := w.Commit(t.Context(), c); err != nil {
		t.Errorf("got error %v, want none", err)
	}
	_, err = w.Commit(t.Context(), stepCommit("r", wk.ID, 0))
	wantErr(t, err, world.ErrLeaseLost)
	must(t, w, stepCommit("r", wk.ID, 1))
}

// A backend that the server ends in the middle of a group takes its transaction with it.
func TestTerminatedBackend(t *testing.T) {
	t.Parallel()
	w := open(t, Options{Writers: 1})
	w.writing.groupLock = "20s"
	wk := join(t, w, 0, class1)
	must(t, w, eager("r", "w", wk.ID))
	must(t, w, stepCommit("r", wk.ID, 0)) // the writer has its connection
	end := locked(t, w, "SELECT 1 FROM {schema}.lanes FOR UPDATE")
	c := stepCommit("r", wk.ID, 1)
	done := make(chan error, 1)
	go func() {
		_, err := w.Commit(context.WithoutCancel(t.Context()), c)
		done <- err
	}()
	waitForLock(t, w)
	const kill = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
	if tag, err := w.pool.Exec(t.Context(), kill); err != nil || tag.RowsAffected() != 1 {
		t.Fatalf("ended %d backends, %v, want 1", tag.RowsAffected(), err)
	}
	wantErr(t, <-done, world.ErrUnknownOutcome)
	_, err := w.Outcome(t.Context(), c)
	wantErr(t, err, world.ErrNotFound)
	end()
	must(t, w, c)
	must(t, w, stepCommit("r", wk.ID, 2))
}

// A connection that breaks before anything was sent is replaced, and nobody notices.
func TestConnectionReplaced(t *testing.T) {
	t.Parallel()
	w, ws := wired(t)
	wk := join(t, w, 0, class1)
	must(t, w, eager("r", "w", wk.ID))
	must(t, w, stepCommit("r", wk.ID, 0))
	ws.set(func(c *wire, b []byte) (int, error) {
		_ = c.Conn.Close()
		return 0, net.ErrClosed
	})
	must(t, w, stepCommit("r", wk.ID, 1))
}

// writerOf is a writer that is connected, beside those of the World.
func writerOf(t *testing.T, w *World, lane int16) *writer {
	t.Helper()
	wr := &writer{w: w, lane: lane}
	if err := wr.connect(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(wr.drop)
	return wr
}

// group gives commits to a writer as one group.
func group(t *testing.T, wr *writer, wk world.Worker, commits ...*world.Commit) []error {
	t.Helper()
	w := wr.w
	var batch []*request
	for _, c := range commits {
		d, err := w.newDraft(t.Context(), c, w.crew.worker(wk.ID))
		if err != nil {
			t.Fatal(err)
		}
		if err := d.all(&plan{Plan: rules.Unasked(c)}, w.crew.owned(c.Run)); err != nil {
			t.Fatal(err)
		}
		batch = append(batch, &request{draft: d, done: make(chan struct{}, 1)})
	}
	wr.write(context.WithoutCancel(t.Context()), batch)
	errs := make([]error, len(batch))
	for i, r := range batch {
		<-r.done
		errs[i] = r.err
	}
	return errs
}

// A group in which one cannot be written is written without it.
func TestBadMemberFailsAlone(t *testing.T) {
	t.Parallel()
	w := open(t)
	wk := join(t, w, 0, class1)
	var commits []*world.Commit
	for i := range 9 {
		id := fmt.Sprint("r", i)
		must(t, w, eager(id, "w", wk.ID))
		commits = append(commits, stepCommit(id, wk.ID, 0))
	}
	must(t, w, stepCommit("r4", wk.ID, 0))
	commits[4].First = 3 // as if this World did not know that it is taken
	for i, err := range group(t, writerOf(t, w, 0), wk, commits...) {
		if want := i == 4; errors.Is(err, errAlone) != want || !want && err != nil {
			t.Errorf("commit %d: got error %v", i, err)
		}
	}
	_, err := w.commitAlone(t.Context(), commits[4], w.crew.worker(wk.ID))
	wantErr(t, err, world.ErrLeaseLost)
	if got := countRows(t, w, "log"); got != 18 {
		t.Errorf("got %d rows in the log, want 18", got)
	}
}

// A stranger's lock stalls only those who need it.
func TestLockedRunGoesAlone(t *testing.T) {
	t.Parallel()
	w := open(t)
	wk := join(t, w, 0, class1)
	var commits []*world.Commit
	for _, id := range []string{"r0", "r1", "r2"} {
		must(t, w, eager(id, "w", wk.ID))
		commits = append(commits, stepCommit(id, wk.ID, 0))
	}
	commits[1].Release = &world.Release{}
	end := locked(t, w, "SELECT 1 FROM {schema}.queue q JOIN {schema}.runs r ON r.key = q.run WHERE r.id = 'r1' FOR UPDATE OF q")
	errs := group(t, writerOf(t, w, 0), wk, commits...)
	if errs[0] != nil || errs[2] != nil || !errors.Is(errs[1], errAlone) {
		t.Fatalf("got errors %v, want one for the run that is locked alone", errs)
	}
	done := make(chan error, 1)
	go func() {
		_, err := w.Commit(context.WithoutCancel(t.Context()), commits[1])
		done <- err
	}()
	waitForLock(t, w)
	end()
	wantErr(t, <-done, nil)
}

// Two groups that end children of the same two parents in opposite order come as far as the last statement side by side: neither waits for the other.
func TestEndsInOppositeOrder(t *testing.T) {
	t.Parallel()
	w := open(t)
	w.writing.groupLock = "20s"
	wk := join(t, w, 0, class1)
	end := func(id string) *world.Commit {
		return &world.Commit{ID: commitID(), Run: id, Worker: wk.ID, Claim: 1, First: 3, Events: []world.Event{{Type: world.RunCompleted, Time: world.Now()}}}
	}
	groups := make([][]*world.Commit, 2)
	for _, parent := range []string{"p0", "p1"} {
		must(t, w, eager(parent, "w", wk.ID))
	}
	for i := range groups {
		for j := range 2 {
			parent := fmt.Sprint("p", (i+j)%2)
			c := eager(fmt.Sprintf("c%d-%d", i, j), "w", wk.ID)
			c.Events[0].Birth.Parent = &world.Parent{Run: parent, Step: fmt.Sprint("step_", i)}
			must(t, w, c)
			groups[i] = append(groups[i], end(c.Run))
		}
	}
	writers := []*writer{writerOf(t, w, 0), writerOf(t, w, 1)}
	release := locked(t, w, "SELECT 1 FROM {schema}.lanes FOR UPDATE")
	var wg sync.WaitGroup
	for i, commits := range groups {
		wg.Go(func() {
			for j, err := range group(t, writers[i], wk, commits...) {
				if err != nil {
					t.Errorf("group %d, commit %d: %v", i, j, err)
				}
			}
		})
	}
	for stop := time.Now().Add(20 * time.Second); atLanes(t, w) < 2; {
		if time.Now().After(stop) {
			t.Fatal("the groups wait for each other")
		}
	}
	release()
	wg.Wait()
	heartbeat, err := w.Heartbeat(t.Context(), world.HeartbeatQuery{Worker: wk.ID})
	if err != nil || len(heartbeat.Mail) != 4 {
		t.Errorf("got %d results, %v, want 4", len(heartbeat.Mail), err)
	}
}

// atLanes counts transactions that have come to the last statement.
func atLanes(t testing.TB, w *World) (n int) {
	t.Helper()
	const waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database() AND query LIKE '%FROM%lanes%'"
	if err := w.pool.QueryRow(t.Context(), waiting).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// A group that is in flight when its worker is found dead, and its runs taken, changes nothing.
func TestStaleGroup(t *testing.T) {
	t.Parallel()
	w := open(t)
	w.writing.groupLock = "20s"
	wk, heir := join(t, w, 0, class1), join(t, w, 0, class1)
	for _, id := range []string{"held", "r"} {
		must(t, w, eager(id, "w", wk.ID))
	}
	held := stepCommit("held", wk.ID, 0)
	held.Release = &world.Release{}
	wr := writerOf(t, w, 0)
	end := locked(t, w, "SELECT 1 FROM {schema}.queue q JOIN {schema}.runs r ON r.key = q.run WHERE r.id = 'held' FOR UPDATE OF q")
	errs := make(chan []error, 1)
	go func() { errs <- group(t, wr, wk, stepCommit("r", wk.ID, 0), held) }()
	waitForLock(t, w)
	for _, text := range []string{ // what a taker does with who is dead
		"UPDATE {schema}.lanes l SET alive = false FROM {schema}.workers w WHERE w.key = l.worker AND w.id = '" + wk.ID + "'",
		"UPDATE {schema}.queue q SET owner = NULL, wake_at = now(), ready_at = now() FROM {schema}.runs r WHERE r.key = q.run AND r.id = 'r'",
	} {
		if _, err := w.pool.Exec(t.Context(), inSchema(text, w.opt.Schema)); err != nil {
			t.Fatal(err)
		}
	}
	got := waitClaim(t, w, heir)
	if got.Run != "r" || got.Seq != 2 || got.Claim != 2 {
		t.Fatalf("took %+v, want r at event 2", got)
	}
	end()
	for i, err := range <-errs {
		if !errors.Is(err, errAlone) {
			t.Errorf("commit %d: got error %v", i, err)
		}
	}
	for _, c := range []*world.Commit{stepCommit("r", wk.ID, 0), held} {
		_, err := w.Commit(t.Context(), c)
		wantErr(t, err, world.ErrLeaseLost)
	}
	c := stepCommit("r", heir.ID, 0)
	c.Claim = 2
	must(t, w, c)
	if got := countRows(t, w, "log"); got != 3 {
		t.Errorf("got %d rows in the log, want 3", got)
	}
}

// Mail that a sender commits between its owner's last look and the release wakes the run all the same.
func TestMailBesideRelease(t *testing.T) {
	t.Parallel()
	w := open(t)
	wk := join(t, w, 0, class1)
	must(t, w, eager("r", "w", wk.ID))
	tx := begins["pgx"](t, w)
	if _, err := w.DeliverIn(t.Context(), tx.Tx, signalTo("r", "d")); err != nil {
		t.Fatal(err)
	}
	if done := must(t, w, &world.Commit{ID: commitID(), Run: "r", Worker: wk.ID, Claim: 1, First: 3, Release: &world.Release{}}); done.Mail {
		t.Fatal("released with mail that is not there yet")
	}
	if got := claim(t, w, wk, 5); len(got.Runs) != 0 {
		t.Fatalf("took %+v, want nothing", got.Runs)
	}
	if err := tx.commit(); err != nil {
		t.Fatal(err)
	}
	if got := waitClaim(t, w, wk); got.Run != "r" || len(got.Mail) != 1 {
		t.Fatalf("took %+v, want r with its mail", got)
	}
}

// A server that restarts is waited for.
func TestNoServer(t *testing.T) {
	t.Parallel()
	w, _ := wired(t)
	w.patience = 200 * time.Millisecond
	wk := join(t, w, 0, class1)
	dial := w.writing.config.DialFunc
	down := true
	var mu sync.Mutex
	w.writing.config.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		mu.Lock()
		defer mu.Unlock()
		if down {
			return nil, errors.New("connection refused")
		}
		return dial(ctx, network, address)
	}
	c := eager(world.NewID(world.PrefixRun, time.Now()), "w", wk.ID)
	_, err := w.Commit(t.Context(), c)
	wantErr(t, err, world.ErrStorage)
	if errors.Is(err, world.ErrUnknownOutcome) {
		t.Errorf("got error %v, want one that knows that nothing was written", err)
	}
	w.patience = lockPatience
	done := make(chan error, 1)
	go func() {
		_, err := w.Commit(context.WithoutCancel(t.Context()), c)
		done <- err
	}()
	mu.Lock()
	down = false
	mu.Unlock()
	wantErr(t, <-done, nil)
}
