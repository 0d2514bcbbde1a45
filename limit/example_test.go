package limit_test

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/limit"
	"github.com/stepwell/stepwell/world/memory"
)

// Ten imports of a tenant at once, a hundred of all; and of each order one thing at a time, from its first to its
// last.
func ExampleConcurrency() {
	type File struct{ Tenant, Name string }
	imports := stepwell.Define("import", func(ctx stepwell.Context, in File) (string, error) {
		return "imported " + in.Name, nil
	},
		limit.Concurrency(10, limit.Key(func(in File) string { return in.Tenant })),
		limit.Concurrency(100, limit.Name("all-imports")))
	orders := stepwell.Define("order", func(ctx stepwell.Context, in map[string]string) (string, error) {
		return "shipped " + in["order"], nil
	}, limit.Concurrency(1, limit.Path("order"), limit.UntilEnd()))

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
