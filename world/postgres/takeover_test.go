package postgres

// A worker that is stopped while something of it is under way, and goes on when another has taken over: nothing of it counts any more. Each interleaving is forced: a proxy
// stands between that worker's process and the server, and holds back what it sends.

import (
	"encoding/json"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stepwell/stepwell/internal/pgtest"
	"github.com/stepwell/stepwell/world"
)

// patience bounds every poll of the tests; it is spent only where something fails.
const patience = time.Minute

// eventually polls for what must come.
func eventually(t testing.TB, what string, there func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(patience); !there(); <-tick.C {
		if time.Now().After(end) {
			t.Fatalf("waited %s in vain: %s", patience, what)
		}
	}
}

// duel is two processes on one database: a worker that is going to be stopped, behind a proxy, and another one.
type duel struct {
	*testing.T
	url     string
	proxy   *pgtest.Proxy
	old     *World
	oldWk   world.Worker
	heir    *World
	heirWk  world.Worker
	claimed map[string]world.ClaimedRun // by the heir
}

const task = "task"

// shortLease is over soon, but not before its worker has done a few things, on a slow machine too.
const shortLease = 8 * time.Second

func newDuel(t *testing.T, lease time.Duration, o ...Options) *duel {
	t.Helper()
	url := pgtest.URL(t)
	d := &duel{T: t, url: url, proxy: pgtest.NewProxy(t, url)}
	d.heir = openAt(t, url)
	d.old = openAt(t, d.proxy.URL(url), o...)
	t.Cleanup(func() { d.proxy.Refuse(false) }) // what follows looks at the old World too
	d.oldWk = d.join(d.old, lease)
	d.heirWk = d.join(d.heir, time.Minute)
	return d
}

func (d *duel) join(w *World, lease time.Duration) world.Worker {
	d.Helper()
	wk := world.Worker{ID: world.NewID(world.PrefixWorker, time.Now()), Build: "b1", Lease: lease, Classes: []world.Class{class1}, Steps: []string{task}}
	if _, err := w.Join(d.Context(), wk); err != nil {
		d.Fatal(err)
	}
	return wk
}

// create begins a run that the old worker owns.
func (d *duel) create(run string) {
	d.Helper()
	must(d, d.old, eager(run, "w", d.oldWk.ID))
}

// createTask adds a step with an open task to such a run, as its nth commit.
func (d *duel) createTask(run string, n int64) {
	d.Helper()
	c := stepCommit(run, d.oldWk.ID, n)
	c.Events = []world.Event{{Type: world.StepCreated, ID: "step_1", Kind: world.KindTask, Name: task, Queued: true, Time: world.Now()}}
	c.Tasks = []world.Task{{Run: run, Step: "step_1", Name: task, Workflow: "w", Priority: 1}}
	must(d, d.old, c)
}

// stopped waits until a batch is held, or cut.
func (d *duel) stopped(links <-chan *pgtest.Link) *pgtest.Link {
	d.Helper()
	select {
	case link := <-links:
		return link
	case <-time.After(patience):
		d.Fatal("no such batch was sent")
		return nil
	}
}

// stopAt holds the next batch of the old worker's process that has a text, and returns the link that it came on.
func (d *duel) stopAt(how pgtest.Action, text string) <-chan *pgtest.Link {
	links := make(chan *pgtest.Link, 1)
	var done atomic.Bool
	d.proxy.Rule(func(b *pgtest.Batch) pgtest.Action {
		if !b.Has(text) || done.Swap(true) {
			return pgtest.Forward
		}
		links <- b.Link
		return how
	})
	return links
}

// takeover waits until the heir is given the run.
func (d *duel) takeover(run string) world.ClaimedRun {
	d.Helper()
	if d.claimed == nil {
		d.claimed = make(map[string]world.ClaimedRun)
	}
	eventually(d, "run "+run+" is taken over", func() bool {
		for _, r := range claim(d, d.heir, d.heirWk, 5).Runs {
			d.claimed[r.Run] = r
		}
		return d.claimed[run].Run != ""
	})
	return d.claimed[run]
}

// owner is who owns a run.
func (d *duel) owner(run string) string {
	d.Helper()
	row, err := d.heir.Run(d.Context(), run)
	if err != nil || row.Queue == nil {
		d.Fatalf("run %s: got %+v, %v", run, row, err)
	}
	return row.Queue.Owner
}

// begin begins a call; its error comes later.
func begin[T any](f func() (T, error)) <-chan error {
	out := make(chan error, 1)
	go func() {
		_, err := f()
		out <- err
	}()
	return out
}

// refusedOrLost: it was refused, or its connection was ended and the outcome says that it was not written.
func (d *duel) refusedOrLost(err error, c *world.Commit) {
	d.Helper()
	if errors.Is(err, world.ErrUnknownOutcome) {
		_, err = d.old.Outcome(d.Context(), c)
	}
	if !errors.Is(err, world.ErrLeaseLost) && !errors.Is(err, world.ErrNotFound) {
		d.Fatalf("got %v, want a lost lease", err)
	}
}

// A commit of the old owner is under way while its run is claimed. Held back, it comes too late; half sent, its transaction, which has its lane, is ended.
func TestCommitMeetsTakeover(t *testing.T) {
	t.Parallel()
	for _, how := range []pgtest.Action{pgtest.Hold, pgtest.HoldEnd} {
		t.Run(string(how), func(t *testing.T) {
			t.Parallel()
			d := newDuel(t, shortLease)
			d.create("r")
			links := d.stopAt(how, `INTO "stepwell".log`)
			stale := stepCommit("r", d.oldWk.ID, 0)
			answer := begin(func() (world.Committed, error) { return d.old.Commit(t.Context(), stale) })
			link := d.stopped(links)
			got := d.takeover("r")
			if got.Claim != 2 || got.Seq != 2 || got.Strikes != 0 {
				t.Fatalf("took %+v, want take 2 at event 2", got)
			}
			mine := stepCommit("r", d.heirWk.ID, 0)
			mine.Claim = 2
			must(t, d.heir, mine)
			link.Release()
			d.refusedOrLost(<-answer, stale)
			d.proxy.Rule(nil)
			_, err := d.old.Commit(t.Context(), stepCommit("r", d.oldWk.ID, 0))
			wantErr(t, err, world.ErrLeaseLost)
			page, err := d.heir.Events(t.Context(), "r", world.EventQuery{})
			if err != nil || len(page.Events) != 3 {
				t.Fatalf("got %d events, %v, want 3", len(page.Events), err)
			}
			if _, err := d.heir.Outcome(t.Context(), mine); err != nil {
				t.Fatalf("the heir's commit: %v", err)
			}
			if n := d.proxy.Counts().Held; n != 1 {
				t.Fatalf("held %d batches, want 1", n)
			}
		})
	}
}

// The old owner's release is held back until somebody else owns the run: it takes nothing from that one.
func TestReleaseMeetsTakeover(t *testing.T) {
	t.Parallel()
	d := newDuel(t, shortLease)
	d.create("r")
	links := d.stopAt(pgtest.Hold, "released")
	c := &world.Commit{ID: commitID(), Run: "r", Worker: d.oldWk.ID, Claim: 1, First: 3, Release: &world.Release{}}
	answer := begin(func() (world.Committed, error) { return d.old.Commit(t.Context(), c) })
	link := d.stopped(links)
	d.takeover("r")
	link.Release()
	d.refusedOrLost(<-answer, c)
	if got := d.owner("r"); got != d.heirWk.ID {
		t.Fatalf("got owner %s, want the heir %s", got, d.heirWk.ID)
	}
	mine := stepCommit("r", d.heirWk.ID, 0)
	mine.Claim = 2
	must(t, d.heir, mine)
}

// The result of an attempt is held back until another worker has begun the next one: it is refused, and the next one counts.
func TestTaskEndMeetsTakeover(t *testing.T) {
	t.Parallel()
	d := newDuel(t, shortLease)
	d.create("r")
	d.createTask("r", 0)
	got := claim(t, d.old, d.oldWk, 1)
	if len(got.Tasks) != 1 {
		t.Fatalf("took %+v, want the task", got)
	}
	links := d.stopAt(pgtest.Hold, `DELETE FROM "stepwell".tasks`)
	answer := begin(func() (world.Delivered, error) { return d.old.Deliver(t.Context(), endOf(&got.Tasks[0], d.oldWk.ID)) })
	link := d.stopped(links)
	var next world.Task
	eventually(t, "the task is taken over", func() bool {
		for _, x := range claim(t, d.heir, d.heirWk, 5).Tasks {
			next = x
		}
		return next.Run != ""
	})
	if next.Attempt != 2 || next.Failures != 0 || len(next.History) != 1 {
		t.Fatalf("took %+v, want attempt 2 after a start", next)
	}
	link.Release()
	wantErr(t, <-answer, world.ErrLeaseLost)
	if _, err := d.heir.Deliver(t.Context(), endOf(&next, d.heirWk.ID)); err != nil {
		t.Fatal(err)
	}
	if n := countRows(t, d.heir, "inbox"); n != 1 {
		t.Fatalf("got %d deliveries, want the result of attempt 2 alone", n)
	}
}

// The result of an attempt is all but committed while its worker is buried: then it counts, and there is no other attempt.
func TestTaskEndGoesThroughBurial(t *testing.T) {
	t.Parallel()
	d := newDuel(t, shortLease)
	d.create("r")
	d.createTask("r", 0)
	got := claim(t, d.old, d.oldWk, 1)
	links := d.stopAt(pgtest.HoldEnd, `DELETE FROM "stepwell".tasks`)
	answer := begin(func() (world.Delivered, error) { return d.old.Deliver(t.Context(), endOf(&got.Tasks[0], d.oldWk.ID)) })
	link := d.stopped(links)
	d.takeover("r")
	if more := claim(t, d.heir, d.heirWk, 5); len(more.Tasks) != 0 {
		t.Fatalf("took %+v, want nothing: its end is about to be committed", more.Tasks)
	}
	link.Release()
	if err := <-answer; err != nil {
		t.Fatal(err)
	}
	if n := countRows(t, d.heir, "inbox"); n != 1 {
		t.Fatalf("got %d deliveries, want the result", n)
	}
	if n := countRows(t, d.heir, "tasks"); n != 0 {
		t.Fatalf("got %d tasks, want none", n)
	}
}

func endOf(x *world.Task, worker string) *world.Delivery {
	return &world.Delivery{Worker: worker, Task: &world.TaskKey{Run: x.Run, Step: x.Step, Attempt: x.Attempt}, Events: []world.Event{
		{Type: world.StepStarted, ID: x.Step, Attempt: x.Attempt, Time: world.Now()},
		{Type: world.StepCompleted, ID: x.Step, Attempt: x.Attempt, Time: world.Now(), Payload: json.RawMessage(`1`)},
	}}
}

// A worker is stopped in the middle of a claim, and is buried for what it owned before: it gets nothing.
func TestTakeMeetsTakeover(t *testing.T) {
	t.Parallel()
	d := newDuel(t, shortLease)
	d.create("old")
	must(t, d.heir, birthOf("new", "w"))
	links := d.stopAt(pgtest.HoldEnd, "SKIP LOCKED")
	answer := begin(func() (world.Claimed, error) {
		return d.old.Claim(t.Context(), world.ClaimQuery{Worker: d.oldWk.ID, Classes: []world.Class{class1}, Runs: 1})
	})
	link := d.stopped(links)
	d.takeover("old")
	d.takeover("new")
	link.Release()
	if err := <-answer; !errors.Is(err, world.ErrUnknownOutcome) && !errors.Is(err, world.ErrLeaseLost) {
		t.Fatalf("got %v, want a lost answer or a lost lease", err)
	}
	for _, run := range []string{"old", "new"} {
		if got := d.owner(run); got != d.heirWk.ID {
			t.Fatalf("run %s: got owner %s, want the heir %s", run, got, d.heirWk.ID)
		}
	}
}

// A heartbeat that is held back until its worker was buried does not bring it back to life.
func TestBeatMeetsTakeover(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{"that renews": "skew_ns", "right behind another": "until FROM"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			heartbeatMeetsTakeover(t, name == "that renews", text)
		})
	}
}

func heartbeatMeetsTakeover(t *testing.T, renews bool, text string) {
	d := newDuel(t, shortLease)
	d.create("r")
	d.old.crew.mu.Lock()
	mine := d.old.crew.workers[d.oldWk.ID]
	if mine.shown = d.old.now().Add(mine.Lease + mostBack/2); renews { // just renewed, for all that it knows; or not
		mine.shown = mine.shown.Add(-mine.Lease)
	}
	mine.told = mine.shown
	d.old.crew.mu.Unlock()
	links := d.stopAt(pgtest.Hold, text)
	answer := begin(func() (world.Heartbeat, error) {
		return d.old.Heartbeat(t.Context(), world.HeartbeatQuery{Worker: d.oldWk.ID})
	})
	link := d.stopped(links)
	d.takeover("r")
	link.Release()
	wantErr(t, <-answer, world.ErrLeaseLost)
	_, err := d.old.Claim(t.Context(), world.ClaimQuery{Worker: d.oldWk.ID, Classes: []world.Class{class1}, Runs: 1})
	wantErr(t, err, world.ErrLeaseLost)
	if d.old.crew.owned("r") != nil {
		t.Fatal("the old World believes to own the run")
	}
}

// The answer to a claim is lost: the worker is told so, and what it was given comes back with the end of its lease.
func TestTakeIsLost(t *testing.T) {
	t.Parallel()
	d := newDuel(t, shortLease)
	must(t, d.heir, birthOf("r", "w"))
	links := d.stopAt(pgtest.CutAfter, "SKIP LOCKED")
	_, err := d.old.Claim(t.Context(), world.ClaimQuery{Worker: d.oldWk.ID, Classes: []world.Class{class1}, Runs: 1})
	wantErr(t, err, world.ErrUnknownOutcome)
	d.stopped(links)
	if got := d.owner("r"); got != d.oldWk.ID {
		t.Fatalf("got owner %q, want %s, who does not know", got, d.oldWk.ID)
	}
	if got := d.takeover("r"); got.Claim != 2 || got.Strikes != 1 {
		t.Fatalf("took %+v, want take 2 after a strike", got)
	}
}

// A sender's transaction is open while the owner looks and then releases; when it commits the run is claimed.
func TestMailBehindRelease(t *testing.T) {
	t.Parallel()
	d := newDuel(t, time.Minute) // the old one is the sender here
	must(t, d.heir, eager("r", "w", d.heirWk.ID))
	links := d.stopAt(pgtest.HoldEnd, `INTO "stepwell".inbox`)
	answer := begin(func() (world.Delivered, error) {
		return d.old.Deliver(t.Context(), &world.Delivery{Run: "r", ID: "d1", Events: []world.Event{{Type: world.SignalReceived, Name: "go", Payload: json.RawMessage(`1`)}}})
	})
	link := d.stopped(links)
	if done := must(t, d.heir, &world.Commit{ID: commitID(), Run: "r", Worker: d.heirWk.ID, Claim: 1, First: 3, Release: &world.Release{}}); done.Mail {
		t.Fatal("released with mail, want none yet")
	}
	if got := claim(t, d.heir, d.heirWk, 1); len(got.Runs) != 0 {
		t.Fatalf("took %+v, want nothing yet", got.Runs)
	}
	link.Release()
	if err := <-answer; err != nil {
		t.Fatal(err)
	}
	if got := d.takeover("r"); len(got.Mail) != 1 {
		t.Fatalf("took %+v, want one mail", got)
	}
}

// An operator's process is stopped in the middle of an act, while it has the run's row locked: the server ends its transaction, the run is claimed, and the act is done when the
// process goes on.
func TestActStopsInTheMiddle(t *testing.T) {
	t.Parallel()
	d := newDuel(t, time.Minute) // the old one is the operator here
	must(t, d.heir, birthOf("r", "w"))
	links := d.stopAt(pgtest.Hold, "SET paused")
	answer := begin(func() (world.Delivered, error) {
		return d.old.Deliver(t.Context(), &world.Delivery{Run: "r", ID: "p1", Act: true, Events: []world.Event{{Type: world.RunPaused, By: "ann"}}})
	})
	link := d.stopped(links)
	if got := claim(t, d.heir, d.heirWk, 1); len(got.Runs) != 0 || got.Next.IsZero() || got.Next.After(got.Now) {
		t.Fatalf("took %+v, next %s at %s; want nothing, and to look again soon: its row is locked", got.Runs, got.Next, got.Now)
	}
	if got := d.takeover("r"); got.Seq != 1 || got.Paused {
		t.Fatalf("took %+v, want r at event 1", got)
	}
	link.Release()
	if err := <-answer; err != nil {
		t.Fatal(err)
	}
	b, err := d.heir.Heartbeat(t.Context(), world.HeartbeatQuery{Worker: d.heirWk.ID})
	if err != nil || len(b.Mail) != 1 || b.Mail[0].Events[0].Type != world.RunPaused {
		t.Fatalf("got mail %+v, %v, want the pause", b.Mail, err)
	}
}
