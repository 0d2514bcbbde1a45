package stepwelltest_test

// This file holds what steps do in a test: with a fake, and without one.

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/stepwelltest"
)

type receipt struct{ ID string }

// sale has steps of all kinds: none of them works in a test.
var (
	sale = stepwell.Define("sale", func(ctx stepwell.Context, cents int) (receipt, error) {
		if err := stepwell.Do(ctx, "reserve", outside, stepwell.Undo("release", undoOutside, cents)); err != nil {
			return receipt{}, err
		}
		paid, err := stepwell.Call(ctx, "charge", chargeOutside, cents, stepwell.Retry{Attempts: 4})
		if err != nil {
			return receipt{}, err
		}
		_, err = pack.Run(ctx, cents)
		return paid, err
	})
	pack = stepwell.DefineStep("pack", func(context.Context, int) (struct{}, error) { return struct{}{}, errOutside })
)

var errOutside = errors.New("this is a test")

func outside(context.Context) error { return errOutside }

func undoOutside(context.Context, int) error { return nil } // it would be tried for ever

func chargeOutside(context.Context, int) (receipt, error) { return receipt{}, errOutside }

func TestAStepWithoutAResultCompletes(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, on stepwelltest.Store) {
		env := newOn(t, on, sale, pack)
		stepwelltest.Return(env, "charge", receipt{"r1"})
		run := stepwelltest.Start(env, sale, 5)
		if got := run.MustComplete(); got.ID != "r1" {
			t.Errorf("got %v, want r1", got)
		}
		run.WantSteps("reserve", "charge", "pack")
		env.CrashEverywhere()
	})
}

// TestAResultThatNobodySaidFailsTheTest, though the workflow takes the error for an answer, once for each step, and
// the test sees its own line.
func TestAResultThatNobodySaidFailsTheTest(t *testing.T) {
	t.Parallel()
	brave := stepwell.Define("brave", func(ctx stepwell.Context, n int) (int, error) {
		for range n {
			if _, err := stepwell.Call(ctx, "charge", chargeOutside, n); err == nil {
				return 0, errors.New("it was charged")
			}
		}
		return n, nil
	})
	everywhere(t, func(t *testing.T, on stepwelltest.Store) {
		said := (&recorder{TB: t}).run(func(t testing.TB) {
			env := newOn(t, on, brave)
			stepwelltest.Return(env, "chagre", receipt{"r1"})
			stepwelltest.Start(env, brave, 3).MustComplete()
			env.CrashEverywhere()
		})
		want := `step "charge" has a result, and the test does not say which. Add:
	stepwelltest.Return(env, "charge", …) // stepwelltest_test.receipt
Fakes that no step has used so far: "chagre"
fakes that no step used: "chagre"
`
		if said != want {
			t.Errorf("got\n%swant\n%s", said, want)
		}
	})
}

func TestTheRunSaysWhichResultIsMissing(t *testing.T) {
	t.Parallel()
	wantFailure(t, func(t testing.TB) {
		env := stepwelltest.New(t, sale, pack)
		run := stepwelltest.Start(env, sale, 5)
		run.WantSteps("reserve", "charge", "release")
		if err := run.MustFail(); !strings.Contains(err.Error(), `Return(env, "charge", …) // stepwelltest_test.receipt`) || strings.Contains(err.Error(), "Fakes") {
			t.Errorf("the run failed with %v", err)
		}
	}, `step "charge" has a result`)
}

func TestStepsRunTheirOwnBodiesWhereTheTestSaysSo(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, on stepwelltest.Store) {
		env := newReal(t, on, sale, pack)
		if err := stepwelltest.Start(env, sale, 5).MustFail(); !strings.Contains(err.Error(), errOutside.Error()) {
			t.Errorf("got %v, want %v", err, errOutside)
		}
	})
}

func TestAFakeThatNoStepUsedIsToldOfBesideRealSteps(t *testing.T) {
	t.Parallel()
	wantFailure(t, func(t testing.TB) {
		env := newReal(t, nil, onboard)
		stepwelltest.Return(env, "creat-user", user{"u1"})
		stepwelltest.Start(env, onboard, signup{"a@b.c"}).MustFail()
	}, `fakes that no step used: "creat-user"; steps that ran their own bodies: "create-user"`)
}

func TestAFakeThatNoStepUsedMayBeAHelpers(t *testing.T) {
	t.Parallel()
	env := newOnboard(t, nil)
	stepwelltest.Return(env, "refund", receipt{"r1"})
	stepwelltest.Start(env, onboard, signup{"a@b.c"}).MustComplete()
}

func TestReturnAndFailHoldForEachAttempt(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, on stepwelltest.Store) {
		attempts := func(run *stepwelltest.Run[receipt], step string) (n int) {
			for _, e := range run.Journal().Entries {
				if e.Name == step {
					n += e.Attempt
				}
			}
			return n
		}
		env := newOn(t, on, sale, pack)
		env.Fail("charge", errDeclined)
		tried := stepwelltest.Start(env, sale, 1)
		tried.MustFail()
		if got := attempts(tried, "charge"); got != 4 {
			t.Errorf("an error: got %d attempts, want 4", got)
		}
		tried.WantSteps("reserve", "charge", "release")
		env.CrashEverywhere()

		env = newOn(t, on, sale, pack)
		env.Fail("charge", stepwell.Fatal(errDeclined))
		final := stepwelltest.Start(env, sale, 1)
		final.MustFail()
		if got := attempts(final, "charge"); got != 1 {
			t.Errorf("a fatal error: got %d attempts, want 1", got)
		}

		env = newOn(t, on, sale, pack)
		stepwelltest.Return(env, "charge", receipt{"r1"})
		env.Fail("pack", errDeclined) // it has no result
		stepwelltest.Start(env, sale, 1).MustFail()

		var calls atomic.Int64
		env = newOn(t, on, sale, pack)
		stepwelltest.Fake(env, "charge", func(ctx context.Context) (receipt, error) {
			calls.Add(1)
			if stepwell.Info(ctx).Attempt < 3 {
				return receipt{}, errDeclined
			}
			return receipt{"r3"}, nil
		})
		stepwelltest.Fake(env, "reserve", func(context.Context) (struct{}, error) { return struct{}{}, nil })
		if got := stepwelltest.Start(env, sale, 1).MustComplete(); got.ID != "r3" || calls.Load() != 3 {
			t.Errorf("got %v after %d calls, want r3 after 3", got, calls.Load())
		}
	})
}

func TestFailWantsAnError(t *testing.T) {
	t.Parallel()
	wantFailure(t, func(t testing.TB) { stepwelltest.New(t, sale, pack).Fail("charge", nil) }, `step "charge" is to fail without an error`)
}
