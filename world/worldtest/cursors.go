// Cursors and wide runs: readers beside writers, and what there are many of. An inbox that is full is in inbox.go.

package worldtest

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stepwell/stepwell/world"
)

var cursors = []check{
	{"a filtered reader beside a writer sees each event once", "a filter leaves out events and nothing else, whatever is appended meanwhile", func(r *rig) {
		s := r.worker("greet").create("greet")
		const commits = 80
		var wg sync.WaitGroup
		for reader, q := range []world.EventQuery{
			{Types: []world.EventType{world.SignalReceived}}, {Types: []world.EventType{world.SignalReceived}, Limit: 1}, {CorrelationID: "step_1", Limit: 3},
		} {
			wg.Go(func() {
				var got []int64
				for end := time.Now().Add(patience); len(got) < commits && time.Now().Before(end); {
					page, err := r.w.Events(r.ctx, s.run, q)
					if err != nil {
						r.Errorf("reader %d: %v", reader, err)
						return
					}
					q.Cursor = page.Cursor
					for _, e := range page.Events {
						got = append(got, e.Seq)
					}
				}
				for i, seq := range got {
					if want := int64(3 + 2*i + reader/2); seq != want {
						r.Errorf("reader %d: match %d is event %d, want %d", reader, i, seq, want)
						return
					}
				}
				if len(got) != commits {
					r.Errorf("reader %d: %d events, want %d", reader, len(got), commits)
				}
			})
		}
		s.append(signalEvent("a"), stepCreated("step_1", world.KindClosure))
		for n := 1; n < commits; n++ {
			s.append(signalEvent("a"), world.Event{Type: world.StepStarted, ID: "step_1", Attempt: n})
		}
		wg.Wait()
	}},
	{"a list of runs beside births misses none", "under a cursor, every run that was there at first comes once, in order, while others are born", func(r *rig) {
		var want []string
		for range 30 {
			want = append(want, r.createRun("greet"))
		}
		slices.Reverse(want)
		stop := make(chan struct{})
		var births sync.WaitGroup
		for range 3 {
			births.Go(func() {
				for {
					select {
					case <-stop:
						return
					default:
					}
					if _, err := r.w.Commit(r.ctx, birth("greet")); err != nil {
						r.Errorf("birth: %v", err)
						return
					}
				}
			})
		}
		for _, limit := range []int{3, 7} {
			// Births go on meanwhile, so the first page begins anywhere; what was there at first comes behind.
			got := r.list(world.RunQuery{Limit: limit})
			r.same(slices.DeleteFunc(got, func(id string) bool { return !slices.Contains(want, id) }), want, "runs that were there")
		}
		close(stop)
		births.Wait()
	}},
	{"a wide commit is a page", "commits are not cut, however many events they have; the cursor is behind them", func(r *rig) {
		s := r.worker("greet").create("greet")
		c := s.next()
		for i := range 5000 {
			c.Events = append(c.Events, world.Event{Type: world.SignalReceived, Name: fmt.Sprint("s", i), Time: world.Now()})
		}
		s.write(c)
		page, err := r.w.Events(r.ctx, s.run, world.EventQuery{Cursor: world.Cursor(2), Limit: 10})
		r.must(err, "page")
		if len(page.Events) != 5000 || page.More || page.Cursor != world.Cursor(5002) {
			r.Fatalf("got %d events, more %v, cursor %s; want 5000, none, %s", len(page.Events), page.More, page.Cursor, world.Cursor(5002))
		}
		one, _ := r.pages(s.run, world.EventQuery{Cursor: world.Cursor(4000), Limit: 10})
		r.same(len(one), 1002, "events behind the 4000th")
		r.same(one[0].Name, "s3998", "the first of them")
	}},
	{"a parent of many hears of each", "births and results of hundreds of children are in order and complete", func(r *rig) {
		const children = 300
		k := r.worker("greet", "child")
		s := k.create("greet")
		c := s.next()
		for i := range children {
			one := s.childCommit(fmt.Sprint("step_", i))
			one.Events[0].Time = world.Now()
			c.Events, c.Births = append(c.Events, one.Events...), append(c.Births, one.Births...)
			c.Conditions = append(c.Conditions, world.Condition{Event: i, Birth: i})
		}
		c.Release = &world.Release{}
		s.write(c)
		var wg sync.WaitGroup
		var ended atomic.Int32
		for ended.Load() < children && !r.Failed() {
			for _, t := range k.claim(50, 0).Runs {
				if t.Run == s.run {
					r.same(t.Claim > 1, true, "the parent is taken for mail")
					again := &session{worker: k, run: t.Run, claimed: t.Claim, seq: t.Seq}
					again.claimMail(len(t.Mail), &world.Release{})
					continue
				}
				wg.Go(func() {
					end := world.Event{Type: world.RunCompleted, Time: world.Now(), Payload: jsonText(`1`)}
					done := &world.Commit{ID: commitID(), Run: t.Run, Worker: k.id, Claim: t.Claim, First: t.Seq + 1, Events: []world.Event{end}}
					if _, err := r.w.Commit(r.ctx, done); err != nil {
						r.Errorf("child %s: %v", t.Run, err)
					}
					ended.Add(1)
				})
			}
			wg.Wait()
		}
		r.until("the last results are in the log", func() bool {
			for _, t := range k.claim(1, 0).Runs {
				again := &session{worker: k, run: t.Run, claimed: t.Claim, seq: t.Seq}
				again.claimMail(len(t.Mail), &world.Release{})
			}
			q := r.run(s.run).Queue
			return q.Owner == "" && q.Mail == 0
		})
		seen := make(map[string]int)
		for _, e := range r.events(s.run) {
			if e.Type == world.StepCompleted {
				seen[e.ID]++
			}
		}
		r.same(len(seen), children, "children that were heard of")
		for step, n := range seen {
			r.same(n, 1, "results for "+step)
		}
	}},
	{"a list of hooks is bounded", "default 100, most 1,000", func(r *rig) {
		s := r.worker("greet").create("greet")
		c := s.next()
		for i := range 1100 {
			h := hookCreated(fmt.Sprint("hook_", i), fmt.Sprint("t", i))
			h.Time = world.Now()
			c.Events = append(c.Events, h)
		}
		s.write(c)
		for _, q := range []world.HookQuery{{}, {Run: s.run}} {
			for limit, want := range map[int]int{0: 100, 500: 500, 1000: 1000, 5000: 1000} {
				q.Limit = limit
				hooks, err := r.w.Hooks(r.ctx, q)
				r.must(err, "hooks")
				r.same(len(hooks), want, fmt.Sprintf("hooks with limit %d, of run %q", limit, q.Run))
			}
		}
	}},
}
