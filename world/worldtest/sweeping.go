// Sweeping: what hangs on a run that is deleted, and what does not.

package worldtest

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stepwell/stepwell/world"
)

var swept = []check{
	{"a swept run's key and token are free", "all that hangs on it is gone: for as long as the run is kept its key is its own, and no longer", func(r *rig) {
		k := r.worker("greet")
		s := k.create("greet", withKey("k1"), withRetention(time.Millisecond))
		s.claim("hook_1", "t1")
		s.append(world.Event{Type: world.AttrSet, ID: "attr_1", Name: "tenant", Payload: jsonText(`"t1"`)})
		s.queueTask("step_1")
		s.end()
		r.same(r.commit(birth("greet", withKey("k1"))).Existing, s.run, "the run that has the key")
		r.until("the run is swept", func() bool { return r.sweep(10) == 1 })
		r.absent(s.run)
		c := birth("greet", withKey("k1"))
		r.same(r.commit(c).Existing, "", "the run that has the key")
		r.same(k.create("greet").claim("hook_1", "t1").Type, world.HookCreated, "claim of its token")
		k.get(c.Run)
	}},
	{"a child is swept alone", "its result waits for the parent all the same; whoever awaits it later is told that it is unknown", func(r *rig) {
		k := r.worker("greet", "child")
		s := k.create("greet")
		c := s.childCommit("step_1", withRetention(time.Millisecond))
		s.write(c)
		child, _ := k.get(c.Births[0].Run)
		grandchild := child.childCommit("step_1")
		child.write(grandchild)
		child.end()
		r.until("the child is swept", func() bool { return r.sweep(10) == 1 })
		r.absent(child.run)
		r.same(s.result("step_1").Type, world.StepCompleted, "the parent's result")
		r.same(r.run(grandchild.Births[0].Run).Status, world.Pending, "status of the child's child")
		if got := s.await("step_2", child.run); len(got) != 2 || got[1].Error == nil || got[1].Error.Code != world.CodeNotFound {
			r.Fatalf("got %+v, want NOT_FOUND", got)
		}
		orphan, _ := k.get(grandchild.Births[0].Run)
		orphan.end()
	}},
	{"a parent is swept alone", "its children live on, tell nobody, and are deleted when their own time has come", func(r *rig) {
		k := r.worker("greet", "child")
		s := k.create("greet", withRetention(time.Millisecond))
		over, alive := s.childCommit("step_1", withRetention(time.Hour)), s.childCommit("step_2", withRetention(time.Millisecond))
		s.write(over)
		alive.First = s.seq + 1
		s.write(alive)
		child, _ := k.get(over.Births[0].Run)
		child.claim("hook_1", "t1")
		s.end()
		r.until("the parent is swept", func() bool { return r.sweep(10) == 1 })
		child.end()
		last, _ := k.get(alive.Births[0].Run)
		last.end()
		r.until("one child is swept", func() bool { return r.sweep(10) == 1 })
		r.absent(last.run)
		r.same(r.run(child.run).Status, world.Completed, "status of the child that is kept")
		r.same(r.run(child.run).Parent, &world.Parent{Run: s.run, Step: "step_1"}, "its parent")
	}},
	{"sweepers share the work", "each run is deleted once, whoever sweeps at the same time; at most as many as each asks for", func(r *rig) {
		const runs = 60
		s := r.worker("greet").create("greet")
		c := s.next(signalEvent("a"))
		for range runs {
			b := birth("greet", withRetention(time.Millisecond))
			b.Events = append(b.Events, world.Event{Type: world.RunCompleted, Time: b.Events[0].Time})
			c.Births = append(c.Births, b)
		}
		s.write(c)
		r.same(r.counts("greet"), world.WorkflowStats{Workflow: "greet", Running: 1, Completed: runs}, "counts")
		var total atomic.Int32
		var wg sync.WaitGroup
		for i := range 4 {
			wg.Go(func() {
				for end := time.Now().Add(patience); total.Load() < runs && time.Now().Before(end); {
					n, err := r.w.Sweep(r.ctx, 7)
					if err != nil || n > 7 {
						r.Errorf("sweeper %d: %d runs, %v; want at most 7", i, n, err)
						return
					}
					total.Add(int32(n))
				}
			})
		}
		wg.Wait()
		r.same(total.Load(), int32(runs), fmt.Sprint("runs that were deleted, of ", runs))
		r.same(r.counts("greet"), world.WorkflowStats{Workflow: "greet", Running: 1}, "counts")
		r.same(r.sweep(10), 0, "runs that are left to sweep")
	}},
}
