package behaviour_test

// Acts on a run whose owner gives it up, or dies, just then: none is lost, and they count in the order in which they came.

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/faults"
	"github.com/stepwell/stepwell/world"
)

// busyThenNap has a body in flight for 5 s, and then sleeps a second.
var busyThenNap = stepwell.Define("busy-then-nap", func(ctx stepwell.Context, _ struct{}) (int, error) {
	n, err := stepwell.Step(ctx, "busy", func(context.Context) (int, error) { <-time.After(5 * time.Second); return 1, nil })
	if err != nil {
		return 0, err
	}
	return n, stepwell.Sleep(ctx, "nap", time.Second)
})

// beginWhere starts a worker on the rig's world, with something that happens right before its first commit that gives a run up.
func (r *rig) beginWhere(released func(run string), defs ...stepwell.Definition) *worker {
	r.Helper()
	var once atomic.Bool
	w := faults.New(r.world, func(c faults.Call) faults.Fault {
		if c.Op != faults.Commit || c.Commit.Birth() || c.Commit.Release == nil || !once.CompareAndSwap(false, true) {
			return faults.Fault{}
		}
		return faults.Fault{Before: func() { released(c.Commit.Run) }}
	})
	cfg := stepwell.Config{Definitions: defs, Poll: time.Hour}
	r.mode(&cfg)
	return begin(r.T, w, cfg)
}

func TestAResumeThatMeetsTheReleaseOfAPausedRunIsNotLost(t *testing.T) {
	everywhere(t, func(r *rig) {
		wk := r.beginWhere(func(run string) { r.resume(r.client(), run) }, busyThenNap)
		run := start(r, wk, busyThenNap, struct{}{})
		until(r, "it to be owned", func() bool { return len(r.events(run.ID(), world.RunStarted)) == 1 }) // a start may be plain
		r.pause(r.client(), run.ID())
		want(r, run, 1)
		r.replays(run.ID(), busyThenNap)
	})
}

func TestAResumeAfterAPauseThatMeetsTheReleaseCounts(t *testing.T) {
	everywhere(t, func(r *rig) {
		nap := stepwell.Define("nap", func(ctx stepwell.Context, _ struct{}) (int, error) {
			if err := stepwell.Sleep(ctx, "short", time.Second); err != nil {
				return 0, err
			}
			return 1, stepwell.Sleep(ctx, "long", time.Minute)
		})
		var paused atomic.Bool
		wk := r.beginWhere(func(run string) { // the owner has it still: to the inbox
			r.pause(r.client(), run)
			paused.Store(true)
		}, nap)
		run := start(r, wk, nap, struct{}{})
		until(r, "the pause", paused.Load)
		r.resume(r.client(), run.ID())
		want(r, run, 1)
		r.replays(run.ID(), nap)
	})
}

func TestAResumeThatAnOwnerNeverSawIsNotLostWithIt(t *testing.T) {
	onWorlds(t, func(r *rig) {
		wk := r.begin(busyThenNap)
		run := start(r, wk, busyThenNap, struct{}{})
		r.pause(wk.App, run.ID())
		until(r, "the pause", func() bool { return len(r.events(run.ID(), world.RunPaused)) == 1 })
		id := r.get(run.ID()).Queue.Owner
		r.resume(r.client(), run.ID())
		if err := r.world.Leave(r.ctx, id); err != nil { // as if it had died: what it owned comes back
			r.Fatal(err)
		}
		if q := r.get(run.ID()).Queue; q == nil || q.Paused && q.Mail == 0 {
			r.Fatalf("queue = %+v, want the resumption to wait", q)
		}
		want(r, run, 1)
	})
}

func TestADeadlineBetweenAPauseAndItsResumptionIsNotLost(t *testing.T) {
	everywhere(t, func(r *rig) {
		slow := stepwell.Define("slow", func(ctx stepwell.Context, _ struct{}) (int, error) {
			return stepwell.Step(ctx, "slow", func(ctx context.Context) (int, error) { <-ctx.Done(); return 0, context.Cause(ctx) })
		})
		cfg := stepwell.Config{Definitions: []stepwell.Definition{slow}, Poll: time.Hour}
		r.mode(&cfg)
		client := r.client(slow)
		run, err := slow.Start(r.ctx, client, struct{}{}, stepwell.Timeout(5*time.Second))
		if err != nil {
			r.Fatal(err)
		}
		first := r.beginMortal(cfg, 1, true) // it owns the run until its lease ends, and reads nothing more
		defer first.stop()
		until(r, "the run to have begun", first.died.Load)
		r.pause(client, run.ID())
		r.pass(6 * time.Second)
		r.resume(client, run.ID())
		r.beginWith(cfg) // it reads both in one turn, and in between the deadline
		if ended := wantErr(r, run, world.Failed); ended.Code != world.CodeTimeout {
			r.Errorf("it ended with %v, want %s", ended, world.CodeTimeout)
		}
	})
}
