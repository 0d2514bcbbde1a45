// Outcome: what became of a commit whose answer was lost.

package worldtest

import (
	"github.com/stepwell/stepwell/world"
)

var outcomes = []check{
	{"a written commit is known", "the row at First has the commit's ID: written", func(r *rig) {
		s := r.worker("greet").create("greet")
		c := s.next(signalEvent("a"), signalEvent("b"))
		s.write(c)
		s.append(signalEvent("c"))
		_, err := r.w.Outcome(r.ctx, c)
		r.must(err, "outcome")
		s.end()
		_, err = r.w.Outcome(r.ctx, c)
		r.must(err, "outcome after the end")
	}},
	{"a written birth is known", "births are commits", func(r *rig) {
		c := birth("greet", withKey("k1"))
		_, err := r.w.Outcome(r.ctx, c)
		r.refused(err, world.ErrNotFound, "outcome before")
		r.commit(c)
		done, err := r.w.Outcome(r.ctx, c)
		r.must(err, "outcome")
		r.same(done.Existing, "", "existing run")
		other := birth("greet")
		other.Run = c.Run
		_, err = r.w.Outcome(r.ctx, other)
		r.refused(err, world.ErrLeaseLost, "outcome of another birth of the run")
	}},
	{"a commit that was not written may be tried again", "ErrNotFound: it was not written; then it can be", func(r *rig) {
		s := r.worker("greet").create("greet")
		c := s.next(signalEvent("a"))
		_, err := r.w.Outcome(r.ctx, c)
		r.refused(err, world.ErrNotFound, "outcome before")
		s.write(c)
		_, err = r.w.Outcome(r.ctx, c)
		r.must(err, "outcome after")
	}},
	{"another's commit at the number is told", "ErrLeaseLost: somebody else wrote there", func(r *rig) {
		s := r.worker("greet").create("greet")
		c, other := s.next(signalEvent("a")), s.next(signalEvent("a"))
		s.write(other)
		_, err := r.w.Outcome(r.ctx, c)
		r.refused(err, world.ErrLeaseLost, "outcome")
		inside := s.next(signalEvent("b"))
		inside.First = 2 // a number inside a commit of two events
		_, err = r.w.Outcome(r.ctx, inside)
		r.refused(err, world.ErrLeaseLost, "outcome inside another commit")
	}},
	{"a release without events is known by its claim", "written: the queue no longer shows the worker under the claim; not: it does", func(r *rig) {
		s := r.worker("greet").create("greet")
		c := s.next()
		c.Release = &world.Release{}
		_, err := r.w.Outcome(r.ctx, c)
		r.refused(err, world.ErrNotFound, "outcome before")
		s.write(c)
		_, err = r.w.Outcome(r.ctx, c)
		r.must(err, "outcome after")
		r.deliver(signal(s.run, "", "a"))
		done, err := r.w.Outcome(r.ctx, c)
		r.must(err, "outcome after mail came")
		r.same(done.Mail, true, "mail waits")
	}},
	{"what a condition changed is told again", "the answer that was lost comes back, with the events as written", func(r *rig) {
		s := r.worker("greet").create("greet")
		s.append(hookCreated("hook_1", "t1"))
		c := s.next(hookCreated("hook_2", "t1"))
		c.Conditions = []world.Condition{{Event: 0}}
		want := s.write(c)
		got, err := r.w.Outcome(r.ctx, c)
		r.must(err, "outcome")
		if len(got.Events) != 1 || got.Events[0].Type != world.HookConflict || len(want.Events) != 1 || want.Events[0].Type != world.HookConflict {
			r.Fatalf("got %+v after %+v, want hook_conflict", got.Events, want.Events)
		}
	}},
	{"what is told is what is in the log", "events that conditions changed are told as they are read: numbered, with the number of their commit and the build that wrote them", func(r *rig) {
		k := r.worker("greet")
		s := k.create("greet")
		s.append(hookCreated("hook_1", "t1"))
		await := stepCreated("step_1", world.KindAwait)
		await.Peer = "wrun_nobody"
		c := s.next(hookCreated("hook_2", "t1"), signalEvent("a"), await)
		c.Conditions = []world.Condition{{Event: 2}, {Event: 0}}
		told := s.write(c).Events
		again, err := r.w.Outcome(r.ctx, c)
		r.must(err, "outcome")
		want := r.events(s.run)[3:]
		if len(want) != 4 || want[3].Commit != c.First || want[3].Build != c.Build {
			r.Fatalf("the log has %+v, want four events of commit %d by build %s", want, c.First, c.Build)
		}
		r.same(told, want, "told by the commit")
		r.same(again.Events, want, "told by the outcome")

		b := birth("greet") // by a client: its log is cut into rows
		h := hookCreated("hook_1", "t1")
		h.Time = b.Events[0].Time
		for range 1000 {
			e := signalEvent("a")
			e.Time = h.Time
			b.Events = append(b.Events, e)
		}
		b.Events, b.Build = append(b.Events, h), "b2"
		b.Conditions = []world.Condition{{Event: len(b.Events) - 1}}
		r.same(r.commit(b).Events, r.events(b.Run), "told of a birth that is cut into rows")
	}},
	{"what no condition changed is not told", "Events is nil where all is as sent: by the commit, and by its outcome", func(r *rig) {
		k := r.worker("greet", "child")
		s, other := k.create("greet"), k.create("greet")
		await := stepCreated("step_2", world.KindAwait)
		await.Peer, await.Time = other.run, world.Now()
		h := hookCreated("hook_1", "t1")
		h.Time = await.Time
		c := s.childCommit("step_1")
		c.Events = append(c.Events, await, h)
		c.Conditions = append(c.Conditions, world.Condition{Event: 1}, world.Condition{Event: 2})
		done := s.write(c)
		again, err := r.w.Outcome(r.ctx, c)
		r.must(err, "outcome")
		r.same([]int{len(done.Events), len(again.Events)}, []int{0, 0}, "events told")
	}},
}
