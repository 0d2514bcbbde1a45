package stepwell_test

// Examples of limits and rates.

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/memory"
)

// Ten imports of a tenant at once, a hundred of all; and of each order one thing at a time, from its first to its
// last.
func ExampleLimit() {
	type File struct{ Tenant, Name string }
	imports := stepwell.Define("import", func(ctx stepwell.Context, in File) (string, error) {
		return "imported " + in.Name, nil
	},
		stepwell.Limit{AtOnce: 10, Key: stepwell.KeyOf(func(in File) string { return in.Tenant })},
		stepwell.Limit{AtOnce: 100, Name: "all-imports"})
	orders := stepwell.Define("order", func(ctx stepwell.Context, in map[string]string) (string, error) {
		return "shipped " + in["order"], nil
	}, stepwell.Limit{AtOnce: 1, By: "order", UntilEnd: true})

	app, err := stepwell.New(memory.New(), stepwell.Config{
		Logger: slog.New(slog.DiscardHandler), Definitions: []stepwell.Definition{imports, orders},
	})
	if err != nil {
		panic(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- app.Run(ctx) }()

	file, err := imports.Start(ctx, app, File{"acme", "a.csv"})
	if err != nil {
		panic(err)
	}
	order, err := orders.Start(ctx, app, map[string]string{"order": "o-7"})
	if err != nil {
		panic(err)
	}
	fmt.Println(file.Result(ctx))
	fmt.Println(order.Result(ctx))
	stop()
	<-ended
	// Output:
	// imported a.csv <nil>
	// shipped o-7 <nil>
}

// A hundred calls a minute to the bank, over all processes: the others wait in order. And of each tenant ten exports an
// hour, of which three may come at one moment: who asks for more is told when to come again.
func ExampleLimit_rate() {
	call := stepwell.Define("call", func(ctx stepwell.Context, account string) (string, error) {
		return "balance of " + account, nil
	}, stepwell.Limit{Rate: 100, Per: time.Minute, Name: "bank"})
	export := stepwell.Define("export", func(ctx stepwell.Context, in map[string]string) (string, error) {
		return "exported " + in["tenant"], nil
	}, stepwell.Limit{Rate: 10, Per: time.Hour, Burst: 3, By: "tenant", Refuse: true})

	app, err := stepwell.New(memory.New(), stepwell.Config{
		Logger: slog.New(slog.DiscardHandler), Definitions: []stepwell.Definition{call, export},
	})
	if err != nil {
		panic(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- app.Run(ctx) }()

	balance, err := call.Start(ctx, app, "7")
	if err != nil {
		panic(err)
	}
	fmt.Println(balance.Result(ctx))
	for range 4 {
		_, err = export.Start(ctx, app, map[string]string{"tenant": "acme"})
	}
	if rate, ok := errors.AsType[*world.RateError](err); ok {
		fmt.Println("the fourth: come again in", rate.After.Round(time.Minute))
	}
	stop()
	<-ended
	// Output:
	// balance of 7 <nil>
	// the fourth: come again in 6m0s
}

// A tenant that pays for more has three times the places of others.
func ExampleLimit_weights() {
	type job struct {
		Tenant string
		N      int
	}
	load := stepwell.Define("load", func(ctx stepwell.Context, j job) (int, error) { return j.N, nil },
		stepwell.Limit{AtOnce: 2, By: "Tenant", Weights: map[string]int{"acme": 3}})
	app, err := stepwell.New(memory.New(), stepwell.Config{Definitions: []stepwell.Definition{load}})
	if err != nil {
		panic(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- app.Run(ctx) }()
	run, err := load.Start(ctx, app, job{"acme", 7})
	if err != nil {
		panic(err)
	}
	n, err := run.Result(ctx)
	fmt.Println(n, err)
	all, err := app.World().Limits().ListLimits(ctx)
	fmt.Println(all[0].Places("acme"), all[0].Places("bob"), err)
	stop()
	fmt.Println(<-ended)
	// Output:
	// 7 <nil>
	// 6 2 <nil>
	// <nil>
}
