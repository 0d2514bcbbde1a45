// Strikes: how often a run was there when its worker died, with nothing to show for it.

package worldtest

import "github.com/stepwell/stepwell/world"

var strikes = []check{
	{"deaths without a commit are counted", "each claim that ended with neither a commit nor a release is a strike; every worker is told", func(r *rig) {
		id := r.createRun("greet")
		for want := range 4 {
			r.strikes(r.doomed(id), want)
		}
		_, got := r.worker("greet").get(id)
		r.strikes(got, 4)
	}},
	{"a commit ends the row of strikes", "what was committed since the claim shows that the run got on; a birth is a commit", func(r *rig) {
		k := r.mortal(workingLease, "greet")
		s := k.create("greet")
		r.orphaned(s.run)
		r.strikes(r.doomed(s.run), 0)
		r.strikes(r.doomed(s.run), 1)
		dead := r.mortal(workingLease, "greet")
		s, got := dead.get(s.run)
		r.strikes(got, 2)
		s.append(signalEvent("a"))
		r.orphaned(s.run)
		r.strikes(r.doomed(s.run), 0)
		_, got = r.worker("greet").get(s.run)
		r.strikes(got, 1)
	}},
	{"a release ends the row of strikes", "a worker that gives a run up is alive, with events to write or without", func(r *rig) {
		for _, events := range [][]world.Event{nil, {{Type: world.RunStarted}}} {
			id := r.createRun("greet")
			r.doomed(id)
			k := r.worker("greet")
			s, got := k.get(id)
			r.strikes(got, 1)
			c := s.next(events...)
			c.Release = &world.Release{WakeAt: world.Now()}
			s.write(c)
			r.strikes(r.doomed(id), 0)
			s, got = k.get(id)
			r.strikes(got, 1)
			c = s.next()
			c.Release = &world.Release{WakeAt: world.Now(), Blocked: &world.Block{Code: world.CodeCrashLoop, Since: world.Now()}}
			s.write(c)
			s, got = k.get(id)
			r.strikes(got, 0)
			s.release(world.Release{})
		}
	}},
	{"a commit without events ends no row of strikes", "it shows that the worker was alive, not that the run got on; leaving does end the row", func(r *rig) {
		id := r.createRun("greet")
		for want := range 2 {
			k := r.mortal(workingLease, "greet")
			r.deliver(signal(id, "", "a"))
			s, got := k.get(id)
			r.strikes(got, want)
			c := s.next()
			c.Mail = rows(got.Mail) // dropped
			s.write(c)
			r.orphaned(id)
		}
		k := r.worker("greet")
		s, got := k.get(id)
		r.strikes(got, 2)
		c := s.next()
		c.Send = []world.Delivery{*signal(id, "", "a")}
		s.write(c)
		r.must(r.w.Leave(r.ctx, k.id), "leave")
		_, got = r.worker("greet").get(id)
		r.strikes(got, 0)
	}},
	{"a death counts against what it took, not what it held for others", "each run of a dead worker has its own row: the one that got on has none", func(r *rig) {
		stuck, moves := r.createRun("greet"), r.createRun("greet")
		dead := r.mortal(workingLease, "greet")
		for _, t := range dead.claim(2, 0).Runs {
			if t.Run == moves {
				s := &session{worker: dead, run: t.Run, claimed: t.Claim, seq: t.Seq}
				s.append(world.Event{Type: world.RunStarted})
			}
		}
		r.orphaned(stuck)
		for _, t := range r.worker("greet").claim(2, 0).Runs {
			want := 0
			if t.Run == stuck {
				want = 1
			}
			r.strikes(t, want)
		}
	}},
	{"leaving ends the row of strikes", "who hands back is alive: no strike, and none before it counts on", func(r *rig) {
		id := r.createRun("greet")
		r.doomed(id)
		k := r.worker("greet")
		_, got := k.get(id)
		r.strikes(got, 1)
		r.must(r.w.Leave(r.ctx, k.id), "leave")
		r.strikes(r.doomed(id), 0)
		_, got = r.worker("greet").get(id)
		r.strikes(got, 1)
	}},
	{"others change nothing about strikes", "what is sent to a run, owned or not, is not its owner's commit", func(r *rig) {
		id := r.createRun("greet")
		r.doomed(id)
		r.deliver(act(id, "", world.RunPaused)) // in the log: a number more
		r.deliver(act(id, "", world.RunResumed))
		dead := r.mortal(workingLease, "greet")
		s, got := dead.get(id)
		r.strikes(got, 1)
		r.same(got.Seq, int64(3), "last event")
		r.deliver(signal(id, "", "a"))
		r.deliver(act(id, "", world.RunPaused)) // in the inbox
		r.orphaned(id)
		_, err := r.w.Commit(r.ctx, s.next(signalEvent("late"))) // refused: no commit
		r.refused(err, world.ErrLeaseLost, "the dead worker's commit")
		_, got = r.worker("greet").get(id)
		r.strikes(got, 2)
	}},
}

// doomed claims a run with a worker that dies of it, and waits until that is known.
func (r *rig) doomed(run string) world.ClaimedRun {
	r.Helper()
	var got world.Claimed
	r.until("run "+run+" is taken", func() bool {
		k := r.mortal(shortLease, "greet")
		var err error
		got, err = r.w.Claim(r.ctx, world.ClaimQuery{Worker: k.id, Classes: k.classes, Runs: 1})
		if isErr(err, world.ErrLeaseLost) {
			return false // the machine is slow: another one
		}
		r.must(err, "take")
		return len(got.Runs) == 1
	})
	r.same(got.Runs[0].Run, run, "run taken")
	r.orphaned(run)
	return got.Runs[0]
}

// orphaned waits until the lease of the run's owner is ended.
func (r *rig) orphaned(run string) {
	r.Helper()
	other := r.worker("other")
	r.until("the lease is ended", func() bool {
		other.claim(1, 0)
		return r.run(run).Queue.Owner == ""
	})
}

func (r *rig) strikes(got world.ClaimedRun, want int) {
	r.Helper()
	if got.Strikes != want {
		r.Fatalf("take %d: got %d strikes, want %d", got.Claim, got.Strikes, want)
	}
}
