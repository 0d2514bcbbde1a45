package sqlite

import (
	"maps"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stepwell/stepwell/world"
)

// TestLimitsOfOthersCostNothing: a run without limits makes the same statements, and writes as many rows, if others
// have limits, weights, singletons or gathering starts as if none has.
func TestLimitsOfOthersCostNothing(t *testing.T) {
	t.Parallel()
	w := open(t)
	wk := join(t, w, time.Hour, class1)
	made := make(map[string]int)
	fault(t, w, func(_ *group, s *statement, run func() error) error {
		made[s.name]++
		return run()
	})
	type cost struct {
		Statements map[string]int
		Rows       int64
	}
	// The commits of a run of ten steps, from its birth to its end: what each of them makes.
	serial := func() (all []cost) {
		t.Helper()
		c := eager(world.NewID(world.PrefixRun, world.Now()), "w", wk.ID)
		for first := int64(3); ; first++ {
			clear(made)
			before := w.counters.rowsWritten.Load()
			must(t, w, c)
			all = append(all, cost{maps.Clone(made), w.counters.rowsWritten.Load() - before})
			e := world.Event{Type: world.SignalReceived, Name: "s", Time: world.Now()}
			if first == 13 {
				e = world.Event{Type: world.RunCompleted, Time: world.Now()}
			} else if first > 13 {
				return all
			}
			c = &world.Commit{ID: commitID(), Run: c.Run, Worker: wk.ID, Claim: 1, Build: "b1", First: first, Events: []world.Event{e}}
		}
	}
	serial() // the class is known then
	alone := serial()
	if _, err := w.Join(t.Context(), world.Worker{ID: world.NewID(world.PrefixWorker, world.Now()), Lease: time.Hour, Steps: []string{"task"}, StepLimits: []world.SaidLimit{
		{Name: "bank", Number: 1, Path: "k", Weights: map[string]int{"k": 3}},
	}}); err != nil {
		t.Fatal(err)
	}
	said := world.NewSingle("other", world.SingleReplace)
	for range 5 {
		for _, of := range []func(c *world.Commit, b *world.Birth){
			func(_ *world.Commit, b *world.Birth) {
				b.Places = []world.Place{{Limit: "bank", Key: "k", Number: 1}}
			},
			func(_ *world.Commit, b *world.Birth) { b.Places = []world.Place{said.Place()} },
			func(c *world.Commit, b *world.Birth) {
				b.Gather, c.Items = &world.Gather{Key: c.Run, Quiet: time.Hour, Most: time.Hour}, 1
			},
		} {
			c := &world.Commit{ID: commitID(), Run: world.NewID(world.PrefixRun, world.Now()), First: 1, Events: []world.Event{{
				Type: world.RunCreated, Time: world.Now(), Payload: []byte("1"), Birth: &world.Birth{Workflow: "other", Version: 1, Priority: 1},
			}}}
			of(c, c.Events[0].Birth)
			must(t, w, c)
		}
	}
	if diff := cmp.Diff(alone, serial()); diff != "" {
		t.Errorf("a run without limits: -alone +beside those with some:\n%s", diff)
	}
}
