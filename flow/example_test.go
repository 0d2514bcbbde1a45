package flow_test

import (
	"context"
	"fmt"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/flow"
	"github.com/stepwell/stepwell/limit"
	"github.com/stepwell/stepwell/world/memory"
)

var Charge = stepwell.Define("charge", func(ctx stepwell.Context, cents int) (string, error) {
	return fmt.Sprintf("charged %d", cents), nil
})

// The bank is down for the night: what is started meanwhile waits.
func ExampleHold() {
	app, err := stepwell.New(memory.New(), stepwell.Config{Name: "ann"})
	if err != nil {
		panic(err)
	}
	ctx := context.Background()
	fmt.Println(flow.Hold(ctx, app, "charge", "the bank is down"))
	run, err := Charge.Start(ctx, app, 1200)
	if err != nil {
		panic(err)
	}
	why, err := app.Why(ctx, run.ID())
	fmt.Println(why.Kind, why.By, why.Reason, err)
	held, err := flow.Holds(ctx, app)
	fmt.Println(len(held), held[0].Workflow, err)
	fmt.Println(flow.Release(ctx, app, "charge"))
	why, err = app.Why(ctx, run.ID())
	fmt.Println(why.Kind, err)
	// Output:
	// <nil>
	// held ann the bank is down <nil>
	// 1 charge <nil>
	// <nil>
	// no_worker <nil>
}

var SendCode = stepwell.Define("send-code", func(ctx stepwell.Context, to string) (string, error) {
	return "sent to " + to, nil
}, flow.StartTTL(5*time.Minute))

// A code that is sent an hour late is of no use: a run that has not begun after five minutes is cancelled.
func ExampleStartTTL() {
	app, err := stepwell.New(memory.New(), stepwell.Config{Name: "ann"})
	if err != nil {
		panic(err)
	}
	ctx := context.Background()
	run, err := SendCode.Start(ctx, app, "ann@example.com")
	if err != nil {
		panic(err)
	}
	info, err := app.Get(ctx, run.ID())
	fmt.Println(info.Status, time.Duration(info.StartTTL), err)
	// This one may begin at any time.
	run, err = SendCode.Start(ctx, app, "bob@example.com", flow.StartTTL(stepwell.Forever))
	if err != nil {
		panic(err)
	}
	info, err = app.Get(ctx, run.ID())
	fmt.Println(info.Status, time.Duration(info.StartTTL), err)
	// Output:
	// pending 5m0s <nil>
	// pending 0s <nil>
}

type Store struct{ Name string }

var Update = stepwell.Define("update", func(ctx stepwell.Context, in Store) (string, error) {
	return in.Name + " is up to date", nil
}, flow.Singleton(flow.Keep, limit.Key(func(in Store) string { return in.Name })))

// While a store is brought up to date, or is to be, it need not be started again.
func ExampleSingleton() {
	app, err := stepwell.New(memory.New(), stepwell.Config{Name: "ann"})
	if err != nil {
		panic(err)
	}
	ctx := context.Background()
	first, err := Update.Start(ctx, app, Store{"Ulm"})
	if err != nil {
		panic(err)
	}
	again, err := Update.Start(ctx, app, Store{"Ulm"})
	fmt.Println(again.ID() == first.ID(), again.Existed(), err)
	other, err := Update.Start(ctx, app, Store{"Rome"})
	fmt.Println(other.ID() == first.ID(), other.Existed(), err)
	// Output:
	// true true <nil>
	// false false <nil>
}
