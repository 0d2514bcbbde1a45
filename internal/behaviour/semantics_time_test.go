package behaviour_test

// The answers at the edges (docs/failures.md) about time and order: 1, 2, 4, 5.

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/sqlite"
)

type number struct {
	N int `json:"n"`
}

var numbers = stepwell.Event[number]("number")

// waitOnce waits for a number with a timeout of 10 s.
var waitOnce = stepwell.Define("wait-once", func(ctx stepwell.Context, _ struct{}) (string, error) {
	n, ok, err := numbers.Wait(ctx, stepwell.Timeout(10*time.Second))
	return fmt.Sprint(n.N, ok), err
})

func TestAnswer01AWaitTimesOutByItsDeadlineNotByWhoIsThere(t *testing.T) {
	everyWay(t, func(r *rig) {
		client := r.client()
		for _, c := range []struct {
			sent time.Duration // after the wait began
			want string
		}{{5 * time.Second, "7 true"}, {20 * time.Second, "0 false"}} {
			wk := r.begin(waitOnce)
			run := start(r, wk, waitOnce, struct{}{})
			until(r, "the wait", func() bool { return r.count(run.ID(), world.WaitCreated, "") == 1 })
			wk.stop(r)
			r.pass(c.sent)
			if err := numbers.Send(r.ctx, client, run.ID(), number{7}); err != nil {
				r.Fatal(err)
			}
			r.pass(20 * time.Second)
			again := r.begin(waitOnce)
			want(r, run, c.want)
			again.stop(r)
			r.replays(run.ID(), waitOnce)
		}
	})
}

func TestAnswer01OverdueThingsAreAppendedInTheOrderOfTheirTimes(t *testing.T) {
	order := stepwell.Define("order", func(ctx stepwell.Context, _ struct{}) (string, error) {
		var seen []string
		sleep := func(name string, d time.Duration) *stepwell.Future[struct{}] {
			return stepwell.Go(ctx, func(ctx stepwell.Context) (struct{}, error) {
				err := stepwell.Sleep(ctx, name, d)
				seen = append(seen, name)
				return struct{}{}, err
			})
		}
		a, b := sleep("late", 12*time.Second), sleep("early", 6*time.Second)
		for range 3 {
			n, _, err := numbers.Wait(ctx)
			if err != nil {
				return "", err
			}
			seen = append(seen, fmt.Sprint(n.N))
		}
		_, err := stepwell.All(ctx, a, b)
		return fmt.Sprint(seen), err
	})
	everyWay(t, func(r *rig) {
		wk, client := r.begin(order), r.client()
		began := time.Now()
		run := start(r, wk, order, struct{}{})
		until(r, "the waits", func() bool { return r.count(run.ID(), world.WaitCreated, "") == 3 })
		wk.stop(r)
		for _, at := range []int{3, 9, 15} {
			r.at(began, time.Duration(at)*time.Second)
			if err := numbers.Send(r.ctx, client, run.ID(), number{at}); err != nil {
				r.Fatal(err)
			}
		}
		r.pass(5 * time.Second)
		r.begin(order)
		want(r, run, "[3 early 9 late 15]")
		r.replays(run.ID(), order)
	})
}

func TestAnswer02AnUntakenPayloadStaysForTheNextWaitThatMatches(t *testing.T) {
	pick := stepwell.Define("pick", func(ctx stepwell.Context, _ struct{}) (got []int, err error) {
		if err := stepwell.Sleep(ctx, "until all are there", 5*time.Second); err != nil {
			return nil, err
		}
		for _, match := range []stepwell.Match{{"n": 2}, {}, {"n": 3}, {}} {
			n, ok, err := numbers.Wait(ctx, match, stepwell.Timeout(time.Second))
			if err != nil || !ok {
				return nil, fmt.Errorf("wait for %v: %v, %w", match, ok, err)
			}
			got = append(got, n.N)
		}
		return got, nil
	})
	everyWay(t, func(r *rig) {
		wk := r.begin(pick)
		run := start(r, wk, pick, struct{}{})
		for _, n := range []int{1, 2, 3, 4} {
			if err := numbers.Send(r.ctx, wk.App, run.ID(), number{n}); err != nil {
				r.Fatal(err)
			}
		}
		want(r, run, []int{2, 1, 3, 4})
		r.replays(run.ID(), pick)
	})
}

func TestAnswer04AwaitOfWhatHoldsWritesNothing(t *testing.T) {
	await := stepwell.Define("await", func(ctx stepwell.Context, _ struct{}) (bool, error) {
		n := 0
		if _, err := stepwell.Await(ctx, func() bool { return n == 0 }); err != nil {
			return false, err
		}
		f := stepwell.Go(ctx, func(ctx stepwell.Context) (int, error) {
			n = 1
			return 0, stepwell.Sleep(ctx, "nap", time.Second)
		})
		if _, err := stepwell.Await(ctx, func() bool { return n == 1 }); err != nil {
			return false, err
		}
		asleep := !f.Done()
		_, err := f.Get(ctx)
		return asleep, err
	})
	everyWay(t, func(r *rig) {
		wk := r.begin(await)
		run := start(r, wk, await, struct{}{})
		want(r, run, true)
		var got []world.EventType
		for _, e := range r.events(run.ID()) {
			got = append(got, e.Type)
		}
		types := []world.EventType{world.RunCreated, world.RunStarted, world.WaitCreated, world.WaitCompleted, world.RunCompleted}
		if diff := cmp.Diff(types, got); diff != "" {
			r.Errorf("events: want -, got +:\n%s", diff)
		}
		r.replays(run.ID(), await)
	})
}

func TestAnswer05SleepsOfNothingAndTimesInThePastAreDueAtOnce(t *testing.T) {
	nothing := stepwell.Define("nothing", func(ctx stepwell.Context, _ struct{}) (time.Duration, error) {
		began := ctx.Now()
		for _, err := range []error{
			stepwell.Sleep(ctx, "zero", 0), stepwell.Sleep(ctx, "negative", -time.Hour),
			stepwell.SleepUntil(ctx, "past", began.Add(-time.Hour)), stepwell.SleepUntil(ctx, "year one", time.Time{}),
		} {
			if err != nil {
				return 0, err
			}
		}
		if _, ok, err := numbers.Wait(ctx, stepwell.Timeout(0)); ok || err != nil {
			return 0, fmt.Errorf("wait = %v, %w", ok, err)
		}
		return ctx.Now().Sub(began), nil
	})
	everyWay(t, func(r *rig) {
		wk := r.begin(nothing)
		run := start(r, wk, nothing, struct{}{})
		took, err := run.Result(r.ctx)
		if err != nil || took > 200*time.Millisecond {
			r.dump(run.ID())
			r.Errorf("took %s, %v, want next to nothing", took, err)
		}
		if got := r.get(run.ID()).Claims; got != 1 {
			r.Errorf("takes = %d, want 1", got)
		}
		r.replays(run.ID(), nothing)
	})
}

func TestAnswer05AClockThatStepsBackMovesNoEventBackAndEndsNoLease(t *testing.T) {
	for _, m := range modes[:2] { // no other world of this package can be told the time; TestClockNeverGoesBack holds their clock
		t.Run(m.name, func(t *testing.T) { t.Parallel(); clockStepsBack(t, m.set) })
	}
}

func clockStepsBack(t *testing.T, mode func(*stepwell.Config)) {
	t.Helper()
	var back atomic.Int64
	steps := stepwell.Define("steps", func(ctx stepwell.Context, _ struct{}) (int, error) {
		for i := range 5 {
			if err := stepwell.Do(ctx, "step", func(context.Context) error {
				if i == 2 {
					back.Store(int64(time.Hour))
				}
				<-time.After(2 * time.Second)
				return nil
			}); err != nil {
				return 0, err
			}
		}
		return 5, nil
	})
	bubble(t, func(t testing.TB) world.World {
		return openFile(t, filepath.Join(t.TempDir(), "runs.db"), sqlite.Options{
			Now: func() time.Time { return world.Now().Add(-time.Duration(back.Load())) },
		})
	}, mode, func(r *rig) {
		wk := r.begin(steps)
		run := start(r, wk, steps, struct{}{})
		want(r, run, 5)
		times := r.events(run.ID())
		if !slices.IsSortedFunc(times, func(a, b world.Event) int { return a.Time.Compare(b.Time) }) {
			r.dump(run.ID())
			r.Error("an event is earlier than the one before it")
		}
		if got := r.get(run.ID()).Claims; got != 1 {
			r.Errorf("takes = %d, want 1: the lease ended", got)
		}
	})
}
