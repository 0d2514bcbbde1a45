package stepwell_test

// Examples of workflows that are a step, and of those whose code is elsewhere.

import (
	"context"
	"fmt"

	"github.com/stepwell/stepwell"
)

// A single step as a run of its own.
func ExampleRegisteredStep_Alone() {
	resize := stepwell.DefineStep("resize", func(_ context.Context, picture string) (string, error) {
		return "small " + picture, nil
	}, stepwell.Retry{Attempts: 10})
	app, stop := exampleApp(resize.Alone())
	defer stop()
	ctx := context.Background()
	run, _ := resize.Alone().Start(ctx, app, "cat", stepwell.Key("cat"))
	fmt.Println(run.Result(ctx))
	// Output: small cat <nil>
}

var pongLater = stepwell.Declare[int, string]("pong")

var ping = stepwell.Define("ping", func(ctx stepwell.Context, n int) (string, error) {
	if n == 0 {
		return "ping has it", nil
	}
	return pongLater.Child().Run(ctx, n-1)
})

var pong = stepwell.Define("pong", func(ctx stepwell.Context, n int) (string, error) {
	if n == 0 {
		return "pong has it", nil
	}
	return ping.Child().Run(ctx, n-1)
})

// Two workflows that call each other.
func ExampleDeclare() {
	app, stop := exampleApp(ping, pong)
	defer stop()
	ctx := context.Background()
	run, _ := ping.Start(ctx, app, 3)
	fmt.Println(run.Result(ctx))
	run, _ = pongLater.Start(ctx, app, 0) // as a client would that does not link the code
	fmt.Println(run.Result(ctx))
	// Output:
	// pong has it <nil>
	// pong has it <nil>
}
