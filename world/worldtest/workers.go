// Workers on two World objects of one storage: a world that many processes work on.

package worldtest

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/stepwell/stepwell/world"
)

// unbuilt is what a log keeps of events that came by mail: the build is that of the commit.
func unbuilt(events []world.Event) []world.Event {
	events = slices.Clone(events)
	for i := range events {
		events[i].Build = ""
	}
	return events
}

// workers are the checks of two Worlds that both have workers.
var workers = []sharedCheck{
	{"what one releases the other claims", "ownership goes from worker to worker, whichever object they joined; mail and all that is known of the run go with it", func(a, b *rig) {
		one, two := a.worker("greet"), b.worker("greet")
		s := one.create("greet")
		two.idle("the run is owned")
		for i := range 6 {
			s.append(signalEvent(fmt.Sprint("turn ", i)))
			a.deliver(signal(s.run, fmt.Sprint("d", i), "a"))
			s.release(world.Release{WakeAt: world.Now()})
			next := []*worker{two, one}[i%2]
			heir, got := next.get(s.run)
			next.same([2]int64{got.Claim, got.Seq}, [2]int64{int64(2 + i), s.seq}, "take and last event")
			next.same(len(got.Mail), 1, "mail")
			s.worker.refusedCommit(s.next(signalEvent("late")), world.ErrLeaseLost, "the former owner's commit")
			heir.claimMail(1, nil)
			s = heir
		}
		s.end()
		one.idle("the run is over")
	}},
	{"a worker's death is found beside it", "any worker's take ends the leases of the dead; all that they do is ErrLeaseLost", func(a, b *rig) {
		dead := a.mortal(workingLease, "greet")
		s := dead.create("greet")
		s.queueTask("step_1")
		t := dead.getTask()
		heir := b.worker("greet")
		again, got := heir.get(s.run)
		b.same(got.Claim, int64(2), "take")
		b.same(heir.getTask().Attempt, t.Attempt+1, "attempt")
		a.refusedCommit(s.next(signalEvent("late")), world.ErrLeaseLost, "the dead owner's commit")
		_, err := a.w.Heartbeat(a.ctx, world.HeartbeatQuery{Worker: dead.id})
		a.refused(err, world.ErrLeaseLost, "beat")
		_, err = a.w.Claim(a.ctx, world.ClaimQuery{Worker: dead.id, Classes: dead.classes, Runs: 1})
		a.refused(err, world.ErrLeaseLost, "take")
		_, err = a.w.Deliver(a.ctx, dead.taskEnd(t, nil))
		a.refused(err, world.ErrLeaseLost, "the dead worker's result")
		again.append(signalEvent("on"))
	}},
	{"leaving hands over to the other side", "what a worker gives back is due at once, for workers of any object; no strike", func(a, b *rig) {
		k := a.worker("greet")
		s := k.create("greet")
		s.queueTask("step_1")
		k.getTask()
		heir := b.worker("greet")
		heir.idle("all is held")
		a.must(a.w.Leave(a.ctx, k.id), "leave")
		got := heir.claim(5, 5)
		if len(got.Runs) != 1 || got.Runs[0].Claim != 2 || got.Runs[0].Strikes != 0 || len(got.Tasks) != 1 || got.Tasks[0].Attempt != 2 {
			b.Fatalf("got %+v, want the run under take 2 and the task as attempt 2", got)
		}
		a.refusedCommit(s.next(signalEvent("late")), world.ErrLeaseLost, "a commit after leaving")
	}},
	{"strikes are counted across both", "each death is a strike, whoever takes next; a commit ends the row", func(a, b *rig) {
		id := a.createRun("greet")
		for want := range 4 {
			r := []*rig{a, b}[want%2]
			r.strikes(r.doomed(id), want)
		}
		k := a.mortal(workingLease, "greet")
		s, got := k.get(id)
		a.strikes(got, 4)
		s.append(world.Event{Type: world.RunStarted})
		b.orphaned(id)
		_, got = b.worker("greet").get(id)
		b.strikes(got, 0)
	}},
	{"a task goes to the other side and back", "any worker that names the step gets it; its end is mail of the run's owner", func(a, b *rig) {
		s := a.worker("greet").create("greet")
		s.queueTask("step_1")
		helper := b.worker()
		b.deliver(helper.retry(helper.getTask(), "MINE", world.Now().Add(-time.Second)))
		t := helper.getTask()
		b.same([2]int{t.Attempt, t.Failures}, [2]int{2, 1}, "attempt and failures")
		d := helper.taskEnd(t, jsonText(`"done"`))
		if done := b.deliver(d); done.Owner != s.id {
			b.Fatalf("got %+v, want owner %s", done, s.id)
		}
		a.same(unbuilt(s.mail()[0].Events), unbuilt(d.Events), "events")
	}},
	{"a parent here and its child there", "births, results, awaits and forced cancels cross objects", func(a, b *rig) {
		k := a.worker("greet")
		s := k.create("greet")
		c := s.childCommit("step_1")
		s.write(c)
		child, _ := b.worker("child").get(c.Births[0].Run)
		s.await("step_2", child.run)
		stranger := b.worker("greet").create("greet")
		stranger.await("step_1", s.run)
		child.append(world.Event{Type: world.RunStarted}, world.Event{Type: world.RunCompleted, Payload: jsonText(`7`)})
		a.same(string(s.result("step_1").Payload), "7", "the parent's result")
		a.same(string(s.result("step_2").Payload), "7", "the awaited result")
		s.end()
		b.same(stranger.result("step_1").Type, world.StepCompleted, "the stranger's result")
		b.act(k.create("greet").run, world.RunCancelled)
		a.until("the owner is told", func() bool { return len(k.heartbeat().Lost) == 1 })
	}},
	{"one run, one task, one owner on both sides", "workers that take concurrently, on two objects, never get the same", func(a, b *rig) {
		const n = 60
		s := a.worker("other").create("other")
		c := s.next()
		want := n
		for i := range n {
			id := fmt.Sprint("step_", i)
			c.Events = append(c.Events, world.Event{Type: world.StepCreated, ID: id, Kind: world.KindTask, Name: id, Queued: true, Time: world.Now()})
			c.Tasks = append(c.Tasks, world.Task{Step: id, Name: "task", Workflow: "greet", Priority: 1})
			c.Births = append(c.Births, birth("greet"))
			want++
		}
		s.write(c)
		var mu sync.Mutex
		got := make(map[string]string)
		var wg sync.WaitGroup
		for i := range 6 {
			k := []*rig{a, b}[i%2].worker("greet")
			wg.Go(func() {
				for end := time.Now().Add(patience); time.Now().Before(end); {
					t, err := k.w.Claim(k.ctx, world.ClaimQuery{Worker: k.id, Classes: k.classes, Runs: 3, Steps: k.steps, Tasks: 3})
					if err != nil {
						k.Errorf("take: %v", err)
						return
					}
					mu.Lock()
					given := []string{}
					for _, run := range t.Runs {
						given = append(given, run.Run)
					}
					for _, task := range t.Tasks {
						given = append(given, task.Step)
					}
					for _, id := range given {
						if by, ok := got[id]; ok {
							k.Errorf("%s was given to %s and to %s", id, by, k.id)
						}
						got[id] = k.id
					}
					done := len(got) == want
					mu.Unlock()
					if done {
						return
					}
				}
			})
		}
		wg.Wait()
		a.same(len(got), want, "runs and tasks taken")
	}},
	{"workers of both are listed by both", "Stats tells of all that are alive, and of what they hold", func(a, b *rig) {
		one, two := a.worker("greet"), b.worker("greet", "other")
		one.create("greet")
		two.create("other")
		two.create("greet")
		want := map[string]int{one.id: 1, two.id: 2}
		for _, r := range []*rig{a, b} {
			st, err := r.w.Stats(r.ctx)
			r.must(err, "stats")
			got := make(map[string]int)
			for _, w := range st.Workers {
				got[w.ID] = w.Runs
			}
			r.same(got, want, "workers and their runs")
		}
		a.must(a.w.Leave(a.ctx, one.id), "leave")
		st, err := b.w.Stats(b.ctx)
		b.must(err, "stats")
		b.same(len(st.Workers), 1, "workers")
	}},
	{"senders on both sides against owners on both sides", "every delivery is appended exactly once, though the run goes from one object's workers to the other's all the time", func(a, b *rig) {
		run := a.createRun("greet")
		const each = 20
		var wg sync.WaitGroup
		quiet := make(chan struct{})
		owners := []*worker{a.worker("greet"), b.worker("greet")}
		for i, r := range []*rig{a, b} {
			wg.Go(func() {
				for j := range each {
					if _, err := r.w.Deliver(r.ctx, signal(run, fmt.Sprint(i, "/", j), "a")); err != nil {
						r.Errorf("sender %d: %v", i, err)
					}
				}
			})
		}
		go func() { wg.Wait(); close(quiet) }()
		sent := false
		for turn := 0; ; turn++ {
			select {
			case <-quiet:
				sent = true
			default:
			}
			k := owners[turn%2]
			for _, t := range k.claim(1, 0).Runs {
				s := &session{worker: k, run: t.Run, claimed: t.Claim, seq: t.Seq}
				if t.Status == world.Pending {
					s.append(world.Event{Type: world.RunStarted})
				}
				s.claimMail(len(t.Mail), &world.Release{})
			}
			if q := a.run(run).Queue; sent && q.Owner == "" && q.Mail == 0 {
				break
			}
			if turn > 1e6 {
				a.Fatalf("mail waits, and nobody is given the run: %+v", a.run(run).Queue)
			}
		}
		var ids []string
		for _, e := range b.events(run) {
			if e.Delivery != "" {
				ids = append(ids, e.Delivery)
			}
		}
		slices.Sort(ids)
		b.same(len(ids), 2*each, "deliveries in the log")
		b.same(len(slices.Compact(ids)), 2*each, "deliveries in the log, each once")
	}},
}
