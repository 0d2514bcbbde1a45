// Shop is the program of chapter 6 of the tutorial: see docs/tutorial.
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
	Gift  bool   `json:"gift,omitempty"` // version 2
}

// Decision is what the boss sends.
type Decision struct {
	OK bool   `json:"ok"`
	By string `json:"by"`
}

// Approval is sent once, by the boss.
var Approval = stepwell.Event[Decision]("approval")

// Buy is the workflow, in the versions that have runs.
var (
	BuyV1 = stepwell.Define("order", buyV1)
	BuyV2 = stepwell.Define("order", buyV2, stepwell.Version(2))
)

// buyV1 is version 1, as it was: runs that began with it end with it.
func buyV1(ctx stepwell.Context, o Order) (string, error) {
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
}

// buyV2 wraps gifts, too.
func buyV2(ctx stepwell.Context, o Order) (string, error) {
	if o.Cents > 100_000 {
		d, ok, err := Approval.Wait(ctx, stepwell.Timeout(72*time.Hour))
		if err != nil {
			return "", err
		}
		if !ok || !d.OK { // three days without an answer are a no
			return "refused", nil
		}
	}
	receipt, err := stepwell.Call(ctx, "charge", charge, o, stepwell.Retry{Attempts: 2, Base: time.Millisecond})
	if err != nil {
		return "", err
	}
	stepwell.AddUndo(ctx, "refund", refund, receipt)
	if o.Gift {
		err = stepwell.Exec(ctx, "wrap", wrap, o)
		if err != nil {
			return "", err
		}
	}
	err = stepwell.Exec(ctx, "ship", ship, o,
		stepwell.Retry{Attempts: 100, Base: time.Minute, Cap: time.Hour})
	if err != nil {
		return "", err
	}
	stepwell.DropUndo(ctx)
	if err := stepwell.Sleep(ctx, "two-weeks", 14*24*time.Hour); err != nil {
		return "", err
	}
	err = stepwell.Do(ctx, "ask-for-review", func(ctx context.Context) error {
		fmt.Println("mail: how is the", o.Item+"?")
		return nil
	})
	return receipt, err
}

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
	if _, err := os.Stat("bank.down"); err == nil {
		return "", errors.New("bank: no such host")
	}
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

func wrap(ctx context.Context, o Order) error {
	fmt.Println("wrap the", o.Item)
	return nil
}

func ship(ctx context.Context, o Order) error {
	if _, err := os.Stat("warehouse.down"); err == nil {
		return errors.New("warehouse: connection refused")
	}
	if o.Item == "piano" {
		return stepwell.Fatal(errors.New("too heavy for the courier")) // another attempt changes nothing
	}
	fmt.Println("ship the", o.Item)
	return nil
}

var definitions = []stepwell.Definition{BuyV1, BuyV2, Report, schedule.Set("shop", 1, Mornings)}

func main() {
	stepwell.Main(stepwell.Config{Definitions: definitions}, func(ctx context.Context, _ *stepwell.App) error {
		fmt.Println("process", os.Getpid(), "takes orders")
		<-ctx.Done() // until Ctrl-C
		return nil
	})
}
