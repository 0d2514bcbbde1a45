package acting_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/acting"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/memory"
)

// A server says on whose behalf it acts: the log names them, and not the server.
func ExampleFor() {
	app, err := stepwell.New(memory.New(), stepwell.Config{Name: "a server", Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		panic(err)
	}
	ctx := acting.For(context.Background(), "ann")
	run, err := app.Start(ctx, "owl", json.RawMessage("null"), stepwell.Version(1))
	if err != nil {
		panic(err)
	}
	fmt.Println(app.Pause(ctx, run.ID(), "too loud"))
	for e := range app.Events(ctx, run.ID(), stepwell.EventFilter{Types: []world.EventType{world.RunPaused}}) {
		fmt.Println(e.Type, "by", e.By)
	}
	// Output:
	// <nil>
	// run_paused by ann
}

func ExampleWho() {
	fmt.Println(acting.Who(acting.For(context.Background(), "ann")))
	// Output: ann
}
