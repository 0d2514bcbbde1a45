// Shop is the program of chapter 3 of the tutorial: see docs/tutorial.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/stepwell/stepwell"
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
	return receipt, err
})

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

var definitions = []stepwell.Definition{Buy}

func main() {
	stepwell.Main(stepwell.Config{Definitions: definitions}, func(ctx context.Context, _ *stepwell.App) error {
		fmt.Println("process", os.Getpid(), "takes orders")
		<-ctx.Done() // until Ctrl-C
		return nil
	})
}
