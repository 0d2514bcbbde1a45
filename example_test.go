package stepwell_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world/memory"
	"github.com/stepwell/stepwell/world/sqlite"
)

// background runs an App in the background; the function that it returns shuts it down.
func background(app *stepwell.App) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- app.Run(ctx) }()
	return func() {
		cancel()
		if err := <-ended; err != nil {
			fmt.Println("run:", err)
		}
	}
}

// A whole program: a workflow, its App on a SQLite file, one run.
func Example() {
	greet := stepwell.Define("greet", func(ctx stepwell.Context, name string) (string, error) {
		id, err := stepwell.Step(ctx, "create-user", func(ctx context.Context) (int, error) {
			return 42, nil // runs once, however often the process dies afterwards
		})
		if err != nil {
			return "", err
		}
		if err := stepwell.Sleep(ctx, "welcome-delay", 10*time.Millisecond); err != nil {
			return "", err
		}
		return fmt.Sprintf("hello %s, you are user %d", name, id), nil
	})

	dir, _ := os.MkdirTemp("", "stepwell")
	defer os.RemoveAll(dir)
	w, err := sqlite.Open(filepath.Join(dir, "app.db"))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer w.Close()
	app, err := stepwell.New(w, stepwell.Config{Definitions: []stepwell.Definition{greet}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer background(app)()

	ctx := context.Background()
	run, err := greet.Start(ctx, app, "Ada", stepwell.Key("user-ada"))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(run.Result(ctx))
	// Output: hello Ada, you are user 42 <nil>
}

// A step that fails is tried again; Fatal says that this would not help.
func ExampleStep_retry() {
	charge := stepwell.Define("charge", func(ctx stepwell.Context, cents int) (string, error) {
		receipt, err := stepwell.Step(ctx, "card", func(ctx context.Context) (string, error) {
			n := stepwell.Info(ctx).Attempt
			if n < 3 {
				return "", errors.New("card network: timeout")
			}
			return fmt.Sprintf("receipt-1 after %d attempts", n), nil
		}, stepwell.Retry{Attempts: 5, Base: time.Millisecond})
		if err != nil {
			return "", err
		}
		err = stepwell.Do(ctx, "mail", func(ctx context.Context) error {
			return stepwell.Fatal(errors.New("no such address"))
		})
		var failed *stepwell.StepError
		if errors.As(err, &failed) {
			return fmt.Sprintf("%s; mail: %s", receipt, failed.Message), nil
		}
		return receipt, err
	})
	app, _ := stepwell.New(memory.New(), stepwell.Config{Definitions: []stepwell.Definition{charge}})
	defer background(app)()
	run, _ := charge.Start(context.Background(), app, 990)
	fmt.Println(run.Result(context.Background()))
	// Output: receipt-1 after 3 attempts; mail: no such address <nil>
}

// A registered step can run on every worker that has it; Map runs many, so many at once.
func ExampleMap() {
	words := stepwell.DefineStep("count-words", func(_ context.Context, line string) (int, error) {
		n := 0
		for i, r := range line {
			if r == ' ' || i == 0 {
				n++
			}
		}
		return n, nil
	})
	count := stepwell.Define("count", func(ctx stepwell.Context, lines []string) ([]int, error) {
		return stepwell.Map(ctx, lines, 8, func(ctx stepwell.Context, line string) (int, error) {
			return words.Run(ctx, line)
		})
	})
	app, _ := stepwell.New(memory.New(), stepwell.Config{Definitions: []stepwell.Definition{count, words}})
	defer background(app)()
	run, _ := count.Start(context.Background(), app, []string{"all happy families", "are alike"})
	fmt.Println(run.Result(context.Background()))
	// Output: [3 2] <nil>
}

// A workflow waits for an event, for as long as it takes, or until its deadline; an event that comes early is kept.
func ExampleEventDef_Wait() {
	type Verified struct {
		UserID string `json:"userId"`
	}
	verify := stepwell.Event[Verified]("verify")
	onboard := stepwell.Define("onboard", func(ctx stepwell.Context, user string) (string, error) {
		_, ok, err := verify.Wait(ctx, stepwell.Match{"userId": user}, stepwell.Timeout(7*24*time.Hour))
		if err != nil {
			return "", err // the run was cancelled
		}
		if !ok {
			return "nobody came", nil
		}
		return user + " is verified", nil
	})
	app, _ := stepwell.New(memory.New(), stepwell.Config{Definitions: []stepwell.Definition{onboard}})
	defer background(app)()
	ctx := context.Background()
	run, _ := onboard.Start(ctx, app, "ada")
	_ = verify.Send(ctx, app, run.ID(), Verified{UserID: "ada"}, stepwell.DeliveryID("mail-17"))
	fmt.Println(run.Result(ctx))
	// Output: ada is verified <nil>
}

// Race goes on with the first result; the others go on beside it, recorded and ignored.
func ExampleRace() {
	quote := func(price int, wait time.Duration) func(stepwell.Context) (int, error) {
		return func(ctx stepwell.Context) (int, error) {
			if err := stepwell.Sleep(ctx, "think", wait); err != nil {
				return 0, err
			}
			return price, nil
		}
	}
	best := stepwell.Define("best-quote", func(ctx stepwell.Context, _ string) (int, error) {
		return stepwell.Race(ctx, stepwell.Go(ctx, quote(120, time.Hour)), stepwell.Go(ctx, quote(99, time.Millisecond)))
	})
	app, _ := stepwell.New(memory.New(), stepwell.Config{Definitions: []stepwell.Definition{best}})
	defer background(app)()
	run, _ := best.Start(context.Background(), app, "")
	fmt.Println(run.Result(context.Background()))
	// Output: 99 <nil>
}
