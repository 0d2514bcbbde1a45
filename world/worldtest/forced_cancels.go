// Forced cancels: the end of a run that nobody can hold up, and what it means for its children.

package worldtest

import (
	"github.com/stepwell/stepwell/world"
)

var forced = []check{
	{"a forced cancel of an owned run reaches its children", "a cancel_requested to each child that is not detached and not over, owned or not, of an earlier segment too; to nobody else", func(r *rig) {
		k := r.worker("greet", "child")
		s := k.create("greet")
		child := func(step string, detached bool) string {
			c := s.childCommit(step)
			c.Births[0].Events[0].Birth.Parent.Detached = detached
			s.write(c)
			return c.Births[0].Run
		}
		waiting, owned, over, detached := child("step_1", false), child("step_2", false), child("step_3", false), child("step_4", true)
		stranger := r.createRun("stranger")
		c := s.childCommit("step_5")
		c.Births[0].Run, c.Events[0].Peer = stranger, stranger
		s.write(c)
		s.append(world.Event{Type: world.RunContinued, Payload: jsonText(`2`), Next: &world.Continuation{}})
		late := child("step_6", false)
		sessions := map[string]*session{}
		for range 5 {
			t := k.claim(1, 0).Runs[0]
			sessions[t.Run] = &session{worker: k, run: t.Run, claimed: t.Claim, seq: t.Seq}
		}
		sessions[waiting].append(world.Event{Type: world.RunStarted})
		grandchild := sessions[waiting].childCommit("step_1")
		sessions[waiting].write(grandchild)
		sessions[waiting].release(world.Release{})
		sessions[over].end()

		r.deliver(act(s.run, "", world.RunCancelled))
		r.deliver(act(s.run, "", world.RunCancelled))
		want := map[string]int{waiting: 1, owned: 1, late: 1, detached: 0, stranger: 0, grandchild.Births[0].Run: 0}
		for id, n := range want {
			r.same(r.run(id).Queue.Mail, n, "mail of run "+id)
		}
		for _, m := range k.heartbeat().Mail {
			if e := m.Events[0]; e.Type != world.CancelRequested || want[m.Run] != 1 {
				r.Fatalf("got %+v, want a cancel for an attached child", m)
			}
		}
		var got world.ClaimedRun
		k.until("the child that slept is taken", func() bool {
			for _, t := range k.claim(2, 0).Runs { // the grandchild is due as well
				if t.Run == waiting {
					got = t
				}
			}
			return got.Run == waiting
		})
		r.same(mailTypes(got.Mail), []world.EventType{world.CancelRequested}, "mail of the child that slept")
		r.same(r.run(over).Status, world.Completed, "status of the child that was over")
	}},
	{"a forced cancel leaves nothing behind", "queue row, tasks, inbox and hooks are gone; the tokens are free, the owner's next commit loses", func(r *rig) {
		k := r.worker("greet")
		s := k.create("greet")
		s.claim("hook_1", "t1")
		s.queueTask("step_1")
		r.deliver(signal(s.run, "", "a"))
		r.act(s.run, pause)
		r.act(s.run, world.RunCancelled)
		r.refusedCommit(s.next(signalEvent("late")), world.ErrLeaseLost, "the owner's commit")
		k.idle("neither the run nor its task is left")
		r.same(len(k.heartbeat().Mail), 0, "mail")
		if q := r.run(s.run).Queue; q != nil {
			r.Fatalf("got queue row %+v, want none", q)
		}
		r.same(k.create("greet").claim("hook_1", "t1").Type, world.HookCreated, "claim of its token")
	}},
	{"a forced cancel tells who waits", "the parent's step and every awaiting step get the result, as of any other end", func(r *rig) {
		k := r.worker("greet", "child")
		parent, other := k.create("greet"), k.create("greet")
		c := parent.childCommit("step_1")
		parent.write(c)
		child, _ := k.get(c.Births[0].Run)
		other.await("step_2", child.run)
		r.act(child.run, world.RunCancelled)
		end := r.events(child.run)[1]
		r.same(parent.result("step_1"), world.ResultFor(&end, "step_1"), "the parent's result")
		r.same(other.result("step_2"), world.ResultFor(&end, "step_2"), "the result of who awaits")
	}},
}

// refusedCommit commits what must be refused.
func (r *rig) refusedCommit(c *world.Commit, target error, doing string) {
	r.Helper()
	_, err := r.w.Commit(r.ctx, c)
	r.refused(err, target, doing)
}
