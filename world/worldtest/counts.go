// Counts: what Stats says of a workflow after each thing that can happen to a run.

package worldtest

import (
	"time"

	"github.com/stepwell/stepwell/world"
)

// counts are those of one workflow.
func (r *rig) counts(workflow string) world.WorkflowStats {
	r.Helper()
	st, err := r.w.Stats(r.ctx)
	r.must(err, "stats")
	for _, w := range st.Workflows {
		if w.Workflow == workflow {
			return w
		}
	}
	return world.WorkflowStats{Workflow: workflow}
}

var counts = []check{
	{"counts follow every transition", "Stats counts runs by status, and the blocked and paused among those that are not over, whatever has just happened", func(r *rig) {
		k := r.worker("w")
		far := world.Now().Add(time.Hour)
		block := &world.Block{Code: world.CodePanic, Message: "no", Since: world.Now()}
		var id string
		var s *session
		claim := func() { s, _ = k.get(id) }
		for _, step := range []struct {
			what string
			do   func()
			want world.WorkflowStats
		}{
			{"a birth", func() { id = r.createRun("w", withRetention(time.Millisecond)) }, world.WorkflowStats{Pending: 1}},
			{"a pause while it is pending", func() { r.act(id, pause) }, world.WorkflowStats{Pending: 1, Paused: 1}},
			{"a second pause", func() { r.act(id, pause) }, world.WorkflowStats{Pending: 1, Paused: 1}},
			{"a resume", func() { r.act(id, resume) }, world.WorkflowStats{Pending: 1}},
			{"a claim", claim, world.WorkflowStats{Pending: 1}},
			{"a start", func() { s.append(world.Event{Type: world.RunStarted}) }, world.WorkflowStats{Running: 1}},
			{"a block", func() { s.release(world.Release{WakeAt: world.Now(), Blocked: block}) }, world.WorkflowStats{Running: 1, Blocked: 1}},
			{"a pause while it is blocked", func() { r.act(id, pause) }, world.WorkflowStats{Running: 1, Blocked: 1, Paused: 1}},
			{"a resume while it is blocked", func() { r.act(id, resume) }, world.WorkflowStats{Running: 1, Blocked: 1}},
			{"a release without a block", func() { claim(); s.release(world.Release{WakeAt: far}) }, world.WorkflowStats{Running: 1}},
			{"a pause", func() { r.act(id, pause) }, world.WorkflowStats{Running: 1, Paused: 1}},
			{"a cancel that ends the pause", func() {
				r.deliver(cancel(id, ""))
				claim()
				s.claimMail(1, nil)
			}, world.WorkflowStats{Running: 1}},
			{"a pause that the owner appends", func() { r.act(id, pause); s.claimMail(1, &world.Release{WakeAt: far}) }, world.WorkflowStats{Running: 1, Paused: 1}},
			{"a continuation", func() {
				r.act(id, resume)
				claim()
				s.append(world.Event{Type: world.RunContinued, Next: &world.Continuation{Version: 2}})
			}, world.WorkflowStats{Running: 1}},
			{"leaving", func() {
				r.must(r.w.Leave(r.ctx, k.id), "leave")
				k = r.worker("w")
				k.classes = []world.Class{{Workflow: "w", Version: 2}}
			}, world.WorkflowStats{Running: 1}},
			{"an end", func() { claim(); s.end() }, world.WorkflowStats{Completed: 1}},
			{"a forced cancel of a blocked, paused run", func() {
				s = k.create("w")
				s.release(world.Release{WakeAt: far, Blocked: block})
				r.act(s.run, pause, world.RunCancelled)
			}, world.WorkflowStats{Completed: 1, Cancelled: 1}},
			{"a birth that ends at once", func() {
				c := birth("w")
				c.Worker, c.Claim = k.id, 1
				c.Events = append(c.Events, world.Event{Type: world.RunFailed, Time: c.Events[0].Time, Error: &world.Error{Message: "no"}})
				r.commit(c)
			}, world.WorkflowStats{Completed: 1, Cancelled: 1, Failed: 1}},
			{"births that are refused", func() {
				c := birth("w")
				c.Run = id
				r.refusedCommit(c, world.ErrRunExists, "birth")
				late := s.next()
				late.Births = []*world.Commit{birth("w")}
				r.refusedCommit(late, world.ErrLeaseLost, "a turn behind the end")
			}, world.WorkflowStats{Completed: 1, Cancelled: 1, Failed: 1}},
			{"a sweep", func() { r.until("the run is swept", func() bool { return r.sweep(10) == 1 }) }, world.WorkflowStats{Cancelled: 1, Failed: 1}},
		} {
			step.do()
			step.want.Workflow = "w"
			r.same(r.counts("w"), step.want, "counts after "+step.what)
		}
	}},
	{"workers are counted as they are", "Runs and Tasks of a worker are what it owns and holds now", func(r *rig) {
		k := r.worker("greet")
		holds := func(runs, tasks int, after string) {
			r.Helper()
			st, err := r.w.Stats(r.ctx)
			r.must(err, "stats")
			r.same(len(st.Workers), 1, "workers")
			r.same([2]int{st.Workers[0].Runs, st.Workers[0].Tasks}, [2]int{runs, tasks}, "runs and tasks after "+after)
		}
		holds(0, 0, "joining")
		s := k.create("greet")
		holds(1, 0, "a birth")
		s.queueTask("step_1")
		s.queueTask("step_2")
		t, second := k.getTask(), k.getTask()
		holds(1, 2, "taking tasks")
		r.deliver(k.taskEnd(t, nil))
		holds(1, 1, "the end of one")
		r.deliver(k.retry(second, "", world.Now().Add(time.Hour)))
		holds(1, 0, "putting one back")
		s.release(world.Release{WakeAt: world.Now()})
		holds(0, 0, "a release")
		k.get(s.run)
		holds(1, 0, "a claim")
		r.act(s.run, world.RunCancelled)
		holds(0, 0, "a forced cancel")
	}},
}
