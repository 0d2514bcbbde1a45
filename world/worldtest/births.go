// Births: how a run begins, and what keeps it from beginning twice.

package worldtest

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stepwell/stepwell/world"
)

func withKey(key string) func(*world.Birth) { return func(b *world.Birth) { b.Key = key } }

var births = []check{
	{"a plain birth is queued", "a birth by a client puts the run in the queue, due at once", func(r *rig) {
		id := r.createRun("greet")
		row := r.run(id)
		if row.Status != world.Pending || row.Claims != 0 || row.Queue == nil || row.Queue.Owner != "" {
			r.Fatalf("got %+v, queue %+v; want a pending run that nobody owns", row, row.Queue)
		}
		_, got := r.worker("greet").get(id)
		want := world.ClaimedRun{Run: id, Claim: 1, Class: world.Class{Workflow: "greet", Version: 1}, Status: world.Pending, Priority: 1, Seq: 1}
		r.same(got, want, "taken")
	}},
	{"a plain birth can bring a log", "a birth by a client may hold events behind run_created: the run is queued as they leave it", func(r *rig) {
		c := birth("greet")
		at := world.Now()
		c.Events[0].Birth.Version = 0
		c.Events = append(c.Events,
			world.Event{Type: world.RunStarted, Time: at.Add(-time.Hour), Version: 1}, // times behind the birth's may be older: a fork's are
			world.Event{Type: world.StepCreated, ID: "step_1", Kind: world.KindClosure, Name: "pay", Time: at.Add(-time.Hour)},
			world.Event{Type: world.StepCompleted, ID: "step_1", Payload: []byte(`7`), Time: at.Add(-time.Hour)},
			world.Event{Type: world.StepCreated, ID: "step_2", Kind: world.KindTask, Queued: true, Name: "resize", Time: at.Add(-time.Hour)},
			world.Event{Type: world.AttrSet, ID: "attr_1", Name: "city", Payload: []byte(`"Ulm"`), Time: at.Add(-time.Hour)},
			world.Event{Type: world.HookCreated, ID: "hook_1", Name: "hook", Token: "gone", Chosen: true, Time: at.Add(-time.Hour)},
			world.Event{Type: world.HookDisposed, ID: "hook_1", Time: at.Add(-time.Hour)},
			world.Event{Type: world.HookCreated, ID: "hook_2", Name: "hook", Occurrence: 1, Token: "stays", Chosen: true, Time: at.Add(-time.Hour)})
		c.Tasks = []world.Task{{Run: c.Run, Step: "step_2", Name: "resize", Workflow: "greet"}}
		r.commit(c)
		row := r.run(c.Run)
		if row.Status != world.Running || row.Version != 1 || row.Queue == nil || row.Queue.Owner != "" || string(row.Attributes["city"]) != `"Ulm"` {
			r.Fatalf("got %+v, queue %+v; want a running run of version 1 that nobody owns, with its attribute", row, row.Queue)
		}
		for token, want := range map[string]int{"gone": 0, "stays": 1} {
			hooks, err := r.w.Hooks(r.ctx, world.HookQuery{Token: token})
			r.must(err, "hooks")
			r.same(len(hooks), want, "hooks with the token "+token)
		}
		r.same(len(r.events(c.Run)), 9, "events")
		k := r.worker("greet")
		if _, got := k.get(c.Run); got.Claim != 1 || got.Class.Version != 1 || got.Status != world.Running || got.Seq != 9 {
			r.Fatalf("got %+v, want take 1 of a running run at event 9", got)
		}

		paused := birth("greet")
		paused.Events = append(paused.Events, world.Event{Type: world.RunStarted, Time: at}, world.Event{Type: world.RunPaused, Time: at})
		r.commit(paused)
		over := birth("greet")
		over.Events = append(over.Events, world.Event{Type: world.RunStarted, Time: at}, world.Event{Type: world.RunCompleted, Payload: []byte(`1`), Time: at})
		r.commit(over)
		k.idle("one run is paused, the other over")
		if row := r.run(paused.Run); row.Queue == nil || !row.Queue.Paused {
			r.Fatalf("got %+v, want a paused run", row)
		}
		if row := r.run(over.Run); row.Status != world.Completed || string(row.Output) != "1" || row.Queue != nil {
			r.Fatalf("got %+v, want a completed run", row)
		}
	}},
	{"an eager birth is owned", "a birth by a worker is take 1 of that worker, with no trip through the queue", func(r *rig) {
		k := r.worker("greet")
		s := k.create("greet")
		row := r.run(s.run)
		if row.Status != world.Running || row.Claims != 1 || row.Queue == nil || row.Queue.Owner != k.id || row.Queue.OwnerName != "host:1" {
			r.Fatalf("got %+v, queue %+v; want a running run of worker %s, take 1", row, row.Queue, k.id)
		}
		k.idle("its run is owned")
		s.append(signalEvent("a"))
	}},
	{"a run can begin and end in one commit", "a commit may be a birth, a turn and an end at once", func(r *rig) {
		k := r.worker("greet")
		c := birth("greet")
		c.Worker, c.Claim = k.id, 1
		c.Events = append(c.Events, world.Event{Type: world.RunStarted, Time: world.Now()},
			world.Event{Type: world.RunCompleted, Time: world.Now(), Payload: []byte(`7`)})
		r.commit(c)
		if row := r.run(c.Run); row.Status != world.Completed || string(row.Output) != "7" || row.Queue != nil {
			r.Fatalf("got %+v, want a completed run with output 7", row)
		}
		k.idle("the run is over")
	}},
	{"a commit that ends its run creates children", "births are kept whatever else their commit does, a run's own birth and its end included", func(r *rig) {
		k := r.worker("greet")
		eager := birth("greet")
		eager.Worker, eager.Claim = k.id, 1
		for name, c := range map[string]*world.Commit{"with its birth": eager, "later": k.create("greet").next()} {
			at := world.Now()
			if c == eager {
				c.Events = append(c.Events, world.Event{Type: world.RunStarted, Time: at})
			}
			var children []string
			for i := range 3 {
				child := birth("other", func(b *world.Birth) {
					b.Parent = &world.Parent{Run: c.Run, Step: fmt.Sprint("step_", i), Detached: true}
				})
				children = append(children, child.Run)
				c.Births = append(c.Births, child)
				c.Events = append(c.Events, world.Event{Type: world.StepCreated, ID: fmt.Sprint("step_", i), Kind: world.KindChild, Name: "other",
					Occurrence: i, Peer: child.Run, Time: at})
			}
			reason := world.WithNotCreated("", "step \"mail\"")
			c.Events = append(c.Events, world.Event{Type: world.RunCompleted, Payload: []byte(`1`), Time: at, Reason: reason})
			r.commit(c)
			if row := r.run(c.Run); row.Status != world.Completed {
				r.Fatalf("%s: got %+v, want a completed run", name, row)
			}
			events := r.events(c.Run)
			r.same(events[len(events)-1].NotCreated(), "step \"mail\"", "not created, "+name)
			for _, id := range children {
				row := r.run(id)
				if row.Status != world.Pending || row.Parent == nil || row.Parent.Run != c.Run || !row.Parent.Detached {
					r.Fatalf("%s: got %+v, want a pending child", name, row)
				}
			}
		}
	}},
	{"an eager birth can be released at once", "a commit may be a birth and a release at once", func(r *rig) {
		k := r.worker("greet")
		c := birth("greet")
		c.Worker, c.Claim, c.Release = k.id, 1, &world.Release{WakeAt: world.Now(), Waiting: "its turn"}
		c.Events = append(c.Events, world.Event{Type: world.RunStarted, Time: world.Now()})
		r.commit(c)
		if q := r.run(c.Run).Queue; q.Owner != "" || q.Waiting != "its turn" {
			r.Fatalf("got %+v, want a released run", q)
		}
		if _, got := k.get(c.Run); got.Claim != 2 || got.Status != world.Running || got.Seq != 2 {
			r.Fatalf("got %+v, want take 2 of a running run at event 2", got)
		}
	}},
	{"the birth is on the run's row", "what run_created holds can be read back", func(r *rig) {
		c := birth("greet", withKey("k1"), func(b *world.Birth) {
			b.Version, b.Priority, b.Retention, b.Timeout = 3, 2, time.Hour, 90*time.Second
			b.Attributes = map[string]jsonText{"tenant": jsonText(`"t1"`)}
		})
		r.commit(c)
		e := c.Events[0]
		r.same(r.run(c.Run), world.Run{
			ID: c.Run, Workflow: "greet", Version: 3, Status: world.Pending, Key: "k1", Priority: 2, Input: e.Payload,
			CreatedAt: e.Time, Retention: time.Hour, Timeout: 90 * time.Second, Attributes: e.Birth.Attributes, Queue: r.run(c.Run).Queue,
		}, "run")
	}},
	{"a taken ID is refused", "run IDs are unique: ErrRunExists and nothing written", func(r *rig) {
		id := r.createRun("greet")
		r.unchanged(id, func() {
			c := birth("other", withKey("k1"))
			c.Run = id
			_, err := r.w.Commit(r.ctx, c)
			r.refused(err, world.ErrRunExists, "second birth")
		})
		if done := r.commit(birth("other", withKey("k1"))); done.Existing != "" {
			r.Fatalf("the refused birth kept its idempotency key for run %s", done.Existing)
		}
	}},
	{"a known key gives the existing run", "an idempotency key belongs to its run in whatever state it is; nothing is written", func(r *rig) {
		k := r.worker("greet")
		s := k.create("greet", withKey("k1"))
		for _, state := range []string{"running", "over"} {
			c := birth("greet", withKey("k1"))
			r.unchanged(s.run, func() {
				if done := r.commit(c); done.Existing != s.run {
					r.Fatalf("%s: got existing run %q, want %s", state, done.Existing, s.run)
				}
			})
			r.absent(c.Run)
			if state == "running" {
				s.end()
			}
		}
		k.idle("nothing was born")
	}},
	{"a run whose input does not fit gives its key back", "a run that fails as DECODE before it has begun has run nothing: its idempotency key is free; one that had begun keeps it", func(r *rig) {
		k := r.worker("greet")
		unfit := world.Event{Type: world.RunFailed, Error: &world.Error{Message: "the input does not fit", Code: world.CodeDecode}}
		first := r.createRun("greet", withKey("k1"))
		s, _ := k.get(first)
		s.append(unfit)
		if key := r.run(first).Key; key != "" {
			r.Errorf("the run still has the key %q", key)
		}
		second := r.createRun("greet", withKey("k1"))
		s, _ = k.get(second)
		s.append(world.Event{Type: world.RunStarted})
		aside := world.Event{
			Type: world.StepCreated, ID: "step_aside", Kind: world.KindAside, Name: "approve", From: 7, Peer: "hook_1", Error: &world.Error{Message: "it does not fit", Code: world.CodeDecode},
		}
		s.append(aside)
		if got := r.events(second)[2]; got.Kind != aside.Kind || got.From != 7 || got.Peer != "hook_1" || got.Error == nil || got.Error.Code != world.CodeDecode {
			r.Errorf("the record of a payload that was set aside came back as %+v", got)
		}
		s.append(unfit)
		if done := r.commit(birth("greet", withKey("k1"))); done.Existing != second {
			r.Errorf("got existing run %q, want %s, which had begun", done.Existing, second)
		}
	}},
	{"a start with ID and key, sent again, is the same run", "the run that has both exists; where they are two runs', both are named, and nothing is written", func(r *rig) {
		k := r.worker("greet")
		s := k.create("greet", withKey("k1"))
		other := r.createRun("greet", withKey("k2"))
		named := func(workflow, run, key string) *world.Commit {
			c := birth(workflow, withKey(key))
			c.Run = run
			return c
		}
		for _, state := range []string{"running", "over"} {
			r.unchanged(s.run, func() {
				r.same(r.commit(named("greet", s.run, "k1")).Existing, s.run, state)
				_, err := r.w.Commit(r.ctx, named("greet", s.run, "k2"))
				r.refused(err, world.ErrRunExists, state+": the key of another")
				if !strings.Contains(err.Error(), s.run) || !strings.Contains(err.Error(), other) {
					r.Errorf("%s: %v, want both runs named: %s, %s", state, err, s.run, other)
				}
				for what, c := range map[string]*world.Commit{"a free key": named("greet", s.run, "k3"), "another workflow's key": named("other", s.run, "k1")} {
					_, err := r.w.Commit(r.ctx, c)
					r.refused(err, world.ErrRunExists, state+": "+what)
				}
			})
			if state == "running" {
				s.end()
			}
		}
		if done := r.commit(birth("greet", withKey("k3"))); done.Existing != "" {
			r.Errorf("the refused birth kept its idempotency key for run %s", done.Existing)
		}
	}},
	{"a key is unique within its workflow", "idempotency keys of two workflows have nothing to do with each other", func(r *rig) {
		r.createRun("greet", withKey("k1"))
		r.createRun("other", withKey("k1"))
		r.createRun("greet", withKey("k2"))
		r.createRun("greet")
		r.createRun("greet")
	}},
	{"a key is free when its run is swept", "a key is unique for as long as the run is kept", func(r *rig) {
		s := r.worker("greet").create("greet", withKey("k1"), func(b *world.Birth) { b.Retention = time.Millisecond })
		s.end()
		r.until("the run is swept", func() bool { return r.sweep(10) == 1 })
		r.createRun("greet", withKey("k1"))
	}},
	{"of births with one key one is born", "concurrent births with one idempotency key: exactly one run, and all learn which", func(r *rig) {
		const n = 16
		var wg sync.WaitGroup
		var first atomic.Int32
		runs := make([]string, n)
		for i := range n {
			wg.Go(func() {
				c := birth("greet", withKey("k1"))
				done, err := r.w.Commit(r.ctx, c)
				if err != nil {
					r.Errorf("birth %d: %v", i, err)
				}
				if runs[i] = done.Existing; runs[i] == "" {
					runs[i] = c.Run
					first.Add(1)
				}
			})
		}
		wg.Wait()
		if got := first.Load(); got != 1 {
			r.Fatalf("%d runs were created, want 1", got)
		}
		for i := range runs {
			if runs[i] != runs[0] {
				r.Fatalf("birth %d: got run %s, want %s", i, runs[i], runs[0])
			}
		}
		r.run(runs[0])
	}},
	{"of births with one ID one is born", "concurrent births with one run ID: exactly one succeeds", func(r *rig) {
		const n = 16
		var wg sync.WaitGroup
		var createdRuns, refused atomic.Int32
		id := newRun()
		for i := range n {
			wg.Go(func() {
				c := birth(fmt.Sprint("greet", i))
				c.Run = id
				_, err := r.w.Commit(r.ctx, c)
				switch {
				case err == nil:
					createdRuns.Add(1)
				case isErr(err, world.ErrRunExists):
					refused.Add(1)
				default:
					r.Errorf("birth %d: %v", i, err)
				}
			})
		}
		wg.Wait()
		if createdRuns.Load() != 1 || refused.Load() != n-1 {
			r.Fatalf("%d created, %d refused; want 1 and %d", createdRuns.Load(), refused.Load(), n-1)
		}
		if got := len(r.events(id)); got != 1 {
			r.Fatalf("%d events, want 1", got)
		}
	}},
	{"a delayed birth waits", "NotBefore: not taken early, and Next says when", func(r *rig) {
		k := r.worker("greet")
		at := world.Now().Add(300 * time.Millisecond)
		id := r.createRun("greet", func(b *world.Birth) { b.NotBefore = at })
		t := k.claim(1, 0)
		if len(t.Runs) > 0 && t.Now.Before(at) || len(t.Runs) == 0 && (t.Next.Before(at) || t.Next.After(at.Add(time.Millisecond))) {
			r.Fatalf("at %s got %+v, next %s; want no run before %s", t.Now, t.Runs, t.Next, at)
		}
		if len(t.Runs) == 0 {
			k.get(id)
		}
		if now := k.claim(0, 0).Now; now.Before(at) {
			r.Fatalf("taken at %s, before %s", now, at)
		}
	}},
	{"mail does not hurry a delayed birth", "a pending run is woken by a cancel alone", func(r *rig) {
		k := r.worker("greet")
		at := world.Now().Add(time.Hour)
		id := r.createRun("greet", func(b *world.Birth) { b.NotBefore = at })
		r.deliver(signal(id, "", "hello"))
		if t := k.idle("the run is not due"); !cmp.Equal(t.Next, at) {
			r.Fatalf("next is %s, want %s", t.Next, at)
		}
		r.deliver(cancel(id, ""))
		if _, got := k.get(id); len(got.Mail) != 2 || got.Status != world.Pending {
			r.Fatalf("got %+v, want the pending run with a signal and a cancel", got)
		}
	}},
	{"a birth may leave the version open", "version 0 is a class of its own until run_started names a version", func(r *rig) {
		k := r.worker("greet")
		id := r.createRun("greet", func(b *world.Birth) { b.Version = 0 })
		k.idle("it knows version 1 only")
		k.classes = append(k.classes, world.Class{Workflow: "greet"})
		s, got := k.get(id)
		if got.Class != (world.Class{Workflow: "greet"}) {
			r.Fatalf("got class %+v, want version 0", got.Class)
		}
		c := s.next(world.Event{Type: world.RunStarted, Version: 2})
		c.Release = &world.Release{WakeAt: world.Now()}
		s.write(c)
		if got := r.run(id).Version; got != 2 {
			r.Fatalf("got version %d, want 2", got)
		}
		k.idle("it does not know version 2")
		k.classes = []world.Class{{Workflow: "greet", Version: 2}}
		k.get(id)
	}},
}

// inPlaceOf has a run take the place of another, as its retry does.
func inPlaceOf(run string) func(*world.Birth) {
	return func(b *world.Birth) { b.Key, b.Origin = world.RetryKey(run), &world.Origin{Run: run, Seq: 1} }
}
