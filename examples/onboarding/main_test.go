package main

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/forktest"
	"github.com/stepwell/stepwell/stepwelltest"
	"github.com/stepwell/stepwell/world"
)

const week = 7 * 24 * time.Hour

func Example() {
	main()
	// Output:
	// mail to ada@example.com: welcome
	// usr_ada is verified <nil>
	// mail to bob@example.com: welcome
	// mail to bob@example.com: please verify your address
	// usr_bob was reminded <nil>
}

// ada is an environment in which who signs up is usr_ada.
func ada(t *testing.T) *stepwelltest.Env {
	env := stepwelltest.New(t, Onboard)
	stepwelltest.Return(env, "create-user", User{ID: "usr_ada"})
	return env
}

func TestWhoDoesNotVerifyIsRemindedAfterAWeek(t *testing.T) {
	env := ada(t)
	run := stepwelltest.Start(env, Onboard, Signup{Email: "ada@example.com", Patience: week})
	env.Advance(week)
	run.WantWaiting(stepwell.WhyEvent) // the week began when the welcome was sent
	env.Advance(week / 1000)
	run.WantSteps("create-user", "send-welcome", "remind")
	if got, want := run.MustComplete(), "usr_ada was reminded"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	env.CrashEverywhere()
}

func TestWhoVerifiesIsNotReminded(t *testing.T) {
	env := ada(t)
	run := stepwelltest.Start(env, Onboard, Signup{Email: "ada@example.com", Patience: week})
	stepwelltest.Send(run, Verify, Verified{UserID: "usr_eve"})
	env.Advance(3 * 24 * time.Hour)
	stepwelltest.Send(run, Verify, Verified{UserID: "usr_ada"})
	run.WantSteps("create-user", "send-welcome")
	if got, want := run.MustComplete(), "usr_ada is verified"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	env.CrashEverywhere()
}

// signups are cases whose first mail fails, unless broken: then all do.
func signups(broken *bool, live func(l *forktest.Life, run string) error) forktest.Case {
	return forktest.Case{
		Config: stepwell.Config{Definitions: []stepwell.Definition{Onboard}},
		Start:  forktest.Start(Onboard, Signup{Email: "ada@example.com", Patience: week}),
		Bodies: map[string]func(context.Context) (any, error){
			"send-welcome": func(ctx context.Context) (any, error) {
				if *broken || stepwell.Info(ctx).Attempt == 1 {
					return nil, errors.New("mail: connection refused")
				}
				return struct{}{}, nil
			},
			"remind": func(context.Context) (any, error) { return struct{}{}, nil },
		},
		Live: live,
	}
}

func TestAForkRemindsToo(t *testing.T) {
	forktest.EveryEvent(t, signups(new(bool), nil))
}

func TestAForkIsVerifiedToo(t *testing.T) {
	forktest.EveryEvent(t, signups(new(bool), func(l *forktest.Life, run string) error {
		if len(l.Events(run, world.SignalReceived)) > 0 {
			return nil // before the cut
		}
		l.Until("the welcome", func() bool { return len(l.Events(run, world.StepCompleted)) == 2 })
		return Verify.Send(l.Context, l.App, run, Verified{UserID: "usr_ada"})
	}))
}

func TestARetrySendsTheMailThatFailed(t *testing.T) {
	broken := true
	forktest.Retry(t, signups(&broken, nil), func() { broken = false }, "send-welcome", "send-welcome", "remind")
}
