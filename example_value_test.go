package stepwell_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log"
	"strings"

	"github.com/stepwell/stepwell"
)

// A result of 3 MB is kept apart from the log, which has a reference. The workflow's code sees nothing of it; who looks
// at the run opens the value.
func ExampleApp_OpenValue() {
	render := stepwell.Define("render", func(ctx stepwell.Context, pages int) (string, error) {
		return stepwell.Step(ctx, "render", func(context.Context) (string, error) { return strings.Repeat("page ", pages), nil })
	})
	app, stop := exampleApp(render)
	defer stop()
	ctx := context.Background()
	run, err := render.Start(ctx, app, 600_000)
	if err != nil {
		log.Fatal(err)
	}
	text, err := run.Result(ctx)
	if err != nil {
		log.Fatal(err)
	}
	info, err := app.Get(ctx, run.ID())
	if err != nil {
		log.Fatal(err)
	}
	value, size, err := app.OpenValue(ctx, run.ID(), info.OutputApart)
	if err != nil {
		log.Fatal(err)
	}
	var kept bytes.Buffer
	if _, err := io.Copy(&kept, value); err != nil { // its last error says whether it is what was written
		log.Fatal(err)
	}
	fmt.Println(len(text), size, kept.Len())
	// Output: 3000000 3000002 3000002
}
