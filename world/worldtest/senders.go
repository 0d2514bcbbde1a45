// Senders and owners at the same time: nothing is lost, nothing comes twice, and no wake-up is missed.

package worldtest

import (
	"fmt"
	"sync"
	"time"

	"github.com/stepwell/stepwell/world"
)

var senders = []check{
	{"each sender's mail comes once, in order", "concurrent deliveries are each accepted once; rows grow, ArrivedAt does not decrease, a sender's own order holds", func(r *rig) {
		s := r.worker("greet").create("greet")
		const n, each = 8, 20
		var wg sync.WaitGroup
		for i := range n {
			wg.Go(func() {
				for j := range each {
					d := signal(s.run, fmt.Sprintf("%d/%d", i, j), fmt.Sprint(i))
					for range 2 { // each twice: the second is a duplicate
						if _, err := r.w.Deliver(r.ctx, d); err != nil {
							r.Errorf("sender %d: %v", i, err)
						}
					}
				}
			})
		}
		wg.Wait()
		mail := s.mail()
		r.same(len(mail), n*each, "mail")
		next := make(map[string]int)
		for i, m := range mail {
			if i > 0 && (m.Row <= mail[i-1].Row || m.ArrivedAt.Before(mail[i-1].ArrivedAt)) {
				r.Fatalf("mail %d, %+v, follows %+v", i, m, mail[i-1])
			}
			sender := m.Events[0].Name
			r.same(m.ID, fmt.Sprintf("%s/%d", sender, next[sender]), "next of sender "+sender)
			next[sender]++
		}
	}},
	{"a release against a sender loses no wake-up", "mail that comes with a release is told by it, or the run is claimed with it", func(r *rig) {
		k := r.worker("greet")
		const rounds = 60
		s := k.create("greet")
		for i := range rounds {
			var wg sync.WaitGroup
			id := fmt.Sprint("d", i)
			wg.Go(func() {
				if _, err := r.w.Deliver(r.ctx, signal(s.run, id, "a")); err != nil {
					r.Errorf("round %d: %v", i, err)
				}
			})
			s.release(world.Release{})
			wg.Wait()
			again, got := k.get(s.run)
			if len(got.Mail) != 1 || got.Mail[0].ID != id {
				r.Fatalf("round %d: got mail %+v, want %s alone", i, got.Mail, id)
			}
			c := again.next(got.Mail[0].Events[0])
			c.Mail = rows(got.Mail)
			again.write(c)
			s = again
		}
	}},
	{"a release tells of mail that waits", "Committed.Mail: mail waits in the inbox of the run that was released", func(r *rig) {
		k := r.worker("greet")
		s := k.create("greet")
		r.same(s.release(world.Release{}).Mail, false, "mail of an empty inbox")
		r.deliver(signal(s.run, "", "a"))
		s, _ = k.get(s.run)
		r.same(s.release(world.Release{WakeAt: world.Now().Add(time.Hour)}).Mail, true, "mail")
		s, got := k.get(s.run)
		c := s.next(signalEvent("a"))
		c.Mail, c.Release = rows(got.Mail), &world.Release{}
		r.same(s.write(c).Mail, false, "mail that this commit took")
		k.idle("nothing waits")
	}},
	{"senders against a loop of owners", "every delivery is appended exactly once, though the run is released and claimed all the time", func(r *rig) {
		const n, each = 4, 25
		k := r.worker("greet")
		s := k.create("greet")
		run := s.run
		s.release(world.Release{})
		var wg sync.WaitGroup
		for i := range n {
			wg.Go(func() {
				for j := range each {
					if _, err := r.w.Deliver(r.ctx, signal(run, fmt.Sprint(i, "/", j), "a")); err != nil {
						r.Errorf("sender %d: %v", i, err)
					}
				}
			})
		}
		seen := make(map[string]bool)
		for len(seen) < n*each && !r.Failed() {
			s, got := k.get(run)
			mail := got.Mail
			for range 2 { // a session looks once more before it gives the run up
				var events []world.Event
				for _, m := range mail {
					if seen[m.ID] {
						r.Fatalf("delivery %s came twice", m.ID)
					}
					seen[m.ID] = true
					e := m.Events[0]
					e.Delivery = m.ID
					events = append(events, e)
				}
				if len(events) > 0 {
					c := s.next(events...)
					c.Mail = rows(mail)
					s.write(c)
				}
				mail = s.mail()
			}
			if len(mail) == 0 {
				s.release(world.Release{})
				continue
			}
			s.release(world.Release{WakeAt: world.Now().Add(time.Hour)}) // mail wakes it before
		}
		wg.Wait()
		r.same(len(r.events(run)), 2+n*each, "events")
	}},
	{"a cancel against an owner's commits arrives", "a cancel sent at any moment is appended or waits; it is never lost", func(r *rig) {
		k := r.worker("greet")
		for range 10 {
			s := k.create("greet")
			var wg sync.WaitGroup
			wg.Go(func() {
				if _, err := r.w.Deliver(r.ctx, cancel(s.run, "c")); err != nil {
					r.Errorf("cancel: %v", err)
				}
			})
			s.append(signalEvent("a"))
			s.release(world.Release{WakeAt: world.Now().Add(time.Hour)})
			wg.Wait()
			again, got := k.get(s.run)
			if len(got.Mail) != 1 || got.Mail[0].ID != "c" {
				r.Fatalf("got %+v, want the cancel", got.Mail)
			}
			again.end()
		}
	}},
	{"a forced cancel against an owner has one winner", "either the end is the owner's or the act's, and the other is told", func(r *rig) {
		k := r.worker("greet")
		for range 10 {
			s := k.create("greet")
			c := s.next(world.Event{Type: world.RunCompleted})
			var wg sync.WaitGroup
			var actErr, commitErr error
			wg.Go(func() { _, actErr = r.w.Deliver(r.ctx, act(s.run, "", world.RunCancelled)) })
			wg.Go(func() { _, commitErr = r.w.Commit(r.ctx, c) })
			wg.Wait()
			want := world.Completed
			if actErr == nil {
				want = world.Cancelled
				r.refused(commitErr, world.ErrLeaseLost, "the owner's end")
			} else {
				r.refused(actErr, world.ErrTerminal, "the act")
				r.must(commitErr, "the owner's end")
			}
			r.same(r.run(s.run).Status, want, "status")
			r.same(len(r.events(s.run)), 3, "events")
		}
	}},
	{"a forced cancel against an owner that writes and writes ends the run", "it succeeds at once, however fast the owner is, whose next commit loses", func(r *rig) {
		k := r.worker("greet")
		for range 20 {
			s := k.create("greet")
			going, over := make(chan struct{}), make(chan error, 1)
			var last int64
			go func() {
				for n := 0; ; n++ {
					c := s.next(signalEvent("a"))
					if _, err := r.w.Commit(r.ctx, c); err != nil {
						over <- err
						return
					}
					if s.seq = c.First; n == 3 {
						close(going)
					}
					last = c.First
				}
			}()
			select {
			case <-going:
			case err := <-over:
				r.Fatalf("the owner's commits: %v", err)
			}
			_, err := r.w.Deliver(r.ctx, act(s.run, "", world.RunCancelled))
			if err != nil {
				r.Fatalf("the act: %v", err)
			}
			r.refused(<-over, world.ErrLeaseLost, "the owner's next commit")
			events := r.events(s.run)
			end := events[len(events)-1]
			r.same(end.Type, world.RunCancelled, "the last event")
			r.same(end.Seq, last+1, "its number")
			r.same(len(events), int(end.Seq), "events")
			r.same(r.run(s.run).Status, world.Cancelled, "status")
		}
	}},
}
