// Admin: what operators read, and housekeeping.

package worldtest

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/stepwell/stepwell/world"
)

func withRetention(d time.Duration) func(*world.Birth) {
	return func(b *world.Birth) { b.Retention = d }
}

// sweep sweeps once.
func (r *rig) sweep(limit int) int {
	r.Helper()
	n, err := r.w.Sweep(r.ctx, limit)
	r.must(err, "sweep")
	return n
}

// list reads all pages of a list of runs.
func (r *rig) list(q world.RunQuery) (ids []string) {
	r.Helper()
	for range 1000 {
		page, err := r.w.Runs(r.ctx, q)
		r.must(err, "runs")
		if q.Limit > 0 && len(page.Runs) > q.Limit {
			r.Fatalf("a page of %d runs, at most %d were asked for", len(page.Runs), q.Limit)
		}
		for _, run := range page.Runs {
			ids = append(ids, run.ID)
		}
		if page.Cursor == "" {
			return ids
		}
		q.Cursor = page.Cursor
	}
	r.Fatalf("the list of runs has no end")
	return nil
}

var admin = []check{
	{"runs are listed newest first", "pages of any size, one behind the other, are the whole list", func(r *rig) {
		var want []string
		for range 7 {
			want = append([]string{r.createRun("greet")}, want...)
		}
		for _, limit := range []int{0, 1, 2, 7, 100} {
			r.same(r.list(world.RunQuery{Limit: limit}), want, fmt.Sprintf("runs in pages of %d", limit))
		}
		page, err := r.w.Runs(r.ctx, world.RunQuery{Limit: 7})
		r.must(err, "runs")
		for _, run := range page.Runs {
			r.same(run, r.run(run.ID), "row in the list")
		}
	}},
	{"a cursor holds while runs come and go", "under a cursor, no run that was there all the time is missed or comes twice", func(r *rig) {
		k := r.worker("greet")
		var want []string
		var ending []*session
		for i := range 9 {
			if i%3 == 0 {
				ending = append(ending, k.create("greet", withRetention(time.Millisecond)))
				want = append([]string{ending[len(ending)-1].run}, want...)
				continue
			}
			want = append([]string{r.createRun("greet")}, want...)
		}
		var got []string
		cursor := ""
		for i := 0; ; i++ {
			page, err := r.w.Runs(r.ctx, world.RunQuery{Limit: 2, Cursor: cursor})
			r.must(err, "runs")
			for _, run := range page.Runs {
				got = append(got, run.ID)
			}
			if cursor = page.Cursor; cursor == "" {
				break
			}
			r.createRun("greet") // newer than the cursor
			if i < len(ending) {
				ending[i].end()
			}
		}
		r.same(got, want, "runs")

		all := r.list(world.RunQuery{})
		first, err := r.w.Runs(r.ctx, world.RunQuery{Limit: slices.Index(all, ending[2].run) + 1}) // the cursor's run is swept
		r.must(err, "runs")
		r.until("the ended runs are swept", func() bool { r.sweep(10); return len(r.list(world.RunQuery{})) == len(all)-len(ending) })
		rest := r.list(world.RunQuery{Cursor: first.Cursor})
		r.same(rest, slices.DeleteFunc(slices.Clone(all[len(first.Runs):]), func(id string) bool { return id == ending[0].run || id == ending[1].run }), "runs behind a swept one")
	}},
	{"runs can be filtered by what they were given", "by JSON that the input contains and by attributes, in pages of any size", func(r *rig) {
		var all, even, blue []string
		for i := range 9 {
			c := birth("greet")
			c.Events[0].Payload = fmt.Appendf(nil, `{"n":%d,"who":{"even":%t,"name":"ann"}}`, i, i%2 == 0)
			if i%3 == 0 {
				c.Events[0].Birth.Attributes = map[string]json.RawMessage{"colour": []byte(`"blue"`), "n": fmt.Appendf(nil, "%d", i)}
				blue = append([]string{c.Run}, blue...)
			}
			if i%2 == 0 {
				even = append([]string{c.Run}, even...)
			}
			r.commit(c)
			all = append([]string{c.Run}, all...)
		}
		s := r.worker("other").create("other")
		s.append(world.Event{Type: world.AttrSet, ID: "attr_1", Name: "colour", Payload: []byte(`"red"`)})
		for what, c := range map[string]struct {
			q    world.RunQuery
			want []string
		}{
			"all of them":      {world.RunQuery{Input: []json.RawMessage{[]byte(`{"who":{"name":"ann"}}`)}}, all},
			"some":             {world.RunQuery{Input: []json.RawMessage{[]byte(`{"who":{"even":true}}`)}}, even},
			"several patterns": {world.RunQuery{Input: []json.RawMessage{[]byte(`{"who":{"even":true}}`), []byte(`{"n":4.0}`)}}, even[2:3]},
			"none":             {world.RunQuery{Input: []json.RawMessage{[]byte(`{"who":{"even":"true"}}`)}}, nil},
			"no JSON":          {world.RunQuery{Input: []json.RawMessage{[]byte(`{`)}}, nil},
			"an attribute":     {world.RunQuery{Attributes: map[string]json.RawMessage{"colour": []byte(`"blue"`)}}, blue},
			"one that was set": {world.RunQuery{Attributes: map[string]json.RawMessage{"colour": []byte(`"red"`)}}, []string{s.run}},
			"two attributes":   {world.RunQuery{Attributes: map[string]json.RawMessage{"colour": []byte(`"blue"`), "n": []byte(`3`)}}, blue[1:2]},
			"both":             {world.RunQuery{Input: []json.RawMessage{[]byte(`{"n":3}`)}, Attributes: map[string]json.RawMessage{"colour": []byte(`"blue"`)}, Workflow: "greet"}, blue[1:2]},
		} {
			for _, limit := range []int{0, 1, 2} {
				c.q.Limit = limit
				r.same(r.list(c.q), c.want, fmt.Sprintf("%s, in pages of %d", what, limit))
			}
		}
	}},
	{"runs can be filtered", "by workflow, status and time of birth; Since is from, Until is before", func(r *rig) {
		k := r.worker("greet")
		pending := r.createRun("greet")
		running := k.create("other")
		done := k.create("greet")
		done.end()
		failed := k.create("greet")
		failed.append(world.Event{Type: world.RunFailed, Error: &world.Error{Message: "no"}})
		cancelled := r.createRun("greet")
		r.deliver(act(cancelled, "", world.RunCancelled))
		at := r.run(done.run).CreatedAt
		for what, c := range map[string]struct {
			q    world.RunQuery
			want []string
		}{
			"workflow":      {world.RunQuery{Workflow: "other"}, []string{running.run}},
			"no workflow":   {world.RunQuery{Workflow: "oth"}, nil},
			"pending":       {world.RunQuery{Status: []world.Status{world.Pending}}, []string{pending}},
			"running":       {world.RunQuery{Status: []world.Status{world.Running}}, []string{running.run}},
			"over":          {world.RunQuery{Status: []world.Status{world.Completed, world.Failed, world.Cancelled}}, []string{cancelled, failed.run, done.run}},
			"since":         {world.RunQuery{Since: at}, []string{cancelled, failed.run, done.run}},
			"until":         {world.RunQuery{Until: at}, []string{running.run, pending}},
			"since, until":  {world.RunQuery{Since: at, Until: at.Add(time.Microsecond)}, []string{done.run}},
			"all of it":     {world.RunQuery{Workflow: "greet", Status: []world.Status{world.Failed}, Since: at, Until: at.Add(time.Hour)}, []string{failed.run}},
			"nothing fits":  {world.RunQuery{Workflow: "other", Status: []world.Status{world.Failed}}, nil},
			"before it all": {world.RunQuery{Until: at.Add(-time.Hour)}, nil},
		} {
			for _, limit := range []int{0, 1} {
				c.q.Limit = limit
				r.same(r.list(c.q), c.want, what)
			}
		}
	}},
	{"a page of runs is bounded", "default 100, most 1,000", func(r *rig) {
		s := r.worker("greet").create("greet")
		c := s.next(signalEvent("a"))
		for range 1100 {
			c.Births = append(c.Births, birth("greet"))
		}
		s.write(c)
		for limit, want := range map[int]int{0: 100, 1000: 1000, 5000: 1000} {
			page, err := r.w.Runs(r.ctx, world.RunQuery{Limit: limit})
			r.must(err, "runs")
			if len(page.Runs) != want || page.Cursor == "" {
				r.Fatalf("limit %d: got %d runs, cursor %q; want %d and a cursor", limit, len(page.Runs), page.Cursor, want)
			}
		}
	}},
	{"a row tells how the run ended", "the terminal event writes the outcome to the run's row", func(r *rig) {
		k := r.worker("greet")
		s := k.create("greet", withRetention(time.Hour))
		s.append(world.Event{Type: world.AttrSet, ID: "attr_1", Name: "tenant", Payload: jsonText(`"t1"`)})
		r.same(r.run(s.run).Attributes, map[string]jsonText{"tenant": jsonText(`"t1"`)}, "attributes")
		end := s.next(world.Event{Type: world.RunFailed, Error: &world.Error{Message: "broken", Code: "MINE"}})
		s.write(end)
		row := r.run(s.run)
		want := world.Run{
			ID: s.run, Workflow: "greet", Version: 1, Status: world.Failed, Priority: 1, Input: jsonText(`{"in":1}`), Error: end.Events[0].Error,
			CreatedAt: row.CreatedAt, StartedAt: row.CreatedAt, EndedAt: end.Events[0].Time, Retention: time.Hour, Attributes: row.Attributes, Claims: 1,
		}
		r.same(row, want, "run")
		r.same(row.Attributes, map[string]jsonText{"tenant": jsonText(`"t1"`)}, "attributes")
	}},
	{"stats count runs", "by workflow and status; blocked and paused are counted among them", func(r *rig) {
		k := r.worker("a", "b")
		r.createRun("a")
		r.deliver(act(r.createRun("a"), "", world.RunPaused))
		k.create("a")
		k.create("a").end()
		k.create("b").append(world.Event{Type: world.RunFailed, Error: &world.Error{Message: "no"}})
		r.deliver(act(r.createRun("b"), "", world.RunCancelled))
		k.create("b").release(world.Release{WakeAt: world.Now().Add(time.Hour), Blocked: &world.Block{Code: world.CodePanic, Message: "no", Since: world.Now()}})
		st, err := r.w.Stats(r.ctx)
		r.must(err, "stats")
		slices.SortFunc(st.Workflows, func(a, b world.WorkflowStats) int { return int(a.Workflow[0]) - int(b.Workflow[0]) })
		r.same(st.Workflows, []world.WorkflowStats{
			{Workflow: "a", Pending: 2, Running: 1, Completed: 1, Paused: 1},
			{Workflow: "b", Running: 1, Failed: 1, Cancelled: 1, Blocked: 1},
		}, "workflows")
	}},
	{"counters tell what was done", "Commits, Claims, Deliveries and log rows are counted since the world was opened", func(r *rig) {
		count := func() world.Counters {
			st, err := r.w.Stats(r.ctx)
			r.must(err, "stats")
			return st.Counters
		}
		k := r.worker("greet")
		before := count()
		s := k.create("greet")
		s.append(signalEvent("a"), signalEvent("b"))
		s.release(world.Release{WakeAt: world.Now()})
		r.deliver(signal(s.run, "", "a"))
		k.get(s.run)
		r.events(s.run)
		after := count()
		for what, c := range map[string][2]int64{
			"commits":      {after.Commits - before.Commits, 3},
			"claims":       {after.Claims - before.Claims, 1},
			"deliveries":   {after.Deliveries - before.Deliveries, 1},
			"rows read":    {after.RowsRead - before.RowsRead, 2},
			"rows written": {after.RowsWritten - before.RowsWritten, 2},
		} {
			r.same(c[0], c[1], what)
		}
		if groups := after.Groups - before.Groups; groups < 1 || groups > 3+1+1 {
			r.Fatalf("%d groups for 3 commits, a delivery and a claim", groups)
		}
	}},
	{"sweep deletes what is over and old enough", "terminal runs whose retention ended, and no others; at most as many as asked for", func(r *rig) {
		k := r.worker("greet")
		var kept, swept []string
		for range 3 {
			s := k.create("greet", withRetention(time.Millisecond), withKey(newRun()))
			s.append(hookCreated("hook_1", s.run))
			s.end()
			swept = append(swept, s.run)
		}
		for _, retention := range []time.Duration{0, time.Hour} {
			s := k.create("greet", withRetention(retention))
			s.end()
			kept = append(kept, s.run)
		}
		kept = append(kept, k.create("greet", withRetention(time.Millisecond)).run, r.createRun("greet", withRetention(time.Millisecond)))
		slept := k.create("greet", withRetention(time.Millisecond))
		slept.release(world.Release{})
		kept = append(kept, slept.run)
		n := 0
		r.until("two are swept", func() bool { n += r.sweep(2 - n); return n == 2 })
		r.until("the third is swept", func() bool { n += r.sweep(10); return n == 3 })
		r.same(r.sweep(10), 0, "runs swept when nothing is left to sweep")
		for _, id := range swept {
			r.absent(id)
			_, err := r.w.Deliver(r.ctx, signal(id, "", "a"))
			r.refused(err, world.ErrNotFound, "a signal to a swept run")
			_, err = r.w.Outcome(r.ctx, &world.Commit{Run: id, First: 1, Events: []world.Event{signalEvent("a")}})
			r.refused(err, world.ErrNotFound, "outcome of a commit to a swept run")
		}
		got := r.list(world.RunQuery{})
		slices.Sort(got)
		slices.Sort(kept)
		r.same(got, kept, "runs that are left")
		for _, id := range kept {
			r.events(id)
		}
	}},
	{"a swept ID is free", "all traces of a swept run are gone: its ID, its log, its mail", func(r *rig) {
		k := r.worker("greet")
		s := k.create("greet", withRetention(time.Millisecond))
		s.append(signalEvent("a"))
		s.end()
		r.until("the run is swept", func() bool { return r.sweep(10) == 1 })
		c := birth("greet")
		c.Run = s.run
		r.commit(c)
		_, got := k.get(c.Run)
		r.same(got.Claim, int64(1), "take")
		r.same(len(got.Mail), 0, "mail")
		r.same(r.types(c.Run), []world.EventType{world.RunCreated}, "events")
	}},
	{"sweeping a run leaves its relatives alone", "deleting a run deletes no child and no parent, and a result for it is dropped", func(r *rig) {
		k := r.worker("greet", "child")
		s := k.create("greet", withRetention(time.Millisecond))
		other := k.create("greet")
		c := s.childCommit("step_1")
		s.write(c)
		s.await("step_2", other.run)
		s.end()
		r.until("the parent is swept", func() bool { return r.sweep(10) == 1 })
		child, _ := k.get(c.Births[0].Run)
		child.end()
		other.end()
		r.same(r.run(child.run).Status, world.Completed, "the child's status")
		r.absent(s.run)
	}},
}
