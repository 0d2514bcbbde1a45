// Outcome: what became of a commit whose answer was lost.

package worldtest

import (
	"github.com/stepwell/stepwell/world"
)

var outcomes = []check{
	{"a written commit is known", "the row at First has the commit's ID: written", func(r *rig) {
		s := r.worker("greet").bear("greet")
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
		s := r.worker("greet").bear("greet")
		c := s.next(signalEvent("a"))
		_, err := r.w.Outcome(r.ctx, c)
		r.refused(err, world.ErrNotFound, "outcome before")
		s.write(c)
		_, err = r.w.Outcome(r.ctx, c)
		r.must(err, "outcome after")
	}},
	{"another's commit at the number is told", "ErrLeaseLost: somebody else wrote there", func(r *rig) {
		s := r.worker("greet").bear("greet")
		c, other := s.next(signalEvent("a")), s.next(signalEvent("a"))
		s.write(other)
		_, err := r.w.Outcome(r.ctx, c)
		r.refused(err, world.ErrLeaseLost, "outcome")
		inside := s.next(signalEvent("b"))
		inside.First = 2 // a number inside a commit of two events
		_, err = r.w.Outcome(r.ctx, inside)
		r.refused(err, world.ErrLeaseLost, "outcome inside another commit")
	}},
	{"a release without events is known by its take", "written: the queue no longer shows the worker under the take; not: it does", func(r *rig) {
		s := r.worker("greet").bear("greet")
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
		s := r.worker("greet").bear("greet")
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
}
