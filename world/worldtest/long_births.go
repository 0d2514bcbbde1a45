// Long births: a log of any length that a run begins with, as forks and imported runs do.

package worldtest

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/stepwell/stepwell/world"
)

// longBirth is a birth by a client that brings over 1,000 events and over MaxCommit bytes, a task and a hook among them.
func longBirth() *world.Commit {
	c := birth("greet")
	at := world.Now()
	large := jsonText(`"` + strings.Repeat("x", world.MaxCommit*3/8) + `"`)
	c.Events = append(c.Events, world.Event{Type: world.RunStarted, Time: at})
	for i := range 1100 {
		e := world.Event{Type: world.SignalReceived, Name: fmt.Sprint("s", i), Payload: jsonText(`1`), Time: at}
		if i%400 == 299 {
			e.Payload = large
		}
		c.Events = append(c.Events, e)
	}
	c.Events = append(c.Events,
		world.Event{Type: world.StepCreated, ID: "step_1", Kind: world.KindTask, Queued: true, Name: "resize", Time: at},
		world.Event{Type: world.HookCreated, ID: "hook_1", Name: "hook", Token: c.Run, Chosen: true, Time: at})
	c.Tasks = []world.Task{{Run: c.Run, Step: "step_1", Name: "resize", Workflow: "greet", Input: jsonText(`7`)}}
	return c
}

var longBirths = []check{
	{"a log of any length can be brought", "a birth by a client may hold more than MaxCommit; it is read in pages, and goes on as any other", func(r *rig) {
		c := longBirth()
		r.commit(c)
		got := r.events(c.Run)
		r.same(len(got), len(c.Events), "events")
		for i, e := range got {
			if e.Seq != int64(i)+1 || e.Type != c.Events[i].Type || e.Name != c.Events[i].Name || !bytes.Equal(e.Payload, c.Events[i].Payload) {
				r.Fatalf("event %d came back as %d, %s %q with %d bytes", i+1, e.Seq, e.Type, e.Name, len(e.Payload))
			}
		}
		page, err := r.w.Events(r.ctx, c.Run, world.EventQuery{Limit: 10})
		r.must(err, "a page")
		if n := len(page.Events); n > 1000 || !page.More {
			r.Fatalf("the first page has %d events, more %v; want at most 1,000, and more", n, page.More)
		}
		hooks, err := r.w.Hooks(r.ctx, world.HookQuery{Token: c.Run})
		r.must(err, "hooks")
		r.same(len(hooks), 1, "hooks")
		_, err = r.w.Outcome(r.ctx, c)
		r.must(err, "outcome")
		s, claimed := r.worker("greet").get(c.Run)
		r.same(claimed.Seq, int64(len(c.Events)), "the last event")
		s.append(signalEvent("more"))
		r.same(len(r.events(c.Run)), len(c.Events)+1, "events of a run that went on")
	}},
	{"a long log is there as a whole or not at all", "a commit is all or nothing, and an event that is too large is refused however many rows there are", func(r *rig) {
		first := longBirth()
		r.commit(first)
		k := r.worker("greet")
		s := k.create("greet")
		large := jsonText(`"` + strings.Repeat("x", world.MaxCommit) + `"`)
		for what, spoil := range map[string]func(c *world.Commit) error{
			"a token that is held in the last row": func(c *world.Commit) error {
				c.Events[len(c.Events)-1].Token = first.Run
				return world.ErrConflict
			},
			"an event that is too large": func(c *world.Commit) error {
				c.Events = slices.Insert(c.Events, 1050, world.Event{Type: world.SignalReceived, Name: "a", Payload: large, Time: world.Now()})
				return world.ErrTooLarge
			},
			"a birth by a worker": func(c *world.Commit) error { c.Worker, c.Claim = k.id, 1; return world.ErrTooLarge },
		} {
			c := longBirth()
			want := spoil(c)
			_, err := r.w.Commit(r.ctx, c)
			r.refused(err, want, what)
			r.absent(c.Run)
		}
		again := longBirth()
		again.Run = first.Run
		again.Tasks = nil
		again.Events = append(again.Events, signalEvent("late"))
		_, err := r.w.Commit(r.ctx, again)
		r.refused(err, world.ErrRunExists, "a taken ID")
		r.same(len(r.events(first.Run)), len(first.Events), "events of the run that has it")
		c := s.next(world.Event{Type: world.StepCreated, ID: "step_2", Kind: world.KindChild, Name: "greet", Peer: "child", Time: world.Now()})
		c.Births = []*world.Commit{longBirth()}
		_, err = r.w.Commit(r.ctx, c)
		r.refused(err, world.ErrTooLarge, "a child with a long log")
		r.absent(c.Births[0].Run)
	}},
}
