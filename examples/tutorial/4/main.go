// Shop is the program of chapter 4 of the tutorial: see docs/tutorial.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/schedule"
	_ "github.com/stepwell/stepwell/world/sqlite"
)

// Order is what somebody buys.
type Order struct {
	Item  string `json:"item"`
	Cents int    `json:"cents"`
}

// Decision is what the boss sends.
type Decision struct {
	OK bool   `json:"ok"`
	By string `json:"by"`
}

// Approval is sent once, by the boss.
var Approval = stepwell.Event[Decision]("approval")

// Buy is the workflow: what happens to an order, from top to bottom.
var Buy = stepwell.Define("order", func(ctx stepwell.Context, o Order) (string, error) {
	if o.Cents > 100_000 {
		d, ok, err := Approval.Wait(ctx, stepwell.Timeout(72*time.Hour))
		if err != nil {
			return "", err
		}
		if !ok || !d.OK { // three days without an answer are a no
			return "refused", nil
		}
	}
	receipt, err := stepwell.Call(ctx, "charge", charge, o)
	if err != nil {
		return "", err
	}
	stepwell.AddUndo(ctx, "refund", refund, receipt)
	err = stepwell.Exec(ctx, "ship", ship, o)
	if err != nil {
		return "", err
	}
	stepwell.DropUndo(ctx) // it is on its way
	if err := stepwell.Sleep(ctx, "two-weeks", 14*24*time.Hour); err != nil {
		return "", err // only when the run is cancelled
	}
	err = stepwell.Do(ctx, "ask-for-review", func(ctx context.Context) error {
		fmt.Println("mail: how is the", o.Item+"?")
		return nil
	})
	return receipt, err
})

// Report counts the orders of all time.
var Report = stepwell.Define("report", func(ctx stepwell.Context, title string) (string, error) {
	return stepwell.Step(ctx, "count", func(ctx context.Context) (string, error) {
		n, err := stepwell.AppFrom(ctx).Count(ctx, stepwell.ListFilter{Workflow: "order"})
		if err != nil {
			return "", err
		}
		fmt.Println("mail:", title+", orders so far:", n)
		return fmt.Sprint(n, " orders"), nil
	})
})

// Mornings starts a report each day.
var Mornings = schedule.New("mornings", Report, "Good morning",
	schedule.Times("0 7 * * *"), schedule.Zone("Europe/Berlin"))

// charge takes the money. A real bank gets a key made from the order's number, and charges once for each key.
func charge(ctx context.Context, o Order) (string, error) {
	info := stepwell.Info(ctx)
	fmt.Println("charge", o.Cents, "cents: attempt", info.Attempt)
	select {
	case <-time.After(10 * time.Second): // a slow bank
		return "receipt for the " + o.Item, nil
	case <-ctx.Done(): // the worker shuts down, or the run is cancelled
		return "", context.Cause(ctx)
	}
}

// refund may run more than once, as any step: a real bank gets the receipt, and pays back once.
func refund(ctx context.Context, receipt string) error {
	fmt.Println("pay back: the", receipt)
	return nil
}

func ship(ctx context.Context, o Order) error {
	if o.Item == "piano" {
		return stepwell.Fatal(errors.New("too heavy for the courier")) // another attempt changes nothing
	}
	fmt.Println("ship the", o.Item)
	return nil
}

var definitions = []stepwell.Definition{Buy, Report, schedule.Set("shop", 1, Mornings)}

func main() {
	stepwell.Main(stepwell.Config{Definitions: definitions}, func(ctx context.Context, _ *stepwell.App) error {
		fmt.Println("process", os.Getpid(), "takes orders")
		<-ctx.Done() // until Ctrl-C
		return nil
	})
}
