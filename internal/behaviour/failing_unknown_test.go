package behaviour_test

// Runs that no live worker knows, and a worker that fails such runs after a while.

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
)

// nobodyHas is the world after a run of version 1 has done a step and its worker has gone. One of version 2 has come,
// and fails what is unknown after ten minutes.
type nobodyHas struct {
	*rig
	till
	first *stepwell.Workflow[time.Duration, string]
	run   *stepwell.Run[string]
	began time.Time
}

func (n *nobodyHas) begins(nap time.Duration) {
	n.Helper()
	n.first = stepwell.Define("order", func(ctx stepwell.Context, nap time.Duration) (string, error) {
		if err := stepwell.Do(ctx, "charge", func(ctx context.Context) error { return n.do(ctx, "charge") }); err != nil {
			return "", err
		}
		stepwell.AddUndo(ctx, "refund", n.do, "refund")
		return "shipped", stepwell.Sleep(ctx, "nap", nap)
	})
	old := n.begin(n.first)
	n.run = start(n.rig, old, n.first, nap)
	until(n, "the nap", func() bool { return n.count(n.run.ID(), world.WaitCreated, "") == 1 })
	old.stop(n.T)
	second := stepwell.Define("order", func(ctx stepwell.Context, nap time.Duration) (string, error) { return "", nil }, stepwell.Version(2))
	n.beginWith(stepwell.Config{Definitions: []stepwell.Definition{second}, FailUnknown: 10 * time.Minute})
	n.began = time.Now()
}

func (n *nobodyHas) status() world.Status { n.Helper(); return n.get(n.run.ID()).Status }

// It fails when it was ready for ten minutes, and not before; another that sleeps is not asked for.
func TestARunThatNobodyKnowsFailsWhereItIsToldTo(t *testing.T) {
	everywhere(t, func(r *rig) {
		n := &nobodyHas{rig: r}
		n.begins(time.Minute)
		sleeps := start(r, &worker{App: r.client()}, n.first, 0, stepwell.Delay(5*time.Hour))
		r.at(n.began, 9*time.Minute)
		if s := n.status(); s != world.Running {
			r.Errorf("after 9 min: %s", s)
		}
		r.at(n.began, 13*time.Minute)
		err := wantErr(r, n.run, world.Failed)
		want := `no live worker has had workflow "order" version 1 for 10m0s; nothing was undone, because no worker has the code`
		if err.Code != world.CodeNoWorker || !strings.Contains(err.Error(), want) || n.list() != "charge" {
			r.Errorf("error = %v (%s), did %q", err, err.Code, n.list())
		}
		r.at(n.began, 25*time.Minute)
		if s := r.get(sleeps.ID()).Status; s != world.Pending {
			r.Errorf("a run that is not due: %s", s)
		}
	})
}

// A worker that knows it, and is there now and then, keeps it from failing, though it is too busy to take it.
func TestARunThatALiveWorkerKnowsDoesNotFail(t *testing.T) {
	everywhere(t, func(r *rig) {
		n := &nobodyHas{rig: r}
		n.begins(time.Minute)
		for range 3 {
			r.pass(8 * time.Minute)
			busy, err := r.world.Join(r.ctx, world.Worker{ID: world.NewID(world.PrefixWorker, time.Now()), Name: "busy", Lease: 90 * time.Second, Classes: []world.Class{{Workflow: "order", Version: 1}}})
			if err != nil {
				r.Fatal(err, busy)
			}
		}
		r.pass(4 * time.Minute)
		if s := n.status(); s != world.Running {
			r.Errorf("status = %s", s)
		}
		r.begin(n.first)
		want(r, n.run, "shipped")
	})
}

// Where a worker that knows the run is there when the cancel is read, its code cleans up, and the run fails with the
// same code.
func TestARunThatIsKnownAgainUndoesWhatItDid(t *testing.T) {
	everywhere(t, func(r *rig) {
		n := &nobodyHas{rig: r}
		n.begins(48 * time.Hour)
		wk := r.begin(n.first)
		d := &world.Delivery{Run: n.run.ID(), ID: "no-worker", Events: []world.Event{{
			Type: world.CancelRequested, By: "no worker", Reason: "gone", Error: &world.Error{Message: "gone", Code: world.CodeNoWorker, Permanent: true},
		}}}
		if _, err := r.world.Deliver(r.ctx, d); err != nil {
			r.Fatal(err)
		}
		if err := wantErr(r, n.run, world.Failed); err.Code != world.CodeNoWorker || n.list() != "charge refund" {
			r.Errorf("error = %v (%s), did %q", err, err.Code, n.list())
		}
		r.replays(n.run.ID(), n.first)
		wk.stop(r.T)
	})
}

// A run that waits for a step that nobody has fails in the same way, and undoes what it did; one that waits for a step
// that is there waits on.
func TestARunWhoseStepNobodyKnowsFailsWhereItIsToldTo(t *testing.T) {
	everywhere(t, func(r *rig) {
		var l till
		steps := map[string]*stepwell.RegisteredStep[int, int]{}
		for _, name := range []string{"resize", "crop"} {
			steps[name] = stepwell.DefineStep(name, func(context.Context, int) (int, error) { return 1, nil })
		}
		wf := stepwell.Define("picture", func(ctx stepwell.Context, name string) (int, error) {
			if err := stepwell.Do(ctx, "charge", func(ctx context.Context) error { return l.do(ctx, "charge") }); err != nil {
				return 0, err
			}
			stepwell.AddUndo(ctx, "refund", l.do, "refund")
			return steps[name].Run(ctx, 0)
		})
		wk := r.beginWith(stepwell.Config{Definitions: []stepwell.Definition{wf}, FailUnknown: 10 * time.Minute})
		_, err := r.world.Join(r.ctx, world.Worker{ID: world.NewID(world.PrefixWorker, time.Now()), Name: "busy", Lease: time.Hour, Steps: []string{"crop"}})
		if err != nil {
			r.Fatal(err)
		}
		run, other := start(r, wk, wf, "resize"), start(r, wk, wf, "crop")
		r.pass(9 * time.Minute)
		if s := r.get(run.ID()).Status; s != world.Running {
			r.Errorf("after 9 min: %s", s)
		}
		if err := wantErr(r, run, world.Failed); err.Code != world.CodeNoWorker || !strings.Contains(err.Error(), `no live worker has had step "resize" for 10m0s`) {
			r.Errorf("error = %v (%s)", err, err.Code)
		}
		r.pass(5 * time.Minute)
		if s := r.get(other.ID()).Status; s != world.Running || l.list() != "charge charge refund" {
			r.Errorf("the other is %s, did %q", s, l.list())
		}
		r.replays(run.ID(), wf)
	})
}
