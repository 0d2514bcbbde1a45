// Worker works on the orders that examples/python starts: run.sh runs both.
package main

import (
	"context"
	"time"

	"github.com/stepwell/stepwell"
	_ "github.com/stepwell/stepwell/world/postgres"
	_ "github.com/stepwell/stepwell/world/sqlite"
)

// Order is what is bought.
type Order struct {
	Customer string `json:"customer"`
	Cents    int    `json:"cents"`
}

// Payment is what the event paid brings.
type Payment struct {
	Cents int `json:"cents"`
}

var paid = stepwell.Event[Payment]("paid")

// Ship is the workflow: it says on a stream how far it is, waits for the money, and ships.
var Ship = stepwell.Define("order", func(ctx stepwell.Context, o Order) (string, error) {
	if err := stepwell.WriteStream(ctx, "progress", "waiting for the money"); err != nil {
		return "", err
	}
	p, ok, err := paid.Wait(ctx, stepwell.Timeout(24*time.Hour))
	if err != nil || !ok || p.Cents < o.Cents {
		return "not paid", err
	}
	if err := stepwell.WriteStream(ctx, "progress", "packing"); err != nil {
		return "", err
	}
	parcel, err := stepwell.Step(ctx, "pack", func(context.Context) (string, error) { return "parcel for " + o.Customer, nil })
	if err != nil {
		return "", err
	}
	return parcel, stepwell.WriteStream(ctx, "progress", "shipped")
})

func main() {
	stepwell.Main(stepwell.Config{Definitions: []stepwell.Definition{Ship}})
}
