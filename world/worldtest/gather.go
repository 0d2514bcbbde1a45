// Gathering: starts whose inputs are given to a run that has not begun.

package worldtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/stepwell/stepwell/world"
)

// debounced is what gathers for an hour, unless it is woken, and hourly a batch of three.
var (
	debounced = world.Gather{Key: "k", Quiet: time.Hour, Most: 2 * time.Hour}
	hourly    = world.Gather{Key: "k", Most: time.Hour, Number: 3}
)

// start is a birth that may be merged.
func start(g world.Gather, input string, with ...func(*world.Birth)) *world.Commit {
	c := birth("greet", append(with, func(b *world.Birth) { b.Gather = &g })...)
	c.Events[0].Payload, c.Items = json.RawMessage(input), 1
	return c
}

// input gives a start's input to a run.
func input(run string, c *world.Commit) *world.Delivery {
	b := c.Events[0].Birth
	id := b.Key
	if id == "" {
		id = c.Run
	}
	return &world.Delivery{Run: run, ID: id, Act: true, Items: c.Items, Events: []world.Event{{Type: world.InputReceived, Name: b.Key, Payload: c.Events[0].Payload}}}
}

// gathered starts, as an engine does, and tells in which run the input is.
func (r *rig) gathered(c *world.Commit) string {
	r.Helper()
	for range 100 {
		done := r.commit(c)
		switch {
		case done.Existing == "":
			return c.Run
		case !done.Gathering:
			return done.Existing
		}
		got, err := r.w.Deliver(r.ctx, input(done.Existing, c))
		if err == nil {
			return got.Run
		}
		if !errors.Is(err, world.ErrConflict) && !errors.Is(err, world.ErrTerminal) {
			r.Fatalf("give the input to run %s: %v", done.Existing, err)
		}
	}
	r.Fatalf("run %s: its input goes to no run", c.Run)
	return ""
}

func (r *rig) wake(run string) {
	r.Helper()
	r.deliver(&world.Delivery{Run: run, Act: true, Events: []world.Event{{Type: world.RunResumed, Outcome: world.OutcomeWoken}}})
}

var gathers = []check{
	{"an input goes to the run that gathers", "it is in the log, and the run is not due before its time", func(r *rig) {
		k := r.worker("greet")
		first := start(debounced, `1`)
		r.same(r.commit(first), world.Committed{}, "the first")
		k.idle("it gathers")
		second := start(debounced, `2`)
		r.same(r.commit(second), world.Committed{Existing: first.Run, Gathering: true}, "the second")
		r.absent(second.Run)
		r.same(r.types(first.Run), []world.EventType{world.RunCreated}, "events before it is given")
		before := r.run(first.Run).Queue.WakeAt
		if done := r.deliver(input(first.Run, second)); done.Run != first.Run || done.Duplicate {
			r.Errorf("got %+v", done)
		}
		if after := r.run(first.Run).Queue.WakeAt; !after.After(before) {
			r.Errorf("it begins at %s, and did at %s", after, before)
		}
		if done := r.deliver(input(first.Run, second)); !done.Duplicate {
			r.Error("the same input again is taken")
		}
		r.same(r.types(first.Run), []world.EventType{world.RunCreated, world.InputReceived}, "events")
		other, alone := debounced, debounced
		other.Key = "other"
		r.same(r.commit(start(other, `3`)), world.Committed{}, "another key")
		c := start(alone, `4`)
		c.Items = 0
		r.same(r.commit(c), world.Committed{}, "one that is not merged")
		r.wake(c.Run)
		ses, _ := k.get(c.Run)
		ses.append(world.Event{Type: world.RunStarted})
		ses.end()
		r.wake(first.Run)
		ses, t := k.get(first.Run)
		r.same(t.Seq, int64(2), "events of what is claimed")
		ses.append(world.Event{Type: world.RunStarted})
		ses.end()
		r.same(string(r.events(first.Run)[1].Payload), `2`, "the input")
	}},
	{"a list by a key has the run that its start was merged into",
		"and says that it was merged; of each workflow, with the rest of the filter, and after its end", func(r *rig) {
			first := start(hourly, `[1]`, func(b *world.Birth) { b.Key = "F" })
			r.commit(first)
			run := r.gathered(start(hourly, `[2]`, func(b *world.Birth) { b.Key = "K" }))
			r.same(run, first.Run, "the run that gathers")
			r.createRun("other", func(b *world.Birth) { b.Key = "L" })
			listed := func(what string, q world.RunQuery, want ...world.Run) {
				r.Helper()
				page, err := r.w.Runs(r.ctx, q)
				r.must(err, what)
				var got []world.Run
				for i := range page.Runs {
					got = append(got, world.Run{ID: page.Runs[i].ID, Key: page.Runs[i].Key, Merged: page.Runs[i].Merged})
				}
				r.same([]any{got, page.Cursor}, []any{want, ""}, what)
			}
			own, merged := world.Run{ID: run, Key: "F"}, world.Run{ID: run, Key: "F", Merged: true}
			all := func(name string) {
				r.Helper()
				listed(name+": its own key", world.RunQuery{Key: "F"}, own)
				listed(name+": the key of what was merged", world.RunQuery{Key: "K"}, merged)
				listed(name+": of its workflow", world.RunQuery{Key: "K", Workflow: "greet"}, merged)
				listed(name+": of another", world.RunQuery{Key: "K", Workflow: "other"})
				listed(name+": of another version", world.RunQuery{Key: "K", Version: 7})
				listed(name+": nobody's key", world.RunQuery{Key: "N"})
				listed(name+": by its ID", world.RunQuery{Prefix: run}, own)
			}
			all("gathering")
			r.wake(run)
			s, _ := r.worker("greet").get(run)
			s.append(world.Event{Type: world.RunStarted})
			s.end()
			all("over")
		}},
	{"the key of a start that was merged is known to one that is not", "a batch that is whole when it is started again adds nothing", func(r *rig) {
		r.commit(start(hourly, `[1]`))
		keyed := func(b *world.Birth) { b.Key = "K" }
		run := r.gathered(start(hourly, `[2]`, keyed))
		again := start(hourly, `[2]`, keyed)
		again.Items = 0
		r.same(r.commit(again), world.Committed{Existing: run}, "the same start again")
		r.absent(again.Run)
	}},
	{"the key of a start that was merged is known where its workflow merges no more", "no second run of it begins", func(r *rig) {
		r.commit(start(hourly, `[1]`))
		keyed := func(b *world.Birth) { b.Key = "K" }
		run := r.gathered(start(hourly, `[2]`, keyed))
		plain := birth("greet", keyed)
		r.same(r.commit(plain), world.Committed{Existing: run}, "a plain start with the key")
		r.absent(plain.Run)
		other := birth("other", keyed)
		r.same(r.commit(other), world.Committed{}, "the key with another workflow")
		k := r.worker("parent")
		parent := k.create("parent")
		child := birth("greet", keyed, func(b *world.Birth) { b.Parent = &world.Parent{Run: parent.run, Step: "step_1"} })
		c := parent.next(world.Event{Type: world.StepCreated, ID: "step_1", Kind: world.KindChild, Name: "greet", Peer: child.Run})
		c.Births, c.Conditions = []*world.Commit{child}, []world.Condition{{Event: 0, Birth: 0}}
		parent.write(c)
		r.absent(child.Run)
		types := r.types(parent.run)
		r.same(types[len(types)-1], world.StepFailed, "the step of a child with the key")
		r.deliver(act(run, "", world.RunCancelled))
		r.same(r.commit(birth("greet", keyed)), world.Committed{Existing: run}, "behind the end of the run that has it")
	}},
	{"a run that is created with its log brings the keys of the starts that were merged", "an import forgets none", func(r *rig) {
		keyed := func(key string) func(*world.Birth) { return func(b *world.Birth) { b.Key = key } }
		brought := func(key string, names ...string) *world.Commit {
			c := start(debounced, `0`, keyed(key))
			c.Items = 0
			for i, name := range names {
				c.Events = append(c.Events, world.Event{
					Seq: int64(i) + 2, Type: world.InputReceived, Time: c.Events[0].Time, Name: name, Delivery: name, Payload: json.RawMessage(`1`),
				})
			}
			return c
		}
		c := brought("a", "b", "", "c", "b")
		r.same(r.commit(c), world.Committed{}, "the run with its log")
		for _, key := range []string{"a", "b", "c"} {
			r.same(r.gathered(start(debounced, `2`, keyed(key))), c.Run, "a start with key "+key)
			r.same(r.commit(birth("greet", keyed(key))), world.Committed{Existing: c.Run}, "a plain one with key "+key)
		}
		_, err := r.w.Commit(r.ctx, brought("a", "b"))
		r.must(err, "another with the same keys")
		for _, second := range []*world.Commit{brought("a"), brought("d", "e", "c"), brought("d", "a")} {
			r.same(r.commit(second), world.Committed{Existing: c.Run}, "another that has a key of it")
			r.absent(second.Run)
		}
		r.commit(birth("greet", keyed("plain")))
		if done := r.commit(brought("", "plain")); done.Existing == "" {
			r.Error("two runs have the key of a plain start")
		}
		made := brought("", "b")
		made.Events[0].Birth.Origin = &world.Origin{Run: c.Run, Seq: 1}
		r.same(r.commit(made), world.Committed{}, "what is made of it, which has no key of its own")
		again := brought("a", "b")
		again.Run, again.ID = c.Run, commitID()
		done, err := r.w.Commit(r.ctx, again)
		if err == nil && done.Existing != c.Run || err != nil && !errors.Is(err, world.ErrRunExists) {
			r.Errorf("the same run again: got %+v, %v", done, err)
		}
	}},
	{"what is closed takes no input", "it is woken, asked to end, claimed, over, or full: another opens", func(r *rig) {
		k := r.worker("claimed", "released")
		for _, closed := range []struct {
			name string
			by   func(run string)
		}{ // those that are claimed first: what is to be cancelled any worker is given
			{"claimed", func(run string) { r.wake(run); k.get(run) }},
			{"released", func(run string) {
				r.wake(run)
				ses, _ := k.get(run)
				ses.release(world.Release{WakeAt: world.Now().Add(time.Hour)})
			}},
			{"woken", func(run string) { r.wake(run) }},
			{"cancelled", func(run string) { r.deliver(cancel(run, "")) }},
			{"forced", func(run string) { r.deliver(act(run, "", world.RunCancelled)) }},
		} {
			name := closed.name
			named := func(b *world.Birth) { b.Workflow = name }
			first, second := start(hourly, `[1]`, named), start(hourly, `[2]`, named)
			r.same(r.commit(first), world.Committed{}, name+": the first")
			closed.by(first.Run)
			_, err := r.w.Deliver(r.ctx, input(first.Run, second))
			if !errors.Is(err, world.ErrConflict) && !errors.Is(err, world.ErrTerminal) {
				r.Errorf("%s: an input is answered with %v", name, err)
			}
			r.same(r.commit(second), world.Committed{}, name+": the second")
			third := start(hourly, `[3]`, named)
			r.same(r.commit(third), world.Committed{Existing: second.Run, Gathering: true}, name+": the third")
		}
	}},
	{"a batch that has its number is due", "one that an input does not fit begins without it", func(r *rig) {
		k := r.worker("greet")
		two := func() *world.Commit { c := start(hourly, `[1,2]`); c.Items = 2; return c }
		first := two()
		r.same(r.gathered(first), first.Run, "the first")
		r.same(r.gathered(start(hourly, `[3]`)), first.Run, "the third item")
		ses, _ := k.get(first.Run)
		ses.append(world.Event{Type: world.RunStarted})
		ses.end()
		second, third := two(), two()
		r.same(r.gathered(second), second.Run, "the second")
		k.idle("it has two of three")
		_, err := r.w.Deliver(r.ctx, input(second.Run, third))
		r.refused(err, world.ErrConflict, "four of three")
		r.same(r.gathered(third), third.Run, "the third")
		ses, _ = k.get(second.Run)
		ses.append(world.Event{Type: world.RunStarted})
		ses.end()
		k.idle("the third gathers")
	}},
	{"a run begins when its time is over", "with nobody's help", func(r *rig) {
		k := r.worker("greet")
		g := world.Gather{Quiet: 200 * time.Millisecond, Most: time.Hour}
		c := start(g, `1`)
		r.same(r.gathered(c), c.Run, "the first")
		ses, _ := k.get(c.Run)
		ses.append(world.Event{Type: world.RunStarted})
		ses.end()
	}},
	{"a key is of the start that was merged", "a repeat adds nothing, whatever has begun or gathers meanwhile", func(r *rig) {
		keyed := func(key string) *world.Commit {
			return start(debounced, `1`, func(b *world.Birth) { b.Key = key })
		}
		first := keyed("a")
		r.same(r.gathered(first), first.Run, "the first")
		r.same(r.gathered(keyed("b")), first.Run, "another key")
		r.same(r.gathered(keyed("a")), first.Run, "the first again")
		r.same(r.gathered(keyed("b")), first.Run, "the other again")
		r.same(r.types(first.Run), []world.EventType{world.RunCreated, world.InputReceived}, "events")
		r.wake(first.Run)
		next := start(debounced, `2`)
		r.same(r.gathered(next), next.Run, "the next")
		for _, key := range []string{"a", "b"} {
			again := keyed(key)
			r.same(r.commit(again), world.Committed{Existing: first.Run}, "key "+key)
			done := r.deliver(input(next.Run, again))
			if done.Run != first.Run || !done.Duplicate {
				r.Errorf("key %s, given to another: got %+v", key, done)
			}
		}
		r.same(r.types(next.Run), []world.EventType{world.RunCreated}, "events of the next")
		r.deliver(act(first.Run, "", world.RunCancelled))
		r.same(r.commit(keyed("b")), world.Committed{Existing: first.Run}, "behind its end")
	}},
	{"what is no input is refused", "bad input changes nothing", func(r *rig) {
		plain := r.createRun("greet")
		_, err := r.w.Deliver(r.ctx, input(plain, start(debounced, `1`)))
		r.refused(err, world.ErrConflict, "to a run that gathers nothing")
		_, err = r.w.Deliver(r.ctx, input("wrun_nobody", start(debounced, `1`)))
		r.refused(err, world.ErrNotFound, "to a run that is not there")
		r.same(r.types(plain), []world.EventType{world.RunCreated}, "events")
		for name, bad := range map[string]func(c *world.Commit){
			"nothing to gather": func(c *world.Commit) { c.Events[0].Birth.Gather = nil },
			"too many":          func(c *world.Commit) { c.Items = world.MaxGathered + 1 },
			"delayed":           func(c *world.Commit) { c.Events[0].Birth.NotBefore = world.Now().Add(time.Hour) },
			"no time":           func(c *world.Commit) { c.Events[0].Birth.Gather = &world.Gather{Number: 3} },
			"a child":           func(c *world.Commit) { c.Events[0].Birth.Parent = &world.Parent{Run: plain, Step: "step_1"} },
		} {
			c := start(debounced, `1`)
			bad(c)
			_, err := r.w.Commit(r.ctx, c)
			r.refused(err, world.ErrInvalid, name)
		}
		for name, bad := range map[string]func(d *world.Delivery){
			"no act":   func(d *world.Delivery) { d.Act = false },
			"no ID":    func(d *world.Delivery) { d.ID = "" },
			"no input": func(d *world.Delivery) { d.Events[0].Payload = nil },
			"no items": func(d *world.Delivery) { d.Items = 0 },
		} {
			d := input(plain, start(debounced, `1`))
			bad(d)
			_, err := r.w.Deliver(r.ctx, d)
			r.refused(err, world.ErrInvalid, name)
		}
	}},
	{"many start at once", "each input is in one run, once", func(r *rig) {
		g := world.Gather{Key: "k", Most: time.Hour, Number: 3}
		const n = 24
		var mu sync.Mutex
		of := make(map[string]string)
		var wg sync.WaitGroup
		for i := range n {
			wg.Go(func() {
				item := fmt.Sprintf("[%d]", i)
				run := r.gathered(start(g, item))
				mu.Lock()
				defer mu.Unlock()
				of[item] = run
			})
		}
		wg.Wait()
		runs := make(map[string]int)
		for _, run := range of {
			runs[run]++
		}
		seen := make(map[string]bool)
		for run, n := range runs {
			events := r.events(run)
			r.same(len(events), n, "inputs of run "+run)
			for i := range events {
				item := string(events[i].Payload)
				if of[item] != run || seen[item] {
					r.Errorf("%s is in run %s, and was started as %s", item, run, of[item])
				}
				seen[item] = true
			}
		}
		r.same(len(runs), n/3, "runs")
	}},
}
