// Two World objects on one storage: all that one of them can see or do about the other's runs.

package worldtest

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/stepwell/stepwell/world"
)

// beside are the checks of a worker's World, a, and one without workers beside it, b.
var beside = []sharedCheck{
	{"both show the same", "rows, logs, lists, hooks, tasks, counts and workers are the storage's; so are cursors", func(a, b *rig) {
		k := a.worker("greet")
		s := k.create("greet")
		s.append(hookCreated("hook_1", "t1"), world.Event{Type: world.AttrSet, ID: "attr_1", Name: "tenant", Payload: jsonText(`"t1"`)})
		s.queueTask("step_1")
		k.getTask()
		blocked := k.create("greet")
		blocked.release(world.Release{WakeAt: world.Now().Add(time.Hour), Blocked: &world.Block{Code: world.CodePanic, Message: "no", Since: world.Now()}})
		b.createRun("greet")
		b.act(b.createRun("other"), pause)
		done := k.create("greet")
		done.end()
		b.same(b.list(world.RunQuery{Limit: 2}), a.list(world.RunQuery{}), "runs")
		for _, id := range a.list(world.RunQuery{}) {
			b.same(b.run(id), a.run(id), "row")
			b.same(b.events(id), a.events(id), "events")
		}
		look := func(r *rig) (st world.Stats, hooks []world.HookRow) {
			r.Helper()
			st, err := r.w.Stats(r.ctx)
			r.must(err, "stats")
			hooks, err = r.w.Hooks(r.ctx, world.HookQuery{})
			r.must(err, "hooks")
			return st, hooks
		}
		ofA, hooksA := look(a)
		ofB, hooksB := look(b)
		b.same(ofB.Workflows, ofA.Workflows, "counts")
		b.same(hooksB, hooksA, "hooks")
		b.same(len(ofB.Workers), 1, "workers")
		b.same([2]int{ofB.Workers[0].Runs, ofB.Workers[0].Tasks}, [2]int{1, 1}, "what the worker holds")
		tasks, err := b.w.Tasks(b.ctx, s.run)
		b.must(err, "tasks")
		if len(tasks) != 1 || tasks[0].Worker != k.id {
			b.Fatalf("got tasks %+v, want one that %s holds", tasks, k.id)
		}
		page, err := a.w.Runs(a.ctx, world.RunQuery{Limit: 1})
		a.must(err, "runs")
		b.same(b.list(world.RunQuery{Cursor: page.Cursor}), a.list(world.RunQuery{})[1:], "runs from a cursor of the other")
		events, cursor := a.pages(s.run, world.EventQuery{})
		s.append(signalEvent("more"))
		rest, _ := b.pages(s.run, world.EventQuery{Cursor: cursor})
		b.same(append(events, rest...), a.events(s.run), "events from a cursor of the other")
	}},
	{"both tell outcomes", "a commit is known to whoever asks", func(a, b *rig) {
		s := a.worker("greet").create("greet")
		c := s.next(signalEvent("a"))
		_, err := b.w.Outcome(b.ctx, c)
		b.refused(err, world.ErrNotFound, "outcome before")
		s.write(c)
		_, err = b.w.Outcome(b.ctx, c)
		b.must(err, "outcome after")
		c = s.next()
		c.Release = &world.Release{}
		s.write(c)
		_, err = b.w.Outcome(b.ctx, c)
		b.must(err, "outcome of a release")
	}},
	{"runs of both are listed newest first", "the order of birth is the storage's, whoever creates", func(a, b *rig) {
		var want []string
		for i := range 12 {
			want = append(want, []*rig{a, b, b}[i%3].createRun("greet"))
		}
		slices.Reverse(want)
		a.same(a.list(world.RunQuery{Limit: 5}), want, "runs")
		b.same(b.list(world.RunQuery{Workflow: "greet"}), want, "runs")
	}},
	{"tokens are unique across both", "a token that one holds is taken for the other, until its run is over", func(a, b *rig) {
		s := a.worker("greet").create("greet")
		s.claim("hook_1", "t1")
		ask := func() world.EventType {
			c := birth("greet")
			h := hookCreated("hook_1", "t1")
			h.Time = c.Events[0].Time
			c.Events, c.Conditions = append(c.Events, h), []world.Condition{{Event: 1}}
			b.commit(c)
			return b.types(c.Run)[1]
		}
		b.same(ask(), world.HookConflict, "claim while it is held")
		b.same(b.deliver(&world.Delivery{Token: "t1", Events: []world.Event{{Type: world.HookReceived}}}).Run, s.run, "who gets a payload")
		s.end()
		b.same(ask(), world.HookCreated, "claim when it is free")
	}},
	{"of births on both sides one is born", "concurrent births with one idempotency key or one ID, from two objects: exactly one run", func(a, b *rig) {
		for i := range 5 {
			id := newRun()
			var mu sync.Mutex
			var wg sync.WaitGroup
			byKey, byID := make(map[string]bool), 0
			for range 4 {
				for _, r := range []*rig{a, b} {
					wg.Go(func() {
						c := birth("greet", withKey(fmt.Sprint("k", i)))
						done, err := r.w.Commit(r.ctx, c)
						named := birth("other")
						named.Run = id
						_, idErr := r.w.Commit(r.ctx, named)
						mu.Lock()
						defer mu.Unlock()
						if err != nil || idErr != nil && !isErr(idErr, world.ErrRunExists) {
							r.Errorf("births: %v, %v", err, idErr)
						}
						if idErr == nil {
							byID++
						}
						if done.Existing == "" {
							done.Existing = c.Run
						}
						byKey[done.Existing] = true
					})
				}
			}
			wg.Wait()
			a.same([2]int{len(byKey), byID}, [2]int{1, 1}, "runs with one key, births of one ID")
		}
	}},
	{"deliveries are known across both", "an ID that waits, or was sent as an act, is known to the other; a mark holds for all senders", func(a, b *rig) {
		k := a.worker("greet")
		s := k.create("greet")
		a.deliver(signal(s.run, "d1", "a"))
		b.same(b.deliver(signal(s.run, "d1", "a")).Duplicate, true, "the same delivery from beside")
		b.deliver(act(s.run, "p1", pause))
		a.same(a.deliver(act(s.run, "p1", pause)).Duplicate, true, "the same act from the worker's side")
		s.claimMail(2, &world.Release{WakeAt: world.Now(), Full: true})
		b.same(b.run(s.run).Queue.Paused, true, "paused")
		_, err := b.w.Deliver(b.ctx, signal(s.run, "", "a"))
		b.refused(err, world.ErrInboxFull, "a signal to a full run")
		b.deliver(act(s.run, "r1", resume))
		s, _ = k.get(s.run)
		s.release(world.Release{})
		b.deliver(signal(s.run, "", "a"))
		k.get(s.run)
	}},
	{"a forced cancel from beside reaches children and parents", "what an end sends arrives, whoever ended the run", func(a, b *rig) {
		k := a.worker("greet", "child")
		s := k.create("greet")
		c := s.childCommit("step_1")
		s.write(c)
		s.queueTask("step_2")
		child, _ := k.get(c.Births[0].Run)
		grandchild := child.childCommit("step_1")
		child.write(grandchild)
		t := k.getTask()
		b.act(child.run, world.RunCancelled)
		a.same(s.result("step_1").Error.Code, world.CodeCancelled, "the parent's result")
		_, got := k.get(grandchild.Births[0].Run)
		a.same(mailTypes(got.Mail), []world.EventType{world.CancelRequested}, "mail of the child's child")
		b.act(s.run, world.RunCancelled)
		key := world.TaskKey{Run: t.Run, Step: t.Step, Attempt: t.Attempt}
		a.same(k.heartbeat(key).Ended, []world.TaskKey{key}, "ended tasks")
		_, err := a.w.Deliver(a.ctx, k.taskEnd(t, nil))
		a.refused(err, world.ErrTerminal, "a result behind the end")
	}},
	{"what is swept beside is gone", "an ID, a key and a run that the other has deleted are unknown, and free", func(a, b *rig) {
		k := a.worker("greet")
		for _, sweeper := range []*rig{b, a} {
			s := k.create("greet", withRetention(time.Millisecond), withKey("k1"))
			s.claim("hook_1", "t1")
			s.end()
			sweeper.until("the run is swept", func() bool { return sweeper.sweep(10) == 1 })
			for _, r := range []*rig{a, b} {
				r.absent(s.run)
				_, err := r.w.Deliver(r.ctx, signal(s.run, "", "a"))
				r.refused(err, world.ErrNotFound, "a signal")
			}
			c := birth("greet")
			c.Run = s.run
			a.commit(c)
			again, _ := k.get(s.run)
			again.end()
		}
	}},
	{"operators on both sides against an owner", "acts from two objects are each appended once or say nothing new; what the queue holds of a pause is what the log says", func(a, b *rig) {
		a.operatorsAgainstOwner(a, b)
	}},
	{"a release against a sender beside loses no wake-up", "mail that comes with a release is told by it, or the run is claimed with it", func(a, b *rig) {
		k := a.worker("greet")
		s := k.create("greet")
		for i := range 25 {
			var wg sync.WaitGroup
			id := fmt.Sprint("d", i)
			wg.Go(func() {
				if _, err := b.w.Deliver(b.ctx, signal(s.run, id, "a")); err != nil {
					b.Errorf("round %d: %v", i, err)
				}
			})
			s.release(world.Release{})
			wg.Wait()
			again, got := k.get(s.run)
			if len(got.Mail) != 1 || got.Mail[0].ID != id {
				a.Fatalf("round %d: got mail %+v, want %s alone", i, got.Mail, id)
			}
			again.claimMail(1, nil)
			s = again
		}
	}},
	{"a reader beside a writer sees each event once", "a cursor reader on the other object sees every event exactly once, in order", func(a, b *rig) {
		s := a.worker("greet").create("greet")
		const commits = 60
		var wg sync.WaitGroup
		wg.Go(func() {
			next, cursor := int64(1), ""
			for end := time.Now().Add(patience); next <= 2+commits && time.Now().Before(end); {
				page, err := b.w.Events(b.ctx, s.run, world.EventQuery{Cursor: cursor})
				if err != nil {
					b.Errorf("events: %v", err)
					return
				}
				cursor = page.Cursor
				for _, e := range page.Events {
					if e.Seq != next {
						b.Errorf("got event %d, want %d", e.Seq, next)
						return
					}
					next++
				}
			}
			if next != 3+commits {
				b.Errorf("saw %d events, want %d", next-1, 2+commits)
			}
		})
		for range commits {
			s.append(signalEvent("a"))
		}
		wg.Wait()
	}},
}
