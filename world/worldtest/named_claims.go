// Claiming by name, and what is ready: for workers that are told what to work on.

package worldtest

import (
	"sync"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/stepwell/stepwell/world"
)

// claimOnly asks for one run, or for one task of it.
func (k *worker) claimOnly(run, step string) world.Claimed {
	k.Helper()
	t, err := k.w.Claim(k.ctx, world.ClaimQuery{Worker: k.id, Classes: k.classes, Runs: 10, Steps: k.steps, Tasks: 10, Run: run, Step: step})
	k.must(err, "take by name")
	return t
}

// only is claimOnly of what must be given, alone.
func (k *worker) only(run, step string) (world.ClaimedRun, world.Task) {
	k.Helper()
	switch t := k.claimOnly(run, step); {
	case step == "" && len(t.Runs) == 1 && len(t.Tasks) == 0 && t.Runs[0].Run == run:
		return t.Runs[0], world.Task{}
	case step != "" && len(t.Tasks) == 1 && len(t.Runs) == 0 && t.Tasks[0].Run == run && t.Tasks[0].Step == step:
		return world.ClaimedRun{}, t.Tasks[0]
	default:
		k.Fatalf("take of run %s, task %q, alone: got runs %+v and tasks %+v", run, step, t.Runs, t.Tasks)
		return world.ClaimedRun{}, world.Task{}
	}
}

// no is claimOnly of what must not be given.
func (k *worker) no(run, step, why string) {
	k.Helper()
	if t := k.claimOnly(run, step); len(t.Runs)+len(t.Tasks) > 0 {
		k.Fatalf("take of run %s, task %q, alone: got runs %+v and tasks %+v, want none: %s", run, step, t.Runs, t.Tasks, why)
	}
}

var byName = []check{
	{"one run is given alone", "Run names one run: whatever else is ready stays, of higher priority too", func(r *rig) {
		low := r.createRun("greet")
		high := r.createRun("greet", func(b *world.Birth) { b.Priority = 3 })
		k := r.worker("greet")
		got, _ := k.only(low, "")
		if got.Claim != 1 || got.Status != world.Pending || got.Seq != 1 || got.Class != (world.Class{Workflow: "greet", Version: 1}) {
			r.Fatalf("got %+v, want take 1 of a pending run with one event", got)
		}
		r.same(r.run(low).Queue.Owner, k.id, "owner")
		r.same(r.run(high).Queue.Owner, "", "owner of the other")
		k.no(low, "", "it is owned")
		(&session{worker: k, run: low, claimed: 1, seq: 1}).append(world.Event{Type: world.RunStarted})
		k.get(high)
	}},
	{"what is not ready is not given by name", "unknown, over, held, paused, not due, of another class, asleep, a limit of none: nothing is given, nothing changes", func(r *rig) {
		k := r.worker("greet")
		k.no(newRun(), "", "it is unknown")
		other := r.createRun("other")
		later := r.createRun("greet", func(b *world.Birth) { b.NotBefore = world.Now().Add(time.Hour) })
		paused := r.createRun("greet")
		r.deliver(act(paused, "", world.RunPaused))
		asleep := k.create("greet")
		asleep.release(world.Release{})
		over := k.create("greet")
		over.end()
		held := k.create("greet")
		ready := r.createRun("greet")
		for why, run := range map[string]string{
			"another class": other, "not due": later, "paused": paused, "asleep": asleep.run, "over": over.run, "held": held.run,
		} {
			r.unchanged(run, func() { k.no(run, "", why) })
			k.no(run, "step_1", why+", and there is no such task")
		}
		t, err := r.w.Claim(r.ctx, world.ClaimQuery{Worker: k.id, Classes: k.classes, Steps: k.steps, Tasks: 1, Run: ready})
		r.must(err, "take")
		r.same(len(t.Runs), 0, "runs, where there is room for none")
		k.only(ready, "")
	}},
	{"mail and cancels make a run ready by name", "as they do for any claim", func(r *rig) {
		k := r.worker("greet")
		s := k.create("greet")
		s.release(world.Release{WakeAt: world.Now().Add(time.Hour)})
		k.no(s.run, "", "it sleeps")
		r.deliver(signal(s.run, "d1", "a"))
		got, _ := k.only(s.run, "")
		r.same(len(got.Mail), 1, "mail")
		r.same(got.Claim, int64(2), "take")
		strange := r.createRun("strange", func(b *world.Birth) { b.NotBefore = world.Now().Add(time.Hour) })
		k.no(strange, "", "it is of another class, and not due")
		r.deliver(cancel(strange, ""))
		got, _ = k.only(strange, "")
		r.same(got.Mail[0].Events[0].Type, world.CancelRequested, "mail")
	}},
	{"one task is given alone", "Run and Step name one task: visible, free, and of a step that the worker knows", func(r *rig) {
		k := r.worker("greet")
		s := k.create("greet")
		s.queueTask("step_1")
		s.queueTask("step_2")
		k.steps = []string{"unknown"}
		k.no(s.run, "step_2", "the worker does not know the step")
		k.steps = []string{"task"}
		k.no(s.run, "step_3", "there is none")
		_, got := k.only(s.run, "step_2")
		want := world.Task{
			Run: s.run, Step: "step_2", Name: "task", Workflow: "greet", Input: []byte(`{"in":1}`), Options: []byte(`{"o":1}`),
			Priority: 1, Worker: k.id, Attempt: 1,
		}
		if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(world.Task{}, "Visible"), cmpopts.EquateEmpty()); diff != "" {
			r.Fatalf("task (-want +got):\n%s", diff)
		}
		k.no(s.run, "step_2", "it is held")
		r.deliver(k.retry(got, "", world.Now().Add(time.Hour)))
		k.no(s.run, "step_2", "its retry is not due")
		_, other := k.only(s.run, "step_1")
		r.deliver(k.taskEnd(other, jsonText(`"done"`)))
		k.no(s.run, "step_1", "it is over")
	}},
	{"one of many gets it by name", "takes of one run at once: one worker owns it", func(r *rig) {
		run := r.createRun("greet")
		s := r.worker("greet").create("greet")
		s.queueTask("step_1")
		var mu sync.Mutex
		var wg sync.WaitGroup
		runs, tasks := 0, 0
		for range 6 {
			k := r.worker("greet")
			wg.Go(func() {
				q := world.ClaimQuery{Worker: k.id, Classes: k.classes, Runs: 1, Steps: k.steps, Tasks: 1}
				q.Run = run
				a, err := r.w.Claim(r.ctx, q)
				if err != nil {
					r.Errorf("take of a run: %v", err)
				}
				q.Run, q.Step = s.run, "step_1"
				b, err := r.w.Claim(r.ctx, q)
				if err != nil {
					r.Errorf("take of a task: %v", err)
				}
				mu.Lock()
				defer mu.Unlock()
				runs, tasks = runs+len(a.Runs), tasks+len(b.Tasks)
			})
		}
		wg.Wait()
		r.same([]int{runs, tasks}, []int{1, 1}, "runs and tasks given")
	}},
	{"what a dead worker holds can be claimed by name", "a claim ends the leases of workers that died", func(r *rig) {
		run := r.createRun("greet")
		r.until("a worker has taken it, and died", func() bool {
			k := r.mortal(shortLease, "greet")
			t, err := r.w.Claim(r.ctx, world.ClaimQuery{Worker: k.id, Classes: k.classes, Runs: 1, Run: run})
			if isErr(err, world.ErrLeaseLost) {
				return false // the machine is slow: another one
			}
			r.must(err, "take")
			return len(t.Runs) == 1
		})
		k := r.worker("greet")
		r.until("it can be taken", func() bool { return len(k.claimOnly(run, "").Runs) == 1 })
		r.same(r.run(run).Queue.Owner, k.id, "owner")
	}},
}
