package stepwell_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world/memory"
)

// An order whose parcel cannot be sent gives back what it took, the last first.
func ExampleCompensate() {
	order := stepwell.Define("order", func(ctx stepwell.Context, id string) (string, error) {
		err := stepwell.Do(ctx, "reserve", func(context.Context) error { return nil })
		if err != nil {
			return "", err
		}
		stepwell.Compensate(ctx, "release", func(context.Context) error {
			fmt.Println("released the goods of", id)
			return nil
		})
		payment, err := stepwell.Step(ctx, "charge", func(context.Context) (string, error) { return "pay-7", nil })
		if err != nil {
			return "", err
		}
		stepwell.Compensate(ctx, "refund", func(context.Context) error {
			fmt.Println("refunded", payment)
			return nil
		})
		return "", stepwell.Do(ctx, "ship", func(context.Context) error {
			return stepwell.Fatal(errors.New("no such street"))
		})
	})

	app, err := stepwell.New(memory.New(), stepwell.Config{Definitions: []stepwell.Definition{order}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer background(app)()
	run, err := order.Start(context.Background(), app, "o-1", stepwell.RunID("order-1"))
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = run.Result(context.Background())
	fmt.Println(err)
	// Output:
	// refunded pay-7
	// released the goods of o-1
	// run order-1 of order failed: step "ship": no such street
}

// A payment whose answer is lost: nobody knows whether it was made, so it is taken back by its key.
func ExampleUndo() {
	order := stepwell.Define("paid-order", func(ctx stepwell.Context, id string) (string, error) {
		return "", stepwell.Do(ctx, "charge", func(context.Context) error {
			return stepwell.Fatal(errors.New("the bank does not answer"))
		}, stepwell.Undo("refund", func(_ context.Context, of stepwell.StepInfo) error {
			fmt.Println("refund whatever step", of.Name, "did in", of.Attempt, "attempt under its key:", of.IdempotencyKey != "")
			return nil
		}))
	})
	app, err := stepwell.New(memory.New(), stepwell.Config{Definitions: []stepwell.Definition{order}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer background(app)()
	run, err := order.Start(context.Background(), app, "o-1", stepwell.RunID("order-3"))
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = run.Result(context.Background())
	fmt.Println(err)
	// Output:
	// refund whatever step charge did in 1 attempt under its key: true
	// run order-3 of paid-order failed: step "charge": the bank does not answer
}

// A step that is not to be undone any more.
func ExampleDropUndo() {
	order := stepwell.Define("final-order", func(ctx stepwell.Context, _ int) (string, error) {
		stepwell.Compensate(ctx, "refund", func(context.Context) error {
			fmt.Println("refunded")
			return nil
		})
		// The parcel is on its way: from here on the money stays.
		fmt.Println("dropped", stepwell.DropUndo(ctx, "refund")) //stepwell:allow logging the example shows it
		return "", errors.New("no receipt")
	})
	app, err := stepwell.New(memory.New(), stepwell.Config{Definitions: []stepwell.Definition{order}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer background(app)()
	run, err := order.Start(context.Background(), app, 0, stepwell.RunID("order-2"))
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = run.Result(context.Background())
	fmt.Println(err)
	// Output:
	// dropped 1
	// run order-2 of final-order failed: no receipt
}

// shortage is an error of the application's own.
type shortage struct{ Reason string }

func (s *shortage) Error() string { return "short: " + s.Reason }

// Error types that errors.As finds after a replay too.
func ExampleKnownErrorType() {
	wf := stepwell.Define("buy", func(ctx stepwell.Context, _ int) (string, error) {
		err := stepwell.Do(ctx, "take", func(context.Context) error {
			return stepwell.Fatal(fmt.Errorf("shelf 7: %w", &shortage{Reason: "sold out"}))
		})
		if short, ok := errors.AsType[*shortage](err); ok {
			return "try again when it is not " + short.Reason, nil
		}
		return "", err
	})
	app, err := stepwell.New(memory.New(), stepwell.Config{Definitions: []stepwell.Definition{
		wf, stepwell.KnownErrorType[*shortage]("shortage"), // the name is kept in logs
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer background(app)()
	run, err := wf.Start(context.Background(), app, 0)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(run.Result(context.Background()))
	// Output:
	// try again when it is not sold out <nil>
}
