// What is ready, without claiming it.

package worldtest

import (
	"fmt"
	"time"

	"github.com/stepwell/stepwell/world"
)

// ready lists what is ready, for version 1 of workflows and for the step of most checks.
func (r *rig) ready(limit int, workflows ...string) world.Ready {
	r.Helper()
	q := world.ReadyQuery{Steps: []string{"task"}, Limit: limit}
	for _, name := range workflows {
		q.Classes = append(q.Classes, world.Class{Workflow: name, Version: 1})
	}
	got, err := r.w.Ready(r.ctx, q)
	r.must(err, "ready")
	if got.Now.IsZero() {
		r.Fatalf("got %+v, without the time", got)
	}
	return got
}

// listed are the runs and tasks of a list.
func listed(got world.Ready) (names []string) {
	for _, i := range got.Items {
		if i.Step != "" {
			names = append(names, i.Run+"/"+i.Step)
		} else {
			names = append(names, i.Run)
		}
	}
	return names
}

var readies = []check{
	{"what is ready is listed", "runs of these classes and tasks of these steps that a claim would give, and nothing else; nothing is taken", func(r *rig) {
		if got := r.ready(10, "greet"); len(got.Items) > 0 || got.More || !got.Next.IsZero() {
			r.Fatalf("got %+v of an empty world", got)
		}
		k := r.worker("greet")
		at := world.Now().Add(time.Hour)
		r.createRun("greet", func(b *world.Birth) { b.NotBefore = at })
		r.createRun("other")
		r.deliver(act(r.createRun("greet"), "", world.RunPaused))
		asleep := k.create("greet")
		asleep.release(world.Release{})
		over := k.create("greet")
		over.end()
		if got := r.ready(10, "greet"); len(got.Items) > 0 || got.More || !got.Next.Equal(at) {
			r.Fatalf("got %+v, want none before %s", got, at)
		}
		mailed := k.create("greet")
		mailed.release(world.Release{})
		r.deliver(signal(mailed.run, "d1", "a"))
		s := k.create("greet")
		s.queueTask("step_1")
		s.queueTask("step_2")
		k.only(s.run, "step_2")
		first := r.createRun("greet", func(b *world.Birth) { b.Priority = 3 })
		for range 2 { // it takes nothing
			got := r.ready(10, "greet")
			r.same(len(got.Items), 3, fmt.Sprint("items: ", listed(got)))
			r.same(listed(got)[0], first, "the first, by priority")
			for _, i := range got.Items {
				want := world.ReadyItem{Run: mailed.run, Class: world.Class{Workflow: "greet", Version: 1}, Priority: 1}
				switch i.Run {
				case first:
					want.Run, want.Priority = first, 3
				case s.run:
					want = world.ReadyItem{Run: s.run, Step: "step_1", StepName: "task", Priority: 1}
				}
				if i.Due.IsZero() || i.Due.After(got.Now) {
					r.Fatalf("run %s is due at %s, listed at %s", i.Run, i.Due, got.Now)
				}
				want.Due = i.Due
				r.same(i, want, "item")
			}
		}
		r.same(r.run(first).Claims, int64(0), "claims")
		k.only(first, "")
		k.only(mailed.run, "")
		k.only(s.run, "step_1")
		r.same(len(r.ready(10, "greet").Items), 0, "items, now that all are held")
	}},
	{"a list is bounded", "at most as many as asked for, those first that are due longest; More says that there are others", func(r *rig) {
		k := r.worker("greet")
		var want []string
		for i := range 5 {
			s := k.create("greet")
			s.release(world.Release{WakeAt: world.Now().Add(time.Duration(i-20) * time.Second)})
			want = append(want, s.run)
		}
		for _, n := range []int{1, 3, 4} {
			got := r.ready(n, "greet")
			r.same(listed(got), want[:n], "runs")
			r.same(got.More, true, "more")
		}
		got := r.ready(5, "greet")
		r.same(listed(got), want, "runs")
		r.same(got.More, false, "more")
		if got := r.ready(-1); len(got.Items) > 0 {
			r.Fatalf("got %v for no classes", listed(got))
		}
	}},
	{"the next is told beside what is ready", "Next: when something else is due, also in the partition of what is due now", func(r *rig) {
		k := r.worker("greet")
		at := world.Now().Add(time.Hour)
		for _, d := range []time.Duration{-2 * time.Hour, 0, time.Hour} {
			k.create("greet").release(world.Release{WakeAt: at.Add(d)})
		}
		got := r.ready(10, "greet")
		r.same(len(got.Items), 1, "items")
		if !got.Next.Equal(at) {
			r.Fatalf("next is %s, want %s", got.Next, at)
		}
	}},
	{"a cancel is listed for who has the code", "as it is taken: any worker's list has it, unless its code is needed and a worker has that", func(r *rig) {
		pending := r.createRun("strange", func(b *world.Birth) { b.NotBefore = world.Now().Add(time.Hour) })
		r.deliver(cancel(pending, ""))
		got := r.ready(10, "greet")
		r.same(listed(got), []string{pending}, "to be cancelled")
		r.same(got.Items[0].Class, world.Class{Workflow: "strange", Version: 1}, "class")
		k := r.worker("strange")
		k.only(pending, "")
		running := k.create("strange")
		running.release(world.Release{})
		r.deliver(cancel(running.run, ""))
		r.same(listed(r.ready(10, "greet")), []string(nil), "another's: its code is with a worker")
		r.same(listed(r.ready(10, "strange")), []string{running.run}, "its own")
		r.must(r.w.Leave(r.ctx, k.id), "leave")
		r.same(listed(r.ready(10, "greet")), []string{pending, running.run}, "another's: the worker has left, and handed back the first")
	}},
	{"what a dead worker holds is listed", "its lease is over: with no worker there at all", func(r *rig) {
		run := r.createRun("greet")
		s := r.worker("greet").create("greet")
		s.queueTask("step_1")
		r.until("a worker has taken both, and died", func() bool {
			k := r.mortal(workingLease, "greet")
			a, err := r.w.Claim(r.ctx, world.ClaimQuery{Worker: k.id, Classes: k.classes, Runs: 1, Run: run})
			if err == nil && len(a.Runs) == 1 {
				a, err = r.w.Claim(r.ctx, world.ClaimQuery{Worker: k.id, Steps: k.steps, Tasks: 1, Run: s.run, Step: "step_1"})
			}
			if isErr(err, world.ErrLeaseLost) {
				return false // the machine is slow: another one
			}
			r.must(err, "take")
			return len(a.Tasks) == 1
		})
		r.must(r.w.Leave(r.ctx, s.id), "leave of the other worker")
		want := map[string]bool{run: true, s.run: true, s.run + "/step_1": true}
		r.until("all are listed", func() bool {
			got := r.ready(10, "greet")
			for _, name := range listed(got) {
				if !want[name] {
					r.Fatalf("%s is listed", name)
				}
			}
			return len(got.Items) == len(want)
		})
	}},
}
