// Limits of tasks: each attempt of a queued step needs its places, and gives them back.

package worldtest

import (
	"slices"
	"strings"
	"time"

	"github.com/stepwell/stepwell/world"
)

// queue creates steps with open tasks that need places, in one commit.
func (l *limiting) queue(s *session, needs func(*world.Birth), steps ...string) {
	l.Helper()
	l.queueAs("task", s, needs, steps...)
}

// queueAs is queue for a step of another name than the one that workers have.
func (l *limiting) queueAs(name string, s *session, needs func(*world.Birth), steps ...string) {
	l.Helper()
	var b world.Birth
	needs(&b)
	c := s.next()
	for _, step := range steps {
		e := stepCreated(step, world.KindTask)
		e.Queued, e.Places = true, b.Places
		c.Events = append(c.Events, e)
		c.Tasks = append(c.Tasks, world.Task{Run: s.run, Step: step, Name: name, Workflow: "greet", Input: []byte(`{"in":1}`), Priority: 1, Places: b.Places})
	}
	s.write(c)
}

// tasksOf ends the check unless the worker is given tasks of these steps, in whatever order, and no others.
func (l *limiting) tasksOf(k *worker, why string, want ...string) []world.Task {
	l.Helper()
	var got []world.Task
	steps := func() string {
		var all []string
		for i := range got {
			all = append(all, got[i].Step)
		}
		return l.sorted(all)
	}
	l.until(why+": of "+steps()+" come "+strings.Join(want, " "), func() bool {
		got = append(got, k.claim(0, 100).Tasks...)
		return len(got) >= len(want)
	})
	got = append(got, k.claim(0, 100).Tasks...)
	if steps() != l.sorted(want) {
		l.Fatalf("%s: got tasks of %s, want %s", why, steps(), l.sorted(want))
	}
	slices.SortFunc(got, func(a, b world.Task) int { return slices.Index(want, a.Step) - slices.Index(want, b.Step) })
	return got
}

// over ends an attempt well.
func (l *limiting) done(k *worker, t world.Task) {
	l.Helper()
	l.deliver(k.taskEnd(t, []byte(`1`)))
}

var limitsOfTasks = []check{
	{"never more tasks than the limit", "so many attempts of a key run as it has places, of whichever runs; the next comes when one ends", withLimits(func(l *limiting) {
		k := l.worker("greet")
		a, b := k.create("greet"), k.create("greet")
		l.queue(a, under("bank:2"), "step_a", "step_b")
		l.queue(b, under("bank:2"), "step_c", "step_d")
		got := l.tasksOf(k, "two at once", "step_a", "step_b")
		l.stands("bank", "", 2, 2)
		events := l.events(a.run)
		created := slices.IndexFunc(events, func(e world.Event) bool { return e.Type == world.StepCreated })
		l.same(events[created].Places, []world.Place{{Limit: "bank", Number: 2}}, "places in the log")
		l.done(k, got[0])
		third := l.tasksOf(k, "one ended", "step_c")
		l.done(k, got[1])
		l.done(k, third[0])
		l.done(k, l.tasksOf(k, "two ended", "step_d")[0])
		l.stands("bank", "", 0, 0)
	})},
	{"runs and tasks stand in one line", "a limit that both name is one, and who came first is served first", withLimits(func(l *limiting) {
		k := l.worker("greet")
		s := k.create("greet")
		first := l.createRun("greet", under("bank/a:1"), withPriority(1))
		of := l.gets(k, "one place", first)[0]
		l.queue(s, under("bank/a:1"), "step_a")
		second := l.createRun("greet", under("bank/a:1"), withPriority(1))
		l.stands("bank", "a", 1, 2)
		in, err := l.l.InLine(l.ctx, s.run, "step_a")
		l.must(err, "place in line")
		if in == nil || in.Before != 0 || in.Limit != "bank" || in.Key != "a" || in.Number != 1 {
			l.Fatalf("the task stands at %+v, want it first in line for bank, key a, of 1", in)
		}
		if in, err = l.l.InLine(l.ctx, second, ""); err != nil || in == nil || in.Before != 1 {
			l.Fatalf("the run stands at %+v, %v, want it behind the task", in, err)
		}
		if in, err = l.l.InLine(l.ctx, s.run, "step_z"); err != nil || in != nil {
			l.Fatalf("a step without a task stands at %+v, %v, want nowhere", in, err)
		}
		of.end()
		task := l.tasksOf(k, "the task came first", "step_a")[0]
		k.idle("there is one place")
		l.done(k, task)
		l.gets(k, "the run comes", second)[0].end()
	})},
	{"an attempt gives its places back", "a retry holds nothing while it waits, and stands before what was asked for later", withLimits(func(l *limiting) {
		k := l.worker("greet")
		s := k.create("greet")
		l.queue(s, under("bank:1"), "step_a")
		l.queue(s, under("bank:1"), "step_b")
		l.queue(s, under("bank:1"), "step_c")
		task := l.tasksOf(k, "the first", "step_a")[0]
		at := world.Now().Add(time.Second)
		l.deliver(k.retry(task, "", at))
		second := l.tasksOf(k, "the first waits for its retry", "step_b")[0]
		k.later(at)
		k.idle("its time has come, and the place is another's")
		l.done(k, second)
		task = l.tasksOf(k, "it was asked for first", "step_a")[0]
		l.same(task.Attempt, 2, "attempt")
		l.done(k, task)
		l.done(k, l.tasksOf(k, "the last", "step_c")[0])
		l.stands("bank", "", 0, 0)
	})},
	{"a place outlives the worker of a task", "a task whose worker died keeps its place, and the next worker goes on with it", withLimits(func(l *limiting) {
		k := l.worker("greet")
		s := k.create("greet")
		dead := l.mortal(workingLease, "greet")
		l.queue(s, under("bank:1"), "step_a", "step_b")
		l.tasksOf(dead, "one place", "step_a")
		var again []world.Task
		l.until("the task of the dead comes", func() bool { again = append(again, k.claim(0, 100).Tasks...); return len(again) > 0 })
		l.same([]any{len(again), again[0].Step, again[0].Attempt}, []any{1, "step_a", 2}, "tasks of the dead")
		k.idle("it has the place")
		l.stands("bank", "", 1, 1)
		l.done(k, again[0])
		l.done(k, l.tasksOf(k, "its place is free", "step_b")[0])
	})},
	{"who is dropped leaves his line and his place", "dropped by the run, ended as nobody began it, and by the end of the run, however it comes", withLimits(func(l *limiting) {
		k := l.worker("greet")
		other := k.create("greet")
		for what, stop := range map[string]func(s *session, key world.TaskKey){
			"dropped": func(s *session, key world.TaskKey) {
				c := s.next(world.Event{Type: world.StepFailed, ID: key.Step, Error: &world.Error{Message: "no"}})
				c.Dropped = []world.TaskKey{key}
				s.write(c)
			},
			"ended":    func(s *session, _ world.TaskKey) { s.end() },
			"by force": func(s *session, _ world.TaskKey) { l.deliver(act(s.run, "", world.RunCancelled)) },
		} {
			bank := under("bank/" + what + ":1")
			inPlace, inLine := k.create("greet"), k.create("greet")
			l.queue(inPlace, bank, "step_a")
			l.tasksOf(k, what+": one place", "step_a")
			l.queue(inLine, bank, "step_b")
			l.queue(other, bank, "step_"+strings.ReplaceAll(what, " ", "_"))
			l.stands("bank", what, 1, 2)
			stop(inLine, world.TaskKey{Run: inLine.run, Step: "step_b"})
			stop(inPlace, world.TaskKey{Run: inPlace.run, Step: "step_a"})
			l.done(k, l.tasksOf(k, what+": the next", "step_"+strings.ReplaceAll(what, " ", "_"))[0])
			l.stands("bank", what, 0, 0)
		}
	})},
	{"each attempt pays", "a rate counts attempts, also that behind a death, and who pays gives nothing back", withLimits(func(l *limiting) {
		const gap = 300 * time.Millisecond
		k := l.worker("greet")
		s := k.create("greet")
		l.queue(s, paced("bank", 1, gap), "step_a", "step_b")
		var began []time.Time
		next := func(k *worker) (t world.Task) {
			l.until("an attempt", func() bool {
				c := k.claim(0, 1)
				if len(c.Tasks) == 0 {
					return false
				}
				began, t = append(began, c.Now), c.Tasks[0]
				return true
			})
			return t
		}
		first := next(k)
		l.deliver(k.retry(first, "", world.Now()))
		for len(began) < 3 {
			l.done(k, next(k))
		}
		if span := began[2].Sub(began[0]); span < 2*gap-250*time.Millisecond-50*time.Millisecond {
			l.Fatalf("three attempts began within %s, want two gaps of %s, less a quarter of a second", span, gap)
		}
		l.stands("bank", "", 0, 0)
	})},
	{"several places of a task", "they are taken in order; who waits for one holds those before it", withLimits(func(l *limiting) {
		k := l.worker("greet")
		s := k.create("greet")
		l.queue(s, under("all:1"), "step_a")
		wide := l.tasksOf(k, "the wide one", "step_a")[0]
		l.queue(s, under("customer/ann:1", "all:1"), "step_b")
		l.queue(s, under("customer/ann:1", "all:1"), "step_c")
		k.idle("all are held")
		l.stands("customer", "ann", 1, 1)
		l.stands("all", "", 1, 1)
		l.done(k, wide)
		l.done(k, l.tasksOf(k, "it waited for the wide one", "step_b")[0])
		l.done(k, l.tasksOf(k, "the last", "step_c")[0])
	})},
	{"a task in line is claimed by nobody", "not by name, and who ends its delay changes nothing; no list has it as ready", withLimits(func(l *limiting) {
		k := l.worker("greet")
		s := k.create("greet")
		wake := func() bool {
			l.Helper()
			return l.deliver(&world.Delivery{
				Run: s.run, Task: &world.TaskKey{Run: s.run, Step: "step_b", Attempt: 1},
				Events: []world.Event{{Type: world.StepWoken, ID: "step_b", Attempt: 1, By: "ann", Time: world.Now()}},
			}).Duplicate
		}
		l.queue(s, under("bank:1"), "step_b")
		l.deliver(k.retry(l.tasksOf(k, "one place", "step_b")[0], "", world.Now().Add(time.Hour)))
		l.queue(s, under("bank:1"), "step_a")
		first := l.tasksOf(k, "the other waits for its retry", "step_a")[0]
		l.same(wake(), false, "a wake of who waits is one that was made")
		l.until("it stands in line", func() bool {
			k.idle("its time has come, and it has no place")
			in, err := l.l.InLine(l.ctx, s.run, "step_b")
			l.must(err, "place in line")
			return in != nil
		})
		l.stands("bank", "", 1, 1)
		l.same(wake(), true, "a wake of who stands in line was made")
		got, err := l.w.Claim(l.ctx, world.ClaimQuery{Worker: k.id, Steps: k.steps, Tasks: 1, Run: s.run, Step: "step_b"})
		l.must(err, "claim by name")
		l.same(len(got.Tasks), 0, "tasks by name")
		k.idle("it stands in line")
		ready, err := l.w.Ready(l.ctx, world.ReadyQuery{Steps: k.steps})
		l.must(err, "ready")
		l.same(len(ready.Items), 0, "what is ready")
		shown, err := l.w.Tasks(l.ctx, s.run)
		l.must(err, "tasks")
		if len(shown) != 2 || time.Since(shown[0].Visible).Abs() > time.Hour {
			l.Fatalf("tasks are %+v, want two, the first visible since it was asked for", shown)
		}
		l.done(k, first)
		l.done(k, l.tasksOf(k, "the place is free", "step_b")[0])
	})},
	{"a step that no worker has keeps no place", "its tasks give back what they hold after a while, and leave their lines; who has it later has them stand in line again", withLimits(func(l *limiting) {
		if l.over {
			l.Log("another world looks after that")
			return
		}
		starts := l.w.Starts()
		k := l.worker("greet")
		s := k.create("greet")
		l.queueAs("lost", s, under("bank:1"), "step_a")
		l.queueAs("lost", s, under("customer/ann:1", "bank:1"), "step_b")
		l.until("who has no worker is let in", func() bool {
			k.idle("nobody has the step")
			in, err := l.l.InLine(l.ctx, s.run, "step_b")
			l.must(err, "place in line")
			return in != nil && in.Limit == "bank"
		})
		l.queue(s, under("bank:1"), "step_c", "step_d")
		next, err := starts.Settle(l.ctx)
		l.must(err, "settle")
		if next <= 0 || next > world.NeglectAfter {
			l.Fatalf("it is looked at again in %s, want within %s", next, world.NeglectAfter)
		}
		k.idle("a worker may come back")
		l.stands("bank", "", 1, 3)
		var got []world.Task
		l.until("the place is given back", func() bool {
			_, err := starts.Settle(l.ctx)
			l.must(err, "settle")
			got = append(got, k.claim(0, 100).Tasks...)
			return len(got) > 0
		})
		l.same([]any{len(got), got[0].Step}, []any{1, "step_c"}, "tasks")
		l.stands("bank", "", 1, 1)
		l.stands("customer", "ann", 0, 0)
		back := &worker{rig: l.rig, id: world.NewID(world.PrefixWorker, world.Now()), steps: []string{"lost"}}
		_, err = l.w.Join(l.ctx, world.Worker{ID: back.id, Name: "host:2", Build: "b1", Steps: back.steps, Lease: longLease})
		l.must(err, "join")
		l.until("they stand in line again", func() bool {
			back.idle("another has the place")
			in, err := l.l.InLine(l.ctx, s.run, "step_b")
			l.must(err, "place in line")
			return in != nil && in.Limit == "bank"
		})
		l.stands("bank", "", 1, 3)
		l.stands("customer", "ann", 1, 0)
		l.done(k, got[0])
		l.done(back, l.tasksOf(back, "it was asked for first", "step_a")[0])
		last := l.tasksOf(k, "who came to the line of the bank last is last", "step_d")[0]
		l.done(k, last)
		l.done(back, l.tasksOf(back, "the last", "step_b")[0])
		l.stands("bank", "", 0, 0)
		l.stands("customer", "ann", 0, 0)
	})},
	{"what steps say is noted as workers join", "the number of a limit, and its kind, for ever", withLimits(func(l *limiting) {
		join := func(said world.SaidLimit) error {
			_, err := l.w.Join(l.ctx, world.Worker{ID: world.NewID(world.PrefixWorker, time.Now()), Steps: []string{"task"}, Lease: longLease, StepLimits: []world.SaidLimit{said}})
			return err
		}
		l.must(join(world.SaidLimit{Name: "bank", Number: 2}), "join")
		l.must(join(world.SaidLimit{Name: "bank", Number: 3}), "join")
		all, err := l.l.ListLimits(l.ctx)
		l.must(err, "limits")
		l.same(all, []world.Limit{{Name: "bank", Said: 3, Steps: true}}, "limits")
		l.refused(join(world.SaidLimit{Name: "bank", Number: 3, Per: time.Minute}), world.ErrInvalid, "another kind")
		l.refused(join(world.SaidLimit{Name: "end", Number: 3, UntilEnd: true}), world.ErrInvalid, "until the end")
	})},
	{"places that no task has are refused", "as those of a task that is held at once, or those that are kept until an end", withLimits(func(l *limiting) {
		k := l.worker("greet")
		s := k.create("greet")
		for what, change := range map[string]func(t *world.Task){
			"held at once":  func(t *world.Task) { t.Worker = k.id },
			"until the end": func(t *world.Task) { t.Places[0].UntilEnd = true },
			"refused":       func(t *world.Task) { t.Places[0].Per, t.Places[0].Refuse = time.Minute, true },
			"without a key": func(t *world.Task) { t.Places[0].Limit = "" },
		} {
			e := stepCreated("step_a", world.KindTask)
			e.Queued = true
			c := s.next(e)
			c.Tasks = []world.Task{{Run: s.run, Step: "step_a", Name: "task", Places: []world.Place{{Limit: "bank", Number: 1}}}}
			change(&c.Tasks[0])
			_, err := l.w.Commit(l.ctx, c)
			l.refused(err, world.ErrInvalid, what)
		}
		l.queue(s, under("bank:1"), "step_a")
		c := s.next(stepCreated("step_b", world.KindTask))
		c.Tasks = []world.Task{{Run: s.run, Step: "step_b", Name: "task", Places: []world.Place{{Limit: "bank", Number: 1, Per: time.Minute}}}}
		_, err := l.w.Commit(l.ctx, c)
		l.refused(err, world.ErrInvalid, "a limit of another kind")
	})},
}
