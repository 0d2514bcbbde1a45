package behaviour_test

// Ending the delays before attempts and starts early.

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/acting"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/journal"
)

var errBank = errors.New("the bank is away")

// hourly is tried three times, an hour apart.
var hourly = stepwell.Retry{Attempts: 3, Base: time.Hour, Backoff: stepwell.Fixed, Jitter: -1}

// bank is a step that fails as long as the bank is away, in place and queued.
type bank struct {
	back   atomic.Bool
	calls  atomic.Int32
	queued *stepwell.RegisteredStep[string, string]
}

func newBank() *bank {
	b := &bank{}
	b.queued = stepwell.DefineStep("charge-queued", func(_ context.Context, in string) (string, error) { return b.charge(in) }, hourly)
	return b
}

func (b *bank) charge(in string) (string, error) {
	b.calls.Add(1)
	if !b.back.Load() {
		return "", errBank
	}
	return in, nil
}

// inPlace charges in place.
func (b *bank) inPlace(ctx stepwell.Context) (string, error) {
	return stepwell.Step(ctx, "charge", func(context.Context) (string, error) { return b.charge("place") }, hourly)
}

// inQueue charges by a step that is queued, where another is ready to run in place.
func (b *bank) inQueue(ctx stepwell.Context) (string, error) { return b.queued.Run(ctx, "queue") }

// TestWakeEndsRetryDelays: of a step in place and of a queued one, live and released; attempts are counted as before, the policy rules the
// next delay, a sleep beside them sleeps on, and the log says who did it.
func TestWakeEndsRetryDelays(t *testing.T) {
	everywhere(t, func(r *rig) {
		b := newBank()
		wf := stepwell.Define("orders", func(ctx stepwell.Context, _ int) ([]string, error) {
			place, queued := stepwell.Go(ctx, b.inPlace), stepwell.Go(ctx, b.inQueue)
			nap := stepwell.Timer(ctx, "nap", 10*time.Hour)
			one, err := place.Get(ctx)
			if err != nil {
				return nil, err
			}
			two, err := queued.Get(ctx)
			if err != nil {
				return nil, err
			}
			_, err = nap.Get(ctx)
			return []string{one, two}, err
		})
		app := r.begin(wf, b.queued)
		run := start(r, app, wf, 0)
		until(r, "both to fail", func() bool { return b.calls.Load() == 2 && r.free(run.ID()) })
		if n, err := app.Wake(r.ctx, run.ID(), stepwell.WakeStarts); n != (world.Woken{}) || err != nil {
			r.Errorf("Wake of its start = %+v, %v; want nothing, it has begun", n, err)
		}
		wake := func(want world.Woken, what ...world.Waking) {
			r.Helper()
			if n, err := r.client().Wake(acting.For(r.ctx, "ann"), run.ID(), what...); n != want || err != nil {
				r.dump(run.ID())
				r.Fatalf("Wake = %+v, %v; want %+v", n, err, want)
			}
		}
		if !eventQueued(r, run.ID()) {
			r.Fatal("no step was queued")
		}
		wake(world.Woken{Retries: 2}, stepwell.WakeRetries)
		until(r, "both to fail again", func() bool { return b.calls.Load() == 4 && r.free(run.ID()) })
		r.pass(10 * time.Minute)
		if n := b.calls.Load(); n != 4 {
			r.Errorf("%d attempts, want 4: an hour is between them still", n)
		}
		b.back.Store(true)
		wake(world.Woken{Retries: 2}, stepwell.WakeRetries)
		until(r, "both to succeed", func() bool { return r.count(run.ID(), world.StepCompleted, "") == 2 })
		wake(world.Woken{}, stepwell.WakeRetries)
		wake(world.Woken{Sleeps: 1})
		want(r, run, []string{"place", "queue"})
		var got []string
		for _, e := range r.events(run.ID(), world.StepStarted, world.StepRetrying, world.StepWoken) {
			if e.Type == world.StepWoken && e.By != "ann" {
				r.Errorf("woken by %q, want ann", e.By)
			}
			got = append(got, fmt.Sprint(e.Type, " ", e.Attempt))
		}
		one := []string{"step_started 1", "step_retrying 1", "step_woken 1", "step_started 2", "step_retrying 2", "step_woken 2", "step_started 3"}
		count := map[string]int{}
		for _, s := range got {
			count[s]++
		}
		for _, s := range one {
			if count[s] != 2 {
				r.Errorf("%d times %q in the log, want 2: %v", count[s], s, got)
			}
		}
		if len(got) != 2*len(one) {
			r.Errorf("attempts in the log: %v", got)
		}
		r.replays(run.ID(), wf, b.queued)
	})
}

// TestWakeOfANearRetry: a delay that is waited for in the session ends as well, and the time that it had counts for nothing any more.
func TestWakeOfANearRetry(t *testing.T) {
	everywhere(t, func(r *rig) {
		var calls []time.Time
		wf := stepwell.Define("near", func(ctx stepwell.Context, _ int) (int, error) {
			return stepwell.Step(ctx, "charge", func(context.Context) (int, error) {
				if calls = append(calls, time.Now()); len(calls) < 3 {
					return 0, errBank
				}
				return len(calls), nil
			}, stepwell.Retry{Attempts: 3, Base: 4 * time.Second, Backoff: stepwell.Fixed, Jitter: -1})
		})
		app := r.begin(wf)
		run := start(r, app, wf, 0)
		r.pass(time.Second)
		if n, err := app.Wake(r.ctx, run.ID(), stepwell.WakeRetries); n != (world.Woken{Retries: 1}) || err != nil {
			r.Fatalf("Wake = %+v, %v; want a retry", n, err)
		}
		want(r, run, 3)
		var waited []time.Duration
		for i := range calls[1:] {
			waited = append(waited, calls[i+1].Sub(calls[i]).Truncate(time.Second))
		}
		if diff := cmp.Diff([]time.Duration{time.Second, 4 * time.Second}, waited); diff != "" {
			r.Errorf("between attempts: want -, got +:\n%s", diff)
		}
	})
}

// TestWakeBeginsDelayedStarts: only where that is asked for; paused, when it is resumed.
func TestWakeBeginsDelayedStarts(t *testing.T) {
	everywhere(t, func(r *rig) {
		wf := stepwell.Define("later", func(ctx stepwell.Context, n int) (int, error) { return n, nil })
		app := r.begin(wf)
		soon, paused := start(r, app, wf, 1, stepwell.Delay(24*time.Hour)), start(r, app, wf, 2, stepwell.Delay(24*time.Hour))
		if err := app.Pause(r.ctx, paused.ID(), ""); err != nil {
			r.Fatal(err)
		}
		for _, run := range []string{soon.ID(), paused.ID()} {
			if n, err := app.Wake(r.ctx, run); n != (world.Woken{}) || err != nil {
				r.Errorf("Wake without a choice = %+v, %v; want nothing", n, err)
			}
			if n, err := app.Wake(r.ctx, run, stepwell.WakeStarts); n != (world.Woken{Starts: 1}) || err != nil {
				r.Errorf("Wake = %+v, %v; want a start", n, err)
			}
		}
		want(r, soon, 1)
		r.pass(time.Minute)
		if s := r.get(paused.ID()).Status; s != world.Pending {
			r.Errorf("the paused run is %s", s)
		}
		if err := app.Resume(r.ctx, paused.ID()); err != nil {
			r.Fatal(err)
		}
		want(r, paused, 2)
		if n, err := app.Wake(r.ctx, soon.ID(), stepwell.WakeStarts); !errors.Is(err, stepwell.ErrTerminal) {
			r.Errorf("Wake of a run that is over = %+v, %v; want ErrTerminal", n, err)
		}
		if _, err := app.Wake(r.ctx, "wrun_none", stepwell.WakeStarts); !errors.Is(err, stepwell.ErrNotFound) {
			r.Errorf("Wake of an unknown run: %v, want ErrNotFound", err)
		}
		if _, err := app.Wake(r.ctx, soon.ID(), "naps"); !errors.Is(err, stepwell.ErrInvalid) {
			r.Errorf("Wake of what there is not: %v, want ErrInvalid", err)
		}
	})
}

// TestWakeWhilePausedOrRunning: a wake of a paused run counts when it is resumed; one that comes while the attempt runs already changes nothing.
func TestWakeWhilePausedOrRunning(t *testing.T) {
	everywhere(t, func(r *rig) {
		b := newBank()
		gate, inside := make(chan struct{}), make(chan struct{}, 1)
		wf := stepwell.Define("held", func(ctx stepwell.Context, _ int) (string, error) {
			return stepwell.Step(ctx, "charge", func(c context.Context) (string, error) {
				if stepwell.Info(c).Attempt == 2 {
					inside <- struct{}{}
					<-gate
				}
				return b.charge("done")
			}, hourly)
		})
		app := r.begin(wf)
		run := start(r, app, wf, 0)
		until(r, "it to fail", func() bool { return b.calls.Load() == 1 && r.free(run.ID()) })
		b.back.Store(true)
		if err := app.Pause(r.ctx, run.ID(), ""); err != nil {
			r.Fatal(err)
		}
		if n, err := app.Wake(r.ctx, run.ID()); n != (world.Woken{Retries: 1}) || err != nil {
			r.Errorf("Wake of a paused run = %+v, %v; want a retry", n, err)
		}
		r.pass(time.Minute)
		if n := b.calls.Load(); n != 1 {
			r.Errorf("%d attempts while it is paused, want 1", n)
		}
		if err := app.Resume(r.ctx, run.ID()); err != nil {
			r.Fatal(err)
		}
		<-inside
		before := len(r.events(run.ID()))
		late := &world.Delivery{Run: run.ID(), ID: "late", Events: []world.Event{{Type: world.StepWoken, ID: r.events(run.ID(), world.StepWoken)[0].ID, Attempt: 1}}}
		if _, err := r.world.Deliver(r.ctx, late); err != nil {
			r.Fatal(err)
		}
		if n, err := app.Wake(r.ctx, run.ID()); n != (world.Woken{}) || err != nil {
			r.Errorf("Wake while the attempt runs = %+v, %v; want nothing", n, err)
		}
		until(r, "the late wake to be read", func() bool { return r.get(run.ID()).Queue.Mail == 0 })
		if n := len(r.events(run.ID())); n != before {
			r.Errorf("%d events, want %d: the wake came too late", n, before)
		}
		close(gate)
		want(r, run, "done")
		if n := r.count(run.ID(), world.StepStarted, "charge"); n != 2 {
			r.Errorf("%d attempts, want 2", n)
		}
		r.replays(run.ID(), wf)
	})
}

// TestWakeEndsTheDelayOfAnUndo: undo functions are steps as well, and the run is no longer its code's to lead.
func TestWakeEndsTheDelayOfAnUndo(t *testing.T) {
	onWorlds(t, func(r *rig) {
		b := newBank()
		wf := stepwell.Define("saga", func(ctx stepwell.Context, _ int) (int, error) {
			stepwell.AddUndo(ctx, "give-back", func(_ context.Context, card string) error { _, err := b.charge(card); return err }, "",
				stepwell.Retry{Attempts: stepwell.Unlimited, Base: time.Hour, Backoff: stepwell.Fixed, Jitter: -1})
			return 0, errBank
		})
		app := r.begin(wf)
		run := start(r, app, wf, 0)
		until(r, "the undo to fail", func() bool { return b.calls.Load() == 1 && r.free(run.ID()) })
		b.back.Store(true)
		if n, err := app.Wake(r.ctx, run.ID(), stepwell.WakeRetries); n != (world.Woken{Retries: 1}) || err != nil {
			r.Errorf("Wake = %+v, %v; want a retry", n, err)
		}
		wantErr(r, run, world.Failed)
		if n := b.calls.Load(); n != 2 {
			r.Errorf("%d attempts of the undo, want 2", n)
		}
	})
}

// TestWakeSurvivesDeaths: one wake for each delay is enough, whichever commit of the worker is its last, before that is written or after: no wake
// is lost, none counts twice, and no attempt waits for the hour to pass.
func TestWakeSurvivesDeaths(t *testing.T) {
	for _, after := range []bool{false, true} {
		for k := 1; k <= 6; k++ {
			t.Run(fmt.Sprint(k, after), func(t *testing.T) {
				t.Parallel()
				across(t, kinds, modes[:1], func(r *rig) {
					b := newBank()
					wf := stepwell.Define("orders", func(ctx stepwell.Context, _ int) ([]string, error) {
						place, queued := stepwell.Go(ctx, b.inPlace), stepwell.Go(ctx, b.inQueue)
						one, err := place.Get(ctx)
						if err != nil {
							return nil, err
						}
						two, err := queued.Get(ctx)
						return []string{one, two}, err
					})
					client := r.client(wf, b.queued)
					run, err := wf.Start(r.ctx, client, 0, stepwell.Delay(48*time.Hour))
					if err != nil {
						r.Fatal(err)
					}
					cfg := stepwell.Config{Definitions: []stepwell.Definition{wf, b.queued}}
					m := r.beginMortal(cfg, k, after)
					var woken world.Woken
					wake := func(what ...world.Waking) {
						n, err := client.Wake(r.ctx, run.ID(), what...)
						if err != nil && !errors.Is(err, stepwell.ErrTerminal) {
							r.Fatal(err)
						}
						woken.Retries, woken.Starts = woken.Retries+n.Retries, woken.Starts+n.Starts
					}
					wake(stepwell.WakeStarts)
					done := func() bool { return r.get(run.ID()).Status.Terminal() }
					heir := func() { // takes over from the dead
						if m.died.Load() {
							m.stop()
							m = r.beginMortal(cfg, 1000, false)
						}
					}
					defer func() { m.stop() }()
					seen := map[string]int{} // attempts
					for failed := 1; !done(); failed++ {
						until(r, "the steps to wait", func() bool {
							heir()
							w, err := client.Story(r.ctx, run.ID(), false)
							if err != nil {
								r.Fatal(err)
							}
							waiting, attempts := 0, map[string]int{}
							for _, en := range w.Journal.Entries {
								attempts[en.ID] = en.Attempt
								if en.Status == journal.EntryPending && en.RetryAt.After(time.Now()) && en.Attempt > seen[en.ID] || en.Status == journal.EntryCompleted {
									waiting++
								}
							}
							if waiting < 2 {
								return done()
							}
							seen = attempts
							return true
						})
						b.back.Store(failed >= 2)
						wake(stepwell.WakeRetries)
						if failed > 3 {
							r.dump(run.ID())
							r.Fatalf("it does not end, woken %+v", woken)
						}
					}
					want(r, run, []string{"place", "queue"})
					events := r.events(run.ID())
					created, ended := events[0].Time, events[len(events)-1].Time
					if ended.Sub(created) > 30*time.Minute {
						r.dump(run.ID())
						r.Errorf("it took %s: something waited for its hour", ended.Sub(created))
					}
					if woken.Starts != 1 {
						r.Errorf("woken %+v, want one start", woken)
					}
					of := map[string]int{}
					for _, e := range events {
						if e.Type == world.StepWoken {
							of[fmt.Sprint(e.ID, e.Attempt)]++
						}
					}
					for id, n := range of {
						if n != 1 {
							r.Errorf("%d wakes of %s in the log, want 1", n, id)
						}
					}
					checkLog(r.Errorf, run.ID(), events)
					r.replays(run.ID(), wf, b.queued)
				})
			})
		}
	}
}
