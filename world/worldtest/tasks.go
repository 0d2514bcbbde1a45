// Tasks: steps that are queued for any worker.

package worldtest

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/stepwell/stepwell/world"
)

// retry is the delivery that puts a held task back, to be visible again at a time.
func (k *worker) retry(t world.Task, code string, at time.Time) *world.Delivery {
	return &world.Delivery{
		Worker: k.id, Task: &world.TaskKey{Run: t.Run, Step: t.Step, Attempt: t.Attempt}, RetryAt: at,
		Events: []world.Event{{Type: world.StepRetrying, ID: t.Step, Attempt: t.Attempt, Time: world.Now(), RetryAt: at,
			Error: &world.Error{Message: fmt.Sprint("attempt ", t.Attempt), Code: code}}},
	}
}

var tasks = []check{
	{"an open task is given as it was queued", "a task that is created open is ready for any worker that names its step", func(r *rig) {
		s := r.worker("greet").create("greet")
		s.queueTask("step_1")
		other := r.worker()
		other.steps = []string{"unknown"}
		other.idle("it does not know the step")
		other.steps = []string{"unknown", "task"}
		got := other.getTask()
		want := world.Task{
			Run: s.run, Step: "step_1", Name: "task", Workflow: "greet", Input: []byte(`{"in":1}`), Options: []byte(`{"o":1}`),
			Priority: 1, Worker: other.id, Attempt: 1,
		}
		if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(world.Task{}, "Visible"), cmpopts.EquateEmpty()); diff != "" {
			r.Fatalf("task (-want +got):\n%s", diff)
		}
		other.idle("the task is held")
	}},
	{"a task can be created held", "a task with a worker is its attempt 1 from birth; its end is that worker's to tell", func(r *rig) {
		k := r.worker("greet")
		s := k.create("greet")
		e := stepCreated("step_1", world.KindTask)
		c := s.next(e)
		c.Tasks = []world.Task{{Run: s.run, Step: "step_1", Name: "task", Worker: k.id, Priority: 1}}
		s.write(c)
		r.worker().idle("the task is held")
		key := world.TaskKey{Run: s.run, Step: "step_1", Attempt: 1}
		r.same(len(k.heartbeat(key).Ended), 0, "ended tasks")
		c = s.next(world.Event{Type: world.StepCompleted, ID: "step_1", Attempt: 1})
		c.Held = []world.TaskKey{key}
		s.write(c)
		r.same(k.heartbeat(key).Ended, []world.TaskKey{key}, "ended tasks")
		r.same(len(s.mail()), 0, "mail: the end is in the log already")
		_, err := r.w.Deliver(r.ctx, k.taskEnd(world.Task{Run: s.run, Step: "step_1", Attempt: 1}, nil))
		r.refused(err, world.ErrLeaseLost, "its end again")
	}},
	{"a task may be visible later", "Visible: not before; Next says when", func(r *rig) {
		k := r.worker("greet")
		s := k.create("greet")
		at := world.Now().Add(250 * time.Millisecond)
		c := s.next(stepCreated("step_1", world.KindTask))
		c.Tasks = []world.Task{{Run: s.run, Step: "step_1", Name: "task", Visible: at, Priority: 1}}
		s.write(c)
		if t := k.claim(0, 1); t.Now.Before(at) && (len(t.Tasks) > 0 || !t.Next.Equal(at)) {
			r.Fatalf("at %s got %+v, next %s; want none before %s", t.Now, t.Tasks, t.Next, at)
		} else if len(t.Tasks) == 0 {
			k.getTask()
		}
		if now := k.claim(0, 0).Now; now.Before(at) {
			r.Fatalf("taken at %s, visible at %s", now, at)
		}
	}},
	{"a task's end goes to the inbox", "its events are mail of the run and the task is gone, in one commit; mail wakes the run", func(r *rig) {
		k := r.worker("greet")
		s := k.create("greet")
		s.queueTask("step_1")
		s.release(world.Release{})
		t := k.getTask()
		d := k.taskEnd(t, jsonText(`"done"`))
		if done := r.deliver(d); done.Run != s.run || done.Owner != "" {
			r.Fatalf("got %+v, want run %s, which nobody owns", done, s.run)
		}
		_, err := r.w.Deliver(r.ctx, d)
		r.refused(err, world.ErrLeaseLost, "its end again")
		_, got := k.get(s.run)
		if len(got.Mail) != 1 {
			r.Fatalf("got %d mails, want 1", len(got.Mail))
		}
		r.same(got.Mail[0].Events, d.Events, "events")
		k.idle("the task is over")
	}},
	{"a retry waits, and history travels", "RetryAt: visible again then, as the next attempt, with what happened before", func(r *rig) {
		k := r.worker("greet")
		s := k.create("greet")
		s.queueTask("step_1")
		first := k.getTask()
		at := world.Now().Add(200 * time.Millisecond)
		r.deliver(k.retry(first, "", at))
		second := k.getTask()
		if now := k.claim(0, 0).Now; now.Before(at) {
			r.Fatalf("taken at %s, its retry is at %s", now, at)
		}
		r.deliver(k.retry(second, world.CodeAbandoned, world.Now()))
		third := k.getTask()
		if second.Attempt != 2 || second.Failures != 1 || third.Attempt != 3 || third.Failures != 1 || third.First.IsZero() || !third.First.Equal(second.First) || !first.First.IsZero() {
			r.Fatalf("got %+v, then %+v, then %+v; want attempts 1, 2, 3, one failure, one first start", first, second, third)
		}
		var got []string
		for _, e := range third.History {
			if e.ID != "step_1" || e.Time.IsZero() {
				r.Fatalf("history has %+v, want an event of step_1 with a time", e)
			}
			got = append(got, fmt.Sprint(e.Type, " ", e.Attempt))
		}
		r.same(got, []string{"step_started 1", "step_retrying 1", "step_started 2", "step_retrying 2"}, "history")
		if e := third.History[1]; e.Error == nil || e.Error.Message != "attempt 1" || !e.RetryAt.Equal(at) {
			r.Fatalf("history has %+v, want the error of attempt 1", e)
		}
		r.same(len(s.mail()), 0, "mail: nothing has ended")
	}},
	{"a run whose task is tried again stands as retrying", "from the failure to the next claim, in its row and in lists, and no other run does", func(r *rig) {
		k := r.worker("greet")
		s, other := k.create("greet"), k.create("greet")
		for _, x := range []*session{s, other} {
			x.queueTask("step_1")
			x.release(world.Release{Waiting: `step "task" and 1 more`})
		}
		stands := func(when string, want world.Status, text string) {
			row := r.run(s.run)
			r.same(row.Stands(world.Now()), want, when+": how it stands")
			r.same(row.Queue.Waiting, text, when+": what it waits for")
			r.same(slices.Contains(r.list(world.RunQuery{Status: []world.Status{world.StandsRetrying}}), s.run), want == world.StandsRetrying, when+": it is listed")
			row = r.run(other.run)
			r.same(row.Stands(world.Now()), world.StandsWaiting, when+": how another stands")
		}
		tasks := []world.Task{k.getTask(), k.getTask()}
		i := slices.IndexFunc(tasks, func(t world.Task) bool { return t.Run == s.run })
		stands("its first attempt runs", world.StandsWaiting, `step "task" and 1 more`)
		r.deliver(k.retry(tasks[i], "", world.Now().Add(50*time.Millisecond)))
		stands("it has failed", world.StandsRetrying, `retry of "task" and 1 more`)
		again := k.getTask()
		stands("its second attempt runs", world.StandsWaiting, `step "task" and 1 more`)
		r.deliver(k.taskEnd(again, jsonText(`1`)))
		row := r.run(s.run)
		r.same(row.Stands(world.Now()), world.StandsQueued, "how it stands when that is over")
	}},
	{"attempts that are given up are counted", "neither failures nor deaths, however many; one whose worker lost its lease is given up late, once", func(r *rig) {
		s := r.worker("greet").create("greet")
		s.queueTask("step_1")
		dead := r.mortal(shortLease, "greet")
		lost := dead.getTask()
		k := r.worker("greet")
		var t world.Task
		r.until("the lost task is back", func() bool {
			got := k.claim(0, 1)
			if len(got.Tasks) > 0 {
				t = got.Tasks[0]
			}
			return len(got.Tasks) > 0
		})
		if t.Attempt != 2 || t.Abandoned != 0 {
			r.Fatalf("got %+v, want attempt 2, nothing abandoned", t)
		}
		late := dead.retry(lost, world.CodeAbandoned, world.Now())
		r.deliver(late)
		_, err := r.w.Deliver(r.ctx, late)
		r.refused(err, world.ErrLeaseLost, "the same again")
		_, err = r.w.Deliver(r.ctx, dead.retry(lost, "", world.Now()))
		r.refused(err, world.ErrLeaseLost, "an error of its own, late")
		const times = 12
		for i := range times {
			r.deliver(k.retry(t, world.CodeAbandoned, world.Now().Add(-time.Second)))
			if t = k.getTask(); t.Abandoned != i+2 || t.Attempt != i+3 || t.Failures != 0 {
				r.Fatalf("got %+v, want attempt %d, %d of them abandoned", t, i+3, i+2)
			}
		}
	}},
	{"history is bounded", "at most the last ten starts and the last ten ends travel", func(r *rig) {
		k := r.worker("greet")
		s := k.create("greet")
		s.queueTask("step_1")
		for range 12 {
			r.deliver(k.retry(k.getTask(), "", world.Now().Add(-time.Second)))
		}
		t := k.getTask()
		count := map[world.EventType][]int{}
		for _, e := range t.History {
			count[e.Type] = append(count[e.Type], e.Attempt)
		}
		last := []int{3, 4, 5, 6, 7, 8, 9, 10, 11, 12}
		r.same(count, map[world.EventType][]int{world.StepStarted: last, world.StepRetrying: last}, "attempts in the history")
		if t.Attempt != 13 || t.Failures != 12 {
			r.Fatalf("got attempt %d, %d failures; want 13 and 12", t.Attempt, t.Failures)
		}
	}},
	{"a death is in the history", "a start with no outcome stays in the history: the row is the durable start", func(r *rig) {
		s := r.worker("greet").create("greet")
		s.queueTask("step_1")
		dead := r.worker()
		dead.getTask()
		r.must(r.w.Leave(r.ctx, dead.id), "leave")
		t := s.getTask()
		if len(t.History) != 1 || t.History[0].Type != world.StepStarted || t.History[0].Attempt != 1 || t.Attempt != 2 || t.Failures != 0 {
			r.Fatalf("got %+v, want attempt 2 after a start without an outcome", t)
		}
	}},
	{"a dropped task is gone", "Dropped: whoever holds it; the holder learns it by heartbeat, and its result is refused", func(r *rig) {
		k := r.worker("greet")
		s := k.create("greet")
		s.queueTask("step_1")
		s.queueTask("step_2")
		holder := r.worker()
		t := holder.getTask()
		open := map[string]string{"step_1": "step_2", "step_2": "step_1"}[t.Step]
		c := s.next(world.Event{Type: world.StepFailed, ID: "step_1"}, world.Event{Type: world.StepFailed, ID: "step_2"})
		c.Dropped = []world.TaskKey{{Run: s.run, Step: t.Step}, {Run: s.run, Step: open}, {Run: s.run, Step: "step_none"}}
		s.write(c)
		key := world.TaskKey{Run: t.Run, Step: t.Step, Attempt: t.Attempt}
		r.same(holder.heartbeat(key).Ended, []world.TaskKey{key}, "ended tasks")
		holder.idle("both are gone")
		_, err := r.w.Deliver(r.ctx, holder.taskEnd(t, nil))
		r.refused(err, world.ErrLeaseLost, "result of a dropped task")
	}},
	{"tasks of a run that is over vanish", "a terminal commit deletes the run's tasks; a heartbeat says Ended, a result is refused", func(r *rig) {
		k := r.worker("greet")
		for _, end := range []string{"by its owner", "by force"} {
			s := k.create("greet")
			s.queueTask("step_1")
			s.queueTask("step_2")
			t := k.getTask()
			if end == "by force" {
				r.deliver(act(s.run, "", world.RunCancelled))
			} else {
				s.end()
			}
			key := world.TaskKey{Run: t.Run, Step: t.Step, Attempt: t.Attempt}
			r.same(k.heartbeat(key).Ended, []world.TaskKey{key}, "ended tasks, "+end)
			k.idle("the run is over, " + end)
			_, err := r.w.Deliver(r.ctx, k.taskEnd(t, nil))
			r.refused(err, world.ErrTerminal, "result, "+end)
			_, err = r.w.Deliver(r.ctx, k.retry(t, "", world.Now()))
			r.refused(err, world.ErrTerminal, "retry, "+end)
		}
	}},
	{"a continuation drops tasks", "open steps of the old segment are over, and so are their tasks; mail stays", func(r *rig) {
		k := r.worker("greet")
		s := k.create("greet")
		s.queueTask("step_1")
		r.deliver(signal(s.run, "d1", "a"))
		s.append(world.Event{Type: world.RunContinued, Payload: jsonText(`2`), Next: &world.Continuation{}})
		k.idle("the task is gone")
		r.same(len(s.mail()), 1, "mail")
	}},
	{"a held task stays while it is beaten", "a heartbeat names tasks and learns which it no longer holds", func(r *rig) {
		k := r.worker("greet")
		s := k.create("greet")
		s.queueTask("step_1")
		t := k.getTask()
		held := world.TaskKey{Run: t.Run, Step: t.Step, Attempt: t.Attempt}
		wrong := []world.TaskKey{{Run: t.Run, Step: t.Step, Attempt: t.Attempt + 1}, {Run: t.Run, Step: "step_none", Attempt: 1}, {Run: "wrun_nobody", Step: "s", Attempt: 1}}
		r.same(k.heartbeat(append(wrong, held)...).Ended, wrong, "ended tasks")
		r.same(s.worker.heartbeat().Ended, []world.TaskKey(nil), "ended tasks of a heartbeat that names none")
		stranger := r.worker()
		r.same(stranger.heartbeat(held).Ended, []world.TaskKey{held}, "tasks that a stranger believes to hold")
		_, err := r.w.Deliver(r.ctx, stranger.taskEnd(t, nil))
		r.refused(err, world.ErrLeaseLost, "a stranger's result")
	}},
	{"tasks are served by priority, then time", "higher priority first; limits are kept; More says that something is left", func(r *rig) {
		k := r.worker("greet")
		s := k.create("greet")
		for i, p := range []int{0, 2, 2, 3} {
			id := fmt.Sprint("step_", i)
			c := s.next(stepCreated(id, world.KindTask))
			c.Tasks = []world.Task{{Run: s.run, Step: id, Name: "task", Workflow: "greet", Priority: p}}
			s.write(c)
		}
		var got []string
		t := k.claim(0, 3)
		r.same(t.More, true, "more")
		for _, task := range append(t.Tasks, k.getTask()) {
			got = append(got, task.Step)
		}
		r.same(got, []string{"step_3", "step_1", "step_2", "step_0"}, "steps")
	}},
	{"one task has one holder", "workers that take concurrently never get the same task", func(r *rig) {
		s := r.worker("greet").create("greet")
		const n = 40
		c := s.next()
		for i := range n {
			id := fmt.Sprint("step_", i)
			c.Events = append(c.Events, world.Event{Type: world.StepCreated, ID: id, Kind: world.KindTask, Name: id, Queued: true, Time: world.Now()})
			c.Tasks = append(c.Tasks, world.Task{Run: s.run, Step: id, Name: "task", Workflow: "greet", Priority: 1})
		}
		s.write(c)
		var mu sync.Mutex
		got := make(map[string]string)
		var wg sync.WaitGroup
		for range 4 {
			k := r.worker()
			wg.Go(func() {
				for {
					t, err := r.w.Claim(r.ctx, world.ClaimQuery{Worker: k.id, Steps: k.steps, Tasks: 3})
					if err != nil || len(t.Tasks) == 0 {
						if err != nil {
							r.Errorf("take: %v", err)
						}
						return
					}
					mu.Lock()
					for _, task := range t.Tasks {
						if by, ok := got[task.Step]; ok || task.Attempt != 1 {
							r.Errorf("%s was given to %s and, as attempt %d, to %s", task.Step, by, task.Attempt, k.id)
						}
						got[task.Step] = k.id
					}
					mu.Unlock()
				}
			})
		}
		wg.Wait()
		r.same(len(got), n, "tasks taken")
	}},
}
