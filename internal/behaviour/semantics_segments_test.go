package behaviour_test

// The answers at the edges (docs/failures.md) about segments and forks: 24, 26.

import (
	"fmt"
	"testing"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
)

// A fork keeps the deadline of a wait; hooks and children are its own; what waits in the source's inbox stays there.
func TestAnswer24AForkKeepsDeadlinesAndLeavesTheRestToItsSource(t *testing.T) {
	everyWay(t, func(r *rig) {
		wf := stepwell.Define("forked", func(ctx stepwell.Context, _ int) (string, error) {
			if _, err := stepwell.NewHook[string](ctx, stepwell.Token("door")); err != nil {
				return "", err
			}
			nap := sleeper.Child().Start(ctx, time.Minute)
			got, ok, err := note.Wait(ctx, stepwell.Timeout(10*time.Minute))
			if err != nil {
				return "", err
			}
			slept, err := nap.Get(ctx)
			return fmt.Sprint(got, ok, slept), err
		})
		wk := r.begin(wf, sleeper)
		run := start(r, wk, wf, 0)
		wk.stop(r.T)
		asked := r.events(run.ID(), world.WaitCreated)[0]
		if err := note.Send(r.ctx, r.client(), run.ID(), "yours"); err != nil {
			r.Fatal(err)
		}
		r.pass(3 * time.Minute)
		fork := func(id string) *stepwell.Run[string] {
			forked, err := r.client().Fork(r.ctx, run.ID(), stepwell.ForkOptions{ID: id, At: asked.Seq})
			if err != nil {
				r.Fatal(err)
			}
			return wf.Get(r.client(), forked.ID())
		}
		early := fork("early")
		if got := r.events("early", world.WaitCreated)[0].Until; !got.Equal(asked.Until) {
			r.Errorf("the fork waits until %s, want %s as its source", got, asked.Until)
		}
		if ours, theirs := r.hooks("early"), r.hooks(run.ID()); len(ours) != 1 || len(theirs) != 1 || theirs[0].Token != "door" || ours[0].Token == "door" {
			r.Errorf("hooks %+v and %+v, want one each, and the token the source's", ours, theirs)
		}
		wk = r.begin(wf, sleeper)
		want(r, run, "yourstrueslept")
		r.at(asked.Until, -time.Second)
		if got := r.get("early").Status; got != world.Running {
			r.Errorf("a second before its deadline the fork is %s, want it to wait", got)
		}
		want(r, early, "falseslept")
		if late := r.get("early").EndedAt.Sub(asked.Until); late < 0 || late > time.Second {
			r.Errorf("the fork's wait was over %s after its deadline, want then", late)
		}
		overdue := fork("overdue")
		r.pass(time.Second)
		if got := len(r.events("overdue", world.WaitCompleted)); got != 1 {
			r.Errorf("%d waits of a fork that is overdue are over, want one: at once", got)
		}
		want(r, overdue, "falseslept")
		children := map[string]int{}
		for info, err := range wk.List(r.ctx, stepwell.ListFilter{Workflow: sleeper.Name()}) {
			if err != nil {
				r.Fatal(err)
			}
			children[info.Parent.Run]++
		}
		for _, parent := range []string{run.ID(), "early", "overdue"} {
			if children[parent] != 1 {
				r.Errorf("run %s has %d children, want one of its own", parent, children[parent])
			}
			r.replays(parent, wf, sleeper)
		}
	})
}

// One ID is decided at the first call in a segment, and recorded once there.
func TestAnswer26PatchedIsDecidedAndRecordedOnceASegment(t *testing.T) {
	everyWay(t, func(r *rig) {
		wf := stepwell.Define("asks-often", func(ctx stepwell.Context, in tour) (string, error) {
			for range 3 {
				in.Got += fmt.Sprint(stepwell.Patched(ctx, "change"), " ")
				if err := stepwell.Sleep(ctx, "nap", time.Second); err != nil {
					return "", err
				}
			}
			if in.Left--; in.Left > 0 {
				return "", stepwell.ContinueAsNew(ctx, in)
			}
			return in.Got, nil
		})
		before := stepwell.Define("asks-often", func(ctx stepwell.Context, in tour) (string, error) {
			return "", stepwell.Sleep(ctx, "nap", time.Second)
		})
		wk := r.begin(before)
		run := start(r, wk, before, tour{Left: 3})
		wk.stop(r.T)
		r.begin(wf)
		want(r, wf.Get(r.client(), run.ID()), "false false false true true true true true true ")
		if got := r.count(run.ID(), world.StepCreated, "change"); got != 2 {
			r.Errorf("the decision is recorded %d times, want twice: in the segments that are new to the change", got)
		}
		r.replays(run.ID(), wf)
	})
}
