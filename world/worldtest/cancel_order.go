// Turns where cancels wait, and among equals: one order on every world.

package worldtest

import (
	"fmt"
	"time"

	"github.com/stepwell/stepwell/world"
)

// given are the runs that takes of some sizes give, in order.
func (k *worker) given(sizes ...int) (runs []string) {
	k.Helper()
	for _, n := range sizes {
		for _, t := range k.claim(n, 0).Runs {
			runs = append(runs, t.Run)
		}
	}
	return runs
}

var cancelOrder = []check{
	{"equals come in the order of their births", "same level, same turn, same due time: what was created first, whatever the order in which classes are named", func(r *rig) {
		k := r.worker("greet")
		k.classes = []world.Class{{Workflow: "greet", Version: 3}, {Workflow: "greet", Version: 1}, {Workflow: "greet", Version: 2}}
		due := world.Now().Add(-30 * time.Second)
		var want []string
		for i := range 6 {
			s := k.create("greet", func(b *world.Birth) { b.Version = 1 + i%3 })
			s.release(world.Release{WakeAt: due})
			want = append(want, s.run)
		}
		r.deliver(cancel(want[3], ""))
		r.deliver(cancel(want[1], ""))
		r.same(k.given(1, 2, 3), want, "runs")
	}},
	{"tasks that are equal come in the order of their births", "as runs do", func(r *rig) {
		k := r.worker("greet")
		s := k.create("greet")
		c := s.next()
		var want []string
		for i := range 5 {
			e := stepCreated(fmt.Sprint("step_", 9-i), world.KindTask)
			e.Time = world.Now()
			c.Events = append(c.Events, e)
			c.Tasks = append(c.Tasks, world.Task{Step: e.ID, Name: "task", Priority: 1})
			want = append(want, e.ID)
		}
		s.write(c)
		var got []string
		for _, n := range []int{1, 4} {
			for _, t := range k.claim(0, n).Tasks {
				got = append(got, t.Step)
			}
		}
		r.same(got, want, "steps")
	}},
	{"cancels come by priority", "as what else is due: higher first, though others were cancelled before", func(r *rig) {
		k := r.worker("greet")
		var want [4]string
		for _, p := range []int{0, 2, 1, 3} {
			want[3-p] = r.createRun("strange", withPriority(p), func(b *world.Birth) { b.NotBefore = world.Now().Add(time.Hour) })
			r.deliver(cancel(want[3-p], ""))
		}
		r.same(k.given(1, 1, 2), want[:], "runs of priority 3, 2, 1, 0")
	}},
	{"a cancel takes no run's place", "a run that was due is due since then, cancelled or not", func(r *rig) {
		k := r.worker("greet")
		var want []string
		for i := range 3 {
			s := k.create("greet")
			s.release(world.Release{WakeAt: world.Now().Add(time.Duration(i-30) * time.Second)})
			want = append(want, s.run)
		}
		r.deliver(cancel(want[1], ""))
		r.deliver(cancel(want[0], ""))
		r.same(k.given(1, 2), want, "runs")
	}},
	{"a cancel of a pending run takes not its place either", "any worker ends it, and it was due before the cancel came", func(r *rig) {
		k := r.worker("greet")
		first, second := r.createRun("greet"), r.createRun("greet")
		r.deliver(cancel(first, ""))
		r.same(k.given(1, 1), []string{first, second}, "runs")
	}},
	{"a cancelled run is due since it could be taken", "mail that woke nobody, as the run was paused, does not count; its cancel does, from its arrival", func(r *rig) {
		k := r.worker("greet")
		paused := k.create("greet")
		paused.release(world.Release{})
		r.act(paused.run, pause)
		r.deliver(signal(paused.run, "", "a"))
		other := k.create("greet")
		other.release(world.Release{WakeAt: k.heartbeat().Now})
		r.deliver(cancel(paused.run, ""))
		r.same(k.given(1, 1), []string{other.run, paused.run}, "runs")
	}},
	{"mail that came before a cancel counts", "a run that mail had woken is due since that, and was not passed by what came between", func(r *rig) {
		k := r.worker("greet")
		mailed := k.create("greet")
		mailed.release(world.Release{})
		r.deliver(signal(mailed.run, "", "a"))
		other := k.create("greet")
		other.release(world.Release{WakeAt: k.heartbeat().Now})
		r.deliver(cancel(mailed.run, ""))
		r.same(k.given(1, 1), []string{mailed.run, other.run}, "runs")
	}},
	{"workflows take turns with their cancels", "what is to be cancelled is served fairly across workflows too", func(r *rig) {
		k := r.worker("greet")
		later := func(b *world.Birth) { b.NotBefore = world.Now().Add(time.Hour) }
		var busy []string
		for range 3 {
			busy = append(busy, r.createRun("busy", later))
		}
		quiet := r.createRun("quiet", later)
		for _, run := range append(busy, quiet) {
			r.deliver(cancel(run, ""))
		}
		r.same(k.given(2, 2), []string{busy[0], quiet, busy[1], busy[2]}, "runs")
	}},
	{"a claim by name is no turn", "who asks for one run has not used up the turn of its workflow", func(r *rig) {
		k := r.worker("one", "two")
		due := world.Now().Add(-30 * time.Second)
		rest := func(workflow string, after time.Duration) string {
			s := k.create(workflow)
			s.release(world.Release{WakeAt: due.Add(after)})
			return s.run
		}
		named, first, second := rest("one", 0), rest("one", time.Second), rest("two", 2*time.Second)
		k.only(named, "")
		r.same(k.given(1, 1), []string{first, second}, "runs")
	}},
}
