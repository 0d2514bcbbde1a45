package stepwelltest_test

// This file holds what failing tests say.

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/stepwelltest"
	"github.com/stepwell/stepwell/world"
)

var approval = stepwell.Event[string]("approval")

// patient waits for an event without a deadline.
var patient = stepwell.Define("patient", func(ctx stepwell.Context, _ string) (string, error) {
	who, _, err := approval.Wait(ctx)
	return who, err
})

func TestMustCompleteSaysWhatTheRunWaitsFor(t *testing.T) {
	t.Parallel()
	wantFailure(t, func(t testing.TB) {
		stepwelltest.Start(stepwelltest.New(t, patient), patient, "").MustComplete()
	}, `run run-1 is not over, and advancing the time cannot move it`, `waiting for event "approval"`, `wait_created`)
}

func TestWantStepsSaysWhatThereIs(t *testing.T) {
	t.Parallel()
	wantFailure(t, func(t testing.TB) {
		run := stepwelltest.Start(newOnboard(t, nil), onboard, signup{"a@b.c"})
		run.MustComplete()
		run.WantSteps("create-user", "nudge")
	}, "got  create-user, welcome, nudge", "want create-user, nudge", `step_completed   create-user  attempt 1  {"id":"u1"}`)
}

func TestWantEventsSaysWhatIsMissing(t *testing.T) {
	t.Parallel()
	wantFailure(t, func(t testing.TB) {
		run := stepwelltest.Start(stepwelltest.New(t, patient), patient, "")
		run.WantEvents(world.RunCreated, world.WaitCreated)
		run.WantEvents(world.WaitCreated, world.RunStarted)
	}, "has no run_started after wait_created")
}

func TestMustFailSaysThatTheRunCompleted(t *testing.T) {
	t.Parallel()
	wantFailure(t, func(t testing.TB) {
		run := stepwelltest.Start(newOnboard(t, nil), onboard, signup{"a@b.c"})
		run.MustFail()
	}, "run run-1 completed, want it to be failed")
}

// forgetful keeps state outside of steps.
func forgetful() *stepwell.Workflow[string, int] {
	var calls atomic.Int64
	return stepwell.Define("forgetful", func(ctx stepwell.Context, _ string) (int, error) {
		if calls.Add(1) > 1 {
			return stepwell.Step(ctx, "second", func(context.Context) (int, error) { return 2, nil })
		}
		return stepwell.Step(ctx, "first", func(context.Context) (int, error) { return 1, nil })
	})
}

func TestStateOutsideStepsIsFoundThoughNobodyLooks(t *testing.T) {
	t.Parallel()
	wantFailure(t, func(t testing.TB) {
		wf := forgetful()
		stepwelltest.Start(newReal(t, nil, wf), wf, "")
	}, "run run-1 is blocked, DIVERGED", "first", "second")
}

func TestABlockedRunCanBeWanted(t *testing.T) {
	t.Parallel()
	wf := forgetful()
	run := stepwelltest.Start(newReal(t, nil, wf), wf, "")
	if b := run.WantBlocked(world.CodeDiverged); b.Seq == 0 {
		t.Errorf("got %+v, want the event where it was found", b)
	}
}

func TestCrashEverywhereFindsWhatDependsOnTheAttempt(t *testing.T) {
	t.Parallel()
	wf := stepwell.Define("unsteady", func(ctx stepwell.Context, _ string) (int, error) {
		return stepwell.Step(ctx, "draw", func(ctx context.Context) (int, error) { return stepwell.Info(ctx).Attempt, nil })
	})
	wantFailure(t, func(t testing.TB) {
		env := newReal(t, nil, wf)
		stepwelltest.Start(env, wf, "").MustComplete()
		env.CrashEverywhere()
	}, "worker killed before its commit 2, of run run-1: step_completed, run_completed", "got  completed 2", "want completed 1")
}

func TestABadDefinitionFailsAtOnce(t *testing.T) {
	t.Parallel()
	wantFailure(t, func(t testing.TB) {
		stepwelltest.New(t, stepwell.Define("not a name", func(stepwell.Context, string) (string, error) { return "", nil }))
	}, "not a name")
}

func TestTheTestCanFailInsideDo(t *testing.T) {
	t.Parallel()
	wantFailure(t, func(t testing.TB) {
		env := stepwelltest.New(t, patient)
		env.Do(func(context.Context, *stepwell.App) error {
			t.Fatal("inside")
			return nil
		})
		t.Fatal("behind")
	}, "inside\n")
	if said := new(recorder).run(func(t testing.TB) {
		env := stepwelltest.New(t, patient)
		env.Do(func(context.Context, *stepwell.App) error {
			t.Fatal("inside")
			return nil
		})
		t.Fatal("behind")
	}); said != "inside\n" {
		t.Errorf("got %q, want the test to end there", said)
	}
}

func TestARunThatGoesOnForEverIsGivenUp(t *testing.T) {
	t.Parallel()
	wf := stepwell.Define("endless", func(ctx stepwell.Context, n int) (int, error) {
		if err := stepwell.Sleep(ctx, "ten-years", 10*365*24*time.Hour); err != nil {
			return 0, err
		}
		return 0, stepwell.ContinueAsNew(ctx, n+1)
	})
	wantFailure(t, func(t testing.TB) {
		stepwelltest.Start(stepwelltest.New(t, wf), wf, 0).MustComplete()
	}, "run run-1 is not over after 7300 days, and continues", "run_continued")
}

func TestDoIsNoPlaceForTheEnvironment(t *testing.T) {
	t.Parallel()
	wantFailure(t, func(t testing.TB) {
		env := stepwelltest.New(t, patient)
		env.Do(func(context.Context, *stepwell.App) error {
			env.Advance(time.Hour)
			return nil
		})
	}, "used inside Do")
}

func TestTimePassesOnlyWhenItIsToldTo(t *testing.T) {
	t.Parallel()
	env := stepwelltest.New(t, patient)
	start := env.Now()
	if want := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC); !start.Equal(want) {
		t.Errorf("got %s, want %s", start, want)
	}
	stepwelltest.Start(env, patient, "")
	if got := env.Now(); !got.Equal(start) {
		t.Errorf("got %s, want %s", got, start)
	}
	env.Advance(3 * 365 * 24 * time.Hour)
	if got := env.Now().Sub(start); got != 3*365*24*time.Hour {
		t.Errorf("got %s, want three years", got)
	}
}
