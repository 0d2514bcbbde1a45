package stepwell_test

// Examples of what the Context gives in the place of clocks, dice and logs.

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world/memory"
)

// The time of a workflow is that of the last event it has seen: a decision by it is the same on replay.
func ExampleContext_Now() {
	closing := stepwell.Define("closing", func(ctx stepwell.Context, open time.Duration) (bool, error) {
		closes := ctx.Now().Add(open)
		if err := stepwell.Sleep(ctx, "work", 2*time.Millisecond); err != nil {
			return false, err
		}
		return ctx.Now().After(closes), nil
	})
	app, stop := exampleApp(closing)
	defer stop()
	run, _ := closing.Start(context.Background(), app, time.Millisecond)
	fmt.Println(run.Result(context.Background()))
	// Output: true <nil>
}

// Dice that fall the same way on replay: strict mode replays at every pause, and finds no difference.
func ExampleContext_Rand() {
	roll := stepwell.Define("roll", func(ctx stepwell.Context, sides int) (bool, error) {
		n := ctx.Rand().IntN(sides)
		if err := stepwell.Sleep(ctx, "look", time.Millisecond); err != nil {
			return false, err
		}
		return n >= 0 && n < sides, nil
	})
	app, err := stepwell.New(memory.New(), stepwell.Config{Definitions: []stepwell.Definition{roll}, Strict: true})
	if err != nil {
		panic(err)
	}
	defer background(app)()
	run, _ := roll.Start(context.Background(), app, 6)
	fmt.Println(run.Result(context.Background()))
	// Output: true <nil>
}

// IDs that are the same on replay: for whatever the workflow creates elsewhere.
func ExampleContext_NewID() {
	invite := stepwell.Define("invite", func(ctx stepwell.Context, _ int) (int, error) {
		a, b := ctx.NewID(), ctx.NewID()
		if a == b {
			return 0, nil
		}
		return len(a), nil
	})
	app, stop := exampleApp(invite)
	defer stop()
	run, _ := invite.Start(context.Background(), app, 0)
	fmt.Println(run.Result(context.Background()))
	// Output: 26 <nil>
}

// The run's own ID, to be told to whoever is to answer.
func ExampleContext_RunID() {
	ask := stepwell.Define("ask", func(ctx stepwell.Context, _ int) (string, error) {
		return "answer to " + ctx.RunID(), nil
	})
	app, stop := exampleApp(ask)
	defer stop()
	run, _ := ask.Start(context.Background(), app, 0, stepwell.RunID("ask-17"))
	fmt.Println(run.Result(context.Background()))
	// Output: answer to ask-17 <nil>
}

// A line that is logged once, though the code that logs it runs again at each replay: strict mode replays at the sleep.
func ExampleContext_Logger() {
	logger := slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}))
	count := stepwell.Define("count", func(ctx stepwell.Context, n int) (int, error) {
		ctx.Logger().Info("counting", "to", n)
		return n, stepwell.Sleep(ctx, "rest", time.Millisecond)
	})
	app, err := stepwell.New(memory.New(), stepwell.Config{Definitions: []stepwell.Definition{count}, Strict: true, Logger: logger})
	if err != nil {
		panic(err)
	}
	defer background(app)()
	run, _ := count.Start(context.Background(), app, 3, stepwell.RunID("count-1"))
	fmt.Println(run.Result(context.Background()))
	// Output:
	// level=INFO msg=counting run_id=count-1 workflow.name=count to=3
	// 3 <nil>
}

// Clean-up behind a cancel: steps of an uncancelled Context run all the same.
func ExampleContext_Uncancelled() {
	rent := stepwell.Define("rent", func(ctx stepwell.Context, _ int) (int, error) {
		err := stepwell.Sleep(ctx, "a-week", 7*24*time.Hour)
		if err != nil { // cancelled
			_ = stepwell.Do(ctx.Uncancelled(), "return-the-car", func(context.Context) error {
				fmt.Println("the car is back")
				return nil
			})
		}
		return 0, err
	})
	app, stop := exampleApp(rent)
	defer stop()
	ctx := context.Background()
	run, _ := rent.Start(ctx, app, 0, stepwell.RunID("rent-1"))
	waitsFor(app, run.ID(), stepwell.WhySleep)
	if err := app.Cancel(ctx, run.ID(), "ill"); err != nil {
		fmt.Println(err)
	}
	_, err := run.Result(ctx)
	fmt.Println(err)
	// Output:
	// the car is back
	// run rent-1 of rent cancelled: the run was cancelled
}
