// Two World objects on one storage: a worker's, and one beside it that reads and sends.

package worldtest

import (
	"fmt"
	"sync"

	"github.com/stepwell/stepwell/world"
)

// sharedCheck is one promise about two World objects on one storage.
type sharedCheck struct {
	name string
	law  string
	test func(a, b *rig)
}

var shared = []sharedCheck{
	{"what one writes the other reads", "a commit is durable when it returns, and visible to all", func(a, b *rig) {
		s := a.worker("greet").create("greet")
		for i := range 5 {
			s.append(signalEvent(fmt.Sprint("a", i)))
			b.same(b.events(s.run), a.events(s.run), "events beside the writer")
		}
		b.same(b.run(s.run), a.run(s.run), "row")
		s.end()
		b.same(b.run(s.run).Status, world.Completed, "status")
	}},
	{"streams are read beside their writer", "a chunk is durable and visible to all when its append, or its commit, returns", func(a, b *rig) {
		s := a.worker("greet").create("greet")
		p := s.streaming("a", "step_1", 1)
		for i := range 3 {
			p.put(p.add(i))
			s.write(s.withStream("a", "", 10+i))
			b.same(story(b.chunks(s.run, "a", 0, 2)), story(a.chunks(s.run, "a", 0, 0)), "chunks beside the writer")
		}
		b.same(len(b.chunks(s.run, "a", 0, 0)), 6, "chunks")
	}},
	{"a run that is created beside a worker is taken", "a birth by a client is queued, whoever writes it", func(a, b *rig) {
		k := a.worker("greet")
		for range 5 {
			s, _ := k.get(b.createRun("greet"))
			s.end()
		}
	}},
	{"mail that is sent beside a worker arrives", "a delivery waits in the inbox of the run, whoever wrote it; it wakes a sleeping run", func(a, b *rig) {
		k := a.worker("greet")
		s := k.create("greet")
		if done := b.deliver(signal(s.run, "d1", "a")); done.Owner != k.id {
			b.Fatalf("got %+v, want owner %s", done, k.id)
		}
		mail := s.mail()
		a.same(len(mail), 1, "mail")
		c := s.next(mail[0].Events[0])
		c.Mail, c.Release = rows(mail), &world.Release{}
		s.write(c)
		b.deliver(signal(s.run, "d2", "b"))
		k.get(s.run)
	}},
	{"an act from beside fences the owner", "a forced cancel ends the run whoever owns it; the owner's next commit loses", func(a, b *rig) {
		s := a.worker("greet").create("greet")
		b.deliver(act(s.run, "", world.RunCancelled))
		_, err := a.w.Commit(a.ctx, s.next(signalEvent("late")))
		a.refused(err, world.ErrLeaseLost, "the owner's commit")
		a.until("the owner is told", func() bool { return len(s.heartbeat().Lost) == 1 })
	}},
	{"a pause from beside holds", "an act on a run that nobody owns is in the log at once, and the worker keeps to it", func(a, b *rig) {
		k := a.worker("greet")
		id := b.createRun("greet")
		b.deliver(act(id, "", world.RunPaused))
		k.idle("it is paused")
		b.deliver(act(id, "", world.RunResumed))
		if s, got := k.get(id); got.Seq != 3 {
			a.Fatalf("got %+v, want event 3", got)
		} else {
			s.append(world.Event{Type: world.RunStarted})
		}
	}},
	{"keys and IDs are unique across both", "idempotency keys and run IDs are the storage's, not the object's", func(a, b *rig) {
		id := a.createRun("greet", withKey("k1"))
		if done := b.commit(birth("greet", withKey("k1"))); done.Existing != id {
			b.Fatalf("got existing run %q, want %s", done.Existing, id)
		}
		c := birth("greet")
		c.Run = id
		_, err := b.w.Commit(b.ctx, c)
		b.refused(err, world.ErrRunExists, "second birth")
	}},
	{"senders on both sides are all heard", "concurrent deliveries from two objects are each accepted once", func(a, b *rig) {
		s := a.worker("greet").create("greet")
		var wg sync.WaitGroup
		for i, r := range []*rig{a, b} {
			wg.Go(func() {
				for j := range 20 {
					if _, err := r.w.Deliver(r.ctx, signal(s.run, fmt.Sprint(i, "/", j), "a")); err != nil {
						r.Errorf("sender %d: %v", i, err)
					}
				}
			})
		}
		for range 20 {
			s.append(signalEvent("meanwhile"))
		}
		wg.Wait()
		a.same(len(s.mail()), 40, "mail")
		a.same(len(b.events(s.run)), 22, "events")
	}},
	{"both spread", "whoever spreads, each publication goes once to each subscription, and who has looked before another spread writes nothing", func(a, b *rig) {
		sides := []*publishing{publisher(a), publisher(b)}
		sides[0].declare(world.MessageQueue{Name: "q"})
		sides[1].subscribe("s", "#", "q")
		id := sides[0].publish("a:1")[0].ID
		due := sides[1].due(1)
		sides[0].spread()
		sides[1].writes(false, world.Spread{Revision: due.Revision, Done: []string{id}}, "behind another")
		var wg sync.WaitGroup
		for i, p := range sides {
			wg.Go(func() {
				for j := range 20 {
					if _, err := p.t.Publish(p.ctx, []world.Publication{{Topic: "a", Payload: quoted(fmt.Sprint(i, "/", j)), Dedupe: fmt.Sprint(j)}}); err != nil {
						p.Errorf("publish: %v", err)
					}
					if _, err := p.s.All(p.ctx); err != nil {
						p.Errorf("spread: %v", err)
					}
				}
			})
		}
		wg.Wait()
		sides[0].spread()
		page, err := sides[1].k.PeekMessages(b.ctx, world.PeekQuery{Queue: "q", Limit: 100})
		b.must(err, "peek")
		b.same(len(page.Messages), 21, "messages, one for each delivery ID")
	}},
	{"closing one leaves the other open", "an object that is closed ends itself, not the storage", func(a, b *rig) {
		s := a.worker("greet").create("greet")
		b.must(b.w.Close(), "close")
		s.append(signalEvent("a"))
		a.same(len(a.events(s.run)), 3, "events")
		_, err := b.w.Run(b.ctx, s.run)
		b.refused(err, world.ErrClosed, "run")
	}},
}
