// The inbox: what was sent waits, in order, until the commit that names it; and it wakes whom it concerns.

package worldtest

import (
	"fmt"
	"time"

	"github.com/stepwell/stepwell/world"
)

var inbox = []check{
	{"mail comes with the run", "a run is claimed with its mail, in order of arrival, as it was sent", func(r *rig) {
		k := r.worker("greet")
		id := r.createRun("greet")
		sent := []world.Event{}
		for i := range 3 {
			d := signal(id, fmt.Sprint("d", i), fmt.Sprint("s", i))
			d.Events[0].OccurredAt = world.Now()
			sent = append(sent, d.Events[0])
			if done := r.deliver(d); done.Run != id || done.Owner != "" || done.Duplicate {
				r.Fatalf("got %+v, want run %s, no owner, no duplicate", done, id)
			}
		}
		r.same(r.run(id).Queue.Mail, 3, "mail on the row")
		_, got := k.get(id)
		var events []world.Event
		for i, m := range got.Mail {
			if m.Run != id || m.ID != fmt.Sprint("d", i) || m.ArrivedAt.IsZero() || i > 0 && (m.Row <= got.Mail[i-1].Row || m.ArrivedAt.Before(got.Mail[i-1].ArrivedAt)) {
				r.Fatalf("mail %d is %+v behind %+v", i, m, got.Mail)
			}
			events = append(events, m.Events...)
		}
		r.same(events, sent, "events")
	}},
	{"mail of an owned run comes by heartbeat", "a heartbeat tells the mail of all runs that the worker owns, also what it told before", func(r *rig) {
		k := r.worker("greet")
		one, two := k.create("greet"), k.create("greet")
		other := r.worker("greet").create("greet")
		r.same(len(k.heartbeat().Mail), 0, "mail before")
		for i, run := range []string{one.run, two.run, other.run, one.run} {
			if done := r.deliver(signal(run, "", fmt.Sprint("s", i))); done.Owner == "" {
				r.Fatalf("delivery %d: got no owner", i)
			}
		}
		for range 2 {
			var got []string
			for _, m := range k.heartbeat().Mail {
				got = append(got, m.Run+" "+m.Events[0].Name)
			}
			r.same(got, []string{one.run + " s0", two.run + " s1", one.run + " s3"}, "mail")
		}
		k.idle("all runs are owned")
	}},
	{"a delivery ID waits once", "a repeated delivery ID of one event, while the first waits, is accepted and ignored", func(r *rig) {
		s := r.worker("greet").create("greet")
		r.same(r.deliver(signal(s.run, "d1", "a")).Duplicate, false, "first")
		r.same(r.deliver(signal(s.run, "d1", "a")).Duplicate, true, "again")
		r.same(r.deliver(signal(s.run, "d2", "c")).Duplicate, false, "another")
		r.deliver(signal(s.run, "", "d"))
		r.deliver(signal(s.run, "", "e"))
		other := s.create("greet")
		r.same(r.deliver(signal(other.run, "d1", "a")).Duplicate, false, "to another run")
		var got string
		for _, m := range s.mail() {
			got += m.Events[0].Name
		}
		r.same(got, "acde", "mail")
	}},
	{"mail goes with the commit that names it", "events and inbox rows taken are one commit; what it does not name stays", func(r *rig) {
		s := r.worker("greet").create("greet")
		for i := range 4 {
			r.deliver(signal(s.run, fmt.Sprint("d", i), fmt.Sprint("s", i)))
		}
		mail := s.mail()
		c := s.next(mail[2].Events[0])
		c.First++ // refused
		c.Mail = rows(mail)
		_, err := r.w.Commit(r.ctx, c)
		if err == nil {
			r.Fatalf("a commit behind a gap was written")
		}
		r.same(len(s.mail()), 4, "mail after a refused commit")
		c = s.next(mail[0].Events[0])
		c.Mail = []int64{mail[3].Row, mail[0].Row}
		s.write(c)
		if left := s.mail(); len(left) != 2 || left[0].ID != "d1" || left[1].ID != "d2" {
			r.Fatalf("got %+v, want d1 and d2", left)
		}
		c = s.next() // dropped without a word in the log
		c.Mail = rows(mail[1:2])
		s.write(c)
		if left := s.mail(); len(left) != 1 || left[0].ID != "d2" {
			r.Fatalf("got %+v, want d2", left)
		}
		r.same(r.deliver(signal(s.run, "d0", "s0")).Duplicate, true, "an ID that waits no more")
	}},
	{"a commit takes its own run's mail alone", "inbox rows of another run are none of a commit's business", func(r *rig) {
		k := r.worker("greet")
		one, two := k.create("greet"), k.create("greet")
		r.deliver(signal(two.run, "", "a"))
		c := one.next(signalEvent("b"))
		c.Mail = rows(two.mail())
		one.write(c)
		r.same(len(two.mail()), 1, "mail of the other run")
	}},
	{"mail wakes a running run", "a running run that nobody owns is runnable when mail waits", func(r *rig) {
		k := r.worker("greet")
		s := k.create("greet")
		for _, wake := range []time.Time{{}, world.Now().Add(time.Hour)} {
			s.release(world.Release{WakeAt: wake})
			k.idle("it sleeps")
			r.deliver(signal(s.run, "", "a"))
			again, got := k.get(s.run)
			if len(got.Mail) != 1 {
				r.Fatalf("got %+v, want one mail", got)
			}
			c := again.next(got.Mail[0].Events[0])
			c.Mail = rows(got.Mail)
			again.write(c)
			s = again
		}
	}},
	{"mail wakes no pending, paused or blocked run", "only a cancel does", func(r *rig) {
		k := r.worker("greet")
		far := world.Now().Add(time.Hour)
		pending := r.createRun("greet", func(b *world.Birth) { b.NotBefore = far })
		paused, blocked := k.create("greet"), k.create("greet")
		paused.release(world.Release{})
		r.deliver(act(paused.run, "", world.RunPaused))
		blocked.release(world.Release{WakeAt: far, Blocked: &world.Block{Code: world.CodeDiverged, Message: "no", Since: world.Now(), Tries: 1}})
		runs := []string{pending, paused.run, blocked.run}
		for _, id := range runs {
			r.deliver(signal(id, "", "a"))
		}
		k.idle("a signal wakes none of them")
		stranger := r.worker("other")
		for _, id := range runs {
			r.deliver(cancel(id, ""))
			claimer := stranger
			if id == paused.run {
				stranger.idle("its code has to clean up, and a worker has that")
				claimer = k
			}
			_, got := claimer.get(id)
			if n := len(got.Mail); n != 2 || got.Mail[1].Events[0].Type != world.CancelRequested {
				r.Fatalf("got mail %+v, want a signal and a cancel", got.Mail)
			}
			r.same(got.Paused, id == paused.run, "paused")
			r.same(got.Blocked != nil, id == blocked.run, "blocked")
			r.same(got.Class, world.Class{Workflow: "greet", Version: 1}, "class")
		}
	}},
	{"a cancel goes to any worker, once", "a cancel makes any run runnable, by any worker, until it is owned", func(r *rig) {
		one, two := r.worker(), r.worker("other")
		id := r.createRun("greet", func(b *world.Birth) { b.NotBefore = world.Now().Add(time.Hour) })
		one.idle("nothing is asked")
		r.deliver(cancel(id, "c1"))
		r.same(r.deliver(cancel(id, "c1")).Duplicate, true, "cancel again")
		s, got := one.get(id)
		two.idle("the run is owned")
		c := s.next(got.Mail[0].Events[0], world.Event{Type: world.RunCancelled})
		c.Mail = rows(got.Mail)
		s.write(c)
		two.idle("the run is over")
		r.same(r.run(id).Status, world.Cancelled, "status")
	}},
	{"a cancel of a running run goes to a worker with its code", "any worker gets it only where none has registered its workflow and version, or it is pending or blocked", func(r *rig) {
		k, stranger := r.worker("greet"), r.worker("other")
		first, second := k.create("greet"), k.create("greet")
		for _, s := range []*session{first, second} {
			s.release(world.Release{})
			r.deliver(cancel(s.run, ""))
		}
		stranger.idle("a worker has the code")
		k.get(first.run)
		stranger.idle("the other one too")
		r.must(r.w.Leave(r.ctx, k.id), "leave")
		got := map[string]bool{}
		stranger.until("it gets both", func() bool {
			for _, t := range stranger.claim(1, 0).Runs {
				got[t.Run] = true
			}
			return len(got) == 2
		})
		r.same(got, map[string]bool{first.run: true, second.run: true}, "what nobody has the code of")
	}},
	{"a run that is over takes no mail", "run over: ErrTerminal; the commit that ended it deleted its inbox", func(r *rig) {
		s := r.worker("greet").create("greet")
		s.append(hookCreated("hook_1", "t1"))
		r.deliver(signal(s.run, "", "a"))
		s.end()
		r.same(len(s.heartbeat().Mail), 0, "mail")
		s.worker.idle("the run is over, whatever waited")
		for _, d := range []*world.Delivery{signal(s.run, "", "b"), cancel(s.run, ""), act(s.run, "", world.RunPaused), act(s.run, "", world.RunCancelled)} {
			_, err := r.w.Deliver(r.ctx, d)
			r.refused(err, world.ErrTerminal, string(d.Events[0].Type))
		}
		_, err := r.w.Deliver(r.ctx, &world.Delivery{Token: "t1", Events: []world.Event{{Type: world.HookReceived}}})
		r.refused(err, world.ErrTerminal, "payload by token")
	}},
	{"a payload finds its hook", "hook_received by token goes to the run that holds it, under the hook's ID; disposed or unknown: ErrNotFound", func(r *rig) {
		s := r.worker("greet").create("greet")
		s.append(hookCreated("hook_1", "t1"), hookCreated("hook_2", "t2"))
		d := &world.Delivery{Token: "t2", ID: "p1", Events: []world.Event{{Type: world.HookReceived, Payload: jsonText(`5`)}}}
		if done := r.deliver(d); done.Run != s.run || done.Owner != s.id {
			r.Fatalf("got %+v, want run %s of worker %s", done, s.run, s.id)
		}
		r.same(d.Events[0].ID, "", "the sender's own event")
		if mail := s.mail(); len(mail) != 1 || mail[0].Events[0].ID != "hook_2" || string(mail[0].Events[0].Payload) != "5" {
			r.Fatalf("got %+v, want a payload for hook_2", mail)
		}
		s.append(world.Event{Type: world.HookDisposed, ID: "hook_2"})
		_, err := r.w.Deliver(r.ctx, &world.Delivery{Token: "t2", ID: "p2", Events: d.Events})
		r.refused(err, world.ErrNotFound, "payload to a disposed hook")
	}},
	{"the owner can close its inbox", "a run marked full refuses payloads; a cancel, and what is no payload, gets through", func(r *rig) {
		k := r.worker("greet")
		s := k.create("greet")
		s.append(hookCreated("hook_1", "t1"))
		s.release(world.Release{Full: true})
		r.same(r.run(s.run).Queue.Full, true, "full on the row")
		_, err := r.w.Deliver(r.ctx, signal(s.run, "", "a"))
		r.refused(err, world.ErrInboxFull, "signal")
		r.same(err.Error(), "run "+s.run+": too many payloads are unread: inbox is full", "what it says")
		_, err = r.w.Deliver(r.ctx, &world.Delivery{Token: "t1", Events: []world.Event{{Type: world.HookReceived}}})
		r.refused(err, world.ErrInboxFull, "payload")
		r.deliver(&world.Delivery{Run: s.run, Events: []world.Event{{Type: world.WaitCompleted, ID: "wait_1", Outcome: world.OutcomeWoken}}})
		r.deliver(cancel(s.run, ""))
		again, _ := k.get(s.run)
		again.release(world.Release{})
		r.deliver(signal(s.run, "", "a"))
	}},
	{"ten thousand payloads are enough", "too many wait: ErrInboxFull; a cancel is accepted, and so is what a commit sends; all of it comes, by Heartbeat and by Claim, in order", func(r *rig) {
		k := r.worker("greet")
		sender, s := k.create("greet"), k.create("greet")
		c := sender.next(signalEvent("a"))
		for i := range 9_999 {
			c.Send = append(c.Send, *signal(s.run, fmt.Sprint(i), "a"))
		}
		sender.write(c)
		r.deliver(signal(s.run, "9999", "last"))
		_, err := r.w.Deliver(r.ctx, signal(s.run, "", "a"))
		r.refused(err, world.ErrInboxFull, "signal 10,001")
		r.deliver(cancel(s.run, "10000"))
		c = sender.next(signalEvent("a"))
		c.Send = []world.Delivery{*signal(s.run, "10001", "sent")}
		sender.write(c)
		const all = 10_002
		mail := s.mail()
		r.same(len(mail), all, "mail")
		c = s.next(signalEvent("a"))
		c.Mail = rows(mail[:1])
		s.write(c)
		c = s.next(signalEvent("a"))
		c.Mail = rows(mail[1:2])
		s.write(c)
		r.deliver(signal(s.run, "10002", "room again"))
		r.same(r.run(s.run).Queue.Mail, all-1, "mail on the row")
		s.release(world.Release{})
		s, got := k.get(s.run)
		r.same(len(got.Mail), all-1, "mail by take")
		for i, m := range got.Mail {
			if m.ID != fmt.Sprint(i+2) || i > 0 && m.Row <= got.Mail[i-1].Row {
				r.Fatalf("mail %d is %s, row %d", i, m.ID, m.Row)
			}
		}
		c = s.next(signalEvent("a"))
		c.Mail = rows(got.Mail[1:])
		s.write(c)
		if left := s.mail(); len(left) != 1 || left[0].ID != "2" {
			r.Fatalf("got %d mails, want the one that the commit did not name", len(left))
		}
	}},
	{"a commit sends", "Send reaches other runs' inboxes with the commit; to what is unknown or over it is dropped", func(r *rig) {
		k := r.worker("greet")
		s, to, gone := k.create("greet"), k.create("greet"), k.create("greet")
		gone.end()
		c := s.next(signalEvent("a"))
		c.Send = []world.Delivery{*signal(to.run, "d1", "hello"), *signal(gone.run, "", "a"), *signal("wrun_nobody", "", "a"),
			{Token: "nobody", Events: []world.Event{{Type: world.HookReceived}}}, *signal(to.run, "d1", "again")}
		s.write(c)
		if mail := to.mail(); len(mail) != 1 || mail[0].ID != "d1" || mail[0].Events[0].Name != "hello" {
			r.Fatalf("got %+v, want one hello", mail)
		}
		refused := s.next(signalEvent("a"))
		refused.First--
		refused.Send = []world.Delivery{*signal(to.run, "", "b")}
		_, err := r.w.Commit(r.ctx, refused)
		r.refused(err, world.ErrLeaseLost, "a commit that is late")
		r.same(len(to.mail()), 1, "mail after a refused commit")
	}},
}
