// The rig: what checks do with a world, in one line each.

package worldtest

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stepwell/stepwell/world"
)

// Leases of workers: one that outlives every check, one that ends while a check waits, and one that does so though its worker has a
// few things to do before it dies, on a slow machine too.
const (
	longLease    = time.Minute
	shortLease   = 250 * time.Millisecond
	workingLease = 2 * time.Second
)

// patience bounds every poll. It is long, as it is spent only where a world fails.
const patience = 20 * time.Second

// rig is a world under test.
type rig struct {
	*testing.T
	w    world.World
	able world.Abilities // of w
	ctx  context.Context // of the test

	over bool // w stands before another world: see RunOver
}

func newRig(t *testing.T, w world.World) *rig {
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return &rig{T: t, w: w, able: w.Abilities(), ctx: t.Context()}
}

// needs is a check of a world with an ability, which is a field of [world.Abilities]. Of others there is nothing to
// check.
func needs(ability string, test func(r *rig)) func(r *rig) {
	return func(r *rig) {
		if reflect.ValueOf(r.able).FieldByName(ability).IsNil() {
			r.Logf("this world is no %s", ability)
			return
		}
		test(r)
	}
}

// must ends the check on an error.
func (r *rig) must(err error, doing string) {
	r.Helper()
	if err != nil {
		r.Fatalf("%s: %v", doing, err)
	}
}

// refused ends the check unless err matches target.
func (r *rig) refused(err, target error, doing string) {
	r.Helper()
	if !errors.Is(err, target) {
		r.Fatalf("%s: got error %v, want %v", doing, err, target)
	}
}

// same compares; diff is got against want.
func (r *rig) same(got, want any, what string) {
	r.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		r.Fatalf("%s: not as wanted (-want +got):\n%s", what, diff)
	}
}

// until polls for something that must come.
func (r *rig) until(what string, there func() bool) {
	r.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(patience); !there(); <-tick.C {
		if time.Now().After(end) {
			r.Fatalf("waited %s in vain: %s", patience, what)
		}
	}
}

func commitID() (id [16]byte) {
	rand.Read(id[:]) // never fails, says crypto/rand
	return id
}

func newRun() string { return world.NewID(world.PrefixRun, world.Now()) }

// birth is a plain birth; with changes its Birth before it is used.
func birth(workflow string, with ...func(*world.Birth)) *world.Commit {
	b := &world.Birth{Workflow: workflow, Version: 1, Seed: 7, Priority: 1}
	for _, f := range with {
		f(b)
	}
	return &world.Commit{ID: commitID(), Run: newRun(), First: 1, Events: []world.Event{
		{Type: world.RunCreated, Time: world.Now(), Payload: json.RawMessage(`{"in":1}`), Birth: b},
	}}
}

// commit writes what must be accepted.
func (r *rig) commit(c *world.Commit) world.Committed {
	r.Helper()
	done, err := r.w.Commit(r.ctx, c)
	if err != nil {
		r.Fatalf("commit to run %s at event %d: %v", c.Run, c.First, err)
	}
	return done
}

// createRun puts a run into the queue.
func (r *rig) createRun(workflow string, with ...func(*world.Birth)) string {
	r.Helper()
	c := birth(workflow, with...)
	if done := r.commit(c); done.Existing != "" {
		r.Fatalf("birth of run %s: run %s exists", c.Run, done.Existing)
	}
	return c.Run
}

// deliver sends what must be accepted.
func (r *rig) deliver(d *world.Delivery) world.Delivered {
	r.Helper()
	done, err := r.w.Deliver(r.ctx, d)
	if err != nil {
		r.Fatalf("deliver %s to run %s%s: %v", d.Events[0].Type, d.Run, d.Token, err)
	}
	return done
}

func signal(run, id, name string) *world.Delivery {
	return &world.Delivery{Run: run, ID: id, Events: []world.Event{
		{Type: world.SignalReceived, Name: name, Payload: json.RawMessage(`{"n":1}`)},
	}}
}

func cancel(run, id string) *world.Delivery {
	return &world.Delivery{Run: run, ID: id, Events: []world.Event{{Type: world.CancelRequested, By: "ann", Reason: "test"}}}
}

func act(run, id string, t world.EventType) *world.Delivery {
	return &world.Delivery{Run: run, ID: id, Act: true, Events: []world.Event{{Type: t, By: "ann", Reason: "test"}}}
}

// run reads a run's row.
func (r *rig) run(id string) world.Run {
	r.Helper()
	row, err := r.w.Run(r.ctx, id)
	r.must(err, "run "+id)
	return row
}

// events reads a whole log.
func (r *rig) events(run string) []world.Event {
	r.Helper()
	events, _ := r.pages(run, world.EventQuery{})
	return events
}

// pages reads on from a cursor to the end, and returns the last cursor.
func (r *rig) pages(run string, q world.EventQuery) ([]world.Event, string) {
	r.Helper()
	var all []world.Event
	for {
		page, err := r.w.Events(r.ctx, run, q)
		r.must(err, "events of run "+run)
		if page.Cursor == "" {
			r.Fatalf("events of run %s from %q: a page without a cursor", run, q.Cursor)
		}
		all = append(all, page.Events...)
		if !page.More {
			return all, page.Cursor
		}
		if page.Cursor == q.Cursor {
			r.Fatalf("events of run %s: more from %q, but no way on", run, q.Cursor)
		}
		q.Cursor = page.Cursor
	}
}

// types lists what happened in a run.
func (r *rig) types(run string) []world.EventType {
	r.Helper()
	var types []world.EventType
	for _, e := range r.events(run) {
		types = append(types, e.Type)
	}
	return types
}

// picture is all that a client can see of a run.
type picture struct {
	Run    world.Run
	Events []world.Event
	Hooks  []world.HookRow
}

// unchanged runs f and ends the check if the run looks different afterwards.
func (r *rig) unchanged(run string, f func()) {
	r.Helper()
	look := func() (p picture) {
		r.Helper()
		p.Run, p.Events = r.run(run), r.events(run)
		var err error
		p.Hooks, err = r.w.Hooks(r.ctx, world.HookQuery{Run: run})
		r.must(err, "hooks")
		return p
	}
	before := look()
	f()
	r.same(look(), before, "run "+run)
}

// absent ends the check if the run is known.
func (r *rig) absent(run string) {
	r.Helper()
	_, err := r.w.Run(r.ctx, run)
	r.refused(err, world.ErrNotFound, "run "+run)
	_, err = r.w.Events(r.ctx, run, world.EventQuery{})
	r.refused(err, world.ErrNotFound, "events of run "+run)
}
