package stepwell_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world/memory"
)

// A workflow whose caller waits for an answer: a bug in its code fails the run, when it has given back what it took.
func ExampleFailOn() {
	quote := stepwell.Define("quote", func(ctx stepwell.Context, cities []string) (string, error) {
		if err := stepwell.Do(ctx, "reserve", func(context.Context) error { return nil }); err != nil {
			return "", err
		}
		stepwell.AddUndo(ctx, "release", func(_ context.Context, city string) error {
			fmt.Println("released", city)
			return nil
		}, cities[0])
		return cities[2], nil
	}, stepwell.FailOn(stepwell.Panics))

	app, err := stepwell.New(memory.New(), stepwell.Config{Definitions: []stepwell.Definition{quote}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer background(app)()
	run, err := quote.Start(context.Background(), app, []string{"Ulm", "Bern"}, stepwell.RunID("quote-1"))
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = run.Result(context.Background())
	failed, _ := errors.AsType[*stepwell.RunError](err)
	fmt.Println(failed.Code)
	fmt.Println(err)
	// Output:
	// released Ulm
	// PANIC
	// run quote-1 of quote failed: workflow code panicked: runtime error: index out of range [2] with length 2
}
