// Worker works on the orders that order.ts starts: see README.md beside it.
package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/stepwell/stepwell"
	_ "github.com/stepwell/stepwell/world/postgres"
	_ "github.com/stepwell/stepwell/world/sqlite"
)

// Order is what is to be paid and shipped.
type Order struct {
	Customer string `json:"customer"`
	Cents    int    `json:"cents"`
}

// Payment is what comes with the event paid.
type Payment struct {
	Cents int `json:"cents"`
}

// Paid tells an order that the money is there.
var Paid = stepwell.Event[Payment]("paid")

// Ship reserves, waits for the money, and tells of it in a stream.
var Ship = stepwell.Define("order", func(ctx stepwell.Context, o Order) (string, error) {
	err := stepwell.Do(ctx, "reserve", func(context.Context) error {
		if o.Cents == 0 {
			return stepwell.Fatal(errors.New("nothing to pay"))
		}
		return nil
	})
	if err != nil {
		return "", err
	}
	if err := stepwell.WriteStream(ctx, "news", "waiting for the money"); err != nil {
		return "", err
	}
	money, _, err := Paid.Wait(ctx)
	if err != nil {
		return "", err
	}
	if err := stepwell.WriteStream(ctx, "news", fmt.Sprintf("%d cents are there", money.Cents)); err != nil {
		return "", err
	}
	parcel, err := stepwell.Step(ctx, "ship", func(context.Context) (string, error) {
		return "parcel-1 for " + o.Customer, nil
	})
	if err != nil {
		return "", err
	}
	return parcel, stepwell.CloseStream(ctx, "news")
}, stepwell.Accepts(Paid))

func main() {
	stepwell.Main(stepwell.Config{Definitions: []stepwell.Definition{Ship}})
}
