package stepwelltest_test

// Hooks whose holders say that they are still at it: on each store, killed at each commit.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/stepwelltest"
	"github.com/stepwell/stepwell/world"
)

// survey waits for somebody who says now and then that they are at it.
var survey = stepwell.Define("survey", func(ctx stepwell.Context, within time.Duration) (string, error) {
	hook, err := stepwell.NewHook[string](ctx, stepwell.Token("survey"), stepwell.Named("survey"), stepwell.Metadata("of the roof"),
		stepwell.HeartbeatTimeout(8*time.Minute))
	if err != nil {
		return "", err
	}
	begun := ctx.Now()
	var got string
	ok := true
	if within > 0 {
		got, ok, err = hook.Wait(ctx, stepwell.Timeout(within))
	} else {
		got, _, err = hook.Wait(ctx)
	}
	after := ctx.Now().Sub(begun).Truncate(time.Minute)
	switch {
	case errors.Is(err, stepwell.ErrHeartbeat) && errors.Is(err, stepwell.ErrTimeout):
		return fmt.Sprintf("silent after %s", after), nil
	case err != nil:
		return "", err
	case !ok:
		return fmt.Sprintf("late after %s", after), nil
	}
	return fmt.Sprintf("%s after %s", got, after), nil
})

func sayHeartbeat(env *stepwelltest.Env, details any) {
	env.Do(func(ctx context.Context, app *stepwell.App) error {
		return app.HeartbeatHook(ctx, "survey", details)
	})
}

func TestAHookIsWaitedForAsLongAsSomebodyIsHeard(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, on stepwelltest.Store) {
		env := newOn(t, on, survey)
		run := stepwelltest.Start(env, survey, 0)
		for i := range 3 {
			env.Advance(6 * time.Minute)
			sayHeartbeat(env, map[string]int{"page": i})
		}
		env.Advance(2 * time.Minute)
		run.WantWaiting(stepwell.WhyHook)
		if why := run.Why(); why.Until.Sub(why.At).Round(time.Minute) != 7*time.Minute { // 8 and an eighth, since the last
			t.Errorf("it waits until %s, at %s", why.Until, why.At)
		}
		if why := fmt.Sprint(run.Why().Also); !strings.Contains(why, `hook "survey": last heard 2 m ago`) {
			t.Errorf("why says beside: %s", why)
		}
		said := "" // what people see of it, live
		for _, en := range run.Journal().Entries {
			if strings.HasPrefix(en.Name, "heartbeat/") && len(en.Output) > 0 {
				said = string(en.Output)
			}
		}
		if said != `{"page":2}` {
			t.Errorf("the journal shows %s", said)
		}
		env.SendHook("survey", "done")
		if got := run.MustComplete(); got != "done after 20m0s" {
			t.Errorf("got %q", got)
		}
		env.CrashEverywhere()
	})
}

func TestAHookOfWhichNothingIsHeardIsGivenUp(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, on stepwelltest.Store) {
		env := newOn(t, on, survey)
		run := stepwelltest.Start(env, survey, 0)
		env.Advance(7 * time.Minute)
		sayHeartbeat(env, nil)
		if got := run.MustComplete(); got != "silent after 16m0s" { // 7, and 8 and an eighth
			t.Errorf("got %q", got)
		}
		env.CrashEverywhere()
	})
}

func TestADeadlineHoldsBesideHeartbeats(t *testing.T) {
	t.Parallel()
	env := stepwelltest.New(t, survey)
	run := stepwelltest.Start(env, survey, 15*time.Minute)
	for range 4 {
		env.Advance(3 * time.Minute)
		sayHeartbeat(env, nil)
	}
	if why := run.Why(); why.Until.Sub(why.At).Round(time.Minute) != 3*time.Minute { // no heartbeat moves that
		t.Errorf("it waits until %s, at %s", why.Until, why.At)
	}
	if got := run.MustComplete(); got != "late after 15m0s" {
		t.Errorf("got %q", got)
	}
	env.CrashEverywhere()
}

// However often somebody says that they are at it, the log grows by no more than an eighth of the time allows.
func TestHeartbeatsOfAHookAreFewEvents(t *testing.T) {
	t.Parallel()
	env := stepwelltest.New(t, survey)
	run := stepwelltest.Start(env, survey, 0)
	for range 16 * 60 { // 16 min, each second
		env.Advance(time.Second)
		sayHeartbeat(env, nil)
	}
	heartbeats := 0
	for _, e := range run.Events() {
		if e.Type == world.SignalReceived {
			heartbeats++
		}
	}
	if heartbeats < 16 || heartbeats > 17 {
		t.Errorf("%d heartbeats are in the log, want 16 or 17", heartbeats)
	}
	if n := len(run.Events()); n > 4*heartbeats {
		t.Errorf("%d events for %d heartbeats", n, heartbeats)
	}
	if got := run.MustComplete(); got != "silent after 24m0s" && got != "silent after 25m0s" {
		t.Errorf("got %q", got)
	}
}

func TestHeartbeatsOfHooksThatAreRefused(t *testing.T) {
	t.Parallel()
	plain := stepwell.Define("plain", func(ctx stepwell.Context, d time.Duration) (string, error) {
		opts := []stepwell.HookOption{stepwell.Token("plain")}
		if d != 0 {
			opts = append(opts, stepwell.HeartbeatTimeout(d))
		}
		hook, err := stepwell.NewHook[string](ctx, opts...)
		if err != nil {
			return "", err
		}
		v, _, err := hook.Wait(ctx)
		return v, err
	})
	env := stepwelltest.New(t, plain, survey)
	if err := stepwelltest.Start(env, plain, time.Millisecond).MustFail(); !strings.Contains(err.Error(), "1s at least") {
		t.Errorf("a timeout of a millisecond: %v", err)
	}
	run := stepwelltest.Start(env, plain, 0)
	over := stepwelltest.Start(env, survey, 0)
	stepwelltest.Start(env, survey, 0).MustFail() // its token is taken
	env.SendHook("survey", "done")
	over.MustComplete()
	env.Do(func(ctx context.Context, app *stepwell.App) error {
		for token, want := range map[string]error{"plain": stepwell.ErrInvalid, "none": stepwell.ErrNotFound, "survey": stepwell.ErrTerminal, "": stepwell.ErrInvalid} {
			if err := app.HeartbeatHook(ctx, token, 1); !errors.Is(err, want) {
				t.Errorf("token %q: got %v, want %v", token, err, want)
			}
		}
		if err := app.HeartbeatHook(ctx, "plain", json.RawMessage("{")); !errors.Is(err, stepwell.ErrInvalid) {
			t.Errorf("no JSON: got %v", err)
		}
		if err := app.HeartbeatHook(ctx, "plain", strings.Repeat("x", 5000)); !errors.Is(err, stepwell.ErrTooLarge) {
			t.Errorf("5000 bytes: got %v", err)
		}
		return nil
	})
	run.Cancel("the test is over")
}
