package stepwell_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/memory"
)

// A program that puts a world on a network holds what comes in against the settings of its App.
func ExampleApp_AdmitCommit() {
	app, err := stepwell.New(memory.New(), stepwell.Config{})
	if err != nil {
		panic(err)
	}
	birth := &world.Birth{Workflow: "order", Retention: 200 * 365 * 24 * time.Hour}
	c := &world.Commit{Run: "o-1", First: 1, Events: []world.Event{{Type: world.RunCreated, Birth: birth, Payload: []byte(`{}`)}}}
	fmt.Println(app.AdmitCommit(c), c.Events[0].Birth.Retention)
	// Output: <nil> 8760h0m0s
}

func ExampleApp_AdmitDelivery() {
	app, err := stepwell.New(memory.New(), stepwell.Config{})
	if err != nil {
		panic(err)
	}
	d := &world.Delivery{Run: "o-1", Events: []world.Event{{Type: world.SignalReceived, Name: "paid", Payload: []byte(`{"a":1,"a":2}`)}}}
	fmt.Println(app.AdmitDelivery(d))
	// Output: signal_received: invalid: the payload has the member "/a" twice
}

// The places of limits that a new run holds are what its definition says, and not what a client says.
func ExampleApp_AdmitPlaces() {
	app, err := stepwell.New(memory.New(), stepwell.Config{})
	if err != nil {
		panic(err)
	}
	birth := &world.Birth{Workflow: "order", Version: 1, Places: []world.Place{{Limit: "bank", Key: "acme", Number: 100}}}
	c := &world.Commit{Run: "o-1", First: 1, Events: []world.Event{{Type: world.RunCreated, Birth: birth, Payload: []byte(`{}`)}}}
	err = app.AdmitPlaces(context.Background(), c)
	fmt.Println("refused, as no worker has said what order needs:", errors.Is(err, world.ErrForbidden))
	// Output: refused, as no worker has said what order needs: true
}
