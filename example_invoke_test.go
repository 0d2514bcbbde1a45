package stepwell_test

// Examples of an App that works when it is told to.

import (
	"context"
	"fmt"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/push"
	"github.com/stepwell/stepwell/world/memory"
)

// A function that a platform starts for a message works on one run, and gives it back. Package server has the HTTP for it.
func ExampleApp_Invoke() {
	greet := stepwell.Define("greet", func(ctx stepwell.Context, who string) (string, error) {
		return stepwell.Step(ctx, "greet", func(context.Context) (string, error) { return "Hello, " + who, nil })
	})
	w := memory.New()
	client, _ := stepwell.New(w, stepwell.Config{})
	function, _ := stepwell.New(w, stepwell.Config{Definitions: []stepwell.Definition{greet}})
	ctx := context.Background()
	run, _ := client.Start(ctx, "greet", []byte(`"Ada"`))
	fmt.Println(function.Invoke(ctx, push.Message{Run: run.ID()}, push.DefaultSlice))
	result, _ := run.Result(ctx)
	fmt.Println(string(result))
	fmt.Println(function.Close(), w.Close())
	// Output:
	// done <nil>
	// "Hello, Ada"
	// <nil> <nil>
}

func ExampleApp_Manifest() {
	greet := stepwell.Define("greet", func(ctx stepwell.Context, who string) (string, error) { return "Hello, " + who, nil })
	app, _ := stepwell.New(memory.New(), stepwell.Config{Definitions: []stepwell.Definition{greet}})
	for _, wf := range app.Manifest().Workflows {
		fmt.Println(wf.Name, "version", wf.Version, "in", wf.Source)
	}
	// Output:
	// greet version 1 in example_invoke_test.go:35
}
