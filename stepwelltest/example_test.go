package stepwelltest_test

import (
	"context"
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
		stepwelltest.Fake(env, "mail", func(context.Context) (string, error) { return "message-1", nil })

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
