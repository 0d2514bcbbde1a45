package stepwell_test

// Examples of what becomes of starts before their runs begin.

import (
	"context"
	"fmt"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world/memory"
)

var HeldCharge = stepwell.Define("charge", func(ctx stepwell.Context, cents int) (string, error) {
	return fmt.Sprintf("charged %d", cents), nil
})

// The bank is down for the night: what is started meanwhile waits.
func ExampleApp_Hold() {
	app, err := stepwell.New(memory.New(), stepwell.Config{Name: "ann"})
	if err != nil {
		panic(err)
	}
	ctx := context.Background()
	fmt.Println(app.Hold(ctx, "charge", "the bank is down"))
	run, err := HeldCharge.Start(ctx, app, 1200)
	if err != nil {
		panic(err)
	}
	why, err := app.Why(ctx, run.ID())
	fmt.Println(why.Kind, why.By, why.Reason, err)
	held, err := app.Holds(ctx)
	fmt.Println(len(held), held[0].Workflow, err)
	fmt.Println(app.Release(ctx, "charge"))
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
}, stepwell.StartTTL(5*time.Minute))

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
	run, err = SendCode.Start(ctx, app, "bob@example.com", stepwell.StartTTL(stepwell.Forever))
	if err != nil {
		panic(err)
	}
	info, err = app.Get(ctx, run.ID())
	fmt.Println(info.Status, time.Duration(info.StartTTL), err)
	// Output:
	// pending 5m0s <nil>
	// pending 0s <nil>
}

type ofStore struct{ Name string }

var UpdateStore = stepwell.Define("update", func(ctx stepwell.Context, in ofStore) (string, error) {
	return in.Name + " is up to date", nil
}, stepwell.Singleton{Key: stepwell.KeyOf(func(in ofStore) string { return in.Name })})

// While a store is brought up to date, or is to be, it need not be started again.
func ExampleSingleton() {
	app, err := stepwell.New(memory.New(), stepwell.Config{Name: "ann"})
	if err != nil {
		panic(err)
	}
	ctx := context.Background()
	first, err := UpdateStore.Start(ctx, app, ofStore{"Ulm"})
	if err != nil {
		panic(err)
	}
	again, err := UpdateStore.Start(ctx, app, ofStore{"Ulm"})
	fmt.Println(again.ID() == first.ID(), again.Existed(), err)
	other, err := UpdateStore.Start(ctx, app, ofStore{"Rome"})
	fmt.Println(other.ID() == first.ID(), other.Existed(), err)
	// Output:
	// true true <nil>
	// false false <nil>
}

type page struct {
	Site string `json:"site"`
	Text string `json:"text"`
}

// A page is indexed once, when nobody has changed it for half a minute.
func ExampleDebounce() {
	index := stepwell.Define("index-page", func(ctx stepwell.Context, p page) (string, error) {
		return "indexed " + p.Text, nil
	}, stepwell.Debounce{Key: stepwell.KeyOf(func(p page) string { return p.Site }), Quiet: 30 * time.Second, Longest: 10 * time.Minute})
	app, err := stepwell.New(memory.New(), stepwell.Config{Definitions: []stepwell.Definition{index}})
	if err != nil {
		panic(err)
	}
	ctx := context.Background()
	first, err := index.Start(ctx, app, page{"a.example", "one"})
	if err != nil {
		panic(err)
	}
	second, err := index.Start(ctx, app, page{"a.example", "two"})
	if err != nil {
		panic(err)
	}
	fmt.Println(second.ID() == first.ID(), first.Merged(), second.Merged())
	info, err := app.Get(ctx, first.ID())
	fmt.Println(string(info.Input), info.Status, err)
	// Output:
	// true false true
	// {"site":"a.example","text":"two"} pending <nil>
}

// Pages of a site are written three at a time.
func ExampleBatch() {
	write := stepwell.Define("write-pages", func(ctx stepwell.Context, all []page) (int, error) {
		return len(all), nil
	}, stepwell.Batch{By: "site", Size: 3, Wait: time.Second})
	app, err := stepwell.New(memory.New(), stepwell.Config{Definitions: []stepwell.Definition{write}})
	if err != nil {
		panic(err)
	}
	ctx := context.Background()
	runs := map[string]bool{}
	for _, text := range []string{"one", "two", "three", "four"} {
		run, err := write.Start(ctx, app, []page{page{"a.example", text}})
		if err != nil {
			panic(err)
		}
		runs[run.ID()] = true
	}
	fmt.Println(len(runs), "runs")
	// Output:
	// 2 runs
}
