package stepwelltest_test

// This file holds what the kit does to steps, hooks, children and clients.

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/stepwelltest"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/memory"
)

var charge = stepwell.DefineStep("charge", func(context.Context, int) (string, error) { return "", errors.New("a real card") })

var errDeclined = errors.New("declined")

func TestRegisteredStepsAreFakedInPlaceAndQueued(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, on stepwelltest.Store) {
		wf := stepwell.Define("pay", func(ctx stepwell.Context, cents []int) ([]string, error) {
			first, err := charge.Run(ctx, 1)
			if err != nil {
				return nil, err
			}
			rest, err := stepwell.Map(ctx, cents, 0, func(ctx stepwell.Context, c int) (string, error) { return charge.Run(ctx, c) })
			return append([]string{first}, rest...), err
		})
		env := newOn(t, on, wf, charge)
		stepwelltest.FakeStep(env, charge, func(ctx context.Context, cents int) (string, error) {
			if cents == 3 && stepwell.Info(ctx).Attempt == 1 {
				return "", errDeclined
			}
			return fmt.Sprintf("r%d", cents), nil
		})
		run := stepwelltest.Start(env, wf, []int{2, 3, 4, 5})
		if got, want := fmt.Sprint(run.MustComplete()), "[r1 r2 r3 r4 r5]"; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		run.WantSteps("charge", "charge", "charge", "charge", "charge")
		run.WantEvents(world.StepCompleted, world.StepRetrying, world.RunCompleted)
		env.CrashEverywhere()
	})
}

func TestAFakeThatFailsFailsTheStep(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, on stepwelltest.Store) {
		wf := stepwell.Define("pay", func(ctx stepwell.Context, _ string) (string, error) { return charge.Run(ctx, 1) })
		env := newOn(t, on, wf, charge, stepwell.KnownError("declined", errDeclined))
		var attempts atomic.Int64
		stepwelltest.FakeStep(env, charge, func(context.Context, int) (string, error) {
			attempts.Add(1)
			return "", errDeclined
		})
		if err := stepwelltest.Start(env, wf, "").MustFail(); !errors.Is(err, errDeclined) {
			t.Errorf("got %v, want %v", err, errDeclined)
		}
		if got := attempts.Load(); got != 3 {
			t.Errorf("got %d attempts, want 3", got)
		}
	})
}

func TestCrashEverywhereKillsAtEachCommit(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, on stepwelltest.Store) {
		starts := map[int]int{} // bodies, by attempt: no lock is needed, as the kit puts them in an order
		wf := stepwell.Define("steps", func(ctx stepwell.Context, n int) (int, error) {
			for range n {
				if err := stepwell.Do(ctx, "step", func(ctx context.Context) error {
					starts[stepwell.Info(ctx).Attempt]++
					return nil
				}); err != nil {
					return 0, err
				}
			}
			return n, nil
		})
		env := newReal(t, on, wf)
		stepwelltest.Start(env, wf, 3).MustComplete()
		if starts[1] != 3 || starts[2] != 0 {
			t.Fatalf("bodies by attempt: got %v, want 3 first ones", starts)
		}
		env.CrashEverywhere()
		// Four commits: birth apart, the first turn, two in the middle and the end. Killed before one of the last three, or after one of
		// the first three, a body runs again.
		if starts[2] != 6 {
			t.Errorf("bodies by attempt: got %v, want 6 second ones", starts)
		}
	})
}

func TestHooksAreFoundBySight(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, on stepwelltest.Store) {
		wf := stepwell.Define("review", func(ctx stepwell.Context, chosen string) (string, error) {
			var opts []stepwell.HookOption
			if chosen != "" {
				opts = append(opts, stepwell.Token(chosen))
			}
			h, err := stepwell.NewHook[string](ctx, opts...)
			if err != nil {
				return "", err
			}
			v, _, err := h.Wait(ctx)
			return v, err
		})
		env := newOn(t, on, wf)
		unchosen, chosen := stepwelltest.Start(env, wf, ""), stepwelltest.Start(env, wf, "order-1")
		env.SendHook(unchosen.Token(), "a")
		env.SendHook("order-1", "b")
		if a, b := unchosen.MustComplete(), chosen.MustComplete(); a != "a" || b != "b" {
			t.Errorf("got %q, %q, want a, b", a, b)
		}
		env.CrashEverywhere()
	})
}

func TestACancelIsSeen(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, on stepwelltest.Store) {
		wf := stepwell.Define("cleans-up", func(ctx stepwell.Context, _ string) (string, error) {
			err := stepwell.Sleep(ctx, "long", time.Hour)
			if errors.Is(err, stepwell.ErrCancelled) {
				err = errors.Join(err, stepwell.Do(ctx.Uncancelled(), "undo", func(context.Context) error { return nil }))
			}
			return "", err
		})
		env := newOn(t, on, wf)
		run := stepwelltest.Start(env, wf, "")
		env.Advance(time.Minute)
		run.Cancel("a test")
		run.MustBeCancelled()
		run.WantSteps("undo")
		env.CrashEverywhere()
	})
}

func TestClientsStartRunsThatHaveChildren(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, on stepwelltest.Store) {
		child := stepwell.Define("child", func(ctx stepwell.Context, n int) (int, error) {
			if err := stepwell.Sleep(ctx, "nap", time.Duration(n)*20*time.Second); err != nil {
				return 0, err
			}
			return n * n, nil
		})
		parent := stepwell.Define("parent", func(ctx stepwell.Context, n []int) ([]int, error) {
			return stepwell.Map(ctx, n, 0, func(ctx stepwell.Context, n int) (int, error) { return child.Child().Run(ctx, n) })
		})
		env := newOn(t, on, parent, child)
		env.Do(func(ctx context.Context, app *stepwell.App) error {
			run, err := parent.Start(ctx, app, []int{3, 1, 2})
			if err != nil {
				return err
			}
			got, err := run.Result(ctx)
			if fmt.Sprint(got) != "[9 1 4]" {
				t.Errorf("got %v, %v, want [9 1 4]", got, err)
			}
			return err
		})
		if got := env.Now().Sub(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)).Truncate(time.Second); got != time.Minute {
			t.Errorf("got %s, want 1 min", got)
		}
		env.CrashEverywhere()
	})
}

func TestChanceIsTheSameInEachTest(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, on stepwelltest.Store) {
		wf := stepwell.Define("dice", func(ctx stepwell.Context, _ string) (string, error) {
			return fmt.Sprint(ctx.Rand().IntN(1e9), ctx.NewID(), ctx.Now().Unix()), nil
		})
		var got [2]string
		for i := range got {
			env := newOn(t, on, wf)
			got[i] = stepwelltest.Start(env, wf, "").MustComplete()
			env.CrashEverywhere()
		}
		if got[0] != got[1] {
			t.Errorf("got %q, then %q", got[0], got[1])
		}
	})
}

func TestTimeStopsWhereTheRunEnds(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, on stepwelltest.Store) {
		wf := stepwell.Define("slow", func(ctx stepwell.Context, _ string) (string, error) {
			return stepwell.Step(ctx, "bake", func(ctx context.Context) (string, error) {
				select {
				case <-time.After(9 * time.Minute): // in which its worker sends heartbeats: each costs a database
					return "bread", nil
				case <-ctx.Done():
					return "", context.Cause(ctx)
				}
			})
		})
		env := newReal(t, on, wf)
		start := env.Now()
		if got := stepwelltest.Start(env, wf, "").MustComplete(); got != "bread" {
			t.Errorf("got %q, want bread", got)
		}
		if got := env.Now().Sub(start).Truncate(time.Second); got != 9*time.Minute {
			t.Errorf("got %s, want 9 min", got)
		}
		env.CrashEverywhere()
	})
}

// BenchmarkRun is here to show that the kit takes any testing.TB.
func BenchmarkRun(b *testing.B) {
	for b.Loop() {
		env := newOnboard(b, nil)
		stepwelltest.Start(env, onboard, signup{"a@b.c"}).MustComplete()
	}
}

func TestStepsInTransactionsAreFaked(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, on stepwelltest.Store) {
		credit := stepwell.DefineStep("credit", func(context.Context, int) (int, error) { panic("no bank in tests") }, stepwell.Transactional())
		wf := stepwell.Define("transfer", func(ctx stepwell.Context, cents int) (int, error) {
			debit, err := stepwell.Step(ctx, "debit", func(context.Context) (int, error) { panic("no bank in tests") }, stepwell.Transactional())
			if err != nil {
				return 0, err
			}
			sums, err := stepwell.Map(ctx, []int{1, 2}, 0, func(ctx stepwell.Context, n int) (int, error) { return credit.Run(ctx, n) })
			if err != nil {
				return 0, err
			}
			return debit + sums[0] + sums[1], nil
		})
		env := newOn(t, on, wf, credit)
		stepwelltest.Fake(env, "debit", func(context.Context) (int, error) { return 100, nil })
		stepwelltest.FakeStep(env, credit, func(_ context.Context, n int) (int, error) { return 10 * n, nil })
		if got := stepwelltest.Start(env, wf, 5).MustComplete(); got != 130 {
			t.Errorf("got %d, want 130", got)
		}
	})
}

// TestRemoteStep: a test gives a remote step a function; without one it fails, and says what to do.
func TestRemoteStep(t *testing.T) {
	t.Parallel()
	resize := stepwell.DefineRemoteStep[string, int]("resize", stepwell.Retry{Attempts: 3, Base: time.Second})
	album := stepwell.Define("album", func(ctx stepwell.Context, files []string) ([]int, error) {
		return stepwell.Map(ctx, files, 2, resize.Run)
	})
	e := stepwelltest.New(t, album, resize)
	stepwelltest.FakeStep(e, resize, func(ctx context.Context, file string) (int, error) {
		if file == "b" && stepwell.Info(ctx).Attempt == 1 {
			return 0, errors.New("not yet")
		}
		return len(file), nil
	})
	run := stepwelltest.Start(e, album, []string{"a", "b", "cc"})
	if got := fmt.Sprint(run.MustComplete()); got != "[1 1 2]" {
		t.Errorf("got %s", got)
	}
	run.WantEvents(world.StepRetrying, world.RunCompleted)
	e.CrashEverywhere()

	bare := newReal(t, nil, album, resize)
	if err := stepwelltest.Start(bare, album, []string{"a"}).MustFail(); !strings.Contains(err.Error(), "give it one with stepwelltest.FakeStep") {
		t.Errorf("got %v", err)
	}
	wantFailure(t, func(t testing.TB) {
		stepwelltest.Start(stepwelltest.New(t, album, resize), album, []string{"a"})
	}, `step "resize" has a result`, `stepwelltest.Return(env, "resize", …) // int`)
}

// TestRemoteStepOptions: what a remote step cannot have is refused where it is defined, and at its calls.
func TestRemoteStepOptions(t *testing.T) {
	t.Parallel()
	for what, step := range map[string]stepwell.Definition{
		"Transactional": stepwell.DefineRemoteStep[int, int]("r", stepwell.Transactional()),
		"NonRetryable":  stepwell.DefineRemoteStep[int, int]("r", stepwell.NonRetryable[*stepwell.StepError]()),
		"step name":     stepwell.DefineRemoteStep[int, int](""),
		"retry":         stepwell.DefineRemoteStep[int, int]("r", stepwell.Retry{Attempts: -2}),
	} {
		_, err := stepwell.New(memory.New(), stepwell.Config{Definitions: []stepwell.Definition{step}})
		if !errors.Is(err, stepwell.ErrInvalid) || !strings.Contains(fmt.Sprint(err), what) {
			t.Errorf("%s: got %v, want it refused", what, err)
		}
	}
}
