// Attempts: what a queued step remembers of them, and who may still say something about one that is over.

package worldtest

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/stepwell/stepwell/world"
)

// keptAttempts is how many attempts travel with a task.
const keptAttempts = 10

var attempts = []check{
	{"history has whole attempts, the last ten", "starts and ends of at most the last ten attempts before, of none the end without the start; the counts are of all", func(r *rig) {
		s := r.worker("greet").create("greet")
		s.queueTask("step_1")
		var first time.Time
		failures, abandoned := 0, 0
		ended := map[int]bool{} // by attempt: whether its end is known
		for n := 1; n <= 2*keptAttempts+3; n++ {
			k := r.worker()
			t := k.getTask()
			if n == 2 {
				first = t.First
			}
			if t.Attempt != n || t.Failures != failures || t.Abandoned != abandoned || t.First.IsZero() != (n == 1) || n > 1 && !t.First.Equal(first) {
				r.Fatalf("got %+v; want attempt %d, %d failures, %d abandoned, first start %s", t, n, failures, abandoned, first)
			}
			r.wholeAttempts(t, ended)
			switch n % 3 {
			case 0: // its worker is gone: a death, as far as the world can tell
			case 1:
				failures++
				r.deliver(k.retry(t, "MINE", world.Now().Add(-time.Second)))
			case 2:
				abandoned++
				r.deliver(k.retry(t, world.CodeAbandoned, world.Now().Add(-time.Second)))
			}
			ended[n] = n%3 != 0
			r.must(r.w.Leave(r.ctx, k.id), "leave")
		}
		r.same(len(s.mail()), 0, "mail: nothing has ended")
	}},
	{"a queued step that is woken is tried again at once", "one that waits for its next attempt, nobody's: visible now, its counts as they were, and its history tells; twice, of another attempt, held, due or gone: nothing happens", func(r *rig) {
		k := r.worker("greet")
		s := k.create("greet")
		s.queueTask("step_1")
		wake := func(attempt int) bool {
			r.Helper()
			done := r.deliver(wakesTask(s.run, "step_1", attempt))
			r.same(done.Run, s.run, "run")
			return !done.Duplicate
		}
		t := k.getTask()
		r.same(wake(1), false, "woken while it is held")
		r.deliver(k.retry(t, "MINE", world.Now().Add(time.Hour)))
		k.idle("it waits for its next attempt")
		r.same(wake(2), false, "woken as another attempt")
		k.idle("it waits still")
		r.unchangedLog(s.run, func() { r.same(wake(1), true, "woken") })
		r.same(wake(1), false, "woken twice")
		t = k.getTask()
		if t.Attempt != 2 || t.Failures != 1 || t.Abandoned != 0 {
			r.Fatalf("got %+v, want attempt 2, one failure", t)
		}
		r.same(historyOf(t), []string{"step_started 1", "step_retrying 1", "step_woken 1"}, "history")
		r.same(t.History[2].By, "ann", "who woke it")
		r.deliver(k.retry(t, "MINE", world.Now()))
		r.same(wake(2), false, "woken when it is due")
		t = k.getTask()
		events := append(slices.Clone(t.History), k.taskEnd(t, nil).Events...)
		end := k.taskEnd(t, json.RawMessage("1"))
		end.Events = events
		r.deliver(end)
		r.same(len(s.mail()), 1, "mail: its end")
		r.same(wake(3), false, "woken when it is over")
		s.end()
		_, err := r.w.Deliver(r.ctx, wakesTask(s.run, "step_1", 3))
		r.refused(err, world.ErrTerminal, "wake of a task of a run that is over")
		_, err = r.w.Deliver(r.ctx, wakesTask("wrun_none", "step_1", 1))
		r.refused(err, world.ErrNotFound, "wake of a task of a run that is unknown")
	}},
	{"a queued step that nobody has begun can be ended", "one that is nobody's and never was: its end is mail, and it is gone; held, begun before or gone: nothing happens", func(r *rig) {
		k := r.worker("greet")
		s := k.create("greet")
		for _, step := range []string{"step_1", "step_2"} {
			s.queueTask(step)
		}
		expire := func(step string) bool {
			r.Helper()
			done := r.deliver(expiresTask(s.run, step))
			r.same(done.Run, s.run, "run")
			return !done.Duplicate
		}
		t := k.getTask()
		r.same(expire(t.Step), false, "ended while it is held")
		r.deliver(k.retry(t, "MINE", world.Now().Add(time.Hour)))
		r.same(expire(t.Step), false, "ended between attempts")
		other := map[string]string{"step_1": "step_2", "step_2": "step_1"}[t.Step]
		r.same(len(s.mail()), 0, "mail: nothing has ended")
		r.same(expire(other), true, "ended")
		r.same(expire(other), false, "ended twice")
		r.same(expire("step_9"), false, "one that is not there")
		mail := s.mail()
		if len(mail) != 1 || len(mail[0].Events) != 1 || mail[0].Events[0].Type != world.StepFailed || mail[0].Events[0].ID != other {
			r.Fatalf("mail = %+v, want the step's end", mail)
		}
		k.idle("it is gone")
		bad := expiresTask(s.run, t.Step)
		bad.Worker = k.id
		_, err := r.w.Deliver(r.ctx, bad)
		r.refused(err, world.ErrInvalid, "the end of a step that has not begun, by a worker")
		s.end()
		_, err = r.w.Deliver(r.ctx, expiresTask(s.run, t.Step))
		r.refused(err, world.ErrTerminal, "the same of a run that is over")
		_, err = r.w.Deliver(r.ctx, expiresTask("wrun_nobody", t.Step))
		r.refused(err, world.ErrNotFound, "the same of an unknown run")
	}},
	{"a wake of a step in place is mail", "a step_woken goes to the inbox, and makes the run runnable; the same again is known", func(r *rig) {
		k := r.worker("greet")
		s := k.create("greet")
		s.append(
			world.Event{Type: world.StepCreated, ID: "step_1", Kind: world.KindClosure, Name: "charge", Time: world.Now()},
			world.Event{Type: world.StepStarted, ID: "step_1", Attempt: 1, Time: world.Now()},
			world.Event{Type: world.StepRetrying, ID: "step_1", Attempt: 1, Time: world.Now(), RetryAt: world.Now().Add(time.Hour), Error: &world.Error{Message: "503"}})
		s.release(world.Release{WakeAt: world.Now().Add(time.Hour)})
		k.idle("it waits for its next attempt")
		d := &world.Delivery{Run: s.run, ID: "wake:step_1:1", Events: []world.Event{{Type: world.StepWoken, ID: "step_1", Attempt: 1, By: "ann"}}}
		r.deliver(d)
		r.again(d, "the same wake")
		again, got := k.get(s.run)
		r.same(mailTypes(got.Mail), []world.EventType{world.StepWoken}, "mail")
		again.claimMail(1, nil)
		last := r.events(s.run)
		e := last[len(last)-1]
		if e.Type != world.StepWoken || e.ID != "step_1" || e.Attempt != 1 || e.By != "ann" || e.Delivery != "wake:step_1:1" {
			r.Fatalf("got %+v, want the wake in the log", e)
		}
		_, err := r.w.Deliver(r.ctx, &world.Delivery{Run: s.run, Events: []world.Event{{Type: world.StepWoken, ID: "step_1"}}})
		r.refused(err, world.ErrInvalid, "a wake that does not name the attempt")
	}},
	{"an older attempt is given up late", "a step_retrying with ABANDONED about one of the last ten attempts whose end is not known is kept and counted, and nothing else happens", func(r *rig) {
		s := r.worker("greet").create("greet")
		s.queueTask("step_1")
		const lost = keptAttempts + 3
		reports := map[int]*world.Delivery{}
		for n := range lost {
			k := r.worker()
			t := k.getTask()
			reports[n+1] = k.retry(t, world.CodeAbandoned, world.Now().Add(time.Hour))
			r.must(r.w.Leave(r.ctx, k.id), "leave")
		}
		holder := r.worker()
		t := holder.getTask()
		key := world.TaskKey{Run: t.Run, Step: t.Step, Attempt: t.Attempt}
		refuse := func(attempt int, why string) {
			r.Helper()
			_, err := r.w.Deliver(r.ctx, reports[attempt])
			r.refused(err, world.ErrLeaseLost, why)
		}
		r.deliver(reports[lost-1])
		refuse(lost-1, "the same again")
		r.deliver(reports[lost])
		refuse(1, "an attempt that is forgotten")
		future := *reports[lost]
		future.Task = &world.TaskKey{Run: t.Run, Step: t.Step, Attempt: t.Attempt + 1}
		future.Events = slices.Clone(future.Events)
		future.Events[0].Attempt = t.Attempt + 1
		_, err := r.w.Deliver(r.ctx, &future)
		r.refused(err, world.ErrLeaseLost, "an attempt that nobody has begun")
		own := *reports[lost-2]
		own.Events = slices.Clone(own.Events)
		own.Events[0].Error = &world.Error{Message: "late", Code: "MINE"}
		_, err = r.w.Deliver(r.ctx, &own)
		r.refused(err, world.ErrLeaseLost, "an error of its own, late")

		r.same(holder.heartbeat(key).Ended, []world.TaskKey(nil), "ended tasks of who holds it")
		holder.idle("the task is held")
		r.same(len(s.mail()), 0, "mail")
		r.deliver(holder.retry(t, "MINE", world.Now().Add(-time.Second)))
		next := holder.getTask()
		if next.Abandoned != 2 || next.Failures != 1 || next.Attempt != t.Attempt+1 {
			r.Fatalf("got %+v, want attempt %d, 2 abandoned, 1 failure", next, t.Attempt+1)
		}
		r.wholeAttempts(next, map[int]bool{lost - 1: true, lost: true, t.Attempt: true})
	}},
	{"an attempt that nobody has followed yet is given up late", "its worker had lost its lease: counted, and the task stays as it is, for the next one", func(r *rig) {
		s := r.worker("greet").create("greet")
		s.queueTask("step_1")
		k := r.worker()
		t := k.getTask()
		r.must(r.w.Leave(r.ctx, k.id), "leave")
		r.deliver(k.retry(t, world.CodeAbandoned, world.Now().Add(time.Hour))) // its time is not heeded
		next := s.getTask()
		if next.Abandoned != 1 || next.Attempt != 2 || next.Failures != 0 {
			r.Fatalf("got %+v, want attempt 2, 1 abandoned", next)
		}
		r.wholeAttempts(next, map[int]bool{1: true})
	}},
	{"a task that is created held is an attempt", "its start is durable from its birth: it is in the history of the next one", func(r *rig) {
		k := r.worker("greet")
		s := k.create("greet")
		c := s.next(stepCreated("step_1", world.KindTask))
		c.Tasks = []world.Task{{Step: "step_1", Name: "task", Priority: 1, Worker: k.id}}
		s.write(c)
		r.must(r.w.Leave(r.ctx, k.id), "leave")
		t := r.worker().getTask()
		if t.Attempt != 2 || t.First.IsZero() || t.Workflow != "greet" {
			r.Fatalf("got %+v, want attempt 2 of workflow greet, with its first start", t)
		}
		r.wholeAttempts(t, map[int]bool{1: false})
	}},
	{"the events of a task's end are one piece of mail", "all its attempts that are not in the log, in order; the fold takes them", func(r *rig) {
		k := r.worker("greet")
		s := k.create("greet")
		s.queueTask("step_1")
		r.deliver(k.retry(k.getTask(), "", world.Now().Add(-time.Second)))
		t := k.getTask()
		d := k.taskEnd(t, jsonText(`1`))
		d.ID = "end"
		r.deliver(d)
		mail := s.mail()
		r.same(len(mail), 1, "mail")
		r.same(mail[0].ID, "end", "delivery ID")
		s.append(mail[0].Events...)
		state := &world.State{ID: s.run}
		for _, e := range r.events(s.run) {
			_, err := state.Apply(&e, time.Time{})
			r.must(err, "fold")
		}
		r.same(state.Over("step_1"), true, "the step is over")
	}},
	{"tasks can be seen", "Tasks lists the tasks of a run, oldest first: who holds each, since which attempt, its history with the attempt that runs", func(r *rig) {
		list := func(run string) []world.Task {
			r.Helper()
			tasks, err := r.w.Tasks(r.ctx, run)
			r.must(err, "tasks")
			return tasks
		}
		k := r.worker("greet")
		s := k.create("greet")
		at := world.Now().Add(time.Hour)
		s.queueTask("step_1")
		first := k.getTask()
		s.queueTask("step_2")
		second := k.getTask()
		r.deliver(k.retry(second, "", at))
		s.queueTask("step_3")
		got := list(s.run)
		r.same(len(got), 3, "tasks")
		for i, t := range got {
			if t.Step != fmt.Sprint("step_", i+1) || t.Run != s.run || t.Name != "task" || len(t.Input)+len(t.Options) > 0 {
				r.Fatalf("task %d is %+v, want step_%d without input and options", i, t, i+1)
			}
		}
		if t := got[0]; t.Worker != k.id || t.Attempt != first.Attempt || len(t.History) != 1 || t.History[0].Type != world.StepStarted {
			r.Fatalf("got %+v, want a task that %s holds as attempt 1", t, k.id)
		}
		if t := got[1]; t.Worker != "" || t.Attempt != 1 || len(t.History) != 2 || !t.Visible.Equal(at) || t.Failures != 1 {
			r.Fatalf("got %+v, want a task that is visible again at %s", t, at)
		}
		if t := got[2]; t.Worker != "" || t.Attempt != 0 || len(t.History) != 0 {
			r.Fatalf("got %+v, want a task that nobody has begun", t)
		}
		r.same(len(list("wrun_nobody")), 0, "tasks of an unknown run")
		s.end()
		r.same(len(list(s.run)), 0, "tasks of a run that is over")
	}},
}

// wholeAttempts ends the check unless the history of a task has its last attempts, each with its start and, if that is known, its end.
func (r *rig) wholeAttempts(t world.Task, ended map[int]bool) {
	r.Helper()
	starts, ends := map[int]int{}, map[int]int{}
	for _, e := range t.History {
		switch e.Type {
		case world.StepStarted:
			starts[e.Attempt]++
		case world.StepRetrying:
			ends[e.Attempt]++
		default:
			r.Fatalf("attempt %d: history has %+v", t.Attempt, e)
		}
	}
	from := max(1, t.Attempt-keptAttempts)
	r.same(len(starts), t.Attempt-from, fmt.Sprint("attempts in the history of attempt ", t.Attempt))
	for n := range ends {
		r.same(starts[n], 1, fmt.Sprint("starts of attempt ", n, ", whose end is known"))
	}
	for n := from; n < t.Attempt; n++ {
		want := 0
		if ended[n] {
			want = 1
		}
		r.same([2]int{starts[n], ends[n]}, [2]int{1, want}, fmt.Sprint("start and end of attempt ", n, " in the history of attempt ", t.Attempt))
	}
}

// wakesTask is the wake of a queued step.
func wakesTask(run, step string, attempt int) *world.Delivery {
	return &world.Delivery{
		Task:   &world.TaskKey{Run: run, Step: step, Attempt: attempt},
		Events: []world.Event{{Type: world.StepWoken, ID: step, Attempt: attempt, By: "ann", Time: world.Now()}},
	}
}

// expiresTask is the end of a queued step that nobody has begun.
func expiresTask(run, step string) *world.Delivery {
	return &world.Delivery{
		Task:   &world.TaskKey{Run: run, Step: step},
		Events: []world.Event{{Type: world.StepFailed, ID: step, Error: &world.Error{Message: "nobody came", Code: world.CodeNotStarted}}},
	}
}

func historyOf(t world.Task) (is []string) {
	for _, e := range t.History {
		is = append(is, fmt.Sprint(e.Type, " ", e.Attempt))
	}
	return is
}
