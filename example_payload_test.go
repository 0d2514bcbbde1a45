package stepwell_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world/memory"
)

// A workflow that wants to know of payloads that its type cannot hold. Without the option they are set aside, and the wait goes on.
func ExamplePayloadErrors() {
	approve := stepwell.Event[int]("approve")
	approval := stepwell.Define("approval", func(ctx stepwell.Context, _ struct{}) (string, error) {
		_, _, err := approve.Wait(ctx, stepwell.PayloadErrors())
		if bad, ok := errors.AsType[*stepwell.PayloadError](err); ok {
			return "refused a payload of " + bad.Of, nil
		}
		return "approved", err
	})
	w := memory.New()
	defer w.Close()
	app, err := stepwell.New(w, stepwell.Config{Definitions: []stepwell.Definition{approval}})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	ended := make(chan error)
	go func() { ended <- app.Run(ctx) }()

	run, err := approval.Start(ctx, app, struct{}{})
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := app.Signal(ctx, run.ID(), "approve", json.RawMessage(`"yes"`)); err != nil {
		fmt.Println(err)
	}
	fmt.Println(run.Result(ctx))
	stop()
	<-ended
	// Output: refused a payload of event "approve" <nil>
}
