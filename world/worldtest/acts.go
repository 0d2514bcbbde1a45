// Acts: what operators do to runs that nobody owns, or whoever owns them.

package worldtest

import (
	"time"

	"github.com/stepwell/stepwell/world"
)

var acts = []check{
	{"an act on a run that nobody owns is in the log at once", "pause and resume are appended at the next number; a pause is on the row", func(r *rig) {
		id := r.createRun("greet")
		before := world.Now()
		r.deliver(act(id, "p1", world.RunPaused))
		r.same(r.run(id).Queue.Paused, true, "paused")
		r.deliver(act(id, "p2", world.RunResumed))
		r.same(r.run(id).Queue.Paused, false, "paused")
		events := r.events(id)
		r.same(r.types(id), []world.EventType{world.RunCreated, world.RunPaused, world.RunResumed}, "events")
		for i, e := range events[1:] {
			if e.Seq != int64(i+2) || e.By != "ann" || e.Reason != "test" || e.Time.Before(events[i].Time) || e.Time.Before(before.Add(-time.Minute)) || e.Delivery == "" {
				r.Fatalf("got %+v behind %+v", e, events[i])
			}
		}
		r.same(r.run(id).Queue.Mail, 0, "mail")
		_, got := r.worker("greet").get(id)
		r.same(got.Seq, int64(3), "last event")
	}},
	{"a paused run is not claimed", "nobody claims the run between pause and resume, neither when it is due nor when mail comes", func(r *rig) {
		k := r.worker("greet")
		due, mailed := r.createRun("greet"), k.create("greet")
		mailed.release(world.Release{})
		r.deliver(act(due, "", world.RunPaused))
		r.deliver(act(mailed.run, "", world.RunPaused))
		r.deliver(signal(mailed.run, "", "a"))
		k.idle("both are paused")
		r.deliver(act(due, "", world.RunResumed))
		k.get(due)
		r.deliver(act(mailed.run, "", world.RunResumed))
		if _, got := k.get(mailed.run); len(got.Mail) != 1 || got.Paused {
			r.Fatalf("got %+v, want the run with its mail, not paused", got)
		}
	}},
	{"a resumed run has a turn", "a running run that is resumed is due at once; a pending one keeps its time", func(r *rig) {
		k := r.worker("greet")
		s := k.create("greet")
		s.release(world.Release{WakeAt: world.Now().Add(time.Hour)})
		pending := r.createRun("greet", func(b *world.Birth) { b.NotBefore = world.Now().Add(time.Hour) })
		for _, id := range []string{s.run, pending} {
			r.deliver(act(id, "", world.RunPaused))
		}
		k.idle("both sleep and are paused")
		for _, id := range []string{s.run, pending} {
			r.deliver(act(id, "", world.RunResumed))
		}
		k.get(s.run)
		k.idle("the other one's start is delayed")
	}},
	{"a blocked run that is woken or resumed is tried at once", "nobody's: due now and its tries count anew; a wake ends no pause; nothing is in the log but a resumption", func(r *rig) {
		k := r.worker("greet")
		wake := func(run string) { r.deliver(wakes(run)) }
		blocked := func() string {
			s := k.create("greet")
			s.release(world.Release{
				WakeAt:  world.Now().Add(time.Hour),
				Blocked: &world.Block{Code: world.CodePanic, Message: `"tries":9 and "tries":8`, Since: world.Now(), Tries: 7, Build: "b"},
			})
			return s.run
		}
		tried := func(run string, paused bool, tries int) {
			r.Helper()
			q := r.run(run).Queue
			if q.Blocked == nil || q.Blocked.Tries != tries || q.Blocked.Message != `"tries":9 and "tries":8` || q.Blocked.Build != "b" || q.Paused != paused {
				r.Fatalf("got %+v, blocked %+v, want %d tries", q, q.Blocked, tries)
			}
		}
		resumed, woken := blocked(), blocked()
		k.idle("their backoff runs")
		before := r.types(resumed)
		r.deliver(act(resumed, "", world.RunResumed))
		tried(resumed, false, 0)
		_, got := k.get(resumed)
		if got.Blocked == nil || got.Blocked.Tries != 0 || len(got.Mail) > 0 {
			r.Fatalf("got %+v, want it blocked, without tries", got)
		}
		r.same(r.types(resumed), before, "events")
		wake(woken)
		tried(woken, false, 0)
		k.get(woken)
		paused := blocked()
		r.deliver(act(paused, "", world.RunPaused))
		wake(paused)
		tried(paused, true, 7)
		k.idle("it is paused")
		r.deliver(act(paused, "", world.RunResumed))
		tried(paused, false, 0)
		k.get(paused)
		sound := k.create("greet")
		sound.release(world.Release{WakeAt: world.Now().Add(time.Hour)})
		r.unchanged(sound.run, func() { wake(sound.run) })
		k.idle("what is not blocked sleeps on")
	}},
	{"a delayed run that is woken is due at once", "nobody's: due now; a pause holds it until it is resumed, and it has its turn then; nothing is in the log; one that has begun is not touched", func(r *rig) {
		k := r.worker("greet")
		later := func(b *world.Birth) { b.NotBefore = world.Now().Add(time.Hour) }
		woken, paused, other := r.createRun("greet", later), r.createRun("greet", later), r.createRun("greet", later)
		k.idle("they start later")
		r.unchangedLog(woken, func() { r.deliver(wakes(woken)) })
		s, got := k.get(woken)
		r.same(got.Status, world.Pending, "status")
		k.idle("the others were not woken")
		r.unchangedLog(woken, func() { r.deliver(wakes(woken)) }) // it is owned
		s.end()
		_, err := r.w.Deliver(r.ctx, wakes(woken))
		r.refused(err, world.ErrTerminal, "wake of a run that is over")
		r.deliver(act(paused, "", world.RunPaused))
		r.deliver(wakes(paused))
		r.same(r.run(paused).Queue.Paused, true, "paused")
		k.idle("it is paused")
		r.deliver(act(paused, "", world.RunResumed))
		k.get(paused)
		k.idle("the other was not woken")
		r.deliver(wakes(other))
		r.deliver(wakes(other))
		k.get(other)
	}},
	{"acts that say nothing new write nothing", "pausing twice, resuming twice, the same delivery twice: accepted, and nothing changes", func(r *rig) {
		id := r.createRun("greet")
		r.unchanged(id, func() { r.deliver(act(id, "r0", world.RunResumed)) })
		r.deliver(act(id, "p1", world.RunPaused))
		r.unchanged(id, func() {
			r.deliver(act(id, "p1", world.RunPaused))
			r.deliver(act(id, "p2", world.RunPaused))
		})
		r.deliver(act(id, "r1", world.RunResumed))
		r.unchanged(id, func() {
			r.deliver(act(id, "r2", world.RunResumed))
			r.deliver(act(id, "p1", world.RunPaused)) // a repeated pause is not a new one
		})
	}},
	{"an act on an owned run is mail", "where somebody owns the run, the act goes to the inbox and the owner appends it", func(r *rig) {
		k := r.worker("greet")
		s := k.create("greet")
		r.unchangedLog(s.run, func() {
			if done := r.deliver(act(s.run, "p1", world.RunPaused)); done.Owner != k.id {
				r.Fatalf("got %+v, want owner %s", done, k.id)
			}
			r.same(r.deliver(act(s.run, "p1", world.RunPaused)).Duplicate, true, "again")
		})
		mail := s.mail()
		if len(mail) != 1 || mail[0].Events[0].Type != world.RunPaused || mail[0].Events[0].By != "ann" {
			r.Fatalf("got %+v, want the pause", mail)
		}
		c := s.next(mail[0].Events[0])
		c.Mail, c.Release = rows(mail), &world.Release{WakeAt: world.Now()}
		s.write(c)
		k.idle("it is paused")
		r.same(r.run(s.run).Queue.Paused, true, "paused")
		r.deliver(act(s.run, "", world.RunResumed))
		k.get(s.run)
	}},
	{"a cancel pierces a pause", "a cancel makes a paused run runnable; appended, it ends the pause", func(r *rig) {
		k := r.worker("greet")
		s := k.create("greet")
		s.release(world.Release{})
		r.deliver(act(s.run, "", world.RunPaused))
		r.deliver(cancel(s.run, "c1"))
		again, got := k.get(s.run)
		if !got.Paused || len(got.Mail) != 1 {
			r.Fatalf("got %+v, want a paused run with a cancel", got)
		}
		c := again.next(got.Mail[0].Events[0])
		c.Mail, c.Release = rows(got.Mail), &world.Release{WakeAt: world.Now()}
		again.write(c)
		r.same(r.run(s.run).Queue.Paused, false, "paused")
		if _, got := k.get(s.run); got.Paused {
			r.Fatalf("got %+v, want a run that is not paused", got)
		}
	}},
	{"a forced cancel ends any run", "it is appended and ends the run, pending, paused, blocked or owned; it says who and why", func(r *rig) {
		k := r.worker("greet")
		pending, paused, blocked, owned := r.createRun("greet"), r.createRun("greet"), k.create("greet"), k.create("greet")
		r.deliver(act(paused, "", world.RunPaused))
		blocked.release(world.Release{WakeAt: world.Now(), Blocked: &world.Block{Code: world.CodePanic, Message: "no", Since: world.Now()}})
		for _, id := range []string{pending, paused, blocked.run, owned.run} {
			r.deliver(signal(id, "", "a"))
			r.deliver(act(id, "x", world.RunCancelled))
			row := r.run(id)
			events := r.events(id)
			last := events[len(events)-1]
			if row.Status != world.Cancelled || row.Queue != nil || !row.EndedAt.Equal(last.Time) || last.Type != world.RunCancelled || last.By != "ann" {
				r.Fatalf("got %+v, last event %+v; want a cancelled run", row, last)
			}
			_, err := r.w.Deliver(r.ctx, signal(id, "", "b"))
			r.refused(err, world.ErrTerminal, "mail behind the end")
			r.unchanged(id, func() { r.deliver(act(id, "y", world.RunCancelled)) })
		}
		k.idle("all are over")
	}},
}

// unchangedLog runs f and ends the check if the run's log is another one afterwards.
func (r *rig) unchangedLog(run string, f func()) {
	r.Helper()
	before := r.events(run)
	f()
	r.same(r.events(run), before, "log of run "+run)
}

// wakes is the act of an operator who wakes a run.
func wakes(run string) *world.Delivery {
	d := act(run, "", world.RunResumed)
	d.Events[0].Outcome = world.OutcomeWoken
	return d
}
