// The queue: who is served, in which order, and who is not.

package worldtest

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/stepwell/stepwell/world"
)

func withPriority(p int) func(*world.Birth) { return func(b *world.Birth) { b.Priority = p } }

var queue = []check{
	{"what is due longest comes first", "among runs of one workflow and priority: by due time", func(r *rig) {
		k := r.worker("greet")
		now := world.Now()
		var want []string
		for i := range 5 {
			s := k.create("greet")
			s.release(world.Release{WakeAt: now.Add(time.Duration(i-5) * time.Second)})
			want = append(want, s.run)
		}
		last := k.create("greet")
		last.release(world.Release{WakeAt: now.Add(-6 * time.Second)})
		want = append([]string{last.run}, want...)
		var got []string
		for _, t := range slices.Concat(k.claim(2, 0).Runs, k.claim(4, 0).Runs) {
			got = append(got, t.Run)
		}
		r.same(got, want, "runs")
	}},
	{"higher priority comes first", "priority is strict among what is due (but for aging, which takes minutes)", func(r *rig) {
		k := r.worker("greet")
		var want [4]string
		for _, p := range []int{1, 0, 3, 2} {
			want[3-p] = r.createRun("greet", withPriority(p))
		}
		for i, id := range want {
			if _, got := k.get(id); got.Priority != 3-i {
				r.Fatalf("got priority %d, want %d", got.Priority, 3-i)
			}
		}
	}},
	{"a busy workflow starves no other", "what is due is served fairly across workflows", func(r *rig) {
		k := r.worker("busy", "quiet")
		for range 40 {
			r.createRun("busy")
		}
		for range 3 {
			r.createRun("quiet")
		}
		quiet := 0
		for range 4 {
			for _, t := range k.claim(4, 0).Runs {
				if t.Class.Workflow == "quiet" {
					quiet++
				}
			}
		}
		r.same(quiet, 3, "runs of the quiet workflow among 16 claims")
	}},
	{"limits are kept", "at most as many as asked for; More says that the limit cut it", func(r *rig) {
		k := r.worker("greet")
		for range 5 {
			r.createRun("greet")
		}
		for _, want := range []struct {
			n    int
			more bool
		}{{2, true}, {3, false}, {0, false}} {
			if t := k.claim(max(want.n, 1), 0); len(t.Runs) != want.n || t.More != want.more {
				r.Fatalf("got %d runs, more %v; want %d, %v", len(t.Runs), t.More, want.n, want.more)
			}
		}
	}},
	{"classes are kept", "a worker is given runs of the workflows and versions that it names", func(r *rig) {
		v2 := r.createRun("greet", func(b *world.Birth) { b.Version = 2 })
		other := r.createRun("other")
		k := r.worker("greet")
		k.idle("neither version nor workflow fits")
		k.classes = []world.Class{{Workflow: "greet", Version: 2}}
		k.get(v2)
		k.classes = []world.Class{{Workflow: "other", Version: 1}, {Workflow: "unknown", Version: 1}}
		k.get(other)
	}},
	{"a continuation with another version changes class", "run_continued may name a version; from then on the run is of that class", func(r *rig) {
		k := r.worker("greet")
		s := k.create("greet")
		c := s.next(world.Event{Type: world.RunContinued, Payload: jsonText(`2`), Next: &world.Continuation{Version: 2}})
		c.Release = &world.Release{WakeAt: world.Now()}
		s.write(c)
		k.idle("the run is of version 2 now")
		k.classes = []world.Class{{Workflow: "greet", Version: 2}}
		k.get(s.run)
	}},
	{"a sleeping run comes at its time", "a release says when the run is due: not earlier, and Next says it", func(r *rig) {
		k := r.worker("greet")
		s := k.create("greet")
		at := world.Now().Add(300 * time.Millisecond)
		s.release(world.Release{WakeAt: at})
		for {
			t := k.claim(1, 0)
			if len(t.Runs) == 1 {
				if t.Now.Before(at) {
					r.Fatalf("taken at %s, due at %s", t.Now, at)
				}
				break
			}
			if t.Now.After(at.Add(patience)) {
				r.Fatalf("not taken at %s, due at %s", t.Now, at)
			}
			if t.Now.Before(at) && !t.Next.Equal(at) {
				r.Fatalf("next is %s, want %s", t.Next, at)
			}
		}
	}},
	{"next is the earliest of what is asked for", "Next: when the next run of these classes is due; zero where none is known", func(r *rig) {
		k := r.worker("greet")
		if t := k.idle("nothing is there"); !t.Next.IsZero() {
			r.Fatalf("next of an empty world is %s", t.Next)
		}
		at := world.Now().Add(time.Hour)
		for _, later := range []time.Duration{2, 0, 1} {
			r.createRun("greet", func(b *world.Birth) { b.NotBefore = at.Add(later * time.Hour) })
		}
		r.createRun("other", func(b *world.Birth) { b.NotBefore = at.Add(-time.Minute) })
		k.create("greet").release(world.Release{})
		if t := k.idle("nothing is due"); !t.Next.Equal(at) || t.More {
			r.Fatalf("next is %s, more %v; want %s", t.Next, t.More, at)
		}
	}},
	{"one run has one owner", "workers that take concurrently never get the same run", func(r *rig) {
		const n, runs = 4, 60
		want := make(map[string]bool)
		for range runs {
			want[r.createRun("greet")] = true
		}
		var mu sync.Mutex
		got := make(map[string]string)
		var wg sync.WaitGroup
		for range n {
			k := r.worker("greet")
			wg.Go(func() {
				for {
					t, err := r.w.Claim(r.ctx, world.ClaimQuery{Worker: k.id, Classes: k.classes, Runs: 3})
					if err != nil {
						r.Errorf("take: %v", err)
						return
					}
					if len(t.Runs) == 0 {
						return
					}
					mu.Lock()
					for _, run := range t.Runs {
						if by, ok := got[run.Run]; ok {
							r.Errorf("run %s was given to %s and to %s", run.Run, by, k.id)
						}
						if run.Claim != 1 || !want[run.Run] {
							r.Errorf("got %+v", run)
						}
						got[run.Run] = k.id
					}
					mu.Unlock()
				}
			})
		}
		wg.Wait()
		r.same(len(got), runs, "runs taken")
		for id, by := range got {
			if q := r.run(id).Queue; q.Owner != by {
				r.Fatalf("run %s is shown as owned by %q, want %s", id, q.Owner, by)
			}
		}
	}},
	{"a blocked run comes after its backoff", "a blocked run is not claimed before its WakeAt, and comes as it was; a release without a block ends it", func(r *rig) {
		k := r.worker("greet")
		s := k.create("greet")
		b := &world.Block{Code: world.CodeDiverged, Message: "expected a, got b", Seq: 2, Step: "step_1", Since: world.Now(), Tries: 3, Build: "b1"}
		at := world.Now().Add(200 * time.Millisecond)
		s.release(world.Release{WakeAt: at, Blocked: b, Waiting: "a fix"})
		r.same(r.run(s.run).Queue.Blocked, b, "block on the row")
		r.deliver(signal(s.run, "", "a"))
		again, got := k.get(s.run)
		r.same(got.Blocked, b, "block")
		if now := k.claim(0, 0).Now; now.Before(at) {
			r.Fatalf("taken at %s, its backoff ends at %s", now, at)
		}
		again.release(world.Release{})
		if _, got = k.get(s.run); got.Blocked != nil {
			r.Fatalf("got block %+v, want none", got.Blocked)
		}
	}},
	{"claims are counted", "the claim number grows with each claim and is kept with the run", func(r *rig) {
		k := r.worker("greet")
		s := k.create("greet")
		for want := int64(2); want < 5; want++ {
			s.release(world.Release{WakeAt: world.Now()})
			var got world.ClaimedRun
			s, got = k.get(s.run)
			r.same(got.Claim, want, "take")
		}
		s.end()
		r.same(r.run(s.run).Claims, int64(4), "claims of the run that is over")
	}},
	{"a turn and its release are one commit", "events and release together: all or nothing", func(r *rig) {
		k := r.worker("greet")
		s := k.create("greet")
		c := s.next(signalEvent("a"))
		c.Release = &world.Release{WakeAt: world.Now(), Waiting: fmt.Sprint("turn ", 1)}
		late := *c
		late.ID, late.First = commitID(), 1
		r.unchanged(s.run, func() {
			_, err := r.w.Commit(r.ctx, &late)
			r.refused(err, world.ErrLeaseLost, "late turn")
		})
		s.write(c)
		if _, got := k.get(s.run); got.Seq != 3 || got.Claim != 2 {
			r.Fatalf("got %+v, want event 3, take 2", got)
		}
	}},
}
