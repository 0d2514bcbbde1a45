package behaviour_test

// Children that lost: their runs are cancelled at once, exactly once, while the parent goes on.

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/sample"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/memory"
)

// household has a child of its own, so that a cancel has further to go.
var household = stepwell.Define("household", func(ctx stepwell.Context, d time.Duration) (string, error) {
	return sleeper.Child(stepwell.RunID(ctx.RunID()+".child")).Run(ctx, d)
})

// goesOn is how long a parent goes on after its children have lost: much longer than a worker's lease.
const goesOn = 2 * time.Minute

// lostChildren makes a workflow that starts children, attached and detached, lets them lose as how says, and goes on. It returns what it saw of them.
func lostChildren() *stepwell.Workflow[string, []string] {
	return stepwell.Define("lost-children", func(ctx stepwell.Context, how string) ([]string, error) {
		var saw []string
		see := func(name string, v string, err error) {
			saw = append(saw, fmt.Sprint(name, " ", v, errors.Is(err, stepwell.ErrCancelled)))
		}
		attached := household.Child(stepwell.RunID(ctx.RunID() + ".attached"))
		detached := household.Child(stepwell.RunID(ctx.RunID()+".detached"), stepwell.Detached())
		long := 2 * goesOn
		switch how {
		case "select", "race":
			part, cancel := stepwell.WithCancel(ctx)
			a, d := attached.Start(part, long), detached.Start(part, long)
			own := sleeper.Child().Start(part, long)
			quick := stepwell.Go(part, func(ctx stepwell.Context) (string, error) { return "quick", stepwell.Sleep(ctx, "short", time.Second) })
			if how == "race" {
				v, err := stepwell.Race(ctx, a.Future, quick, d.Future, own.Future)
				see("winner", v, err)
			} else if i, err := stepwell.Select(ctx, a, quick, d, own); i != 1 || err != nil {
				return nil, fmt.Errorf("select: %d, %w", i, err)
			}
			if how == "select" {
				cancel()
				cancel() // again: nothing new
			}
			for i, f := range []*stepwell.Future[string]{a.Future, d.Future, own.Future} {
				v, err := f.Get(ctx)
				see([]string{"attached", "detached", "own"}[i], v, err)
			}
			slices.Sort(saw)
		case "go":
			part, cancel := stepwell.WithCancel(ctx)
			stepwell.Go(part, func(ctx stepwell.Context) (string, error) {
				d := detached.Start(ctx, long)
				v, err := attached.Run(ctx, long)
				see("attached", v, err)
				v, err = d.Get(ctx)
				see("detached", v, err)
				return v, err
			})
			if err := stepwell.Sleep(ctx, "short", time.Second); err != nil {
				return nil, err
			}
			cancel()
		case "map":
			_, err := stepwell.Map(ctx, []string{"attached", "detached", "fails"}, 0, func(ctx stepwell.Context, item string) (int, error) {
				var v string
				var err error
				switch item {
				case "attached":
					v, err = attached.Run(ctx, long)
				case "detached":
					v, err = detached.Run(ctx, long)
				default:
					return 0, errors.Join(errUnlucky, stepwell.Sleep(ctx, "short", time.Second))
				}
				see(item, v, err)
				return 0, err
			})
			if !errors.Is(err, errUnlucky) {
				return nil, fmt.Errorf("map: %w", err)
			}
		case "at once":
			part, cancel := stepwell.WithCancel(ctx)
			attached.Start(part, long)
			detached.Start(part, long)
			own := sleeper.Child().Start(part, long)
			cancel()
			_, err := own.Get(ctx)
			see("own", "", err)
		}
		err := stepwell.Sleep(ctx, "goes on", goesOn)
		return saw, err
	})
}

var lostHow = map[string][]string{
	"select":  {"attached true", "detached true", "own true"},
	"race":    {"attached true", "detached true", "own true", "winner quickfalse"},
	"go":      {"attached true", "detached true"},
	"map":     {"attached true", "detached true"},
	"at once": {"own true"},
}

// lost holds what became of the children of a run whose code waits for them no longer.
func lost(r *rig, parent string) {
	r.Helper()
	for _, id := range []string{parent + ".attached", parent + ".attached.child"} {
		if _, err := r.world.Run(r.ctx, id); errors.Is(err, world.ErrNotFound) && len(r.events(parent+".attached", world.RunStarted)) == 0 {
			continue // its parent was cancelled before it began
		}
		if got := r.get(id).Status; got != world.Cancelled {
			r.dump(id)
			r.Errorf("%s is %s, want it cancelled", id, got)
		}
		if got := len(r.events(id, world.CancelRequested)); got != 1 {
			r.Errorf("%s was asked to end %d times, want once", id, got)
		}
	}
	until(r, "the detached child to have its own", func() bool {
		_, err := r.world.Run(r.ctx, parent+".detached.child")
		return err == nil
	})
	for _, id := range []string{parent + ".detached", parent + ".detached.child"} {
		if got := len(r.events(id, world.CancelRequested)); got != 0 {
			r.Errorf("%s was asked to end %d times, want never", id, got)
		}
	}
}

func TestChildrenThatLoseAreCancelledAtOnce(t *testing.T) {
	for how, saw := range lostHow {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			everywhere(t, func(r *rig) {
				wf := lostChildren()
				wk := r.begin(wf, household, sleeper)
				run := start(r, wk, wf, how)
				attached := run.ID() + ".attached"
				until(r, "the attached child to end", func() bool {
					row, err := r.world.Run(r.ctx, attached)
					return err == nil && row.Status.Terminal()
				})
				until(r, "all to come to rest", func() bool { return r.free(run.ID()) })
				if got := r.get(run.ID()).Status; got != world.Running {
					r.Fatalf("the parent is %s, want it to go on", got)
				}
				if how != "at once" { // else it never began
					until(r, "its child to end", func() bool { return r.get(attached + ".child").Status.Terminal() })
				}
				lost(r, run.ID())
				want(r, run, saw)
				want(r, household.Get(wk.App, run.ID()+".detached"), "slept")
				lost(r, run.ID()) // the end of the parent asks nobody again
				ends := r.events(run.ID(), world.StepFailed)
				for _, e := range ends {
					if e.Error.Code != world.CodeCancelled {
						r.Errorf("step failed with %v, want code %s", e.Error, world.CodeCancelled)
					}
				}
				attachedOnes := map[string]int{"select": 2, "race": 2, "at once": 2, "go": 1, "map": 1}[how]
				if len(ends) != attachedOnes {
					r.Errorf("%d children ended in the parent's log, want %d: the attached ones", len(ends), attachedOnes)
				}
				r.replays(run.ID(), wf, household, sleeper)
			})
		})
	}
}

// A cancelled run tells its children at once, not when it has cleaned up.
func TestChildrenOfACancelledRunAreCancelledWhileItCleansUp(t *testing.T) {
	everywhere(t, func(r *rig) {
		wf := stepwell.Define("cleans-up", func(ctx stepwell.Context, _ int) (string, error) {
			child := household.Child(stepwell.RunID(ctx.RunID()+".attached")).Start(ctx, time.Hour)
			kept := sleeper.Child(stepwell.RunID(ctx.RunID()+".kept")).Start(ctx.Uncancelled(), 3*time.Minute)
			household.Child(stepwell.RunID(ctx.RunID()+".detached"), stepwell.Detached()).Start(ctx, 4*time.Minute)
			_, err := child.Get(ctx)
			v, keptErr := kept.Get(ctx) // no cancel reaches it
			return "", fmt.Errorf("%t %s %v; %v", errors.Is(err, stepwell.ErrCancelled), v, keptErr, stepwell.Sleep(ctx.Uncancelled(), "tidy", 5*time.Minute))
		})
		wk := r.begin(wf, household, sleeper)
		run := start(r, wk, wf, 0)
		until(r, "the grandchild", func() bool { _, err := r.world.Run(r.ctx, run.ID()+".attached.child"); return err == nil })
		r.cancel(wk.App, run.ID())
		until(r, "the child to end", func() bool { return r.get(run.ID() + ".attached.child").Status.Terminal() })
		if got := r.get(run.ID()).Status; got != world.Running {
			r.Errorf("the parent is %s, want it to clean up still", got)
		}
		lost(r, run.ID())
		wantErr(r, run, world.Cancelled)
		if got, want := r.events(run.ID(), world.RunCancelled)[0].Error.Message, "true slept <nil>; <nil>"; got != want {
			r.Errorf("kept error = %q, want %q", got, want)
		}
		want(r, household.Get(wk.App, run.ID()+".detached"), "slept")
		lost(r, run.ID())
		r.replays(run.ID(), wf, household, sleeper)
	})
}

// A child whose chosen ID is a stranger's is none: the stranger is not cancelled, though the code gave the child up before it could know.
func TestAStrangerIsNotCancelledForAChildThatLost(t *testing.T) {
	everywhere(t, func(r *rig) {
		wf := stepwell.Define("mistakes", func(ctx stepwell.Context, id string) (bool, error) {
			part, cancel := stepwell.WithCancel(ctx)
			c := sleeper.Child(stepwell.RunID(id)).Start(part, time.Hour)
			cancel()
			_, err := c.Get(ctx)
			return errors.Is(err, stepwell.ErrCancelled), stepwell.Sleep(ctx, "goes on", time.Minute)
		})
		wk := r.begin(wf, sleeper)
		stranger := start(r, wk, sleeper, 5*time.Minute, stepwell.RunID("stranger"))
		run := start(r, wk, wf, "stranger")
		want(r, run, true)
		want(r, stranger, "slept")
		if got := len(r.events("stranger", world.CancelRequested)); got != 0 {
			r.Errorf("the stranger was asked to end %d times, want never", got)
		}
		r.replays(run.ID(), wf, sleeper)
	})
}

// TestKilledWhileChildrenLose: the worker dies before or after its k-th commit, for each k, and another one goes on. The children are asked once, and not without
// the commit that says why.
func TestKilledWhileChildrenLose(t *testing.T) {
	for how := range lostHow {
		if how == "at once" {
			continue // its children never begin
		}
		for _, after := range sample.OneFor(t, how, false, true) {
			t.Run(fmt.Sprintf("%s/after=%t", how, after), func(t *testing.T) {
				t.Parallel()
				k := 1
				for ; killedWhileLosing(t, how, k, after); k++ {
				}
				if k < 10 {
					t.Errorf("the worker was killed at %d commits, want at least 10", k)
				}
			})
		}
	}
}

func killedWhileLosing(t *testing.T, how string, k int, after bool) (killed bool) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		wf := lostChildren()
		cfg := stepwell.Config{Definitions: []stepwell.Definition{wf, household, sleeper}, MaxRuns: 2}
		r := &rig{T: t, world: memory.New(), mode: modes[0].set, ctx: t.Context()}
		run, err := wf.Start(r.ctx, r.client(wf), how, stepwell.RunID("parent"))
		if err != nil {
			t.Fatal(err)
		}
		first := r.beginMortal(cfg, k, after)
		until(t, "a death, or all children to end", func() bool {
			row, err := r.world.Run(r.ctx, "parent.attached.child")
			return first.died.Load() || err == nil && row.Status.Terminal()
		})
		first.stop()
		killed = first.died.Load()
		wk := r.beginWith(cfg)
		want(r, wf.Get(wk.App, run.ID()), lostHow[how])
		want(r, household.Get(wk.App, "parent.detached"), "slept")
		lost(r, "parent")
		ends := map[string]time.Time{}
		for _, id := range []string{"parent", "parent.attached"} {
			events := r.events(id)
			ends[id] = events[len(events)-1].Time
		}
		if early := ends["parent"].Sub(ends["parent.attached"]); early < goesOn-time.Minute {
			t.Errorf("killed at commit %d: the child ended %s before its parent, want about %s: at once", k, early, goesOn)
		}
		r.replays("parent", wf, household, sleeper)
		wk.stop(t)
	})
	return killed
}
