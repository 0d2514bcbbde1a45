// Order: in which order a worker is served, and when it is told to look again.

package worldtest

import (
	"fmt"
	"time"

	"github.com/stepwell/stepwell/world"
)

// aged is how long ago something was due that counts two priorities higher by now: two minutes, with time for a slow machine.
const aged = 2*time.Minute + 5*time.Second

var turns = []check{
	{"who waits counts more each minute", "priority is strict among what is due, but every minute of waiting counts one priority more", func(r *rig) {
		k := r.worker("greet")
		now := k.heartbeat().Now
		release := func(priority int, due time.Time) string {
			s := k.create("greet", withPriority(priority))
			s.release(world.Release{WakeAt: due})
			return s.run
		}
		one, old, two, three := release(1, now), release(0, now.Add(-aged)), release(2, now), release(3, now)
		var got []string
		for _, n := range []int{1, 3} {
			for _, t := range k.claim(n, 0).Runs {
				got = append(got, t.Run)
			}
		}
		r.same(got, []string{three, old, two, one}, "runs of priority 3, 0 (and waiting for two minutes), 2, 1")
	}},
	{"a task that waits counts more each minute", "tasks are served as runs are", func(r *rig) {
		k := r.worker("greet")
		s := k.create("greet")
		queue := func(step string, priority int) {
			c := s.next(stepCreated(step, world.KindTask))
			c.Tasks = []world.Task{{Step: step, Name: "task", Priority: priority}}
			s.write(c)
		}
		queue("step_0", 0)
		r.deliver(k.retry(k.getTask(), "", k.heartbeat().Now.Add(-aged)))
		for p := 1; p < 4; p++ {
			queue(fmt.Sprint("step_", p), p)
		}
		var got []string
		for _, t := range k.claim(0, 4).Tasks {
			got = append(got, t.Step)
		}
		r.same(got, []string{"step_3", "step_0", "step_2", "step_1"}, "steps of priority 3, 0 (and waiting for two minutes), 2, 1")
	}},
	{"a busy workflow's tasks starve no other's", "tasks are served fairly across workflows", func(r *rig) {
		k := r.worker("busy", "quiet")
		s := k.create("busy")
		c := s.next()
		for i := range 30 {
			c.Events = append(c.Events, stepCreated(fmt.Sprint("step_", i), world.KindTask))
			c.Events[i].Time = world.Now()
			c.Tasks = append(c.Tasks, world.Task{Step: c.Events[i].ID, Name: "task", Workflow: "busy", Priority: 1})
		}
		s.write(c)
		s = k.create("quiet")
		s.append(stepCreated("step_1", world.KindTask))
		c = s.next()
		c.Tasks = []world.Task{{Step: "step_1", Name: "task", Priority: 1}} // of its run's workflow
		s.write(c)
		quiet := 0
		for range 4 {
			for _, t := range k.claim(0, 2).Tasks {
				if t.Workflow == "quiet" {
					quiet++
				}
			}
		}
		r.same(quiet, 1, "tasks of the quiet workflow among 8 taken")
	}},
	{"next is when something of these will be due", "Next: the earliest of the runs and tasks that are asked for; what is paused, owned, over, or waits for mail alone is none of it", func(r *rig) {
		k := r.worker("greet")
		base := world.Now().Add(time.Hour).Truncate(time.Second)
		at := func(minutes int) time.Time { return base.Add(time.Duration(minutes) * time.Minute) }
		next := func(want time.Time, what string) {
			r.Helper()
			if t := k.idle(what); !t.Next.Equal(want) || t.More {
				r.Fatalf("%s: next is %s, more %v; want %s", what, t.Next, t.More, want)
			}
		}
		sleep := func(rel world.Release) string {
			s := k.create("greet")
			s.release(rel)
			return s.run
		}
		sleep(world.Release{})
		next(time.Time{}, "a run that waits for mail")
		sleep(world.Release{WakeAt: at(50)})
		next(at(50), "a run that sleeps")
		sleep(world.Release{WakeAt: at(40), Blocked: &world.Block{Code: world.CodePanic, Message: "no", Since: world.Now()}})
		next(at(40), "a blocked run, when its backoff ends")
		paused := sleep(world.Release{WakeAt: at(10)})
		next(at(10), "a run that sleeps less")
		r.act(paused, pause)
		next(at(40), "a paused run")
		ended := sleep(world.Release{WakeAt: at(11)})
		r.act(ended, world.RunCancelled)
		next(at(40), "a run that is over")
		s := k.create("greet")
		c := s.next(stepCreated("step_1", world.KindTask))
		c.Tasks = []world.Task{{Step: "step_1", Name: "task", Priority: 1, Visible: at(30)}}
		s.write(c)
		next(at(30), "a task")
		r.createRun("other", func(b *world.Birth) { b.NotBefore = at(1) })
		c = s.next(stepCreated("step_2", world.KindTask))
		c.Tasks = []world.Task{{Step: "step_2", Name: "unknown", Priority: 1, Visible: at(2)}}
		s.write(c)
		next(at(30), "a workflow and a step that are not asked for")
		due := r.createRun("greet")
		if t := k.claim(1, 0); len(t.Runs) != 1 || t.Runs[0].Run != due || !t.Next.Equal(at(30)) || t.More {
			r.Fatalf("got %+v, want run %s, nothing more, and next %s", t, due, at(30))
		}
	}},
	{"more says that the limits cut it", "More: something is ready still, a run or a task; what is not due yet is no reason", func(r *rig) {
		k := r.worker("greet")
		s := k.create("greet")
		r.createRun("greet", func(b *world.Birth) { b.NotBefore = world.Now().Add(time.Hour) })
		r.createRun("other")
		for range 2 {
			r.createRun("greet")
		}
		s.queueTask("step_1")
		s.queueTask("step_2")
		for i, want := range []struct {
			runs, tasks, gotRuns, gotTasks int
			more                           bool
		}{{1, 1, 1, 1, true}, {1, 0, 1, 0, true}, {0, 1, 0, 1, false}, {5, 5, 0, 0, false}} {
			t := k.claim(want.runs, want.tasks)
			if len(t.Runs) != want.gotRuns || len(t.Tasks) != want.gotTasks || t.More != want.more {
				r.Fatalf("take %d: got %d runs, %d tasks, more %v; want %+v", i, len(t.Runs), len(t.Tasks), t.More, want)
			}
		}
	}},
	{"a claim renews nothing", "who claims and sends no heartbeat is dead when its lease ends; heartbeats alone renew it", func(r *rig) {
		dead := r.mortal(workingLease, "greet")
		s := dead.create("greet")
		other := r.worker("other")
		r.until("the lease of a worker that takes is ended", func() bool {
			_, err := r.w.Claim(r.ctx, world.ClaimQuery{Worker: dead.id, Classes: dead.classes, Runs: 1})
			if err == nil {
				other.claim(1, 0)
			}
			return isErr(err, world.ErrLeaseLost)
		})
		r.same(r.run(s.run).Queue.Owner, "", "owner")
	}},
	{"times are UTC, in microseconds, and never go back", "the world's clock, as Join, Claim and Heartbeat tell it", func(r *rig) {
		k := r.worker("greet")
		var last time.Time
		for i := range 20 {
			b := k.heartbeat()
			t := k.claim(1, 1)
			for what, now := range map[string]time.Time{"beat": b.Now, "end of the lease": b.Until, "take": t.Now} {
				if now.Location() != time.UTC || !now.Equal(now.Truncate(time.Microsecond)) {
					r.Fatalf("%s: got %v, want UTC and whole microseconds", what, now)
				}
			}
			if b.Now.Before(last) || t.Now.Before(b.Now) {
				r.Fatalf("round %d: heartbeat at %s, then take at %s, behind %s", i, b.Now, t.Now, last)
			}
			last = t.Now
		}
		s := k.create("greet")
		r.deliver(signal(s.run, "", "a"))
		row, mail := r.run(s.run), s.mail()[0]
		for what, at := range map[string]time.Time{"birth": row.CreatedAt, "arrival": mail.ArrivedAt, "event": r.events(s.run)[0].Time} {
			if at.Location() != time.UTC {
				r.Fatalf("%s: got %v, want UTC", what, at)
			}
		}
	}},
}
