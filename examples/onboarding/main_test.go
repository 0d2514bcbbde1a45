package main

import (
	"context"
	"testing"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/stepwelltest"
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

// quiet is an environment that sends no mails.
func quiet(t *testing.T) *stepwelltest.Env {
	env := stepwelltest.New(t, Onboard)
	for _, step := range []string{"send-welcome", "remind"} {
		stepwelltest.FakeDo(env, step, func(context.Context) error { return nil })
	}
	return env
}

func TestWhoDoesNotVerifyIsRemindedAfterAWeek(t *testing.T) {
	env := quiet(t)
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
	env := quiet(t)
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
