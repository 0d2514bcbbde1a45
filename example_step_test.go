package stepwell_test

// Examples of steps: what runs once, and what becomes of failures.

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world/postgres" //lint:allow examples of what PostgreSQL alone can do; they are compiled and not run
)

// A step without a result.
func ExampleDo() {
	welcome := stepwell.Define("welcome", func(ctx stepwell.Context, name string) (string, error) {
		err := stepwell.Do(ctx, "mail", func(context.Context) error {
			fmt.Println("mail to", name)
			return nil
		})
		return "welcomed", err
	})
	app, stop := exampleApp(welcome)
	defer stop()
	run, _ := welcome.Start(context.Background(), app, "ann")
	fmt.Println(run.Result(context.Background()))
	// Output:
	// mail to ann
	// welcomed <nil>
}

// Steps from functions that a program has: the workflow says in which order.
func ExampleCall() {
	create := func(_ context.Context, mail string) (int, error) { return len(mail), nil }
	welcome := func(_ context.Context, user int) error {
		fmt.Println("welcome, user", user)
		return nil
	}
	onboard := stepwell.Define("onboard", func(ctx stepwell.Context, mail string) (int, error) {
		user, err := stepwell.Call(ctx, "create-user", create, mail)
		if err != nil {
			return 0, err
		}
		return user, stepwell.Exec(ctx, "welcome", welcome, user, stepwell.Retry{Attempts: 5})
	})
	app, stop := exampleApp(onboard)
	defer stop()
	run, _ := onboard.Start(context.Background(), app, "ann@example.com")
	fmt.Println(run.Result(context.Background()))
	// Output:
	// welcome, user 15
	// 15 <nil>
}

// A step with a name that every worker knows: its input is recorded, and whoever has it can run it.
func ExampleDefineStep() {
	thumbnail := stepwell.DefineStep("thumbnail", func(_ context.Context, file string) (string, error) {
		return "small-" + file, nil
	}, stepwell.Retry{Attempts: 5})
	publish := stepwell.Define("publish", func(ctx stepwell.Context, file string) (string, error) {
		return thumbnail.Run(ctx, file)
	})
	app, stop := exampleApp(publish, thumbnail) // both are registered
	defer stop()
	run, _ := publish.Start(context.Background(), app, "cat.png")
	fmt.Println(run.Result(context.Background()))
	// Output: small-cat.png <nil>
}

// A step that says how far it is: the next attempt goes on from there, on whatever worker, and people see it meanwhile. One that says nothing for a
// minute is ended, and tried again.
func ExampleHeartbeat() {
	count := stepwell.Define("count", func(ctx stepwell.Context, pages int) (int, error) {
		return stepwell.Step(ctx, "read", func(ctx context.Context) (int, error) {
			page, _, err := stepwell.Progress[int](ctx)
			if err != nil {
				return 0, err
			}
			for ; page < pages; page++ {
				if err := stepwell.Heartbeat(ctx, page); err != nil {
					return 0, err // the attempt has ended
				}
				if page == 2 && stepwell.Info(ctx).Attempt == 1 {
					return 0, errors.New("the line was cut")
				}
				fmt.Println("attempt", stepwell.Info(ctx).Attempt, "reads page", page)
			}
			return page, stepwell.HeartbeatNow(ctx, page) // durable when it returns
		}, stepwell.HeartbeatTimeout(time.Minute), stepwell.Retry{Base: time.Millisecond})
	})
	app, stop := exampleApp(count)
	defer stop()
	run, _ := count.Start(context.Background(), app, 4)
	fmt.Println(run.Result(context.Background()))
	// Output:
	// attempt 1 reads page 0
	// attempt 1 reads page 1
	// attempt 2 reads page 2
	// attempt 2 reads page 3
	// 4 <nil>
}

// A step that nobody begins in time fails: the code can do without it.
func ExampleQueueTimeout() {
	resize := stepwell.DefineStep("resize", func(_ context.Context, file string) (string, error) { return "small-" + file, nil })
	publish := stepwell.Define("publish", func(ctx stepwell.Context, file string) (string, error) {
		small, err := resize.With(stepwell.QueueTimeout(10*time.Millisecond)).Run(ctx, file)
		if errors.Is(err, stepwell.ErrNotStarted) {
			return file, nil // as it is
		}
		return small, err
	})
	app, stop := exampleApp(publish) // no worker has the step
	defer stop()
	run, _ := publish.Start(context.Background(), app, "cat.png")
	fmt.Println(run.Result(context.Background()))
	// Output: cat.png <nil>
}

// Two steps at once: what Start returns is waited for later.
func ExampleRegisteredStep_Start() {
	size := stepwell.DefineStep("size", func(_ context.Context, file string) (int, error) { return len(file), nil })
	both := stepwell.Define("both", func(ctx stepwell.Context, _ int) ([]int, error) {
		return stepwell.All(ctx, size.Start(ctx, "a.txt"), size.Start(ctx, "long.txt"))
	})
	app, stop := exampleApp(both, size)
	defer stop()
	run, _ := both.Start(context.Background(), app, 0)
	fmt.Println(run.Result(context.Background()))
	// Output: [5 8] <nil>
}

// A body learns which attempt it is, and the key that is the same on every attempt.
func ExampleInfo() {
	var keys []string
	charge := stepwell.Define("charge", func(ctx stepwell.Context, cents int) (int, error) {
		return cents, stepwell.Do(ctx, "card", func(ctx context.Context) error {
			info := stepwell.Info(ctx)
			keys = append(keys, info.IdempotencyKey) // hand it to the payment service
			if info.Attempt == 1 {
				return errors.New("card network: timeout")
			}
			return nil
		}, stepwell.Retry{Base: time.Millisecond})
	})
	app, stop := exampleApp(charge)
	defer stop()
	run, _ := charge.Start(context.Background(), app, 990)
	fmt.Println(run.Result(context.Background()))
	fmt.Println(len(keys), "attempts, one key:", keys[0] == keys[1])
	// Output:
	// 990 <nil>
	// 2 attempts, one key: true
}

// An error that another attempt would not help.
func ExampleFatal() {
	attempts := 0
	mail := stepwell.Define("mail", func(ctx stepwell.Context, to string) (string, error) {
		err := stepwell.Do(ctx, "send", func(context.Context) error {
			attempts++
			return stepwell.Fatal(errors.New("no such address"))
		})
		if failed, ok := errors.AsType[*stepwell.StepError](err); ok {
			return failed.Message, nil
		}
		return "sent", err
	})
	app, stop := exampleApp(mail)
	defer stop()
	run, _ := mail.Start(context.Background(), app, "nobody")
	fmt.Println(run.Result(context.Background()))
	fmt.Println(attempts, "attempt")
	// Output:
	// no such address <nil>
	// 1 attempt
}

// The other side says when to come again.
func ExampleRetryAfter() {
	attempts := 0
	fetch := stepwell.Define("fetch", func(ctx stepwell.Context, _ int) (string, error) {
		return stepwell.Step(ctx, "get", func(context.Context) (string, error) {
			if attempts++; attempts == 1 {
				return "", stepwell.RetryAfter(errors.New("429 Too Many Requests"), 2*time.Millisecond)
			}
			return "200 OK", nil
		}, stepwell.Retry{Base: time.Hour}) // not waited for
	})
	app, stop := exampleApp(fetch)
	defer stop()
	run, _ := fetch.Start(context.Background(), app, 0)
	fmt.Println(run.Result(context.Background()))
	// Output: 200 OK <nil>
}

// Errors of a type are final for a step, wherever they are in the chain.
func ExampleNonRetryable() {
	attempts := 0
	reserve := stepwell.Define("reserve", func(ctx stepwell.Context, _ int) (int, error) {
		err := stepwell.Do(ctx, "take", func(context.Context) error {
			attempts++
			return fmt.Errorf("shelf 7: %w", &shortage{"sold"})
		}, stepwell.NonRetryable[*shortage]())
		return 0, err
	})
	app, stop := exampleApp(reserve)
	defer stop()
	run, _ := reserve.Start(context.Background(), app, 0, stepwell.RunID("reserve-1"))
	_, err := run.Result(context.Background())
	fmt.Println(err)
	fmt.Println(attempts, "attempt")
	// Output:
	// run reserve-1 of reserve failed: step "take": shelf 7: short: sold
	// 1 attempt
}

// An attempt that takes too long: its context ends.
func ExampleTimeout() {
	slow := stepwell.Define("slow", func(ctx stepwell.Context, _ int) (string, error) {
		err := stepwell.Do(ctx, "call", func(ctx context.Context) error {
			<-ctx.Done() // a body must heed this
			return context.Cause(ctx)
		}, stepwell.Timeout(5*time.Millisecond), stepwell.Retry{Attempts: 1})
		if errors.Is(err, stepwell.ErrTimeout) {
			return "gave up", nil
		}
		return "done", err
	})
	app, stop := exampleApp(slow)
	defer stop()
	run, _ := slow.Start(context.Background(), app, 0)
	fmt.Println(run.Result(context.Background()))
	// Output: gave up <nil>
}

// The name under which a step is recorded, and under which tests fake it.
func ExampleRegisteredStep_Name() {
	resize := stepwell.DefineStep("resize", func(_ context.Context, file string) (string, error) { return file, nil })
	fmt.Println(resize.Name())
	// Output: resize
}

// What the body writes and that the step is done are one commit, on PostgreSQL.
func ExampleTransactional() {
	stepwell.Define("pay", func(ctx stepwell.Context, cents int) (int, error) {
		return cents, stepwell.Do(ctx, "debit", func(ctx context.Context) error {
			_, err := postgres.TxFrom(ctx).Exec(ctx, "UPDATE accounts SET balance = balance - $1 WHERE name = 'ann'", cents)
			return err
		}, stepwell.Transactional())
	})
}

// An order and its run are one commit, on PostgreSQL: both are there, or neither.
func ExampleIn() {
	order := stepwell.Define("order", func(_ stepwell.Context, id string) (string, error) { return id, nil })
	_ = func(ctx context.Context, pool *pgxpool.Pool, app *stepwell.App) error {
		return pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, "INSERT INTO orders (id) VALUES ($1)", "o-7"); err != nil {
				return err
			}
			_, err := order.Start(ctx, app, "o-7", stepwell.In(postgres.Tx(tx)))
			return err
		})
	}
}

// A step that a program in another language runs: see docs/workers.md. Here nobody does, and the run waits.
func ExampleDefineRemoteStep() {
	thumbnail := stepwell.DefineRemoteStep[string, string]("thumbnail", stepwell.Retry{Attempts: 5}, stepwell.Timeout(time.Minute))
	publish := stepwell.Define("publish", func(ctx stepwell.Context, file string) (string, error) {
		return thumbnail.Run(ctx, file)
	})
	app, stop := exampleApp(publish, thumbnail)
	defer stop()
	ctx := context.Background()
	run, _ := publish.Start(ctx, app, "cat.png")
	why := waitsFor(app, run.ID(), stepwell.WhyNoWorker)
	for why.Step == "" { // before the App has joined, nobody has the workflow
		why = waitsFor(app, run.ID(), stepwell.WhyNoWorker)
	}
	fmt.Println(why.Kind, why.Step)
	// Output: no_worker thumbnail
}

// A step that starts a run, with the App that works on it. It has a key, as the step may run again.
func ExampleAppFrom() {
	receipt := stepwell.Define("receipt", func(_ stepwell.Context, order string) (string, error) { return "receipt of " + order, nil })
	begin := func(ctx context.Context, order string) (string, error) {
		run, err := receipt.Start(ctx, stepwell.AppFrom(ctx), order, stepwell.Key(order))
		if err != nil {
			return "", err
		}
		return run.ID(), nil
	}
	order := stepwell.Define("order", func(ctx stepwell.Context, order string) (string, error) {
		run, err := stepwell.Call(ctx, "begin-receipt", begin, order)
		if err != nil {
			return "", err
		}
		return stepwell.AwaitRun[string](ctx, run)
	})
	app, stop := exampleApp(receipt, order)
	defer stop()
	run, _ := order.Start(context.Background(), app, "o-7")
	fmt.Println(run.Result(context.Background()))
	// Output: receipt of o-7 <nil>
}
