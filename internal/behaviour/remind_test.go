package behaviour_test

// Waits that remind, and races that cancel.

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
)

const round = 10 * time.Second

var errTired = errors.New("tired of reminding")

// reminding makes a workflow that waits, reminds each 24 rounds of ten seconds, is tired of it the time
// tired, 0: never, and says what it saw.
func reminding(on string, within time.Duration, tired int) *stepwell.Workflow[struct{}, string] {
	return stepwell.Define("reminding", func(ctx stepwell.Context, _ struct{}) (string, error) {
		begun, reminded, held := ctx.Now(), 0, false
		opts := []stepwell.WaitOption{stepwell.Remind(24*round, func(ctx stepwell.Context) error {
			if reminded++; reminded == tired {
				return errTired
			}
			return stepwell.Do(ctx, "remind", func(context.Context) error { return nil })
		})}
		if within > 0 {
			opts = append(opts, stepwell.Timeout(within))
		}
		next := func() (string, bool, error) { return "", held, nil }
		var ok bool
		var err error
		switch on {
		case "event":
			var all []stepwell.EventOption
			for _, opt := range opts {
				all = append(all, opt)
			}
			_, ok, err = words.Wait(ctx, all...)
			next = func() (string, bool, error) { return words.Wait(ctx, stepwell.Timeout(round)) }
		case "hook", "attended hook", "future":
			var given []stepwell.HookOption
			if on == "attended hook" {
				given = append(given, stepwell.HeartbeatTimeout(1000*round))
			}
			h, opened := stepwell.NewHook[string](ctx, append(given, stepwell.Token("reminding"), stepwell.Named("approval"))...)
			if opened != nil {
				return "", opened
			}
			if on == "future" {
				var r stepwell.Received[string]
				r, err = h.Start(ctx, opts...).Get(ctx)
				ok = r.OK
			} else {
				_, ok, err = h.Wait(ctx, opts...)
			}
			next = func() (string, bool, error) { return h.Wait(ctx, stepwell.Timeout(round)) }
		case "condition":
			stepwell.Go(ctx, func(ctx stepwell.Context) (int, error) {
				_, _, err := words.Wait(ctx)
				held = true
				return 0, err
			})
			ok, err = stepwell.Await(ctx, func() bool { return held }, opts...)
		}
		said := fmt.Sprint(ok, " after ", int(ctx.Now().Sub(begun).Round(round)/round), ", reminded ", reminded, " times")
		switch {
		case errors.Is(err, errTired):
			_, kept, err := next()
			return said + fmt.Sprint(", tired, kept ", kept), err
		case errors.Is(err, stepwell.ErrCancelled):
			return said + ", cancelled", nil
		}
		return said, err
	})
}

var words = stepwell.Event[string]("words")

func TestRemind(t *testing.T) {
	for _, tc := range []struct {
		name   string
		within time.Duration
		tired  int
		after  time.Duration // that it comes; 0: never
		want   string
		timers int // waits of kind sleep in the log
	}{
		{"what comes in time", 72 * round, 0, 50 * round, "true after 50, reminded 2 times", 2},
		{"what comes at once", 72 * round, 0, round, "true after 1, reminded 0 times", 1},
		{"nothing comes", 72 * round, 0, 0, "false after 72, reminded 2 times", 2},
		{"no round fits", 23 * round, 0, 0, "false after 23, reminded 0 times", 0},
		{"without a deadline", 0, 0, 100 * round, "true after 100, reminded 4 times", 5},
		{"an error ends the wait", 72 * round, 2, 48*round + round/2, "false after 48, reminded 2 times, tired, kept true", 2},
	} {
		for _, on := range []string{"event", "hook", "attended hook", "future", "condition"} {
			if on == "condition" && tc.tired > 0 {
				continue // what comes is taken by the coroutine
			}
			t.Run(tc.name+"/"+on, func(t *testing.T) {
				everywhere(t, func(r *rig) {
					wf := reminding(on, tc.within, tc.tired)
					wk := r.begin(wf)
					began := time.Now()
					run := start(r, wk, wf, struct{}{})
					if tc.after > 0 {
						r.at(began, tc.after)
						if on == "event" || on == "condition" {
							if err := words.Send(r.ctx, wk.App, run.ID(), "yes"); err != nil {
								r.Fatal(err)
							}
						} else {
							r.sendHook("reminding", `"yes"`)
						}
					}
					want(r, run, tc.want)
					timers := 0
					for _, e := range r.events(run.ID(), world.WaitCreated) {
						if e.Kind == world.KindSleep {
							timers++
						}
					}
					if timers != tc.timers {
						r.dump(run.ID())
						r.Errorf("%d timers in the log, want %d", timers, tc.timers)
					}
					r.replays(run.ID(), wf)
				})
			})
		}
	}
}

// TestRemindEndsItsTimer: when what is waited for has come, no timer wakes the run for nothing.
func TestRemindEndsItsTimer(t *testing.T) {
	everywhere(t, func(r *rig) {
		wf := stepwell.Define("then-rests", func(ctx stepwell.Context, _ struct{}) (string, error) {
			ok, err := stepwell.Await(ctx, func() bool { return false }, stepwell.Timeout(round), stepwell.Remind(round*2/3, func(stepwell.Context) error { return nil }))
			if ok || err != nil {
				return "", err
			}
			v, _, err := words.Wait(ctx, stepwell.Remind(round, func(stepwell.Context) error { return nil }))
			if err != nil {
				return "", err
			}
			return v, stepwell.Sleep(ctx, "rest", 10*round)
		})
		wk := r.begin(wf)
		run := start(r, wk, wf, struct{}{})
		r.pass(3 * round / 2)
		if err := words.Send(r.ctx, wk.App, run.ID(), "yes"); err != nil {
			r.Fatal(err)
		}
		want(r, run, "yes")
		ended := map[string]string{}
		for _, e := range r.events(run.ID(), world.WaitCreated, world.WaitCompleted) {
			if e.Type == world.WaitCreated {
				ended[e.ID] = string(e.Kind) + " " + e.Name + " open"
			} else {
				ended[e.ID] = strings.TrimSuffix(ended[e.ID], "open") + string(e.Outcome)
			}
		}
		got := map[string]int{}
		for _, s := range ended {
			got[s]++
		}
		if diff := cmp.Diff(map[string]int{
			"condition await due": 1, "sleep remind/condition due": 1, "event words received": 1, "sleep remind/words received": 1, "sleep rest due": 1,
		}, got); diff != "" {
			r.dump(run.ID())
			r.Errorf("waits (-want +got):\n%s", diff)
		}
		r.replays(run.ID(), wf)
	})
}

// TestRemindIsCancelled: by the run, while it waits and while it reminds.
func TestRemindIsCancelled(t *testing.T) {
	for _, on := range []string{"event", "hook", "future", "condition"} {
		t.Run(on, func(t *testing.T) {
			everywhere(t, func(r *rig) {
				wf := reminding(on, 72*round, 0)
				wk := r.begin(wf)
				began := time.Now()
				run := start(r, wk, wf, struct{}{})
				r.at(began, 30*round)
				r.cancel(wk.App, run.ID())
				wantErr(r, run, world.Cancelled)
				if got := len(r.events(run.ID(), world.StepCompleted)); got != 1 {
					r.Errorf("reminded %d times, want once", got)
				}
				r.replays(run.ID(), wf)
			})
		})
	}
}

// TestRemindUnderLiveRuns: code that reminds where it did not takes up a run that waits there, and says of
// one that has gone on that it does not fit.
func TestRemindUnderLiveRuns(t *testing.T) {
	make := func(opts ...stepwell.EventOption) *stepwell.Workflow[struct{}, string] {
		return stepwell.Define("letters", func(ctx stepwell.Context, _ struct{}) (string, error) {
			v, _, err := words.Wait(ctx, append(opts, stepwell.Timeout(72*round))...)
			if err != nil {
				return "", err
			}
			if err := stepwell.Do(ctx, "post", func(context.Context) error { return nil }); err != nil {
				return "", err
			}
			return v, stepwell.Sleep(ctx, "rest", 100*round)
		})
	}
	across(t, kinds, modes, func(r *rig) {
		before := make()
		wk := r.begin(before)
		waits, past := start(r, wk, before, struct{}{}), start(r, wk, before, struct{}{})
		if err := words.Send(r.ctx, wk.App, past.ID(), "yes"); err != nil {
			r.Fatal(err)
		}
		r.pass(round)
		wk.stop(r)
		after := make(stepwell.Remind(24*round, func(stepwell.Context) error { return nil }))
		checked := r.client(after)
		for run, diverges := range map[string]bool{waits.ID(): false, past.ID(): true} {
			var file bytes.Buffer
			if err := checked.Export(r.ctx, run, &file); err != nil {
				r.Fatal(err)
			}
			var err error
			for h, bad := range stepwell.ReadHistories(&file) {
				err = errors.Join(err, bad, checked.Check(r.ctx, h))
			}
			if (err != nil) != diverges || diverges && !strings.Contains(err.Error(), `"remind/words"`) {
				r.Errorf("check of %s: %v; want that it diverges: %t", run, err, diverges)
			}
		}
		wk = r.begin(after)
		run := after.Get(wk.App, waits.ID())
		if err := stepwell.Event[string]("nudge").Send(r.ctx, wk.App, run.ID(), "go on"); err != nil { // it takes it up when it goes on
			r.Fatal(err)
		}
		r.pass(25 * round)
		if err := words.Send(r.ctx, wk.App, run.ID(), "late"); err != nil {
			r.Fatal(err)
		}
		want(r, run, "late")
		if got := len(r.events(run.ID(), world.WaitCreated)); got != 4 {
			r.dump(run.ID())
			r.Errorf("%d waits, want those of the event, of two rounds and of the rest", got)
		}
	})
}

// TestWhyARunReminds: people are told what it waits for, and when it reminds.
func TestWhyARunReminds(t *testing.T) {
	for _, on := range []string{"event", "hook", "condition"} {
		t.Run(on, func(t *testing.T) {
			onWorlds(t, func(r *rig) {
				wf := reminding(on, 72*round, 0)
				wk := r.begin(wf)
				run := start(r, wk, wf, struct{}{})
				r.pass(3 * round)
				why, err := wk.Why(r.ctx, run.ID())
				if err != nil {
					r.Fatal(err)
				}
				kind := map[string]stepwell.WhyKind{"event": stepwell.WhyEvent, "hook": stepwell.WhyHook, "condition": stepwell.WhyCondition}[on]
				if got := why.String(); why.Kind != kind || !strings.Contains(got, "; also open: reminds ") || !strings.Contains(got, "(in 3 m 30 s") {
					r.Errorf("why = %s %q, want %s, and when it reminds", why.Kind, got, kind)
				}
				r.cancel(wk.App, run.ID())
			})
		})
	}
}

func TestRemindRefusesWhatItCannotDo(t *testing.T) {
	everyWay(t, func(r *rig) {
		nothing := func(stepwell.Context) error { return nil }
		wf := stepwell.Define("refuses", func(ctx stepwell.Context, _ struct{}) (string, error) {
			h, err := stepwell.NewHook[string](ctx)
			if err != nil {
				return "", err
			}
			for _, opt := range []stepwell.WaitOption{stepwell.Remind(0, nothing), stepwell.Remind(-1, nothing), stepwell.Remind(1, nil)} {
				_, _, byEvent := words.Wait(ctx, opt)
				_, byFuture := words.Start(ctx, opt).Get(ctx)
				_, _, byHook := h.Wait(ctx, opt)
				_, byHooksFuture := h.Start(ctx, opt).Get(ctx)
				_, byCondition := stepwell.Await(ctx, func() bool { return false }, opt)
				for _, err := range []error{byEvent, byFuture, byHook, byHooksFuture, byCondition} {
					if !errors.Is(err, stepwell.ErrInvalid) {
						return "", fmt.Errorf("%v is not refused: %w", opt, err)
					}
				}
			}
			return "refused", nil
		})
		run := start(r, r.begin(wf), wf, struct{}{})
		want(r, run, "refused")
		if got := len(r.events(run.ID(), world.WaitCreated)); got != 0 {
			r.Errorf("%d waits were written, want none", got)
		}
	})
}

// TestARaceCancelsItsLosers: of whatever kind they are, once, and a payload that a loser waited for goes to the next wait.
func TestARaceCancelsItsLosers(t *testing.T) {
	everyWay(t, func(r *rig) {
		task := stepwell.DefineStep("task", func(ctx context.Context, _ int) (string, error) { return asked(ctx) })
		wf := stepwell.Define("racing", func(ctx stepwell.Context, _ struct{}) ([]string, error) {
			h, err := stepwell.NewHook[string](ctx, stepwell.Token("racing"))
			if err != nil {
				return nil, err
			}
			closure := stepwell.Go(ctx, func(ctx stepwell.Context) (string, error) { return stepwell.Step(ctx, "closure", asked) })
			short := stepwell.Go(ctx, func(ctx stepwell.Context) (string, error) { return "short", stepwell.Sleep(ctx, "short", time.Second) })
			queued := task.Start(ctx, 1)
			first, err := stepwell.Race(ctx, closure, short, queued)
			if err != nil {
				return nil, err
			}
			got := []string{first}
			for _, f := range []*stepwell.Future[string]{closure, queued} {
				v, err := f.Get(ctx)
				got = append(got, fmt.Sprint(v, " ", errors.Is(err, stepwell.ErrCancelled)))
			}
			late := h.Start(ctx)
			tired := stepwell.Go(ctx, func(ctx stepwell.Context) (stepwell.Received[string], error) {
				return stepwell.Received[string]{Payload: "tired"}, stepwell.Sleep(ctx, "tired", time.Second)
			})
			won, err := stepwell.Race(ctx, late, tired)
			if err != nil {
				return nil, err
			}
			_, lost := late.Get(ctx)
			v, _, err := h.Wait(ctx)
			return append(got, won.Payload, fmt.Sprint(errors.Is(lost, stepwell.ErrCancelled)), v), err
		})
		wk := r.begin(wf, task)
		began := time.Now()
		run := start(r, wk, wf, struct{}{})
		r.at(began, 10*time.Second)
		r.sendHook("racing", `"kept"`)
		why := "the workflow no longer waits for this step false"
		want(r, run, []string{"short", why, why, "tired", "true", "kept"})
		r.replays(run.ID(), wf, task)
	})
}
