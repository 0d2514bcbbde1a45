package behaviour_test

// The answers at the edges (docs/failures.md) about runs that belong together: 20, 21.

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
)

// sleeper is a run that lasts.
var sleeper = stepwell.Define("sleeper", func(ctx stepwell.Context, d time.Duration) (string, error) {
	return "slept", stepwell.Sleep(ctx, "long", d)
})

func TestAnswer20WithoutAChosenIDEachChildIsANewRunTheSameOnReplay(t *testing.T) {
	everyWay(t, func(r *rig) {
		wf := stepwell.Define("starts-three", func(ctx stepwell.Context, _ struct{}) ([]string, error) {
			var ids []string
			var fs []*stepwell.Future[string]
			for range 3 {
				c := sleeper.Child().Start(ctx, time.Second)
				ids, fs = append(ids, c.ID()), append(fs, c.Future)
			}
			_, err := stepwell.All(ctx, fs...)
			return ids, err
		})
		wk := r.begin(wf, sleeper)
		seen := map[string]bool{}
		for range 2 {
			run := start(r, wk, wf, struct{}{})
			ids, err := run.Result(r.ctx)
			if err != nil {
				r.Fatal(err)
			}
			for _, id := range ids {
				if seen[id] || r.get(id).Status != world.Completed {
					r.Errorf("child %s: seen before %t, %s", id, seen[id], r.get(id).Status)
				}
				seen[id] = true
			}
			r.replays(run.ID(), wf, sleeper)
		}
	})
}

func TestAnswer21AttachedChildrenAreCancelledHoweverTheParentEnds(t *testing.T) {
	everyWay(t, func(r *rig) {
		middle := stepwell.Define("middle", func(ctx stepwell.Context, d time.Duration) (string, error) {
			return sleeper.Child(stepwell.RunID(ctx.RunID()+".grandchild")).Run(ctx, d)
		})
		wf := stepwell.Define("ends", func(ctx stepwell.Context, how string) (string, error) {
			me := ctx.RunID()
			middle.Child(stepwell.RunID(me+".attached")).Start(ctx, time.Hour)
			sleeper.Child(stepwell.RunID(me+".detached"), stepwell.Detached()).Start(ctx, 20*time.Minute)
			if err := stepwell.Sleep(ctx, "soon", time.Second); err != nil {
				return "", err
			}
			switch how {
			case "completed":
				return "", nil
			case "failed":
				return "", errUnlucky
			}
			return "", stepwell.Sleep(ctx, "later", time.Hour)
		})
		wk := r.begin(wf, sleeper, middle)
		for how, status := range map[string]world.Status{
			"completed": world.Completed, "failed": world.Failed, "cancelled": world.Cancelled, "forced": world.Cancelled,
		} {
			run := start(r, wk, wf, how, stepwell.RunID(how))
			r.pass(2 * time.Second)
			switch how {
			case "cancelled":
				r.cancel(r.client(), how)
			case "forced":
				if err := r.client().ForceCancel(r.ctx, how, "now"); err != nil {
					r.Fatal(err)
				}
			}
			if status == world.Completed {
				want(r, run, "")
			} else {
				wantErr(r, run, status)
			}
			wantErr(r, sleeper.Get(wk.App, how+".attached"), world.Cancelled)
			wantErr(r, sleeper.Get(wk.App, how+".attached.grandchild"), world.Cancelled)
			if got := r.get(how + ".detached").Status; got != world.Running {
				r.Errorf("%s: the detached child is %s, want running", how, got)
			}
			if how != "forced" {
				r.replays(how, wf, sleeper, middle)
			}
		}
	})
}

// A parent whose code is not there, or is blocked, is ended without it: its children end all the same.
func TestAnswer21AttachedChildrenAreCancelledWithAParentThatEndsWithoutItsCode(t *testing.T) {
	everyWay(t, func(r *rig) {
		wf := stepwell.Define("orphans", func(ctx stepwell.Context, _ struct{}) (string, error) {
			sleeper.Child(stepwell.RunID("attached")).Start(ctx, time.Hour)
			sleeper.Child(stepwell.RunID("detached"), stepwell.Detached()).Start(ctx, 20*time.Minute)
			return "", stepwell.Sleep(ctx, "long", time.Hour)
		})
		wk := r.begin(wf, sleeper)
		run := start(r, wk, wf, struct{}{})
		until(r, "the children", func() bool {
			_, err := r.world.Run(r.ctx, "detached")
			return err == nil
		})
		wk.stop(r)
		other := r.begin(sleeper)
		r.cancel(other.App, run.ID())
		wantErr(r, run, world.Cancelled)
		wantErr(r, sleeper.Get(other.App, "attached"), world.Cancelled)
		if got := r.get("detached").Status; got != world.Running {
			r.Errorf("the detached child is %s, want running", got)
		}
	})
}

func TestAnswer21ChildrenHaveTheirOwnRetentionAndVersion(t *testing.T) {
	everyWay(t, func(r *rig) {
		v := func(n int, keep time.Duration) *stepwell.Workflow[int, int] {
			return stepwell.Define("versioned", func(ctx stepwell.Context, _ int) (int, error) { return n, nil }, stepwell.Version(n), stepwell.Retention(keep))
		}
		v1, v2 := v(1, time.Hour), v(2, 2*time.Hour)
		wf := stepwell.Define("parent-of-versions", func(ctx stepwell.Context, _ struct{}) ([]int, error) {
			a, err := v1.Child(stepwell.RunID("one")).Run(ctx, 0)
			if err != nil {
				return nil, err
			}
			b, err := v2.Child(stepwell.RunID("two"), stepwell.Retention(5*time.Hour)).Run(ctx, 0)
			if err != nil {
				return nil, err
			}
			c, err := v2.Child(stepwell.RunID("old"), stepwell.Version(1)).Run(ctx, 0)
			return []int{a, b, c}, err
		}, stepwell.Retention(24*time.Hour))
		wk := r.beginWith(stepwell.Config{Definitions: []stepwell.Definition{v1, v2, wf}, SweepInterval: -1})
		run := start(r, wk, wf, struct{}{})
		want(r, run, []int{1, 2, 1})
		kept := map[string]time.Duration{}
		for _, id := range []string{"one", "two", "old", run.ID()} {
			kept[id] = r.events(id, world.RunCreated)[0].Birth.Retention
		}
		if diff := cmp.Diff(map[string]time.Duration{"one": time.Hour, "two": 5 * time.Hour, "old": 2 * time.Hour, run.ID(): 24 * time.Hour}, kept); diff != "" {
			r.Errorf("retention: want -, got +:\n%s", diff)
		}
		r.replays(run.ID(), wf, v1, v2)
	})
}

func TestAnswer21DeletingARunDeletesNoChildAndADeletedRunIsUnknown(t *testing.T) {
	everyWay(t, func(r *rig) {
		ask := stepwell.Define("asks", func(ctx stepwell.Context, id string) (bool, error) {
			_, err := stepwell.AwaitRun[string](ctx, id)
			return errors.Is(err, stepwell.ErrNotFound), nil
		})
		wf := stepwell.Define("short-lived", func(ctx stepwell.Context, _ struct{}) (string, error) {
			return sleeper.Child(stepwell.RunID("long-lived"), stepwell.Retention(24*time.Hour)).Run(ctx, time.Second)
		}, stepwell.Retention(time.Minute))
		wk := r.beginWith(stepwell.Config{Definitions: []stepwell.Definition{wf, sleeper, ask}, SweepInterval: 10 * time.Second})
		run := start(r, wk, wf, struct{}{})
		want(r, run, "slept")
		r.pass(3 * time.Minute)
		if got := r.get("long-lived").Status; got != world.Completed {
			r.Errorf("the child is %s, want completed", got)
		}
		if _, err := wk.Get(r.ctx, run.ID()); !errors.Is(err, stepwell.ErrNotFound) {
			r.Errorf("the deleted run: %v, want ErrNotFound", err)
		}
		want(r, start(r, wk, ask, run.ID()), true)
	})
}
