// Worker works on the orders that examples/python starts: run.sh runs both.
package main

import (
	"context"
	"log"
	"os"
	"os/signal"
	"syscall"
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
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	w, err := stepwell.Open(ctx, "") // STEPWELL_DB
	if err != nil {
		log.Fatal(err)
	}
	defer w.Close()
	app, err := stepwell.New(w, stepwell.Config{Definitions: []stepwell.Definition{Ship}})
	if err != nil {
		log.Fatal(err)
	}
	if err := app.Run(ctx); err != nil {
		log.Fatal(err)
	}
}
