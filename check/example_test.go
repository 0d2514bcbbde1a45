package check_test

import (
	"context"
	"fmt"
	"log"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/check"
	"github.com/stepwell/stepwell/world/memory"
)

// The main of a worker. stepwell check starts it with STEPWELL_CHECK set, and Main does not return then.
func ExampleMain() {
	greet := stepwell.Define("greet", func(ctx stepwell.Context, name string) (string, error) {
		return stepwell.Step(ctx, "write", func(context.Context) (string, error) { return "hello " + name, nil })
	})
	config := stepwell.Config{Definitions: []stepwell.Definition{greet}}
	check.Main(config) // before anything is opened
	app, err := stepwell.New(memory.New(), config)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(app != nil)
	// Output: true
}
