package postgres

// Workers that live behind servers: the process that speaks for one may end, be another one each time, or be several at
// once.

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stepwell/stepwell/internal/pgtest"
	"github.com/stepwell/stepwell/world"
)

func joinRemote(t testing.TB, w *World, lease time.Duration) world.Worker {
	t.Helper()
	wk := world.Worker{
		ID: world.NewID(world.PrefixWorker, time.Now()), Name: "elsewhere", Build: "b1", Lease: lease, Classes: []world.Class{class1}, Steps: []string{task}, Remote: true,
	}
	if _, err := w.Join(t.Context(), wk); err != nil {
		t.Fatal(err)
	}
	return wk
}

// servers is two servers on one database, which both speak for a worker. The first is behind a proxy. Beside them is a
// process with a worker of its own.
type servers struct {
	*duel  // the old World is the first server, the heir has the worker beside them
	b      *World
	far    world.Worker
	claims int64
}

func newServers(t *testing.T, lease time.Duration) *servers {
	t.Helper()
	d := newDuel(t, time.Minute, Options{Writers: 1}) // the other one has more lanes
	return &servers{duel: d, b: openAt(t, d.url, Options{Writers: 3}), far: joinRemote(t, d.old, lease)}
}

// claim claims through a server, under the next number.
func (s *servers) claim(w *World, n int) (world.Claimed, error) {
	s.claims++
	return s.claimAs(w, s.claims, n)
}

func (s *servers) claimAs(w *World, number int64, n int) (world.Claimed, error) {
	return w.Claim(s.Context(), world.ClaimQuery{Worker: s.far.ID, Classes: s.far.Classes, Runs: n, Steps: s.far.Steps, Tasks: n, Number: number})
}

// heartbeat heartbeats through a server, and returns what the worker owns by its account.
func (s *servers) heartbeat(w *World) (b world.Heartbeat, owned []string) {
	s.Helper()
	b, err := w.Heartbeat(s.Context(), world.HeartbeatQuery{Worker: s.far.ID, Account: true})
	if err != nil {
		s.Fatal(err)
	}
	for _, r := range b.Account.Runs {
		owned = append(owned, fmt.Sprintf("%s %d %d", r.Run, r.Claim, r.Last))
	}
	slices.Sort(owned)
	return b, owned
}

// held lists the runs that the worker holds, by a server's word.
func (s *servers) held(w *World) []string {
	s.Helper()
	h, err := w.Held(s.Context(), s.far.ID)
	if err != nil {
		s.Fatal(err)
	}
	var runs []string
	for _, r := range h.Runs {
		runs = append(runs, r.Run)
	}
	slices.Sort(runs)
	return runs
}

func (s *servers) events(run string, want int) {
	s.Helper()
	page, err := s.heir.Events(s.Context(), run, world.EventQuery{})
	if err != nil || len(page.Events) != want {
		s.Fatalf("run %s: got %d events, %v, want %d", run, len(page.Events), err, want)
	}
}

// A server is killed. What worked in its process is dead at once; the worker behind it goes on with what it holds, and
// each of its calls may be the first that another server hears of it.
func TestRemoteWorkerOutlivesItsServer(t *testing.T) {
	t.Parallel()
	s := newServers(t, time.Minute)
	g := &watchdog{T: t, w: s.heir}
	eventually(t, "both processes have sessions", func() bool { return sessions(t, s.heir) == 2 })
	s.create("near")
	must(t, s.old, eager("far", "w", s.far.ID))
	must(t, s.old, &world.Commit{
		ID: commitID(), Run: "far", Worker: s.far.ID, Claim: 1, First: 3,
		Events: []world.Event{{Type: world.StepCreated, ID: "step_1", Kind: world.KindTask, Name: task, Queued: true, Time: world.Now(), Payload: json.RawMessage(`1`)}},
		Tasks:  []world.Task{{Step: "step_1", Name: task, Workflow: "w", Priority: 1}},
	})
	got, err := s.claim(s.old, 10)
	if err != nil || len(got.Tasks) != 1 {
		t.Fatalf("took %+v, %v, want the task", got, err)
	}
	g.looks(2)
	s.proxy.Refuse(true)
	s.proxy.CutAll()
	s.takeover("near")
	g.looks(3)

	calls := []struct {
		name string
		call func(w *World) error
	}{
		{"commit", func(w *World) error {
			_, err := w.Commit(t.Context(), &world.Commit{ID: commitID(), Run: "far", Worker: s.far.ID, Claim: 1, First: 4, Events: stepCommit("far", s.far.ID, 1).Events})
			return err
		}},
		{"beat", func(w *World) error {
			b, err := w.Heartbeat(t.Context(), world.HeartbeatQuery{Worker: s.far.ID, Tasks: []world.TaskKey{{Run: "far", Step: "step_1", Attempt: 1}}})
			if len(b.Ended)+len(b.Lost) > 0 {
				t.Errorf("got %+v, want that all is held still", b)
			}
			return err
		}},
		{"append", func(w *World) error {
			_, err := w.Append(t.Context(), &world.Append{
				Run: "far", Worker: s.far.ID, Claim: 1, StreamWrite: world.StreamWrite{Stream: "s", Chunks: []json.RawMessage{json.RawMessage(`1`)}},
			})
			return err
		}},
		{"held", func(w *World) error {
			h, err := w.Held(t.Context(), s.far.ID)
			if len(h.Runs) != 1 || len(h.Tasks) != 1 {
				t.Errorf("got %+v, want a run and a task", h)
			}
			return err
		}},
		{"take", func(w *World) error {
			got, err := s.claim(w, 10)
			if len(got.Runs)+len(got.Tasks) > 0 {
				t.Errorf("took %+v, want nothing", got)
			}
			return err
		}},
		{"end of the task", func(w *World) error {
			_, err := w.Deliver(t.Context(), endOf(&got.Tasks[0], s.far.ID))
			return err
		}},
	}
	for _, c := range calls {
		if err := c.call(openAt(t, s.url)); err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
	}
	if got := claim(t, s.heir, s.heirWk, 10); len(got.Runs) > 0 || s.owner("far") != s.far.ID {
		t.Fatalf("the worker beside it took %+v, and %s owns the run; want %s", got.Runs, s.owner("far"), s.far.ID)
	}
	stats, err := s.b.Stats(t.Context())
	if err != nil || len(stats.Workers) != 2 || stats.Workers[0].Remote == stats.Workers[1].Remote {
		t.Fatalf("got workers %+v, %v; want two, one of them remote", stats.Workers, err)
	}
	if err := s.b.Leave(t.Context(), s.far.ID); err != nil {
		t.Fatal(err)
	}
	if r := s.takeover("far"); r.Claim != 2 || r.Strikes != 0 || r.Seq != 4 {
		t.Fatalf("took %+v, want take 2 at event 4 with no strike: its worker left", r)
	}
}

// A worker's calls go to two servers by turns, and to both at once.
func TestTwoServersSpeakForAWorker(t *testing.T) {
	t.Parallel()
	s := newServers(t, time.Minute)
	must(t, s.old, eager("r", "w", s.far.ID))
	for i := range int64(6) {
		must(t, []*World{s.b, s.old}[i%2], stepCommit("r", s.far.ID, i))
	}
	must(t, s.heir, birthOf("other", "w"))
	got, err := s.claim(s.b, 10)
	if err != nil || len(got.Runs) != 1 || got.Runs[0].Run != "other" {
		t.Fatalf("took %+v, %v", got, err)
	}
	signal := &world.Delivery{Run: "other", ID: "d1", Events: []world.Event{{Type: world.SignalReceived, Name: "go", Payload: json.RawMessage(`1`)}}}
	if _, err := s.heir.Deliver(t.Context(), signal); err != nil {
		t.Fatal(err)
	}
	b, owned := s.heartbeat(s.old)
	if want := []string{"other 1 1", "r 1 8"}; !slices.Equal(owned, want) || len(b.Mail) != 1 || len(b.Lost) > 0 {
		t.Fatalf("heartbeat: got %v, %d mails, lost %v; want %v and one mail", owned, len(b.Mail), b.Lost, want)
	}
	must(t, s.old, &world.Commit{ID: commitID(), Run: "r", Worker: s.far.ID, Claim: 1, First: 9, Release: &world.Release{WakeAt: world.Now()}})
	if got, err = s.claim(s.b, 10); err != nil || len(got.Runs) != 1 || got.Runs[0].Claim != 2 || got.Runs[0].Seq != 8 {
		t.Fatalf("took %+v, %v, want take 2 of r", got, err)
	}
	for i := range int64(4) {
		c := stepCommit("r", s.far.ID, 6+i)
		c.Claim = 2
		must(t, []*World{s.old, s.b}[i%2], c)
	}
	var all sync.WaitGroup
	errs := make([]error, 20)
	for i := range errs { // births of one worker at both
		all.Go(func() {
			_, errs[i] = []*World{s.old, s.b}[i%2].Commit(t.Context(), eager(fmt.Sprint("b", i), "w", s.far.ID))
		})
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	if n := len(s.held(s.old)); n != 22 {
		t.Fatalf("it holds %d runs, want 22", n)
	}
	must(t, s.b, &world.Commit{ID: commitID(), Run: "r", Worker: s.far.ID, Claim: 2, First: 13, Events: []world.Event{{Type: world.RunCompleted, Time: world.Now()}}})
	if _, owned := s.heartbeat(s.old); len(owned) != 21 || s.old.crew.owned("r") != nil {
		t.Fatalf("got %d runs, want 21, and none that is over", len(owned))
	}
	if known := s.b.crew.worker(s.far.ID); known == nil || !known.Remote {
		t.Fatalf("got %+v, want a worker that lives elsewhere", known)
	}
}

// A server that does not know that the worker gave a run up through another one writes nothing to it: somebody else has
// it.
func TestServerThatIsBehindWritesNothing(t *testing.T) {
	t.Parallel()
	for name, late := range map[string]func(worker string) *world.Commit{
		"a turn":    func(worker string) *world.Commit { return stepCommit("r", worker, 0) },
		"its end":   func(worker string) *world.Commit { return ending("r", worker) },
		"a release": func(worker string) *world.Commit { return releasing("r", worker) },
	} {
		for _, underway := range []bool{false, true} {
			t.Run(fmt.Sprint(name, ", under way ", underway), func(t *testing.T) {
				t.Parallel()
				s := newServers(t, time.Minute)
				must(t, s.old, eager("r", "w", s.far.ID))
				send := func() (world.Committed, error) { return s.old.Commit(t.Context(), late(s.far.ID)) }
				var answer <-chan error
				var link *pgtest.Link
				if underway {
					links := s.stopAt(pgtest.Hold, "FOR UPDATE OF q")
					answer = begin(send)
					link = s.stopped(links)
				}
				up := releasing("r", s.far.ID)
				up.Release.WakeAt = world.Now()
				must(t, s.b, up)
				s.takeover("r")
				if underway {
					link.Release()
				} else {
					answer = begin(send)
				}
				wantErr(t, <-answer, world.ErrLeaseLost)
				s.events("r", 2)
				mine := stepCommit("r", s.heirWk.ID, 0)
				mine.Claim = 2
				must(t, s.heir, mine)
			})
		}
	}
}

func ending(run, worker string) *world.Commit {
	return &world.Commit{ID: commitID(), Run: run, Worker: worker, Claim: 1, First: 3, Events: []world.Event{{Type: world.RunCompleted, Time: world.Now()}}}
}

func releasing(run, worker string) *world.Commit {
	return &world.Commit{ID: commitID(), Run: run, Worker: worker, Claim: 1, First: 3, Release: &world.Release{}}
}

// The answer to a claim was lost, and the server that was asked is still at it. What the worker holds another server
// says when that take is over, or cannot give anything any more.
func TestHeldIsBehindTheTakesOfOtherServers(t *testing.T) {
	t.Parallel()
	for _, how := range []pgtest.Action{pgtest.Hold, pgtest.HoldEnd} {
		t.Run(string(how), func(t *testing.T) {
			t.Parallel()
			s := newServers(t, time.Minute)
			must(t, s.heir, birthOf("r", "w"))
			links := s.stopAt(how, "taken = -1 - greatest")
			first := begin(func() (world.Claimed, error) { return s.claimAs(s.old, 1, 1) })
			link := s.stopped(links)
			var held []string
			asked := begin(func() (world.Account, error) {
				if _, err := s.claimAs(s.b, 2, 0); err != nil {
					return world.Account{}, err
				}
				held = s.held(s.b)
				return world.Account{}, nil
			})
			if how == pgtest.HoldEnd { // it may have its lane by now
				link.Release()
				took := <-first
				if err := <-asked; err != nil || took != nil && !errors.Is(took, world.ErrConflict) {
					t.Fatal(took, err)
				}
				if (took == nil) != slices.Equal(held, []string{"r"}) {
					t.Fatalf("it holds %v, and its claim came to %v", held, took)
				}
				return
			}
			if err := <-asked; err != nil || len(held) > 0 {
				t.Fatalf("it holds %v, %v, want nothing", held, err)
			}
			link.Release()
			wantErr(t, <-first, world.ErrConflict)
			s.proxy.Rule(nil)
			_, err := s.claimAs(s.old, 1, 1) // once more, as a balancer may
			wantErr(t, err, world.ErrConflict)
			if held = s.held(s.b); len(held) > 0 {
				t.Fatalf("it holds %v, want nothing", held)
			}
			if got, err := s.claimAs(s.old, 3, 1); err != nil || len(got.Runs) != 1 || got.Runs[0].Claim != 1 {
				t.Fatalf("took %+v, %v, want r", got, err)
			}
		})
	}
}

// One claim that comes to two servers is made by one of them.
func TestTakeComesToTwoServers(t *testing.T) {
	t.Parallel()
	s := newServers(t, time.Minute)
	const runs = 24
	for i := range runs {
		must(t, s.heir, birthOf(fmt.Sprint("r", i), "w"))
	}
	given := 0
	for number := int64(1); given < runs && number < 10*runs; number++ {
		var got [2]world.Claimed
		var errs [2]error
		var both sync.WaitGroup
		for i, w := range []*World{s.old, s.b} {
			both.Go(func() { got[i], errs[i] = s.claimAs(w, number, 1) })
		}
		both.Wait()
		for _, err := range errs {
			if err != nil && !errors.Is(err, world.ErrConflict) {
				t.Fatal(err)
			}
		}
		if len(got[0].Runs) > 0 && len(got[1].Runs) > 0 {
			t.Fatalf("take %d gave %s here and %s there", number, got[0].Runs[0].Run, got[1].Runs[0].Run)
		}
		given += len(got[0].Runs) + len(got[1].Runs)
	}
	if held := s.held(s.b); len(held) != given || given != runs {
		t.Fatalf("%d runs were given, it holds %d, want %d", given, len(held), runs)
	}
}

// A worker that is not heard of for a lease is dead, by every server's word.
func TestRemoteWorkerDies(t *testing.T) {
	t.Parallel()
	s := newServers(t, shortLease)
	must(t, s.old, eager("r", "w", s.far.ID))
	s.heartbeat(s.b)
	must(t, s.b, stepCommit("r", s.far.ID, 0))
	if r := s.takeover("r"); r.Claim != 2 || r.Seq != 3 {
		t.Fatalf("took %+v, want take 2 at event 3", r)
	}
	for _, w := range []*World{s.old, s.b, openAt(t, s.url)} {
		_, err := w.Commit(t.Context(), stepCommit("r", s.far.ID, 1))
		wantErr(t, err, world.ErrLeaseLost)
		_, err = w.Commit(t.Context(), eager("new", "w", s.far.ID))
		wantErr(t, err, world.ErrLeaseLost)
		_, err = s.claim(w, 1)
		wantErr(t, err, world.ErrLeaseLost)
		_, err = s.claim(w, 0)
		wantErr(t, err, world.ErrLeaseLost)
		_, err = w.Held(t.Context(), s.far.ID)
		wantErr(t, err, world.ErrLeaseLost)
		_, err = w.Heartbeat(t.Context(), world.HeartbeatQuery{Worker: s.far.ID, Account: true})
		wantErr(t, err, world.ErrLeaseLost)
		if w.crew.worker(s.far.ID) != nil {
			t.Fatal("the dead worker is remembered")
		}
	}
	s.events("r", 3)
}

// A worker that lives in another process belongs to that one.
func TestNoServerSpeaksForALocalWorker(t *testing.T) {
	t.Parallel()
	s := newServers(t, time.Minute)
	s.create("r")
	_, err := s.b.Heartbeat(t.Context(), world.HeartbeatQuery{Worker: s.oldWk.ID, Account: true})
	wantErr(t, err, world.ErrLeaseLost)
	_, err = s.b.Commit(t.Context(), stepCommit("r", s.oldWk.ID, 0))
	wantErr(t, err, world.ErrLeaseLost)
	must(t, s.old, stepCommit("r", s.oldWk.ID, 0))
}

// A process all of whose workers live elsewhere has no lock that says whether they do, and sees the death of others all
// the same.
func TestRemoteWorkersHaveNoSession(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	p := pgtest.NewProxy(t, url)
	server, near := openAt(t, url), openAt(t, p.URL(url))
	t.Cleanup(func() { p.Refuse(false) })
	far := joinRemote(t, server, time.Minute)
	wk := join(t, near, time.Minute, class1)
	eventually(t, "the other process has a session", func() bool { return sessions(t, server) == 1 })
	must(t, near, eager("r", "w", wk.ID))
	(&watchdog{T: t, w: server}).looks(2)
	if n := locksHeld(t, server); n != 1 {
		t.Fatalf("got %d locks, want that of the other process", n)
	}
	p.Refuse(true)
	p.CutAll()
	eventually(t, "the run is taken over", func() bool { return len(claim(t, server, far, 1).Runs) == 1 })
}

// Servers forget workers that have gone to others.
func TestServersForgetWorkersThatWent(t *testing.T) {
	t.Parallel()
	w := open(t)
	const many = 20
	for i := range many {
		far := joinRemote(t, w, time.Millisecond)
		must(t, w, eager(fmt.Sprint("r", i), "w", far.ID))
	}
	eventually(t, "they are forgotten", func() bool {
		joinRemote(t, w, time.Minute)
		w.crew.mu.Lock()
		defer w.crew.mu.Unlock()
		silent := 0
		for _, wk := range w.crew.workers {
			if wk.Lease < time.Minute {
				silent++
			}
		}
		return silent+len(w.crew.runs) == 0
	})
}
