// Starts: what keeps runs from beginning.

package worldtest

import (
	"strings"
	"time"

	"github.com/stepwell/stepwell/world"
)

// starting is what the checks use of a world's starts.
type starting struct {
	*rig
	k world.Starter
}

func withStarts(f func(s *starting)) func(r *rig) {
	return func(r *rig) { f(&starting{r, r.w.Starts()}) }
}

func (s *starting) hold(workflow string) {
	s.Helper()
	s.must(s.k.Hold(s.ctx, world.Hold{Workflow: workflow, By: "ann", Note: "the bank is down"}), "hold "+workflow)
}

func (s *starting) release(workflow string) {
	s.Helper()
	s.must(s.k.Release(s.ctx, workflow), "release "+workflow)
}

// held ends the check unless these workflows are held.
func (s *starting) held(want ...string) {
	s.Helper()
	all, err := s.k.Holds(s.ctx)
	s.must(err, "what is held")
	var got []string
	for _, h := range all {
		got = append(got, h.Workflow)
		if h.By != "ann" || h.Note != "the bank is down" || time.Since(h.Since) > time.Hour {
			s.Errorf("got %+v", h)
		}
	}
	s.same(got, want, "what is held")
}

// claims ends the check unless a worker is given just these runs, in any order.
func (s *starting) claims(k *worker, want ...string) {
	s.Helper()
	left := map[string]bool{}
	for _, run := range want {
		left[run] = true
	}
	s.until("its runs", func() bool {
		for _, t := range k.claim(10, 0).Runs {
			if !left[t.Run] {
				s.Fatalf("took run %s, want %q", t.Run, want)
			}
			delete(left, t.Run)
		}
		return len(left) == 0
	})
	k.idle("there is nothing else")
}

var starts = []check{
	{"no run of a held workflow begins", "its starts are accepted, and wait", withStarts(func(s *starting) {
		k := s.worker("greet", "other")
		before := s.createRun("greet")
		paused := s.createRun("greet")
		s.deliver(act(paused, "p", world.RunPaused))
		s.hold("greet")
		s.held("greet")
		behind, another := s.createRun("greet"), s.createRun("other")
		second := s.createRun("greet", func(b *world.Birth) { b.Version = 2 })
		later := s.createRun("greet", func(b *world.Birth) { b.NotBefore = world.Now().Add(time.Hour) })
		s.claims(k, another)
		for _, run := range []string{before, behind} {
			if row := s.run(run); row.Status != world.Pending || row.Version != 1 || row.Queue == nil || row.Queue.Owner != "" || !row.Queue.Held || !row.StartedAt.IsZero() {
				s.Errorf("got %+v, %+v", row, row.Queue)
			}
			got, err := s.w.Claim(s.ctx, world.ClaimQuery{Worker: k.id, Classes: k.classes, Runs: 1, Run: run})
			if err != nil || len(got.Runs) > 0 {
				s.Errorf("by name: got %+v, %v", got, err)
			}
		}
		s.same(s.list(world.RunQuery{Status: []world.Status{world.StandsHeld}}), []string{later, second, behind, before}, "those that are held")
		s.same(s.list(world.RunQuery{Status: []world.Status{world.StandsHeld}, Workflow: "other"}), []string(nil), "of another workflow")
		s.deliver(act(paused, "r", world.RunResumed))
		s.deliver(signal(before, "s", "news"))
		wake := act(later, "w", world.RunResumed)
		wake.Events[0].Outcome = world.OutcomeWoken
		s.deliver(wake)
		k.idle("all else is held")
		s.same(s.list(world.RunQuery{Workflow: "greet", Version: 2}), []string{second}, "those of version 2")
		s.release("greet")
		s.held()
		s.same(s.list(world.RunQuery{Status: []world.Status{world.StandsHeld}}), []string(nil), "those that are held, when it was released")
		s.claims(k, before, behind, paused, later)
		s.claims(s.workerOf(2, "greet"), second)
	})},
	{"a worker begins no run of a held workflow", "an eager birth is refused, and a plain one is not", withStarts(func(s *starting) {
		k := s.worker("greet")
		s.hold("greet")
		for name, end := range map[string]bool{"one that goes on": false, "one that is over": true} {
			for _, key := range []string{"", "k-" + name} {
				c := birth("greet", withKey(key))
				c.Worker, c.Claim = k.id, 1
				c.Events = append(c.Events, world.Event{Type: world.RunStarted, Time: c.Events[0].Time})
				if end {
					c.Events = append(c.Events, world.Event{Type: world.RunCompleted, Time: c.Events[0].Time, Payload: []byte(`1`)})
				}
				_, err := s.w.Commit(s.ctx, c)
				s.refused(err, world.ErrLeaseLost, name)
				s.absent(c.Run)
				c.Worker, c.Claim, c.Events = "", 0, c.Events[:1]
				s.commit(c)
			}
		}
		k.idle("its runs are held")
		s.release("greet")
		k.create("greet").end()
	})},
	{"what has begun goes on", "only what has not begun is held", withStarts(func(s *starting) {
		k := s.worker("greet")
		run := k.create("greet")
		claimed, _ := k.get(s.createRun("greet"))
		k.create("greet").release(world.Release{WakeAt: world.Now()})
		s.hold("greet")
		run.append(signalEvent("a"))
		claimed.append(world.Event{Type: world.RunStarted})
		s.until("what waits is taken", func() bool { return len(k.claim(10, 0).Runs) == 1 })
		child := birth("greet", func(b *world.Birth) { b.Parent = &world.Parent{Run: run.run, Step: "step_1"} })
		c := run.next(world.Event{Type: world.StepCreated, ID: "step_1", Kind: world.KindChild, Name: "greet", Peer: child.Run})
		c.Births = []*world.Commit{child}
		run.write(c)
		k.idle("a child is held")
		s.release("greet")
		s.claims(k, child.Run)
	})},
	{"a fork and a retry of a held workflow do not begin", "their run_started is their origin's", withStarts(func(s *starting) {
		k := s.worker("greet", "other")
		origin := k.create("greet").run
		made := func(with ...func(*world.Birth)) string {
			c := birth("greet", with...)
			c.Events = append(c.Events, world.Event{Type: world.RunStarted, Time: c.Events[0].Time})
			s.commit(c)
			return c.Run
		}
		before, gone, early := made(withOrigin(origin, 1)), made(withOrigin(origin, 1)), made(withOrigin(origin, 1))
		ses, _ := k.get(before)
		s.hold("greet")
		ses.release(world.Release{WakeAt: world.Now()})
		ses, _ = k.get(before) // it has begun
		fork, retry, cleans := made(withOrigin(origin, 1)), made(inPlaceOf(origin)), made(withOrigin(origin, 1))
		waits := []string{gone, early, fork, retry}
		s.deliver(signal(fork, "s", "news"))
		k.idle("they are held")
		for _, run := range waits {
			got, err := s.w.Claim(s.ctx, world.ClaimQuery{Worker: k.id, Classes: k.classes, Runs: 1, Run: run})
			if row := s.run(run); err != nil || len(got.Runs) > 0 || row.Status != world.Running || row.Version != 1 {
				s.Errorf("by name: got %+v, %v of %+v", got, err, row)
			}
		}
		s.deliver(cancel(cleans, "c"))
		s.worker("other").idle("the code of one that is cancelled is known")
		cleaning, t := k.get(cleans)
		if t.Class.Workflow != "greet" || t.Class.Version != 1 || t.Status != world.Running {
			s.Errorf("got %+v", t)
		}
		cleaning.read()
		cleaning.release(world.Release{WakeAt: world.Now()})
		cleaning, _ = k.get(cleans) // its code goes on to clean up
		cleaning.append(world.Event{Type: world.RunCancelled})
		s.deliver(act(gone, "f", world.RunCancelled))
		k.idle("the others are held")
		ses.end()
		s.release("greet")
		s.claims(k, early, fork, retry)
	})},
	{"a run that is held is cancelled", "a cancel makes any run runnable", withStarts(func(s *starting) {
		k := s.worker("other")
		s.hold("greet")
		asked, forced := s.createRun("greet"), s.createRun("greet")
		s.deliver(act(forced, "f", world.RunCancelled))
		if got := s.run(forced).Status; got != world.Cancelled {
			s.Errorf("got %s", got)
		}
		s.deliver(cancel(asked, "c"))
		ses, t := k.get(asked)
		if t.Class.Workflow != "greet" || t.Class.Version != 1 || t.Damage != "" {
			s.Errorf("got %+v", t)
		}
		ses.append(world.Event{Type: world.RunCancelled})
		s.release("greet")
		s.worker("greet").idle("both are over")
	})},
	{"a run that is held holds no place of a limit", "others do not wait for what is not to begin", withStarts(func(s *starting) {
		k := s.worker("greet", "other")
		one := func(b *world.Birth) { b.Places = []world.Place{{Limit: "bank", Number: 1}} }
		if _, err := s.w.Commit(s.ctx, birth("other", one)); err != nil {
			s.Logf("this world keeps no limits: %v", err)
			return
		}
		ses, _ := k.get(s.list(world.RunQuery{Workflow: "other"})[0])
		first := s.createRun("greet", one) // in line
		s.hold("greet")
		second := s.createRun("greet", one)
		third := s.createRun("other", one)
		ses.append(world.Event{Type: world.RunStarted})
		ses.end()
		ses, _ = k.get(third)
		ses.append(world.Event{Type: world.RunStarted})
		ses.end()
		k.idle("all else is held")
		s.release("greet")
		for _, run := range []string{first, second} {
			ses, _ := k.get(run)
			ses.append(world.Event{Type: world.RunStarted})
			ses.end()
		}
	})},
	{"runs that do not begin in time are told of", "whoever looks ends them, once", withStarts(func(s *starting) {
		k := s.worker("begun")
		late := s.createRun("greet", func(b *world.Birth) { b.StartTTL = time.Hour })
		if next := s.lapsing(); next <= 0 || next > time.Hour {
			if next == 0 {
				s.Logf("this world leaves it to another")
				return
			}
			s.Errorf("the next one is due after %s", next)
		}
		brief := func(b *world.Birth) { b.StartTTL = time.Millisecond }
		over, begun, owned, held := s.createRun("begun", brief), s.createRun("begun", brief), s.createRun("begun", brief), s.createRun("greet", brief)
		delayed := s.createRun("greet", brief, func(b *world.Birth) { b.NotBefore = world.Now().Add(time.Hour) })
		s.deliver(act(over, "", world.RunCancelled))
		ses, _ := k.get(begun)
		ses.append(world.Event{Type: world.RunStarted})
		mine, _ := k.get(owned)
		s.hold("greet")
		parent := k.create("begun")
		child := birth("greet", brief, func(b *world.Birth) { b.Parent = &world.Parent{Run: parent.run, Step: "step_1"} })
		c := parent.next(world.Event{Type: world.StepCreated, ID: "step_1", Kind: world.KindChild, Name: "greet", Peer: child.Run})
		c.Births = []*world.Commit{child}
		parent.write(c)
		made := func(workflow string, with ...func(*world.Birth)) string {
			c := birth(workflow, append(with, brief)...)
			c.Events = append(c.Events, world.Event{Type: world.RunStarted, Time: c.Events[0].Time})
			s.commit(c)
			return c.Run
		}
		fork, given := made("greet", withOrigin(begun, 1)), made("begun", withOrigin(begun, 1))
		made("greet") // it has begun elsewhere
		forked, _ := k.get(given)
		got := map[string]bool{}
		s.until("they are told of", func() bool { s.lapsing(got); return len(got) >= 4 })
		if next := s.lapsing(got); next <= 0 || next > world.LapsePatience {
			s.Errorf("they are looked at again after %s", next)
		}
		delete(got, given) // it was claimed too late, perhaps
		if len(got) != 4 || !got[owned] || !got[held] || !got[child.Run] || !got[fork] {
			s.Fatalf("got %v, want %q", got, []string{owned, held, child.Run, fork})
		}
		for _, run := range []string{begun, owned, held, child.Run, held, fork, given} {
			d := &world.Delivery{Run: run, Act: true, Unbegun: true, Events: []world.Event{world.Lapse(time.Millisecond)}}
			_, err := s.w.Deliver(s.ctx, d)
			s.must(err, "end "+run)
			row := s.run(run)
			if ends := run == held || run == child.Run || run == fork; ends != (row.Status == world.Cancelled) || ends && (row.Error == nil || row.Error.Code != world.CodeNotStarted) {
				s.Errorf("run %s: got %s, %v", run, row.Status, row.Error)
			}
		}
		mine.append(world.Event{Type: world.RunStarted})
		mine.end()
		forked.end()
		ses.end()
		for _, run := range []string{late, delayed} {
			if got := s.run(run).Status; got != world.Pending {
				s.Errorf("got %s", got)
			}
		}
		if got := s.run(late).StartTTL; got != time.Hour {
			s.Errorf("got a start TTL of %s", got)
		}
		bad := &world.Delivery{Run: late, Act: true, Unbegun: true, Events: []world.Event{{Type: world.RunPaused}}}
		_, err := s.w.Deliver(s.ctx, bad)
		s.refused(err, world.ErrInvalid, "a pause of what has not begun")
	})},
	{"holding twice, and releasing what is free", "acts of operators repeat", withStarts(func(s *starting) {
		s.release("greet")
		s.hold("other")
		s.hold("greet")
		s.hold("greet")
		s.held("greet", "other")
		_, err := s.k.Settle(s.ctx)
		s.must(err, "settle")
		s.release("greet")
		s.release("greet")
		s.held("other")
		for _, bad := range []world.Hold{{}, {Workflow: "a b"}, {Workflow: "a", Note: strings.Repeat("x", world.MaxReason+1)}, {Workflow: "a", By: "a\nb"}} {
			s.refused(s.k.Hold(s.ctx, bad), world.ErrInvalid, "a bad hold")
		}
		s.held("other")
	})},
}

// lapsing notes which runs have not begun in time, and tells when the next one has not.
func (s *starting) lapsing(into ...map[string]bool) time.Duration {
	s.Helper()
	due, err := s.k.Lapsing(s.ctx)
	s.must(err, "what lapses")
	for _, r := range due.Runs {
		if into[0][r.Run] || r.Within != time.Millisecond {
			s.Errorf("got %+v", r)
		}
		into[0][r.Run] = true
	}
	return due.Next
}

// workerOf joins a worker for a version of a workflow.
func (s *starting) workerOf(version int, workflow string) *worker {
	s.Helper()
	k := &worker{rig: s.rig, id: world.NewID(world.PrefixWorker, world.Now()), classes: []world.Class{{Workflow: workflow, Version: version}}}
	_, err := s.w.Join(s.ctx, world.Worker{ID: k.id, Name: "host:2", Build: "b1", Classes: k.classes, Lease: longLease})
	s.must(err, "join")
	return k
}
