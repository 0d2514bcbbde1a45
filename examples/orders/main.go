// Orders takes orders: it reserves, asks people about the large ones, charges and ships. Where somebody says no, where nobody answers, and
// where a step fails for good, what was done is undone. The functions that it calls are those of the shop, in services.go.
//
//	go run ./examples/orders
package main

import (
	"context"
	"time"

	"github.com/stepwell/stepwell"
	_ "github.com/stepwell/stepwell/world/postgres"
	_ "github.com/stepwell/stepwell/world/sqlite"
)

// Approval is what people decide about an order of more than 1,000.
var Approval = stepwell.Event[Decision]("approval")

// Buy is the workflow. Two orders of a customer are under way at once; further ones wait.
var Buy = stepwell.Define("order", buy, stepwell.Limit{AtOnce: 2, By: "customer", UntilEnd: true})

func buy(ctx stepwell.Context, o Order) (Result, error) {
	if err := stepwell.Exec(ctx, "reserve", Reserve, o, stepwell.Undo("release", Release, o)); err != nil {
		return Result{}, err
	}
	if o.Cents > 100_000 {
		if err := stepwell.Exec(ctx, "ask", Ask, o); err != nil {
			return Result{}, err
		}
		d, _, err := Approval.Wait(ctx, stepwell.Timeout(72*time.Hour), stepwell.Remind(24*time.Hour, func(ctx stepwell.Context) error {
			return stepwell.Exec(ctx, "remind", Remind, o)
		}))
		if err != nil {
			return Result{}, err
		}
		if !d.OK { // also where nobody answered
			return Result{Outcome: "refused"}, stepwell.UndoAll(ctx)
		}
	}
	receipt, err := stepwell.Call(ctx, "charge", Charge, o, stepwell.Undo("refund", Refund, o))
	if err != nil {
		return Result{}, err
	}
	if err := stepwell.Exec(ctx, "ship", Ship, o); err != nil {
		return Result{}, err
	}
	return Result{Outcome: "shipped", Receipt: receipt}, nil
}

// start is for whoever takes orders: an order that comes twice is taken once.
func start(ctx context.Context, app *stepwell.App, o Order) error {
	_, err := Buy.Start(ctx, app, o, stepwell.RunID(o.ID), stepwell.Key(o.ID))
	return err
}

// answer is for whoever asks people.
func answer(ctx context.Context, app *stepwell.App, order string, d Decision) error {
	return Approval.Send(ctx, app, order, d)
}

var definitions = []stepwell.Definition{Buy, stepwell.KnownError("no-courier", ErrNoCourier)}

func main() { stepwell.Main(stepwell.Config{Definitions: definitions}) }
