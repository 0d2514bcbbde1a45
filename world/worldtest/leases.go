// Leases: what a dead worker held comes back.

package worldtest

import (
	"fmt"
	"slices"
	"time"

	"github.com/stepwell/stepwell/world"
)

var leases = []check{
	{"a run that its worker gives up is not lost", "a heartbeat that meets a release tells of no loss: the run may be the worker's again by then", func(r *rig) {
		k := r.worker("greet")
		id := r.createRun("greet")
		for range 40 {
			s, _ := k.get(id)
			c := s.next()
			c.Release = &world.Release{WakeAt: world.Now()}
			heartbeats := make(chan world.Heartbeat, 8)
			for range cap(heartbeats) {
				go func() {
					b, _ := r.w.Heartbeat(r.ctx, world.HeartbeatQuery{Worker: k.id})
					heartbeats <- b
				}()
			}
			s.write(c)
			for range cap(heartbeats) {
				if b := <-heartbeats; len(b.Lost) > 0 {
					r.Fatalf("lost %v, which was released", b.Lost)
				}
			}
		}
	}},
	{"a dead worker's runs come back", "when a lease ends, its runs are given to others, running and pending alike, with their mail", func(r *rig) {
		dead := r.mortal(workingLease, "greet")
		s := dead.create("greet")
		r.deliver(signal(s.run, "d1", "a"))
		pending := r.createRun("greet", withPriority(0))
		dead.get(pending)
		heir := r.worker("greet")
		_, got := heir.get(s.run)
		if got.Claim != 2 || got.Status != world.Running || len(got.Mail) != 1 {
			r.Fatalf("got %+v, want take 2 of a running run with one mail", got)
		}
		if _, got := heir.get(pending); got.Claim != 2 || got.Status != world.Pending {
			r.Fatalf("got %+v, want take 2 of a pending run", got)
		}
	}},
	{"what a dead worker held is due at once", "a run that is handed back has a turn, however long it would have slept and though no mail waits", func(r *rig) {
		k := r.worker("greet")
		s := k.create("greet")
		s.release(world.Release{WakeAt: world.Now().Add(time.Hour)})
		r.deliver(signal(s.run, "", "a"))
		s, got := k.get(s.run)
		c := s.next(got.Mail[0].Events[0])
		c.Mail = rows(got.Mail)
		s.write(c)
		r.must(r.w.Leave(r.ctx, k.id), "leave")
		r.worker("greet").get(s.run)
	}},
	{"a dead worker's tasks come back", "when a lease ends, its tasks are given to others as further attempts", func(r *rig) {
		owner := r.worker("greet")
		s := owner.create("greet")
		s.queueTask("step_1")
		dead := r.mortal(workingLease)
		first := dead.getTask()
		heir := r.worker()
		got := heir.getTask()
		if got.Attempt != first.Attempt+1 || got.Worker != heir.id || got.Step != "step_1" {
			r.Fatalf("got %+v after attempt %d, want the next", got, first.Attempt)
		}
		_, err := r.w.Deliver(r.ctx, dead.taskEnd(first, jsonText(`1`)))
		r.refused(err, world.ErrLeaseLost, "the dead worker's result")
		r.same(len(s.mail()), 0, "mail")
		r.deliver(heir.taskEnd(got, jsonText(`2`)))
		r.same(len(s.mail()), 1, "mail")
	}},
	{"a heartbeat renews the lease", "who sends heartbeats keeps what it holds, however long it takes", func(r *rig) {
		k := r.mortal(4*shortLease, "greet")
		s := k.create("greet")
		other := r.worker("greet")
		begin := k.heartbeat()
		r.until("several leases have passed", func() bool {
			b := k.heartbeat()
			other.idle("its owner heartbeats")
			return b.Now.Sub(begin.Now) > 8*shortLease
		})
		s.append(signalEvent("a"))
	}},
	{"a heartbeat tells the lease's end", "Until is the lease from Now, by the world's clock", func(r *rig) {
		k := r.mortal(longLease)
		b := k.heartbeat()
		if got := b.Until.Sub(b.Now); got < longLease/2 || got > longLease {
			r.Fatalf("the lease ends %s from now, want %s", got, longLease)
		}
	}},
	{"a heartbeat by nobody is refused", "a worker that is not alive gets ErrLeaseLost", func(r *rig) {
		_, err := r.w.Heartbeat(r.ctx, world.HeartbeatQuery{Worker: "wrkr_nobody"})
		r.refused(err, world.ErrLeaseLost, "beat")
		_, err = r.w.Claim(r.ctx, world.ClaimQuery{Worker: "wrkr_nobody", Runs: 1})
		r.refused(err, world.ErrLeaseLost, "take")
	}},
	{"a dead worker comes back under a new ID", "after a lost lease, Join anew; what it held may be given to it again", func(r *rig) {
		dead := r.mortal(workingLease, "greet")
		s := dead.create("greet")
		other := r.worker("other")
		r.until("the lease is ended", func() bool {
			other.claim(1, 0)
			return r.run(s.run).Queue.Owner == ""
		})
		_, err := r.w.Heartbeat(r.ctx, world.HeartbeatQuery{Worker: dead.id})
		r.refused(err, world.ErrLeaseLost, "beat")
		again, got := r.worker("greet").get(s.run)
		r.same(got.Claim, int64(2), "take")
		again.append(signalEvent("a"))
	}},
	{"a worker is told what it holds", "Held lists the runs that it created and those that it was given, each with its claim, and its tasks, each with its attempt, and nothing of what is over; nothing of a worker that has left", func(r *rig) {
		k, other := r.worker("greet"), r.worker("other")
		held := func() []string {
			account, err := r.w.Held(r.ctx, k.id)
			r.must(err, "held")
			return itemsOf(&account)
		}
		r.same(len(held()), 0, "what it holds at first")
		s := k.create("greet")
		given, _ := k.get(r.createRun("greet"))
		s.queueTask("step_1")
		s.queueTask("step_2")
		t := k.getTask()
		other.create("other")
		task, created := fmt.Sprintf("%s/%s as 1", t.Run, t.Step), fmt.Sprintf("%s under 1 to %d", s.run, s.seq)
		want := []string{fmt.Sprintf("%s under 1 to %d", given.run, given.seq), created, task}
		slices.Sort(want)
		r.same(held(), want, "what it created and was given")
		given.release(world.Release{WakeAt: world.Now()})
		want = []string{created, task}
		slices.Sort(want)
		r.same(held(), want, "without what it gave up")
		again, _ := k.get(given.run)
		want = append(want, fmt.Sprintf("%s under 2 to %d", again.run, again.seq))
		slices.Sort(want)
		r.same(held(), want, "with what it was given again")
		again.end()
		s.end()
		r.same(len(held()), 0, "when the run is over")
		r.must(r.w.Leave(r.ctx, k.id), "leave")
		_, err := r.w.Held(r.ctx, k.id)
		r.refused(err, world.ErrLeaseLost, "held")
	}},
	{"a heartbeat tells all that a worker holds, where it is asked", "the account has each run with its claim and its last event, and each task with its attempt", func(r *rig) {
		k := r.worker("greet")
		account := func() []string {
			b, err := r.w.Heartbeat(r.ctx, world.HeartbeatQuery{Worker: k.id, Account: true})
			r.must(err, "beat")
			if b.Account == nil {
				r.Fatalf("got no account")
			}
			return itemsOf(b.Account)
		}
		r.same(len(account()), 0, "what it holds at first")
		s := k.create("greet")
		given, _ := k.get(r.createRun("greet"))
		s.queueTask("step_1")
		t := k.getTask()
		want := []string{
			fmt.Sprintf("%s under 1 to %d", s.run, s.seq), fmt.Sprintf("%s under 1 to %d", given.run, given.seq), fmt.Sprintf("%s/%s as 1", t.Run, t.Step),
		}
		slices.Sort(want)
		r.same(account(), want, "what it created and was given")
		c := &world.Commit{ID: commitID(), Run: given.run, Worker: k.id, Claim: 1, First: given.seq + 1, Release: &world.Release{WakeAt: world.Now()}}
		_, err := r.w.Commit(r.ctx, c)
		r.must(err, "a release by the account alone")
		s.end()
		r.same(len(account()), 0, "when one is released and the other is over")
	}},
	{"a worker is listed while it is alive", "Stats tells of workers, what they registered and what they hold", func(r *rig) {
		k := r.worker("greet")
		s := k.create("greet")
		k.create("greet")
		s.queueTask("step_1")
		k.getTask()
		st, err := r.w.Stats(r.ctx)
		r.must(err, "stats")
		if len(st.Workers) != 1 {
			r.Fatalf("got %d workers, want 1", len(st.Workers))
		}
		got := st.Workers[0]
		got.Remote = false // a world that is a server's says so of all its workers
		want := world.WorkerRow{
			Worker:   world.Worker{ID: k.id, Name: "host:1", Build: "b1", Classes: k.classes, Steps: k.steps, Lease: longLease},
			JoinedAt: got.JoinedAt, Until: got.Until, Runs: 2, Tasks: 1,
		}
		r.same(got, want, "worker")
		if d := got.Until.Sub(st.Now); d <= 0 || d > longLease || got.JoinedAt.After(st.Now.Add(time.Second)) {
			r.Fatalf("joined %s, lease until %s, now %s", got.JoinedAt, got.Until, st.Now)
		}
		r.must(r.w.Leave(r.ctx, k.id), "leave")
		st, err = r.w.Stats(r.ctx)
		r.must(err, "stats")
		r.same(len(st.Workers), 0, "workers")
	}},
}

// itemsOf writes what is in an account, in order.
func itemsOf(a *world.Account) (items []string) {
	for _, o := range a.Runs {
		items = append(items, fmt.Sprintf("%s under %d to %d", o.Run, o.Claim, o.Last))
	}
	for _, t := range a.Tasks {
		items = append(items, fmt.Sprintf("%s/%s as %d", t.Run, t.Step, t.Attempt))
	}
	slices.Sort(items)
	return items
}
