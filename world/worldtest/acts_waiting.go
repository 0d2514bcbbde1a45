// Acts that wait: what operators ask of a run while somebody owns it comes in the order in which it was asked, whoever owns it by then.

package worldtest

import (
	"fmt"
	"sync"
	"time"

	"github.com/stepwell/stepwell/world"
)

const (
	pause  = world.RunPaused
	resume = world.RunResumed
)

var waitingActs = []check{
	{"acts on an owned run come in order", "each goes to the inbox; none overtakes another, and none is lost", func(r *rig) {
		s := r.worker("greet").create("greet")
		r.unchangedLog(s.run, func() { r.act(s.run, pause, resume, pause) })
		r.same(mailTypes(s.mail()), []world.EventType{pause, resume, pause}, "mail")
	}},
	{"a release leaves acts that wait to the next owner", "a run_resumed makes a paused run runnable, as other mail does one that is not; it is not claimed to be cancelled only", func(r *rig) {
		k := r.worker("greet")
		sent := []world.EventType{pause, resume, pause}
		for appended := range sent {
			s := k.create("greet")
			r.act(s.run, sent...)
			s.claimMail(appended, &world.Release{})
			again, got := k.get(s.run)
			r.same(mailTypes(got.Mail), sent[appended:], fmt.Sprint("mail after ", appended, " were appended"))
			if got.Paused {
				r.Fatalf("got a run to be cancelled only, after %d acts were appended; want one that goes on", appended)
			}
			again.claimMail(len(got.Mail), &world.Release{WakeAt: world.Now()})
			k.idle("the last act was a pause")
			r.same(r.run(s.run).Queue.Paused, true, "paused")
			r.deliver(act(s.run, "", resume))
			again, got = k.get(s.run)
			r.same(len(got.Mail), 0, "mail: nobody owned it when it was resumed")
			r.same(r.types(s.run)[2:], []world.EventType{pause, resume, pause, resume}, "acts in the log")
			again.end()
		}
	}},
	{"an act behind one that waits waits as well", "where an earlier act waits, the next one goes to the inbox, though nobody owns the run", func(r *rig) {
		k := r.worker("greet")
		s := k.create("greet")
		r.act(s.run, pause)
		s.release(world.Release{})
		r.unchangedLog(s.run, func() { r.act(s.run, resume, pause, resume) })
		again, got := k.get(s.run)
		r.same(mailTypes(got.Mail), []world.EventType{pause, resume, pause, resume}, "mail")
		again.claimMail(1, &world.Release{})
		r.unchangedLog(s.run, func() { r.act(s.run, pause) })
		again, got = k.get(s.run)
		r.same(mailTypes(got.Mail), []world.EventType{resume, pause, resume, pause}, "mail")
		again.claimMail(4, &world.Release{WakeAt: world.Now()})
		k.idle("the last act was a pause")
	}},
	{"the row says what the log says of a pause", "a paused run is shown and counted so until its run_resumed is in the log, also while one waits; it is not claimed to be cancelled only", func(r *rig) {
		ways := map[string]func(k *worker, s *session){
			"released by its owner": func(_ *worker, s *session) {
				r.act(s.run, pause, resume)
				s.claimMail(1, &world.Release{})
			},
			"left by its owner": func(k *worker, s *session) {
				r.act(s.run, pause, resume)
				s.claimMail(1, nil)
				r.must(r.w.Leave(r.ctx, k.id), "leave")
			},
			"resumed behind an act that waits": func(_ *worker, s *session) {
				r.act(s.run, pause, pause)
				s.claimMail(1, &world.Release{})
				r.act(s.run, resume)
			},
		}
		for what, way := range ways {
			k := r.worker("greet")
			s := k.create("greet")
			way(k, s)
			shown := func(want bool, when string) {
				r.Helper()
				page, err := r.w.Runs(r.ctx, world.RunQuery{Workflow: "greet", Limit: 1})
				r.must(err, "list")
				st, err := r.w.Stats(r.ctx)
				r.must(err, "stats")
				counted := 0
				for _, f := range st.Workflows {
					counted += f.Paused
				}
				got := []bool{r.run(s.run).Queue.Paused, page.Runs[0].Queue.Paused, counted == 1}
				r.same(got, []bool{want, want, want}, what+": "+when+": paused on the row, in the list, in the counts")
			}
			shown(true, "while the resumption waits")
			heir := r.worker("greet")
			again, got := heir.get(s.run)
			r.same(got.Paused, false, what+": taken to be cancelled only")
			shown(true, "while its owner has not read it")
			again.release(world.Release{})
			shown(true, "given up unread")
			again, got = heir.get(s.run)
			again.appendNew(got.Mail)
			shown(false, "when it is in the log")
			again, _ = heir.get(s.run)
			again.end()
		}
	}},
	{"a paused run that is resumed is due then", "it did not wait for a worker while it was paused, and passes nobody", func(r *rig) {
		k := r.worker("greet")
		running := k.create("greet")
		running.release(world.Release{WakeAt: world.Now().Add(-50 * time.Second)})
		pending := r.createRun("greet")
		r.act(running.run, pause)
		r.act(pending, pause)
		other := r.createRun("greet")
		r.act(pending, resume)
		r.act(running.run, resume)
		r.same(k.given(1, 2), []string{other, pending, running.run}, "runs")
	}},
	{"a resume behind a pause that waits is not lost", "a paused run whose owner left a second pause unread is runnable as soon as a run_resumed waits behind that", func(r *rig) {
		k := r.worker("greet")
		s := k.create("greet")
		r.act(s.run, pause, pause)
		s.claimMail(1, &world.Release{WakeAt: world.Now()})
		k.idle("all that was asked is to pause")
		r.unchangedLog(s.run, func() { r.act(s.run, resume) })
		again, got := k.get(s.run)
		r.same(mailTypes(got.Mail), []world.EventType{pause, resume}, "mail")
		r.same(got.Paused, false, "claimed to be cancelled only")
		again.end()
	}},
	{"a resume is not lost with the owner", "the paused run of an owner that is gone is runnable where a run_resumed waits, and only there", func(r *rig) {
		for _, resumed := range []bool{true, false} {
			k := r.worker("greet")
			s := k.create("greet")
			r.act(s.run, pause)
			s.claimMail(1, nil)
			r.deliver(signal(s.run, "", "a"))
			want := []world.EventType{world.SignalReceived}
			if resumed {
				r.act(s.run, resume)
				want = append(want, resume)
			}
			r.must(r.w.Leave(r.ctx, k.id), "leave")
			heir := r.worker("greet")
			if !resumed {
				heir.idle("the run is paused")
				r.act(s.run, resume)
			}
			again, got := heir.get(s.run)
			r.same(mailTypes(got.Mail), want, "mail")
			r.same(got.Paused, false, "claimed to be cancelled only")
			again.end()
		}
	}},
	{"mail does not end a pause", "a paused run with mail that is no resume and no cancel is not taken, however it was released", func(r *rig) {
		k := r.worker("greet")
		s := k.create("greet")
		r.act(s.run, pause)
		r.deliver(signal(s.run, "d1", "a"))
		c := s.next(s.mail()[0].Events[0])
		c.Mail, c.Release = rows(s.mail()[:1]), &world.Release{WakeAt: world.Now()}
		r.same(s.write(c).Mail, true, "mail that waits")
		k.idle("it is paused")
		r.deliver(signal(s.run, "d2", "b"))
		k.idle("it is paused still")
		r.act(s.run, resume)
		_, got := k.get(s.run)
		r.same(len(got.Mail), 2, "mail")
	}},
	{"a cancel passes acts that wait", "a cancel makes any run runnable; what was asked before comes with it", func(r *rig) {
		k := r.worker("greet")
		s := k.create("greet")
		r.act(s.run, pause, resume, pause)
		s.claimMail(3, &world.Release{})
		r.deliver(cancel(s.run, ""))
		_, got := k.get(s.run)
		r.same(mailTypes(got.Mail), []world.EventType{world.CancelRequested}, "mail")
		r.same(got.Paused, true, "claimed to be cancelled only")
	}},
	{"the ID of an act is known for good", "a delivery ID that was sent to the run as an act is accepted and ignored, whatever became of the act", func(r *rig) {
		k := r.worker("greet")
		s := k.create("greet")
		r.deliver(act(s.run, "owned", pause)) // through the inbox
		s.claimMail(1, &world.Release{})
		r.deliver(act(s.run, "at once", resume))
		r.deliver(act(s.run, "nothing new", resume))
		r.unchanged(s.run, func() { r.deliver(act(s.run, "owned", pause)) })
		r.deliver(act(s.run, "p2", pause))
		for _, id := range []string{"at once", "nothing new"} {
			r.unchanged(s.run, func() { r.deliver(act(s.run, id, resume)) })
		}
		other := r.createRun("greet")
		r.deliver(act(other, "p2", pause))
		r.same(r.run(other).Queue.Paused, true, "another run, under the same ID, paused")
		r.same(r.deliver(signal(s.run, "at once", "a")).Duplicate, false, "what is no act, under the same ID")
	}},
	{"an act is not before what is in the log", "an event's time is never before the last one's, also where its owner's clock was ahead", func(r *rig) {
		k := r.worker("greet")
		ahead := world.Now().Add(time.Hour)
		for _, t := range []world.EventType{pause, world.RunCancelled} {
			s := k.create("greet")
			c := s.next(world.Event{Type: world.SignalReceived, Name: "a", Time: ahead})
			c.Release = &world.Release{WakeAt: world.Now().Add(time.Hour)}
			s.write(c)
			r.act(s.run, t)
			events := r.events(s.run)
			if last := events[len(events)-1]; last.Type != t || last.Time.Before(ahead) {
				r.Fatalf("got %s at %s, want %s at %s or later", last.Type, last.Time, t, ahead)
			}
		}
	}},
	{"operators against owners: the row says what the log says", "acts sent at any moment are each appended once or say nothing new; what the queue holds of a pause is what the log says", func(r *rig) {
		r.operatorsAgainstOwner(r, r)
	}},
	{"a run is claimed before it is paused, or it is not claimed", "whoever claims a run while it is paused is told of that by its mail; a paused one is given to nobody", func(r *rig) {
		k := r.worker("greet")
		for range 100 {
			run := r.createRun("greet")
			var paused sync.WaitGroup
			paused.Go(func() { r.act(run, pause) })
			got := k.claim(1, 0).Runs
			paused.Wait()
			if len(got) > 0 && got[0].Paused {
				r.Fatalf("run %s was given when it was paused: its log ends with event %d", run, got[0].Seq)
			}
			if len(got) == 0 {
				r.act(run, resume)
				_, claimed := k.get(run)
				got = append(got, claimed)
			}
			(&session{worker: k, run: run, claimed: got[0].Claim, seq: got[0].Seq}).append(world.Event{Type: world.RunStarted}, world.Event{Type: world.RunCompleted})
		}
	}},
}

// act sends acts without an ID.
func (r *rig) act(run string, types ...world.EventType) {
	r.Helper()
	for _, t := range types {
		r.deliver(act(run, "", t))
	}
}

func mailTypes(mail []world.Mail) (types []world.EventType) {
	for _, m := range mail {
		types = append(types, m.Events[0].Type)
	}
	return types
}

// claimMail appends the first n deliveries that wait and releases the run, if it is told how.
func (s *session) claimMail(n int, release *world.Release) {
	s.Helper()
	mail := s.mail()[:n]
	c := s.next()
	for _, m := range mail {
		e := m.Events[0]
		e.Delivery, e.Time = m.ID, world.Now()
		c.Events = append(c.Events, e)
	}
	c.Mail, c.Release = rows(mail), release
	s.write(c)
}

// operatorsAgainstOwner lets two operators pause and resume a run that is claimed and released all the time, one of them beside its owner.
func (r *rig) operatorsAgainstOwner(beside ...*rig) {
	k := r.worker("greet")
	s := k.create("greet")
	run := s.run
	s.release(world.Release{WakeAt: world.Now()})
	const each = 25
	var wg sync.WaitGroup
	quiet := make(chan struct{})
	for i, op := range beside {
		wg.Go(func() {
			for j := range each {
				t := pause
				if (i+j)%2 == 0 {
					t = resume
				}
				if _, err := op.w.Deliver(op.ctx, act(run, fmt.Sprint(i, "/", j), t)); err != nil {
					op.Errorf("operator %d: %v", i, err)
				}
			}
		})
	}
	go func() { wg.Wait(); close(quiet) }()
	for done := false; !done; {
		select {
		case <-quiet:
			done = true
		default:
		}
		for _, got := range k.claim(1, 0).Runs {
			s = &session{worker: k, run: run, claimed: got.Claim, seq: got.Seq}
			s.appendNew(got.Mail)
		}
	}
	r.act(run, resume) // it is taken until nothing waits: the last word is a resume
	r.until("no act waits", func() bool {
		for _, got := range k.claim(1, 0).Runs {
			s = &session{worker: k, run: run, claimed: got.Claim, seq: got.Seq}
			s.appendNew(got.Mail)
		}
		q := r.run(run).Queue
		return q.Owner == "" && q.Mail == 0
	})
	state := &world.State{ID: run}
	seen := make(map[string]bool)
	for _, e := range r.events(run) {
		if changed, err := state.Apply(&e, time.Time{}); !changed || err != nil || e.Delivery != "" && seen[e.Delivery] {
			r.Fatalf("event %d, %s of delivery %q: changed %v, %v; want it once and new", e.Seq, e.Type, e.Delivery, changed, err)
		}
		seen[e.Delivery] = true
	}
	if state.Paused != nil || r.run(run).Queue.Paused {
		r.Fatalf("the log ends paused: %v, the row says %v; want neither", state.Paused != nil, r.run(run).Queue.Paused)
	}
}

// appendNew appends what the log does not say yet, drops the rest, and gives the run up, to be claimed again at once.
func (s *session) appendNew(mail []world.Mail) {
	s.Helper()
	state := &world.State{ID: s.run}
	for _, e := range s.events(s.run) {
		_, err := state.Apply(&e, time.Time{})
		s.must(err, "the log")
	}
	c := s.next()
	for _, m := range mail {
		e := m.Events[0]
		e.Delivery, e.Time = m.ID, laterOf(world.Now(), state.Time)
		if changed, err := state.Apply(&e, time.Time{}); err == nil && changed {
			c.Events = append(c.Events, e)
		}
	}
	c.Mail, c.Release = rows(mail), &world.Release{WakeAt: world.Now()}
	s.write(c)
}
