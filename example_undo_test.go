package stepwell_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world/memory"
)

func reserve(context.Context, string) error { return nil }

func release(_ context.Context, id string) error {
	fmt.Println("released the goods of", id)
	return nil
}

func charge(_ context.Context, id string) (string, error) { return "pay-" + id, nil }

func refund(_ context.Context, payment string) error {
	fmt.Println("refunded", payment)
	return nil
}

func noStreet(context.Context, string) error { return stepwell.Fatal(errors.New("no such street")) }

// end runs a workflow to its end, and says how it ended.
func end[Out any](wf *stepwell.Workflow[string, Out], id string) {
	app, err := stepwell.New(memory.New(), stepwell.Config{Definitions: []stepwell.Definition{wf}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer background(app)()
	run, err := wf.Start(context.Background(), app, id, stepwell.RunID(id))
	if err != nil {
		fmt.Println(err)
		return
	}
	out, err := run.Result(context.Background())
	fmt.Println(out, err)
}

// An order whose parcel cannot be sent gives back what it took, the last first.
func ExampleUndo() {
	end(stepwell.Define("order", func(ctx stepwell.Context, id string) (string, error) {
		err := stepwell.Exec(ctx, "reserve", reserve, id, stepwell.Undo("release", release, id))
		if err != nil {
			return "", err
		}
		payment, err := stepwell.Call(ctx, "charge", charge, id)
		if err != nil {
			return "", err
		}
		stepwell.AddUndo(ctx, "refund", refund, payment) // which the result of the step is needed for
		return payment, stepwell.Exec(ctx, "ship", noStreet, id)
	}), "o-1")
	// Output:
	// refunded pay-o-1
	// released the goods of o-1
	//  run o-1 of order failed: step "ship": no such street
}

// A payment whose answer is lost: nobody knows whether it was made, so it is taken back by its key.
func ExampleUndo_lost() {
	end(stepwell.Define("paid-order", func(ctx stepwell.Context, id string) (string, error) {
		return "", stepwell.Do(ctx, "charge", func(context.Context) error {
			return stepwell.Fatal(errors.New("the bank does not answer"))
		}, stepwell.Undo("refund", func(ctx context.Context, id string) error {
			of := stepwell.Info(ctx).Undoes
			fmt.Println("refund whatever step", of.Name, "of", id, "did in", of.Attempt, "attempt under its key:", of.IdempotencyKey != "")
			return nil
		}, id))
	}), "o-2")
	// Output:
	// refund whatever step charge of o-2 did in 1 attempt under its key: true
	//  run o-2 of paid-order failed: step "charge": the bank does not answer
}

// An order that is refused gives back what it took, and completes.
func ExampleUndoAll() {
	end(stepwell.Define("refused-order", func(ctx stepwell.Context, id string) (string, error) {
		err := stepwell.Exec(ctx, "reserve", reserve, id, stepwell.Undo("release", release, id))
		if err != nil {
			return "", err
		}
		return "refused", stepwell.UndoAll(ctx)
	}), "o-3")
	// Output:
	// released the goods of o-3
	// refused <nil>
}

// One of several is taken back, and one is to stay whatever comes.
func ExampleAddUndo() {
	end(stepwell.Define("amended-order", func(ctx stepwell.Context, id string) (string, error) {
		lamp := stepwell.AddUndo(ctx, "refund-lamp", refund, "the lamp")
		desk := stepwell.AddUndo(ctx, "refund-desk", refund, "the desk")
		desk.Drop()
		return "the desk alone", lamp.Run(ctx)
	}), "o-4")
	// Output:
	// refunded the lamp
	// the desk alone <nil>
}

// An order that is not to be undone any more.
func ExampleDropUndo() {
	end(stepwell.Define("final-order", func(ctx stepwell.Context, id string) (string, error) {
		stepwell.AddUndo(ctx, "refund", refund, id)
		stepwell.DropUndo(ctx) // the parcel is on its way: from here on the money stays
		return "", errors.New("no receipt")
	}), "o-5")
	// Output:
	//  run o-5 of final-order failed: no receipt
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
