// Marks: when a run takes no more payloads, and what passes all the same.

package worldtest

import (
	"github.com/stepwell/stepwell/world"
)

var marks = []check{
	{"a run is full until its owner says otherwise", "the mark stands while the run is owned again, and until it is released without it", func(r *rig) {
		k := r.worker("greet")
		s := k.create("greet")
		s.append(hookCreated("hook_1", "t1"))
		s.release(world.Release{WakeAt: world.Now(), Full: true})
		payloads := func() map[string]*world.Delivery {
			return map[string]*world.Delivery{
				"signal": signal(s.run, "", "a"), "payload": {Token: "t1", Events: []world.Event{{Type: world.HookReceived}}},
			}
		}
		for _, state := range []string{"while nobody owns it", "while somebody does", "while it is paused", "when its owner is gone"} {
			switch state {
			case "while somebody does":
				s, _ = k.get(s.run)
				s.append(signalEvent("a"))
			case "while it is paused":
				r.act(s.run, pause)
				s.claimMail(1, &world.Release{WakeAt: world.Now(), Full: true})
			case "when its owner is gone":
				r.act(s.run, resume)
				k.get(s.run)
				r.must(r.w.Leave(r.ctx, k.id), "leave")
				k = r.worker("greet")
			}
			r.same(r.run(s.run).Queue.Full, true, "full on the row, "+state)
			r.unchanged(s.run, func() {
				for what, d := range payloads() {
					_, err := r.w.Deliver(r.ctx, d)
					r.refused(err, world.ErrInboxFull, what+", "+state)
				}
			})
		}
		s, _ = k.get(s.run)
		s.release(world.Release{WakeAt: world.Now()})
		r.same(r.run(s.run).Queue.Full, false, "full on the row")
		for _, d := range payloads() {
			r.deliver(d)
		}
	}},
	{"a full run hears what is no payload", "nothing else is held up: results, wakes, acts, cancels, the ends of its tasks, and what commits send", func(r *rig) {
		k := r.worker("greet", "child")
		s, other := k.create("greet"), k.create("greet")
		s.queueTask("step_task")
		c := s.childCommit("step_child")
		s.write(c)
		s.await("step_await", other.run)
		s.release(world.Release{Full: true})
		t := k.getTask()
		r.deliver(k.taskEnd(t, jsonText(`1`)))
		r.deliver(&world.Delivery{Run: s.run, Events: []world.Event{{Type: world.WaitCompleted, ID: "wait_1", Outcome: world.OutcomeWoken}}})
		claimed := k.claim(10, 0).Runs // the parent for its mail, and the child
		r.same(len(claimed), 2, "runs taken")
		for _, t := range claimed {
			run := &session{worker: k, run: t.Run, claimed: t.Claim, seq: t.Seq}
			if t.Run == s.run {
				s = run
				continue
			}
			run.end()
		}
		c = other.next(world.Event{Type: world.RunCompleted})
		c.Send = []world.Delivery{*signal(s.run, "", "sent")}
		other.write(c)
		r.act(s.run, pause)
		r.deliver(cancel(s.run, ""))
		r.same(len(s.mail()), 7, "mail: a task's end, a wake, a child's result, an awaited one, a signal that was sent, a pause, a cancel")
	}},
	{"a repeated delivery is no payload more", "an ID that waits already is accepted by a full inbox, too", func(r *rig) {
		k := r.worker("greet")
		s := k.create("greet")
		r.deliver(signal(s.run, "d1", "a"))
		s.release(world.Release{WakeAt: world.Now(), Full: true})
		r.same(r.deliver(signal(s.run, "d1", "a")).Duplicate, true, "duplicate")
	}},
}
