package stepwelltest_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/stepwelltest"
)

// example runs what would be a test of yours, func TestX(t *testing.T), and prints how it ends.
func example(test func(t testing.TB)) {
	if said := new(recorder).run(test); said != "" {
		fmt.Print("FAIL ", said)
		return
	}
	fmt.Println("PASS")
}

// A whole test: a workflow that waits a week, in no time, and again with its worker killed at every commit.
func Example() {
	remind := stepwell.Define("remind", func(ctx stepwell.Context, who string) (string, error) {
		if err := stepwell.Sleep(ctx, "a-week", 7*24*time.Hour); err != nil {
			return "", err
		}
		return stepwell.Step(ctx, "mail", func(context.Context) (string, error) {
			panic("a test sends no mails")
		})
	})
	example(func(t testing.TB) {
		env := stepwelltest.New(t, remind)
		stepwelltest.Return(env, "mail", "message-1")

		run := stepwelltest.Start(env, remind, "ada@example.com")
		run.WantWaiting(stepwell.WhySleep)
		env.Advance(7 * 24 * time.Hour)
		fmt.Println(run.MustComplete(), "on", env.Now().Format(time.DateOnly))
		run.WantSteps("mail")
		env.CrashEverywhere()
	})
	// Output:
	// message-1 on 2000-01-08
	// PASS
}

// A test says what steps with a result return. Steps without one complete.
func ExampleReturn() {
	type receipt struct{ ID string }
	buy := stepwell.Define("buy", func(ctx stepwell.Context, cents int) (string, error) {
		r, err := stepwell.Step(ctx, "charge", func(context.Context) (receipt, error) { panic("a test charges no cards") })
		if err != nil {
			return "", err
		}
		return r.ID, stepwell.Do(ctx, "ship", func(context.Context) error { panic("a test ships nothing") })
	})
	example(func(t testing.TB) {
		env := stepwelltest.New(t, buy)
		stepwelltest.Return(env, "charge", receipt{ID: "r1"})
		run := stepwelltest.Start(env, buy, 990)
		fmt.Println(run.MustComplete())
		run.WantSteps("charge", "ship")
	})
	example(func(t testing.TB) {
		env := stepwelltest.New(t, buy)
		stepwelltest.Return(env, "chrage", receipt{ID: "r1"}) // a slip
		stepwelltest.Start(env, buy, 990)
	})
	// Output:
	// r1
	// PASS
	// FAIL step "charge" has a result, and the test does not say which. Add:
	// 	stepwelltest.Return(env, "charge", …) // stepwelltest_test.receipt
	// Fakes that no step has used so far: "chrage"
	// fakes that no step used: "chrage"
}

// Fail shows what a workflow makes of a step that fails.
func ExampleEnv_Fail() {
	lost := errors.New("lost at sea")
	send := stepwell.Define("send", func(ctx stepwell.Context, to string) (string, error) {
		nothing := func(context.Context, string) error { return nil }
		return "sent", stepwell.Exec(ctx, "ship", nothing, to, stepwell.Undo("refund", nothing, to))
	})
	example(func(t testing.TB) {
		env := stepwelltest.New(t, send, stepwell.KnownError("lost", lost))
		env.Fail("ship", lost) // three times, as the step is tried again
		run := stepwelltest.Start(env, send, "Oslo")
		fmt.Println(errors.Is(run.MustFail(), lost))
		run.WantSteps("ship", "refund")
	})
	// Output:
	// true
	// PASS
}

// A test can begin on a certain day, and run the steps' own bodies.
func ExampleOptions() {
	invoice := stepwell.Define("invoice", func(ctx stepwell.Context, cents int) (int, error) {
		return stepwell.Step(ctx, "tax", func(context.Context) (int, error) { return cents / 5, nil })
	})
	example(func(t testing.TB) {
		env := stepwelltest.NewWith(t, stepwelltest.Options{
			Config:    stepwell.Config{Definitions: []stepwell.Definition{invoice}},
			Start:     time.Date(2026, 12, 31, 23, 0, 0, 0, time.UTC),
			RealSteps: true,
		})
		fmt.Println(env.Now().Year(), stepwelltest.Start(env, invoice, 500).MustComplete())
	})
	// Output:
	// 2026 100
	// PASS
}

// A fake fails as the real step might. It asks for the attempt instead of counting calls, as a killed worker calls it again.
func ExampleFakeStep() {
	charge := stepwell.DefineStep("charge", func(ctx context.Context, cents int) (string, error) {
		return "", fmt.Errorf("no cards in tests")
	})
	pay := stepwell.Define("pay", func(ctx stepwell.Context, cents int) (string, error) { return charge.Run(ctx, cents) })
	example(func(t testing.TB) {
		env := stepwelltest.New(t, pay, charge)
		stepwelltest.FakeStep(env, charge, func(ctx context.Context, cents int) (string, error) {
			if stepwell.Info(ctx).Attempt < 3 {
				return "", fmt.Errorf("the card network is down")
			}
			return fmt.Sprintf("receipt for %d", cents), nil
		})
		fmt.Println(stepwelltest.Start(env, pay, 990).MustComplete())
	})
	// Output:
	// receipt for 990
	// PASS
}

// Events are sent when the test wants them; one that comes early is kept.
func ExampleSend() {
	approved := stepwell.Event[string]("approved")
	release := stepwell.Define("release", func(ctx stepwell.Context, version string) (string, error) {
		by, ok, err := approved.Wait(ctx, stepwell.Timeout(24*time.Hour))
		if err != nil || !ok {
			return version + " stays", err
		}
		return version + " released by " + by, nil
	})
	example(func(t testing.TB) {
		env := stepwelltest.New(t, release)
		late, early := stepwelltest.Start(env, release, "1.0"), stepwelltest.Start(env, release, "1.1")
		stepwelltest.Send(early, approved, "Ada")
		env.Advance(25 * time.Hour)
		stepwelltest.Send(stepwelltest.Start(env, release, "1.2"), approved, "Grace")
		fmt.Println(late.MustComplete())
		fmt.Println(early.MustComplete())
	})
	// Output:
	// 1.0 stays
	// 1.1 released by Ada
	// PASS
}

// Do calls code of yours that uses an App: here a function that starts a run, and waits for it.
func ExampleEnv_Do() {
	double := stepwell.Define("double", func(ctx stepwell.Context, n int) (int, error) { return 2 * n, nil })
	service := func(ctx context.Context, app *stepwell.App, n int) (int, error) {
		run, err := double.Start(ctx, app, n)
		if err != nil {
			return 0, err
		}
		return run.Result(ctx)
	}
	example(func(t testing.TB) {
		env := stepwelltest.New(t, double)
		env.Do(func(ctx context.Context, app *stepwell.App) error {
			n, err := service(ctx, app, 21)
			fmt.Println(n)
			return err
		})
	})
	// Output:
	// 42
	// PASS
}

// Replay holds today's code to the history of a run of yesterday.
func ExampleReplay() {
	letter := func(first string) *stepwell.Workflow[string, string] {
		return stepwell.Define("letter", func(ctx stepwell.Context, to string) (string, error) {
			return to, stepwell.Do(ctx, first, func(context.Context) error { return nil })
		})
	}
	dir, err := os.MkdirTemp("", "stepwelltest")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "letter.jsonl")
	example(func(t testing.TB) {
		run := stepwelltest.Start(stepwelltest.New(t, letter("write")), letter("write"), "Ada")
		run.MustComplete()
		run.Export(path)
	})
	example(func(t testing.TB) { stepwelltest.Replay(t, path, letter("write")) })
	// Output:
	// PASS
	// PASS
}
