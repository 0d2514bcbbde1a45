package behaviour_test

// Waits that only look, and deadlines that are the same: what the code sees does not depend on chance.

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
)

// TestAWaitOfNothingLooksIntoTheInbox: mail that was durable before a wait with Timeout(0) began is taken by it, and
// "what is there" can be drained.
func TestAWaitOfNothingLooksIntoTheInbox(t *testing.T) {
	const sent = 25
	everywhere(t, func(r *rig) {
		var id string
		wf := stepwell.Define("drains", func(ctx stepwell.Context, _ int) (got []int, err error) {
			err = stepwell.Do(ctx, "send", func(c context.Context) error {
				for i := range sent { // durable when the step has ended: its notices are lost
					d := &world.Delivery{Run: id, ID: fmt.Sprint(i), Events: []world.Event{{Type: world.SignalReceived, Name: numbers.Name(), Payload: fmt.Appendf(nil, `{"n":%d}`, i)}}}
					if _, err := r.world.Deliver(c, d); err != nil {
						return err
					}
				}
				return nil
			})
			for err == nil {
				n, ok, e := numbers.Wait(ctx, stepwell.Timeout(0))
				if err = e; !ok {
					break
				}
				got = append(got, n.N)
			}
			return got, err
		})
		id = "drained"
		wk := r.begin(wf)
		run := start(r, wk, wf, 0, stepwell.RunID(id))
		all := make([]int, sent)
		for i := range all {
			all[i] = i
		}
		want(r, run, all)
		if n := len(r.events(id, world.WaitCompleted)); n != sent+1 {
			r.Errorf("%d waits ended, want %d", n, sent+1)
		}
		r.replays(id, wf)
	})
}

// TestAWaitOfNothingWhileNobodyIsThere: the same where its worker dies before it has looked.
func TestAWaitOfNothingWhileNobodyIsThere(t *testing.T) {
	for k := 1; k <= 3; k++ {
		for _, after := range []bool{false, true} {
			t.Run(fmt.Sprint(k, after), func(t *testing.T) {
				t.Parallel()
				across(t, kinds, modes[:1], func(r *rig) {
					wf := stepwell.Define("looks", func(ctx stepwell.Context, _ int) (int, error) {
						if _, err := add("work", 1)(ctx); err != nil {
							return 0, err
						}
						n, ok, err := numbers.Wait(ctx, stepwell.Timeout(0))
						if err == nil && !ok {
							return -1, nil
						}
						return n.N, err
					})
					client := r.client(wf)
					run, err := wf.Start(r.ctx, client, 0)
					if err != nil {
						r.Fatal(err)
					}
					if err := numbers.Send(r.ctx, client, run.ID(), number{5}); err != nil {
						r.Fatal(err)
					}
					m := r.beginMortal(stepwell.Config{Definitions: []stepwell.Definition{wf}}, k, after)
					until(r, "its death or the end", func() bool { return m.died.Load() || r.get(run.ID()).Status.Terminal() })
					m.stop()
					r.begin(wf)
					want(r, run, 5)
				})
			})
		}
	}
}

// TestEqualDeadlinesEndInTheOrderOfTheirCreation: sleeps, waits for events and timers of one moment, live and by a
// worker that comes later, and the run's own timeout behind them.
func TestEqualDeadlinesEndInTheOrderOfTheirCreation(t *testing.T) {
	const waits = 20
	wf := stepwell.Define("ties", func(ctx stepwell.Context, _ int) (int, error) {
		at := ctx.Now().Add(time.Minute)
		var all []*stepwell.Future[int]
		for i := range waits {
			all = append(all, stepwell.Go(ctx, func(ctx stepwell.Context) (int, error) {
				if i%2 == 0 {
					return i, stepwell.SleepUntil(ctx, fmt.Sprint("wait-", (i*7)%waits), at)
				}
				_, _, err := stepwell.Event[int](fmt.Sprint("wait-", (i*7)%waits)).Wait(ctx, stepwell.Timeout(time.Minute))
				return i, err
			}))
		}
		if _, err := stepwell.All(ctx, all...); err != nil {
			return 0, err
		}
		return waits, nil
	}, stepwell.Timeout(time.Minute))
	for _, away := range []bool{false, true} {
		t.Run(fmt.Sprint("away ", away), func(t *testing.T) {
			t.Parallel()
			everywhere(t, func(r *rig) {
				wk := r.begin(wf)
				run := start(r, wk, wf, 0)
				until(r, "the waits", func() bool { return r.count(run.ID(), world.WaitCreated, "") == waits })
				if away {
					wk.stop(r)
					r.pass(2 * time.Minute)
					r.begin(wf)
				}
				_, _ = run.Result(r.ctx)
				var created, ended []string
				last := map[string]time.Time{}
				for _, e := range r.events(run.ID(), world.WaitCreated) {
					created = append(created, e.ID)
					last[e.ID] = e.Until
				}
				slices.SortStableFunc(created, func(a, b string) int { return last[a].Compare(last[b]) })
				for _, e := range r.events(run.ID(), world.WaitCompleted) {
					ended = append(ended, e.ID)
				}
				if !slices.Equal(created, ended) {
					r.dump(run.ID())
					r.Errorf("created, by deadline:\n%v\nended:\n%v", created, ended)
				}
				want(r, run, waits)
			})
		})
	}
}
