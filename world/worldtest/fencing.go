// Fencing: who does not own a run or task any more changes nothing about it.

package worldtest

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/stepwell/stepwell/world"
)

var fencing = []check{
	{"a number is written once", "a second commit at the same number: ErrLeaseLost, and nothing changed", func(r *rig) {
		s := r.worker("greet").create("greet")
		c := s.next(signalEvent("first"))
		second := s.next(signalEvent("second"), world.Event{Type: world.RunCompleted})
		second.Release = &world.Release{}
		done := s.write(c)
		r.unchanged(s.run, func() {
			_, err := r.w.Commit(r.ctx, second)
			r.refused(err, world.ErrLeaseLost, "second commit")
			again, err := r.w.Commit(r.ctx, c)
			if r.over && err == nil {
				r.same(again, done, "what is said of the same commit again")
				return
			}
			r.refused(err, world.ErrLeaseLost, "the same commit again")
		})
		s.append(signalEvent("third"))
	}},
	{"of commits at one number one is written", "concurrent commits at one number: exactly one succeeds", func(r *rig) {
		s := r.worker("greet").create("greet")
		var wg sync.WaitGroup
		var written, lost atomic.Int32
		for range 16 {
			c := s.next(signalEvent("a"), signalEvent("b"))
			wg.Go(func() {
				switch _, err := r.w.Commit(r.ctx, c); {
				case err == nil:
					written.Add(1)
				case isErr(err, world.ErrLeaseLost):
					lost.Add(1)
				default:
					r.Errorf("got %v, want ErrLeaseLost", err)
				}
			})
		}
		wg.Wait()
		if written.Load() != 1 || lost.Load() != 15 || len(r.events(s.run)) != 4 {
			r.Fatalf("%d written, %d lost, %d events; want 1, 15, 4", written.Load(), lost.Load(), len(r.events(s.run)))
		}
	}},
	{"a stranger writes nothing", "a commit by a worker that is not alive: ErrLeaseLost, and nothing changed", func(r *rig) {
		s := r.worker("greet").create("greet")
		r.unchanged(s.run, func() {
			for _, id := range []string{"wrkr_nobody", ""} {
				c := s.next(signalEvent("a"))
				c.Worker = id
				_, err := r.w.Commit(r.ctx, c)
				r.refused(err, world.ErrLeaseLost, "commit by worker "+id)
			}
			c := birth("greet")
			c.Worker, c.Claim = "wrkr_nobody", 1
			_, err := r.w.Commit(r.ctx, c)
			r.refused(err, world.ErrLeaseLost, "birth by nobody")
			r.absent(c.Run)
			c = s.next(signalEvent("a"))
			c.Run = newRun()
			_, err = r.w.Commit(r.ctx, c)
			r.refused(err, world.ErrLeaseLost, "a turn of an unknown run")
		})
	}},
	{"a dead owner's commit changes nothing", "after its lease ended and another claimed the run, everything that the owner does is ErrLeaseLost", func(r *rig) {
		dead := r.mortal(workingLease, "greet").create("greet")
		heir, got := r.worker("greet").get(dead.run)
		if got.Claim != 2 || got.Seq != 2 || got.Status != world.Running {
			r.Fatalf("got %+v, want take 2 of a running run at event 2", got)
		}
		for _, state := range []string{"before the heir wrote", "after it"} {
			r.unchanged(dead.run, func() {
				_, err := r.w.Commit(r.ctx, dead.next(signalEvent("late")))
				r.refused(err, world.ErrLeaseLost, "turn, "+state)
				c := dead.next()
				c.Release = &world.Release{}
				_, err = r.w.Commit(r.ctx, c)
				r.refused(err, world.ErrLeaseLost, "release, "+state)
				_, err = r.w.Heartbeat(r.ctx, world.HeartbeatQuery{Worker: dead.id})
				r.refused(err, world.ErrLeaseLost, "heartbeat, "+state)
				_, err = r.w.Claim(r.ctx, world.ClaimQuery{Worker: dead.id, Classes: dead.classes, Runs: 1})
				r.refused(err, world.ErrLeaseLost, "take, "+state)
			})
			heir.append(signalEvent("on"))
		}
		r.must(r.w.Leave(r.ctx, dead.id), "leave of a dead worker")
		heir.append(signalEvent("and on"))
	}},
	{"a release names its claim", "a release without events under a claim that is over: ErrLeaseLost, and the run stays where it is", func(r *rig) {
		s := r.worker("greet").create("greet")
		s.release(world.Release{WakeAt: world.Now()})
		again, _ := s.get(s.run)
		r.unchanged(s.run, func() {
			c := s.next()
			c.Release = &world.Release{WakeAt: world.Now()}
			_, err := r.w.Commit(r.ctx, c)
			r.refused(err, world.ErrLeaseLost, "release under take 1")
		})
		again.release(world.Release{})
		c := again.next()
		c.Release = &world.Release{WakeAt: world.Now()}
		_, err := r.w.Commit(r.ctx, c)
		r.refused(err, world.ErrLeaseLost, "a second release")
		r.idleRun(s.worker, s.run)
	}},
	{"a forced cancel fences the owner", "run_cancelled as an act ends the run whoever owns it; the owner's next commit loses", func(r *rig) {
		s := r.worker("greet").create("greet")
		r.deliver(act(s.run, "", world.RunCancelled))
		r.unchanged(s.run, func() {
			_, err := r.w.Commit(r.ctx, s.next(signalEvent("late")))
			r.refused(err, world.ErrLeaseLost, "turn")
			c := s.next()
			c.Release = &world.Release{}
			_, err = r.w.Commit(r.ctx, c)
			r.refused(err, world.ErrLeaseLost, "release")
		})
		r.same(r.run(s.run).Status, world.Cancelled, "status")
		r.same(s.heartbeat().Lost, []string{s.run}, "lost runs at the next beat")
		r.same(len(s.heartbeat().Lost), 0, "lost runs at the heartbeat after it")
	}},
	{"an end is the end", "once terminal, always terminal: a commit behind the end is refused, and nothing changed", func(r *rig) {
		s := r.worker("greet").create("greet")
		s.end()
		r.unchanged(s.run, func() {
			_, err := r.w.Commit(r.ctx, s.next(signalEvent("late")))
			r.refused(err, world.ErrLeaseLost, "turn behind the end")
		})
	}},
	{"a task that was lost refuses the whole commit", "each of Held is still held by the worker, else ErrLeaseLost and nothing is written", func(r *rig) {
		s := r.worker("greet").create("greet")
		c := s.next(stepCreated("step_1", world.KindTask))
		c.Tasks = []world.Task{{Step: "step_1", Name: "task", Priority: 1}}
		s.write(c)
		r.unchanged(s.run, func() {
			for _, k := range []world.TaskKey{{Run: s.run, Step: "step_1", Attempt: 1}, {Run: s.run, Step: "step_none", Attempt: 1}} {
				c := s.next(world.Event{Type: world.StepCompleted, ID: k.Step, Attempt: 1})
				c.Held = []world.TaskKey{k}
				_, err := r.w.Commit(r.ctx, c)
				r.refused(err, world.ErrLeaseLost, "a task that is not held")
			}
			t := s.getTask()
			c := s.next(world.Event{Type: world.StepCompleted, ID: "step_1", Attempt: 2})
			c.Held = []world.TaskKey{{Run: t.Run, Step: t.Step, Attempt: t.Attempt + 1}}
			_, err := r.w.Commit(r.ctx, c)
			r.refused(err, world.ErrLeaseLost, "another attempt")
		})
		c = s.next(world.Event{Type: world.StepCompleted, ID: "step_1", Attempt: 1})
		c.Held = []world.TaskKey{{Run: s.run, Step: "step_1", Attempt: 1}}
		s.write(c)
	}},
	{"leaving hands back at once", "Leave ends the lease and gives back runs and tasks; leaving twice is legal", func(r *rig) {
		k := r.worker("greet")
		s := k.create("greet")
		c := s.next(stepCreated("step_1", world.KindTask))
		c.Tasks = []world.Task{{Step: "step_1", Name: "task", Priority: 1, Worker: k.id}}
		s.write(c)
		heir := r.worker("greet")
		heir.idle("all is held")
		r.must(r.w.Leave(r.ctx, k.id), "leave")
		got := heir.claim(10, 10)
		for end := time.Now().Add(patience); r.over && len(got.Runs)+len(got.Tasks) < 2 && time.Now().Before(end); {
			more := heir.claim(10, 10)
			got.Runs, got.Tasks = append(got.Runs, more.Runs...), append(got.Tasks, more.Tasks...)
		}
		if len(got.Runs) != 1 || got.Runs[0].Claim != 2 || len(got.Tasks) != 1 || got.Tasks[0].Attempt != 2 {
			r.Fatalf("got %+v, want the run under take 2 and the task as attempt 2", got)
		}
		r.must(r.w.Leave(r.ctx, k.id), "leave again")
		r.must(r.w.Leave(r.ctx, "wrkr_nobody"), "leave of nobody")
		_, err := r.w.Heartbeat(r.ctx, world.HeartbeatQuery{Worker: k.id})
		r.refused(err, world.ErrLeaseLost, "heartbeat after leaving")
		_, err = r.w.Commit(r.ctx, s.next(signalEvent("late")))
		r.refused(err, world.ErrLeaseLost, "commit after leaving")
	}},
}

// idleRun ends the check if the run can be claimed.
func (r *rig) idleRun(k *worker, run string) {
	r.Helper()
	for _, got := range k.claim(1000, 0).Runs {
		if got.Run == run {
			r.Fatalf("run %s was taken: %+v", run, got)
		}
	}
}
