// Whole commits: everything that a commit brings is there, or none of it; and what is checked first decides the answer.

package worldtest

import (
	"fmt"
	"time"

	"github.com/stepwell/stepwell/world"
)

var whole = []check{
	{"a commit with all its parts is written or not", "events, mail, tasks, births, tokens, what it sends, its release: all or nothing", func(r *rig) {
		k := r.worker("greet", "child")
		s, other := k.create("greet"), k.create("greet")
		s.queueTask("step_held")
		s.queueTask("step_dropped")
		r.deliver(signal(s.run, "d1", "a"))
		held := world.TaskKey{Run: s.run, Step: "step_held", Attempt: 1}
		for range 2 {
			k.getTask()
		}
		c := s.childCommit("step_child")
		task := stepCreated("step_task", world.KindTask)
		task.Queued = true
		c.Events = append(c.Events, hookCreated("hook_1", "t1"), task, world.Event{Type: world.StepCompleted, ID: "step_held", Attempt: 1})
		for i := range c.Events {
			c.Events[i].Time = c.Events[0].Time
		}
		c.Tasks = []world.Task{{Step: "step_task", Name: "task", Priority: 1}}
		c.Mail = rows(s.mail())
		c.Send = []world.Delivery{*signal(other.run, "", "hello")}
		c.Dropped = []world.TaskKey{{Run: s.run, Step: "step_dropped", Attempt: 1}}
		c.Release = &world.Release{WakeAt: world.Now().Add(time.Hour)}

		refused := *c
		refused.ID, refused.Held = commitID(), []world.TaskKey{held, {Run: s.run, Step: "step_held", Attempt: 2}}
		r.unchanged(s.run, func() { r.refusedCommit(&refused, world.ErrLeaseLost, "a commit that names a task which is not held") })
		r.absent(c.Births[0].Run)
		r.same(len(other.mail()), 0, "what it would have sent")
		k.idle("no task and no child of it is there")
		r.same(k.heartbeat(held, c.Dropped[0]).Ended, []world.TaskKey(nil), "ended tasks")
		r.same(len(s.mail()), 1, "its own mail")

		c.Held = []world.TaskKey{held}
		s.write(c)
		r.same(len(r.events(s.run)), 8, "events")
		r.same(r.run(c.Births[0].Run).Status, world.Pending, "status of the child")
		r.same(len(other.mail()), 1, "what it sent")
		r.same(k.heartbeat(held, c.Dropped[0]).Ended, []world.TaskKey{held, c.Dropped[0]}, "ended tasks")
		r.same(k.getTask().Step, "step_task", "the new task")
		r.same(r.run(s.run).Queue.Owner, "", "owner")
		r.same(r.run(s.run).Queue.Mail, 0, "mail")
		r.same(other.claim("hook_1", "t1").Type, world.HookConflict, "claim of its token")
	}},
	{"an end with all its parts is one commit", "what the last commit sends arrives, what it took and what hung on the run is gone", func(r *rig) {
		k := r.worker("greet", "child")
		s := k.create("greet")
		child := s.childCommit("step_1")
		s.write(child)
		s.queueTask("step_2")
		r.deliver(signal(s.run, "", "a"))
		c := s.next(signalEvent("a"), world.Event{Type: world.RunCompleted, Payload: jsonText(`1`)})
		c.Mail = rows(s.mail())
		c.Send = []world.Delivery{*cancel(child.Births[0].Run, "cancel/"+s.run)}
		s.write(c)
		r.same(mailTypes(k.claim(1, 1).Runs[0].Mail), []world.EventType{world.CancelRequested}, "mail of the child")
		k.idle("the task is gone")
	}},
	{"the first check decides: births", "a taken ID, then a known key, then a worker that is not alive", func(r *rig) {
		id, other := r.createRun("greet", withKey("k1")), r.createRun("greet")
		for what, c := range map[string]struct {
			run, key string
			err      error
			existing string
		}{
			"ID and key of one run, dead worker":   {id, "k1", nil, id},
			"another's ID, known key, dead worker": {other, "k1", world.ErrRunExists, ""},
			"taken ID, free key, dead worker":      {id, "k2", world.ErrRunExists, ""},
			"free ID, known key, dead worker":      {newRun(), "k1", nil, id},
			"free ID, free key, dead worker":       {newRun(), "k2", world.ErrLeaseLost, ""},
		} {
			b := birth("greet", withKey(c.key))
			b.Run, b.Worker, b.Claim = c.run, "wrkr_nobody", 1
			done, err := r.w.Commit(r.ctx, b)
			if c.err != nil {
				r.refused(err, c.err, what)
				continue
			}
			r.must(err, what)
			r.same(done.Existing, c.existing, what)
			if c.run != id {
				r.absent(c.run)
			}
		}
	}},
	{"the first check decides: turns", "who writes, then the number, then tasks that are held, then tokens and children", func(r *rig) {
		k := r.worker("greet")
		s := k.create("greet")
		s.append(hookCreated("hook_1", "t1"))
		claimed := func(change func(c *world.Commit)) *world.Commit {
			c := s.next(hookCreated("hook_2", "t1"))
			c.Held = []world.TaskKey{{Run: s.run, Step: "step_none", Attempt: 1}}
			change(c)
			return c
		}
		r.unchanged(s.run, func() {
			for what, c := range map[string]struct {
				commit *world.Commit
				err    error
			}{
				"nobody, behind a gap":                   {claimed(func(c *world.Commit) { c.Worker = "wrkr_nobody"; c.First += 5 }), world.ErrLeaseLost},
				"another claim, behind a gap":            {claimed(func(c *world.Commit) { c.Claim++; c.First += 5 }), world.ErrLeaseLost},
				"an unknown run":                         {claimed(func(c *world.Commit) { c.Run, c.First, c.Held = newRun(), 9, nil }), world.ErrLeaseLost},
				"a number that is written":               {claimed(func(c *world.Commit) { c.First-- }), world.ErrLeaseLost},
				"a gap, a task not held":                 {claimed(func(c *world.Commit) { c.First++ }), world.ErrInvalid},
				"a task not held, a taken token":         {claimed(func(c *world.Commit) {}), world.ErrLeaseLost},
				"a taken token":                          {claimed(func(c *world.Commit) { c.Held = nil }), world.ErrConflict},
				"a release of nothing, by another claim": {claimed(func(c *world.Commit) { c.Events, c.Claim, c.Release = nil, 7, &world.Release{} }), world.ErrLeaseLost},
			} {
				r.refusedCommit(c.commit, c.err, what)
			}
		})
	}},
	{"a birth may bring a history", "a fork is created with the events of its source: status, attributes, version and hooks are as they say, and it is due", func(r *rig) {
		c := birth("greet")
		now := c.Events[0].Time
		c.Events = append(c.Events,
			world.Event{Type: world.RunStarted, Version: 4, Time: now},
			world.Event{Type: world.AttrSet, ID: "attr_1", Name: "tenant", Payload: jsonText(`"t1"`), Time: now},
			stepCreated("step_1", world.KindClosure), world.Event{Type: world.StepCompleted, ID: "step_1", Attempt: 1, Time: now},
			hookCreated("hook_1", "t1"))
		for i := range c.Events {
			c.Events[i].Time = now
		}
		r.commit(c)
		row := r.run(c.Run)
		r.same(row.Status, world.Running, "status")
		r.same(row.Attributes, map[string]jsonText{"tenant": jsonText(`"t1"`)}, "attributes")
		r.same(r.deliver(&world.Delivery{Token: "t1", Events: []world.Event{{Type: world.HookReceived}}}).Run, c.Run, "the hook's run")
		k := r.worker()
		k.classes = []world.Class{{Workflow: "greet", Version: 4}}
		_, got := k.get(c.Run)
		if got.Claim != 1 || got.Seq != 6 || len(got.Mail) != 1 {
			r.Fatalf("got %+v, want take 1 at event 6, with a payload", got)
		}
	}},
	{"a birth can ask for what others hold", "conditions of a birth are settled as those of a turn: a token, an await", func(r *rig) {
		k := r.worker("greet")
		holder := k.create("greet")
		holder.claim("hook_1", "t1")
		for what, worker := range map[string]string{"by a client": "", "by a worker": k.id} {
			c := birth("greet")
			await := stepCreated("step_1", world.KindAwait)
			await.Peer = "wrun_nobody"
			c.Events = append(c.Events, world.Event{Type: world.RunStarted}, hookCreated("hook_1", "t1"), await)
			for i := range c.Events {
				c.Events[i].Time = c.Events[0].Time
			}
			c.Conditions = []world.Condition{{Event: 2}, {Event: 3}}
			if c.Worker = worker; worker != "" {
				c.Claim = 1
			}
			r.same(len(r.commit(c).Events), 5, "events as told, "+what)
			r.same(r.types(c.Run), []world.EventType{world.RunCreated, world.RunStarted, world.HookConflict, world.StepCreated, world.StepFailed}, "events, "+what)
		}
	}},
	{"a child's key is a child's ID", "a child whose idempotency key is taken, by a run or by a sibling, is left out and its step fails with RUN_EXISTS", func(r *rig) {
		k := r.worker("greet", "child")
		s := k.create("greet")
		r.createRun("child", withKey("k1"))
		c := s.childCommit("step_1", withKey("k1"))
		r.refusedCommit(&world.Commit{ID: commitID(), Run: c.Run, Worker: c.Worker, Claim: c.Claim, First: c.First, Events: c.Events, Births: c.Births}, world.ErrRunExists, "without a condition")
		for i, key := range []string{"k2", "k2", "k3"} {
			more := s.childCommit(fmt.Sprint("step_", i+2), withKey(key))
			c.Events, c.Births = append(c.Events, more.Events...), append(c.Births, more.Births...)
			c.Conditions = append(c.Conditions, world.Condition{Event: i + 1, Birth: i + 1})
		}
		for i := range c.Events {
			c.Events[i].Time = c.Events[len(c.Events)-1].Time
		}
		done := s.write(c)
		var failed []string
		for _, e := range done.Events[4:] {
			if e.Type != world.StepFailed || e.Error == nil || e.Error.Code != world.CodeRunExists {
				r.Fatalf("got %+v, want step_failed with RUN_EXISTS", e)
			}
			failed = append(failed, e.ID)
		}
		r.same(failed, []string{"step_1", "step_3"}, "steps that failed")
		for i, b := range c.Births {
			if i%2 == 0 {
				r.absent(b.Run)
			} else {
				r.run(b.Run)
			}
		}
	}},
}
