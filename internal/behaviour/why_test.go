package behaviour_test

// What App.Why says of runs that really wait, on every world.

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/journal"
)

func TestWhyOfRuns(t *testing.T) {
	everywhere(t, func(r *rig) {
		paid := stepwell.Event[string]("paid")
		wf := stepwell.Define("waits", func(ctx stepwell.Context, _ int) (string, error) {
			if err := stepwell.Sleep(ctx, "nap", time.Minute); err != nil {
				return "", err
			}
			err := stepwell.Do(ctx, "flaky", func(ctx context.Context) error {
				if stepwell.Info(ctx).Attempt == 1 {
					return errors.New("no luck")
				}
				return nil
			}, stepwell.Retry{Base: time.Minute, Jitter: -1})
			if err != nil {
				return "", err
			}
			s, _, err := paid.Wait(ctx, stepwell.Timeout(time.Hour))
			return s, err
		})
		app := r.client(wf)
		run, err := wf.Start(r.ctx, app, 0)
		if err != nil {
			r.Fatal(err)
		}
		want := func(kind stepwell.WhyKind) stepwell.Why {
			r.Helper()
			var why stepwell.Why
			until(r, "the run to be "+string(kind), func() bool {
				if why, err = app.Why(r.ctx, run.ID()); err != nil {
					r.Fatal(err)
				}
				return why.Kind == kind
			})
			return why
		}
		want(stepwell.WhyNoWorker)
		wk := r.begin(wf)
		began := time.Now()
		if why := want(stepwell.WhySleep); why.Step != "nap" || why.Until.Sub(began).Round(time.Second) != time.Minute {
			r.Errorf("asleep: %s, want nap for a minute", why)
		}
		listed, err := app.Get(r.ctx, run.ID())
		if err != nil {
			r.Fatal(err)
		}
		if got, want := listed.Queue.Waiting, `sleep "nap"`; got != want {
			r.Errorf("its row says that it waits for %q, want %q", got, want)
		}
		r.pass(time.Minute)
		if why := want(stepwell.WhyRetry); why.Step != "flaky" || why.Attempt != 1 || why.Error == nil || why.Error.Message != "no luck" {
			r.Errorf("to be tried again: %s, want attempt 1 of flaky, and its error", why)
		}
		r.pass(time.Minute)
		if why := want(stepwell.WhyEvent); why.Event != "paid" || why.Until.IsZero() {
			r.Errorf("waiting: %s, want event paid and a time", why)
		}
		if err := paid.Send(r.ctx, app, run.ID(), "cash"); err != nil {
			r.Fatal(err)
		}
		want(stepwell.WhyOver)
		wk.stop(r)
	})
}

// TestLastSignalIsTaken: a wait whose signal ended the run is over in the log, and the signal is not left unread.
func TestLastSignalIsTaken(t *testing.T) {
	everywhere(t, func(r *rig) {
		paid := stepwell.Event[string]("paid")
		wf := stepwell.Define("pays", func(ctx stepwell.Context, _ int) (string, error) {
			s, _, err := paid.Wait(ctx)
			return s, err
		})
		app := r.begin(wf).App
		run, err := wf.Start(r.ctx, app, 0)
		if err != nil {
			r.Fatal(err)
		}
		until(r, "the wait", func() bool {
			why, err := app.Why(r.ctx, run.ID())
			return err == nil && why.Kind == stepwell.WhyEvent
		})
		if err := paid.Send(r.ctx, app, run.ID(), "cash"); err != nil {
			r.Fatal(err)
		}
		if got, err := run.Result(r.ctx); err != nil || got != "cash" {
			r.Fatalf("result = %q, %v, want cash", got, err)
		}
		s, err := app.Story(r.ctx, run.ID(), true)
		if err != nil {
			r.Fatal(err)
		}
		if got := s.Journal.Entries[0].Status; got != journal.EntryCompleted || len(s.Journal.Unread) > 0 {
			r.Errorf("the wait is %s and %d signals are unread, want completed and 0", got, len(s.Journal.Unread))
		}
	})
}

// TestWhyOfTasks: attempts of a registered step that was queued are seen while it runs, before its log has them.
func TestWhyOfTasks(t *testing.T) {
	everywhere(t, func(r *rig) {
		gate := make(chan struct{})
		try := stepwell.DefineStep("try", func(ctx context.Context, _ int) (int, error) {
			if stepwell.Info(ctx).Attempt == 1 {
				return 0, errors.New("no luck")
			}
			select {
			case <-gate:
			case <-ctx.Done():
			}
			return 1, nil
		}, stepwell.Retry{Base: time.Minute, Jitter: -1})
		quick := stepwell.DefineStep("quick", func(context.Context, int) (int, error) { return 1, nil })
		wf := stepwell.Define("tries", func(ctx stepwell.Context, _ int) (int, error) {
			fs := []*stepwell.Future[int]{quick.Start(ctx, 1), try.Start(ctx, 1)} // one runs in place, the other is queued
			got, err := stepwell.All(ctx, fs...)
			return len(got), err
		})
		app := r.beginWith(stepwell.Config{Definitions: []stepwell.Definition{wf, try, quick}, Name: "host:1"}).App
		run, err := wf.Start(r.ctx, app, 0)
		if err != nil {
			r.Fatal(err)
		}
		await := func(what string, cond func(w stepwell.Why) bool) {
			r.Helper()
			until(r, what, func() bool {
				why, err := app.Why(r.ctx, run.ID())
				if err != nil {
					r.Fatal(err)
				}
				return cond(why)
			})
		}
		await("a retry of the queued step", func(w stepwell.Why) bool {
			return w.Kind == stepwell.WhyRetry && w.Step == "try" && w.Attempt == 1 && w.Error != nil && w.Error.Message == "no luck"
		})
		r.pass(time.Minute)
		await("the queued step to run again", func(w stepwell.Why) bool {
			return w.Kind == stepwell.WhyTask && w.Attempt == 2 && w.Worker == "host:1"
		})
		close(gate)
		if got, err := run.Result(r.ctx); err != nil || got != 2 {
			r.Errorf("result = %d, %v, want 2", got, err)
		}
	})
}

// TestWhySaysWhatIsAwaited: what lost a race is still open, and is not what the run waits for.
func TestWhySaysWhatIsAwaited(t *testing.T) {
	paid, first := stepwell.Event[string]("paid"), stepwell.Event[string]("first")
	for name, test := range map[string]struct {
		waits func(ctx stepwell.Context) error
		kind  stepwell.WhyKind
		text  string
	}{
		"an event, after a race that a timer lost": {func(ctx stepwell.Context) error {
			_, _, err := paid.Wait(ctx)
			return err
		}, stepwell.WhyEvent, `waiting for event "paid"; also open: sleep "timeout" until`},
		"a condition": {func(ctx stepwell.Context) error {
			_, err := stepwell.Await(ctx, func() bool { return false })
			return err
		}, stepwell.WhyCondition, `waiting for a condition of its code; also open: sleep "timeout" until`},
		"a sleep": {func(ctx stepwell.Context) error {
			return stepwell.Sleep(ctx, "nap", 90*24*time.Hour)
		}, stepwell.WhySleep, `sleeping in "nap" until`},
		"a payload": {func(ctx stepwell.Context) error {
			h, err := stepwell.NewHook[string](ctx)
			if err != nil {
				return err
			}
			_, _, err = h.Wait(ctx)
			return err
		}, stepwell.WhyHook, `waiting for a payload at hook "hook"`},
		"one of several, by coroutines": {func(ctx stepwell.Context) error {
			_, err := stepwell.All(ctx, stepwell.Go(ctx, func(ctx stepwell.Context) (int, error) {
				_, _, err := paid.Wait(ctx)
				return 0, err
			}))
			return err
		}, stepwell.WhyEvent, `waiting for event "paid"; also open: sleep "timeout" until`},
		"the main code's, of two": {func(ctx stepwell.Context) error {
			stepwell.Go(ctx, func(ctx stepwell.Context) (int, error) { _, _, err := first.Wait(ctx); return 0, err })
			return stepwell.Sleep(ctx, "nap", 90*24*time.Hour)
		}, stepwell.WhySleep, `sleeping in "nap" until`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			everywhere(t, func(r *rig) {
				wf := stepwell.Define("races", func(ctx stepwell.Context, _ int) (int, error) {
					timeout := stepwell.Timer(ctx, "timeout", 60*24*time.Hour)
					_, err := stepwell.Select(ctx, timeout, first.Start(ctx))
					if err != nil {
						return 0, err
					}
					return 0, test.waits(ctx)
				})
				app := r.begin(wf)
				run := start(r, app, wf, 0)
				r.wantWhy(app.App, run.ID(), stepwell.WhyEvent, `waiting for event "first"; also open: sleep "timeout"`)
				_ = first.Send(r.ctx, app.App, run.ID(), "x")
				r.wantWhy(app.App, run.ID(), test.kind, test.text)
			})
		})
	}
}

// TestOffersSayWhatTheyCost: a cancel of a blocked run that nothing is undone, a restart what is done again.
func TestOffersSayWhatTheyCost(t *testing.T) {
	across(t, kinds[:1], modes[:1], func(r *rig) {
		wf := stepwell.Define("order", func(ctx stepwell.Context, stuck bool) (int, error) {
			if _, err := add("charge", 1)(ctx); err != nil {
				return 0, err
			}
			if stuck {
				panic("no such city")
			}
			return 0, errors.New("out of stock")
		})
		wk := r.begin(wf)
		stuck, failed := start(r, wk, wf, true), start(r, wk, wf, false)
		wantErr(r, failed, world.Failed)
		r.blocked(stuck.ID())
		const again = `completed steps run again, with new idempotency keys: "charge"`
		why, err := wk.Why(r.ctx, stuck.ID())
		if err != nil || why.Cancel != "nothing is undone: its code does not run, not even to clean up or undo" || why.Restart != again {
			r.Errorf("a blocked run: cancel %q, restart %q, %v", why.Cancel, why.Restart, err)
		}
		if why, err = wk.Why(r.ctx, failed.ID()); err != nil || why.Cancel != "" || why.Restart != again {
			r.Errorf("a failed run: cancel %q, restart %q, %v", why.Cancel, why.Restart, err)
		}
		if err := wk.Cancel(r.ctx, stuck.ID(), ""); err != nil {
			r.Fatal(err)
		}
	})
}
