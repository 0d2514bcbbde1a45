package stepwell_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/memory"
)

// Whoever sends to a run is refused at the door where it does not fit what the workflow takes; it may be another process than that of the code.
func ExampleAccepts() {
	type verdict struct {
		OK bool `json:"ok"`
	}
	approved := stepwell.Event[verdict]("approved")
	expense := stepwell.Define("expense", func(ctx stepwell.Context, cents int) (bool, error) {
		if cents < 1000 {
			return true, nil
		}
		v, _, err := approved.Wait(ctx)
		return v.OK, err
	}, stepwell.Accepts(approved, stepwell.HookPayload[verdict]()))

	w := memory.New()
	defer w.Close()
	worker, err := stepwell.New(w, stepwell.Config{Definitions: []stepwell.Definition{expense}})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	ended := make(chan error)
	go func() { ended <- worker.Run(ctx) }()
	small, err := expense.Start(ctx, worker, 7)
	if err == nil {
		_, err = small.Result(ctx) // so the worker is there
	}
	if err != nil {
		fmt.Println(err)
		return
	}
	run, err := expense.Start(ctx, worker, 4200)
	if err != nil {
		fmt.Println(err)
		return
	}

	client, err := stepwell.New(w, stepwell.Config{}) // it has not the code
	if err != nil {
		fmt.Println(err)
		return
	}
	err = client.Signal(ctx, run.ID(), "approved", json.RawMessage(`{"ok": "yes"}`))
	if unfit, is := errors.AsType[*world.UnfitError](err); is {
		fmt.Println(unfit.Places[0].Error())
	}
	known, err := client.Schemas(ctx, "expense", 0)
	fmt.Println(string(known.Input), err)

	stop()
	fmt.Println(<-ended)
	// Output:
	// /ok: expected true or false, got the text "yes"
	// {"type":"integer","format":"int64"} <nil>
	// <nil>
}
