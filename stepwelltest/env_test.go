package stepwelltest_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/stepwelltest"
	"github.com/stepwell/stepwell/world"
)

type signup struct {
	Email string `json:"email"`
}

type verified struct {
	UserID string `json:"userId"`
}

type user struct {
	ID string `json:"id"`
}

var verify = stepwell.Event[verified]("verify")

// onboard is what the tests try the kit on: it has steps, a sleep, an event with a deadline.
var onboard = stepwell.Define("onboard", func(ctx stepwell.Context, in signup) (string, error) {
	u, err := stepwell.Step(ctx, "create-user", func(context.Context) (user, error) { return user{}, errors.New("no network in tests") })
	if err != nil {
		return "", err
	}
	if err := stepwell.Sleep(ctx, "welcome-delay", 5*time.Minute); err != nil {
		return "", err
	}
	if err := stepwell.Do(ctx, "welcome", func(context.Context) error { return nil }); err != nil {
		return "", err
	}
	_, ok, err := verify.Wait(ctx, stepwell.Match{"userId": u.ID}, stepwell.Timeout(7*24*time.Hour))
	if err != nil {
		return "", err
	}
	if !ok {
		return u.ID, stepwell.Do(ctx, "nudge", func(context.Context) error { return nil })
	}
	return u.ID + " verified", nil
})

func newOnboard(t testing.TB, on stepwelltest.Store) *stepwelltest.Env {
	env := newOn(t, on, onboard)
	stepwelltest.Fake(env, "create-user", func(context.Context) (user, error) { return user{ID: "u1"}, nil })
	return env
}

func TestNudgesAfterAWeek(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, on stepwelltest.Store) {
		env := newOnboard(t, on)
		run := stepwelltest.Start(env, onboard, signup{"a@b.c"})
		run.WantWaiting(stepwell.WhySleep)
		env.Advance(8 * 24 * time.Hour)
		if got := run.Status(); got != world.Completed {
			t.Errorf("got %s, want completed", got)
		}
		if got := run.MustComplete(); got != "u1" {
			t.Errorf("got %q, want u1", got)
		}
		run.WantSteps("create-user", "welcome", "nudge")
		env.CrashEverywhere()
	})
}

func TestVerified(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, on stepwelltest.Store) {
		env := newOnboard(t, on)
		run := stepwelltest.Start(env, onboard, signup{"a@b.c"})
		env.Advance(24 * time.Hour)
		run.WantWaiting(stepwell.WhyEvent)
		stepwelltest.Send(run, verify, verified{"someone else"})
		stepwelltest.Send(run, verify, verified{"u1"})
		if got := run.MustComplete(); got != "u1 verified" {
			t.Errorf("got %q", got)
		}
		run.WantSteps("create-user", "welcome")
		run.WantEvents(world.StepCompleted, world.SignalReceived, world.SignalReceived, world.RunCompleted)
		env.CrashEverywhere()
	})
}
