// Lists: how runs are found among others, and that readers beside writers miss none.

package worldtest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/stepwell/stepwell/world"
)

func withAttributes(pairs ...string) func(*world.Birth) {
	return func(b *world.Birth) { b.Attributes = attributesOf(pairs...) }
}

// attributesOf are names and JSON values in turn.
func attributesOf(pairs ...string) map[string]json.RawMessage {
	all := make(map[string]json.RawMessage)
	for i := 0; i < len(pairs); i += 2 {
		all[pairs[i]] = jsonText(pairs[i+1])
	}
	return all
}

func attrSet(id, name, value string) world.Event {
	return world.Event{Type: world.AttrSet, ID: id, Name: name, Payload: jsonText(value)}
}

// having lists the runs that have attributes, in pages of any size.
func (r *rig) having(pairs ...string) []string {
	r.Helper()
	q := world.RunQuery{Attributes: attributesOf(pairs...)}
	all := r.list(q)
	q.Limit = 1
	r.same(r.list(q), all, "runs in pages of one")
	return all
}

func withOrigin(run string, seq int64) func(*world.Birth) {
	return func(b *world.Birth) { b.Origin = &world.Origin{Run: run, Seq: seq} }
}

// listed lists the runs that a query finds, in pages of any size, and once more among the runs of a workflow.
func (r *rig) listed(q world.RunQuery, want []string, what string) {
	r.Helper()
	r.same(r.list(q), want, what)
	q.Limit = 1
	r.same(r.list(q), want, what+", in pages of one")
	q.Workflow, q.Limit = "nobody's", 0
	r.same(len(r.list(q)), 0, what+", of another workflow")
}

var lists = []check{
	{"hooks are listed oldest first", "by the time of their creation, then by ID: as one page shows them, also those of one commit", func(r *rig) {
		s := r.worker("greet").create("greet")
		at := world.Now()
		c := s.next()
		for i, id := range []string{"hook_3", "hook_1", "hook_2"} {
			h := hookCreated(id, fmt.Sprint("token ", 9-i))
			h.Time = at
			c.Events = append(c.Events, h)
		}
		s.write(c)
		h := hookCreated("hook_0", "token 0")
		h.Time = at.Add(time.Millisecond)
		s.append(h)
		for _, q := range []world.HookQuery{{}, {Run: s.run}} {
			hooks, err := r.w.Hooks(r.ctx, q)
			r.must(err, "hooks")
			var ids []string
			for _, h := range hooks {
				ids = append(ids, h.ID)
			}
			r.same(ids, []string{"hook_1", "hook_2", "hook_3", "hook_0"}, "hooks")
		}
	}},
	{"what is in the place of a run is told with it", "of a run that did not complete, the newest of those that took its place in turn, wherever it is listed or read", func(r *rig) {
		k := r.worker("greet")
		failed := world.Event{Type: world.RunFailed, Error: &world.Error{Message: "broken", Code: "MINE"}}
		first, alone, done := k.create("greet"), k.create("greet"), k.create("greet")
		first.append(failed)
		alone.append(failed)
		done.append(world.Event{Type: world.RunCompleted, Payload: jsonText(`1`)})
		second := k.create("greet", inPlaceOf(first.run))
		second.append(world.Event{Type: world.RunCancelled})
		third := k.create("greet", inPlaceOf(second.run))
		want := map[string]*world.Heir{}
		tells := func(status world.Status) {
			r.Helper()
			want[first.run] = &world.Heir{Run: third.run, Status: status}
			want[second.run] = want[first.run]
			for _, q := range []world.RunQuery{{}, {Workflow: "greet"}, {Workflow: "greet", Limit: 1}, {Status: []world.Status{world.Failed}}, {Origin: first.run}, {Prefix: second.run}} {
				for more := true; more; more = q.Cursor != "" {
					page, err := r.w.Runs(r.ctx, q)
					r.must(err, "runs")
					for i := range page.Runs {
						r.same(page.Runs[i].Newest, want[page.Runs[i].ID], "what is in the place of a listed run")
					}
					q.Cursor = page.Cursor
				}
			}
			for _, s := range []*session{first, alone, done, second, third} {
				r.same(r.run(s.run).Newest, want[s.run], "what is in the place of a run")
			}
		}
		tells(r.run(third.run).Status)
		third.append(world.Event{Type: world.RunCompleted, Payload: jsonText(`7`)})
		tells(world.Completed)
	}},
	{"a run says which key it took over", "that of the first run, whose place it took in turn", func(r *rig) {
		k := r.worker("greet")
		failed := world.Event{Type: world.RunFailed, Error: &world.Error{Message: "broken", Code: "MINE"}}
		last, plain := k.create("greet", func(b *world.Birth) { b.Key = "order-7" }), k.create("greet")
		plain.append(failed)
		r.same(r.run(k.create("greet", inPlaceOf(plain.run)).run).FirstKey, "", "the key where there was none")
		for range 2 {
			last.append(failed)
			last = k.create("greet", inPlaceOf(last.run))
			r.same(r.run(last.run).FirstKey, "order-7", "the key that was taken over")
		}
		page, err := r.w.Runs(r.ctx, world.RunQuery{Limit: 2})
		r.must(err, "runs")
		r.same([]string{page.Runs[0].FirstKey, page.Runs[1].FirstKey}, []string{"order-7", "order-7"}, "keys in a list")
	}},
	{"what is in the place of a child is no root", "a list without children has none of those that took the place of one either, in turn too", func(r *rig) {
		k := r.worker("greet")
		failed := world.Event{Type: world.RunFailed, Error: &world.Error{Message: "broken", Code: "MINE"}}
		root := k.create("greet")
		root.append(failed)
		child := k.create("greet", func(b *world.Birth) { b.Parent = &world.Parent{Run: root.run, Step: "step_1", Detached: true} })
		child.append(failed)
		second := k.create("greet", inPlaceOf(child.run))
		second.append(failed)
		third, other := k.create("greet", inPlaceOf(second.run)), k.create("greet", inPlaceOf(root.run))
		r.same(r.list(world.RunQuery{Roots: true}), []string{other.run, root.run}, "roots")
		r.same(r.list(world.RunQuery{Roots: true, Limit: 1}), []string{other.run, root.run}, "roots, in pages of one")
		r.same(r.list(world.RunQuery{}), []string{other.run, third.run, second.run, child.run, root.run}, "all")
	}},
	{"what was made of a run is found", "its children, and its forks, newest first, with other filters too; when they are over, and no more when they are swept", func(r *rig) {
		k := r.worker("greet", "child")
		s := k.create("greet")
		var children, made []string
		for i := range 5 {
			c := s.childCommit(fmt.Sprint("step_", i))
			s.write(c)
			children = append([]string{c.Births[0].Run}, children...)
			made = append([]string{r.createRun("greet", withOrigin(s.run, int64(i+1)), withAttributes("odd", fmt.Sprint(i%2)), withRetention(time.Millisecond))}, made...)
			r.createRun("greet", withOrigin(made[0], 1)) // of another
			r.createRun("greet")
		}
		r.listed(world.RunQuery{Parent: s.run}, children, "children")
		r.listed(world.RunQuery{Origin: s.run}, made, "forks")
		r.same(r.run(made[1]).Origin, &world.Origin{Run: s.run, Seq: 4}, "where a fork comes from")
		r.same(r.run(s.run).Origin, (*world.Origin)(nil), "where nothing comes from")
		r.same(len(r.list(world.RunQuery{Parent: s.run, Origin: s.run})), 0, "runs that are both")
		r.same(len(r.list(world.RunQuery{Parent: children[0]}))+len(r.list(world.RunQuery{Origin: "wrun_none"})), 0, "what was made of those of which nothing was")
		r.same(r.list(world.RunQuery{Origin: s.run, Workflow: "greet", Status: []world.Status{world.Pending}}), made, "forks, by workflow and status")
		r.same(r.list(world.RunQuery{Origin: s.run, Attributes: attributesOf("odd", `1`)}), []string{made[1], made[3]}, "forks, by attribute")
		r.same(r.list(world.RunQuery{Origin: s.run, Input: []json.RawMessage{jsonText(`{"in":1}`)}, Since: world.Now().Add(-time.Hour)}), made, "forks, by input")
		r.same(len(r.list(world.RunQuery{Parent: s.run, Until: world.Now().Add(-time.Hour)})), 0, "children of another time")
		r.deliver(act(made[0], "", world.RunCancelled))
		r.same(r.list(world.RunQuery{Origin: s.run, Status: []world.Status{world.Cancelled}}), made[:1], "forks that are over")
		r.listed(world.RunQuery{Origin: s.run}, made, "forks, one of them over")
		r.until("it is swept", func() bool { return r.sweep(10) == 1 })
		r.listed(world.RunQuery{Origin: s.run}, made[1:], "forks, one of them swept")
		s.end()
		r.listed(world.RunQuery{Origin: s.run}, made[1:], "forks of what is over")
		r.listed(world.RunQuery{Parent: s.run}, children, "children of what is over")
	}},
	{"a run is found by the attributes that it has now", "of its birth, set, set anew, and of a new segment; while it lives, when it is over, and no more when it is swept", func(r *rig) {
		k := r.worker("greet")
		s := k.create("greet", withAttributes("stage", `"new"`, "kept", `1`), withRetention(time.Millisecond))
		other := r.createRun("greet", withAttributes("stage", `"new"`))
		r.same(r.having("stage", `"new"`), []string{other, s.run}, "runs that are created so")
		s.append(attrSet("attr_1", "stage", `"packed"`), attrSet("attr_2", "stage", `"shipped"`), attrSet("attr_3", "late", `{"by":2,"why":["snow","ice"]}`))
		r.same(r.having("stage", `"new"`), []string{other}, "runs with the value that it had")
		r.same(len(r.having("stage", `"packed"`)), 0, "runs with a value that it never had to show")
		r.same(r.having("stage", `"shipped"`, "kept", `1`), []string{s.run}, "runs with what was set, and what was not touched")
		r.same(r.having("late", `{"why":["ice"]}`), []string{s.run}, "runs with a part of a value")
		s.append(attrSet("attr_4", "stage", `"shipped"`), attrSet("attr_5", "late", `{"by":3}`))
		r.same(r.having("stage", `"shipped"`), []string{s.run}, "runs with what was set twice")
		r.same(len(r.having("late", `{"by":2}`)), 0, "runs with a part that is no more")
		s.append(world.Event{Type: world.RunContinued, Payload: jsonText(`2`), Next: &world.Continuation{Attributes: attributesOf("stage", `"again"`, "kept", `1`)}})
		r.same(r.having("stage", `"again"`, "kept", `1`), []string{s.run}, "runs with what the segment began with")
		r.same(len(r.having("stage", `"shipped"`))+len(r.having("late", `{}`)), 0, "runs with what it does not have any more")
		c := s.childCommit("step_1", withAttributes("stage", `"again"`))
		s.write(c)
		s.append(attrSet("attr_6", "last", `true`), world.Event{Type: world.RunCompleted, Payload: jsonText(`1`)})
		r.same(r.having("stage", `"again"`), []string{c.Births[0].Run, s.run}, "runs, one of them over")
		r.same(r.having("last", `true`), []string{s.run}, "runs with what was set with the end")
		r.until("it is swept", func() bool { return r.sweep(10) == 1 })
		r.same(r.having("stage", `"again"`), []string{c.Births[0].Run}, "runs when it is swept")
		r.same(len(r.having("kept", `1`)), 0, "swept runs")
	}},
	{"runs are found by what people know", "a key, the beginning of an ID, a version, no parent, and how they stand; with other filters too", func(r *rig) {
		k := r.worker("greet", "other", "child")
		key := func(key string) func(*world.Birth) { return func(b *world.Birth) { b.Key = key } }
		named := func(id string, with ...func(*world.Birth)) string {
			c := birth("greet", with...)
			c.Run = id
			r.commit(c)
			return id
		}
		first, second := r.createRun("greet", key("order 7")), r.createRun("other", key("order 7"))
		r.createRun("greet", key("order 77"))
		r.same(r.list(world.RunQuery{Key: "order 7"}), []string{second, first}, "runs with a key")
		r.same(r.list(world.RunQuery{Key: "order 7", Workflow: "greet"}), []string{first}, "the run of a workflow with a key")
		r.same(r.list(world.RunQuery{Key: "order 7", Status: []world.Status{world.Completed}}), []string(nil), "runs with a key that are over")
		r.same(len(r.list(world.RunQuery{Key: "order"}))+len(r.list(world.RunQuery{Key: "o%"}))+len(r.list(world.RunQuery{Key: "\x00"})), 0, "runs with a key that none has")

		a, b := named("order-4711:a"), named("Order-4711.b")
		c, d := named("order-4711~c", withAttributes("city", `"Ulm"`)), named("order-471")
		r.same(r.list(world.RunQuery{Prefix: "order-471"}), []string{d, c, a}, "runs whose ID begins so")
		r.same(r.list(world.RunQuery{Prefix: "order-471", Limit: 1}), []string{d, c, a}, "runs whose ID begins so, in pages of one")
		r.same(r.list(world.RunQuery{Prefix: "O"}), []string{b}, "a capital")
		r.same(r.list(world.RunQuery{Prefix: a}), []string{a}, "a whole ID")
		r.same(r.list(world.RunQuery{Prefix: first[:20], Workflow: "greet", Key: "order 7"}), []string{first}, "with a key")
		r.same(r.list(world.RunQuery{Prefix: "order-", Attributes: attributesOf("city", `"Ulm"`)}), []string{c}, "with an attribute")
		r.same(len(r.list(world.RunQuery{Prefix: "order_"}))+len(r.list(world.RunQuery{Prefix: "order-4711~d"})), 0, "none begins so")
		_, err := r.w.Runs(r.ctx, world.RunQuery{Prefix: "a b"})
		r.refused(err, world.ErrInvalid, "a beginning that no ID has")

		s := k.create("greet")
		kid := s.childCommit("step_1")
		s.write(kid)
		child := kid.Births[0].Run
		all := r.list(world.RunQuery{})
		r.same(slices.Contains(all, child), true, "the child is there")
		roots := slices.DeleteFunc(slices.Clone(all), func(id string) bool { return id == child })
		for _, limit := range []int{0, 1, 3} {
			r.same(r.list(world.RunQuery{Roots: true, Limit: limit}), roots, "runs that are no children")
		}
		r.same(r.list(world.RunQuery{Roots: true, Workflow: "child"}), []string(nil), "children that are none")
		r.same(r.list(world.RunQuery{Roots: true, Parent: s.run}), []string(nil), "children that are none, of one")
		r.same(r.list(world.RunQuery{Roots: true, Status: []world.Status{world.Running}}), []string{s.run}, "and have begun")

		two := r.createRun("greet", func(b *world.Birth) { b.Version = 2 })
		for _, q := range []world.RunQuery{{Version: 2}, {Version: 2, Workflow: "greet"}, {Version: 2, Status: []world.Status{world.Pending}}, {Version: 2, Limit: 1}, {Version: 2, Roots: true}} {
			r.same(r.list(q), []string{two}, "runs of a version")
		}
		r.same(r.list(world.RunQuery{Version: 3}), []string(nil), "runs of a version that none has")

		r.deliver(act(a, "", world.RunPaused))
		r.same(r.list(world.RunQuery{Status: []world.Status{world.StandsPaused}}), []string{a}, "runs that are paused")
		r.same(r.list(world.RunQuery{Status: []world.Status{world.StandsPaused, world.StandsBlocked}, Workflow: "other"}), []string(nil), "of another workflow")
		r.same(r.list(world.RunQuery{Status: []world.Status{world.StandsWorking}, Limit: 1}), []string{s.run}, "runs that a worker has")
		r.deliver(act(b, "", world.RunCancelled))
		queued := r.list(world.RunQuery{Status: []world.Status{world.StandsQueued}})
		r.same(slices.Contains(queued, c) && !slices.Contains(queued, a) && !slices.Contains(queued, b) && !slices.Contains(queued, s.run), true, "runs that are queued")
		r.same(r.list(world.RunQuery{Status: []world.Status{world.StandsPaused, world.Cancelled}}), []string{b, a}, "by a status too")
		r.same(len(r.list(world.RunQuery{Status: []world.Status{world.StandsSleeping, world.StandsWaiting, world.StandsRetrying, world.StandsDelayed, world.StandsDamaged}})), 0, "runs that stand otherwise")
		page, err := r.w.Runs(r.ctx, world.RunQuery{Prefix: s.run})
		r.must(err, "the run in a list")
		for _, row := range append(page.Runs, r.run(s.run)) {
			r.same(row.StartedAt.IsZero() || row.StartedAt.Before(row.CreatedAt), false, "when it began")
		}
		r.same(r.run(c).StartedAt.IsZero(), true, "one that has not begun")
		s.release(world.Release{WakeAt: world.Now().Add(time.Hour), Waiting: `sleep "night"`})
		r.same(r.list(world.RunQuery{Status: []world.Status{world.StandsSleeping}}), []string{s.run}, "runs that sleep")
		r.same(len(r.list(world.RunQuery{Status: []world.Status{world.StandsWorking}})), 0, "runs that a worker has, when it let go")
		t := k.create("greet")
		t.release(world.Release{WakeAt: world.Now().Add(time.Hour), Blocked: &world.Block{Code: world.CodePanic, Message: "no", Since: world.Now()}})
		r.same(r.list(world.RunQuery{Status: []world.Status{world.StandsBlocked}, Limit: 1}), []string{t.run}, "runs that are blocked")
		r.same(r.list(world.RunQuery{Status: []world.Status{world.StandsBlocked, world.StandsPaused}, Limit: 1}), []string{t.run, a}, "runs that are stopped")
	}},
	{"attributes are found by value", "numbers by value, texts as a whole, null and false as they are, whatever their notation and length", func(r *rig) {
		long := strings.Repeat("é", 300)
		values := []string{
			`0`, `1`, `1.50`, `-1`, `1e3`, `12345678901234567890`, `"1"`, `""`, `"Ulm"`, `"` + long + `a"`, `"` + long + `b"`, `"` + long[:298] + "x" + long[:298] + `b"`,
			`"a\u0000b"`, `"\ufffd"`, `"\ud83d\ude00"`, `null`, `false`, `true`, `{}`, `{"a":{"b":[1,2]}}`, `[]`, `[1,"x"]`,
		}
		runs := make([]string, len(values))
		for i, v := range values {
			runs[i] = r.createRun("greet", withAttributes("v", v))
		}
		for _, pattern := range append(slices.Clone(values), `-0.0`, `1.0`, `10e-1`, `15e-1`, `1000`, `12345678901234567891`, `"ulm"`, `"Ul"`, `"\u0055lm"`, `"😀"`, `{"a":{}}`,
			`{"a":{"b":[2]}}`, `{"b":1}`, `["x"]`, `[2]`, `1e999999999`) {
			var want []string
			for i, v := range slices.Backward(values) {
				if world.Contains(jsonText(v), jsonText(pattern)) {
					want = append(want, runs[i])
				}
			}
			r.same(r.having("v", pattern), want, fmt.Sprintf("runs with %.60s", pattern))
		}
		r.same(len(r.having("w", `1`)), 0, "runs with an attribute that none has")
	}},
	{"a filtered list holds while runs come, go and change", "under a cursor, every run that matched all the time and stayed comes once, in order", func(r *rig) {
		k := r.worker("greet")
		attrs := withAttributes("colour", `"blue"`, "size", `{"w":1,"h":2}`)
		var stay []string
		var ending, turning []*session
		for i := range 24 {
			switch i % 4 {
			case 0:
				ending = append(ending, k.create("greet", withRetention(time.Millisecond), attrs))
			case 1:
				turning = append(turning, k.create("greet", attrs))
			default:
				stay = append([]string{k.create("greet", attrs).run}, stay...)
			}
		}
		queries := []world.RunQuery{
			{Attributes: attributesOf("colour", `"blue"`)},
			{Attributes: attributesOf("colour", `"blue"`, "size", `{"w":1}`), Workflow: "greet"},
			{Input: []json.RawMessage{jsonText(`{"in":1}`)}, Status: []world.Status{world.Running}},
			{Attributes: attributesOf("size", `{"h":2}`), Status: []world.Status{world.Running}, Since: world.Now().Add(-time.Hour), Until: world.Now().Add(time.Hour)},
		}
		got := make([][]string, len(queries))
		for i := range queries {
			queries[i].Limit = 3
		}
		for page := 0; len(queries) > 0 && page < 100; page++ {
			done := true
			for i := range queries {
				if page > 0 && queries[i].Cursor == "" {
					continue
				}
				p, err := r.w.Runs(r.ctx, queries[i])
				r.must(err, "runs")
				queries[i].Cursor, done = p.Cursor, done && p.Cursor == ""
				for _, run := range p.Runs {
					got[i] = append(got[i], run.ID)
				}
			}
			if done {
				break
			}
			k.create("greet", attrs) // newer than all cursors
			if page < len(ending) {
				ending[page].end()
				turning[page].append(attrSet("attr_1", "colour", `"red"`))
			}
			r.sweep(10)
		}
		for i := range queries {
			r.same(slices.DeleteFunc(slices.Clone(got[i]), func(id string) bool { return !slices.Contains(stay, id) }), stay, fmt.Sprintf("runs that stayed, query %d", i))
			slices.Sort(got[i])
			r.same(len(slices.Compact(got[i])), len(got[i]), fmt.Sprintf("runs that came once, query %d", i))
		}
	}},
}
