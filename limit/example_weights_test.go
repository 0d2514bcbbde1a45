package limit_test

import (
	"context"
	"fmt"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/limit"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/memory"
)

// A tenant that pays for more has three times the places of others.
func ExampleWeights() {
	load := stepwell.Define("load", func(ctx stepwell.Context, j job) (int, error) { return j.N, nil },
		limit.Concurrency(2, limit.Key(tenantOf), limit.Weights(map[string]int{"acme": 3})))
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
	all, err := world.AbilitiesOf(app.World()).LimitKeeper.Limits().ListLimits(ctx)
	fmt.Println(all[0].Places("acme"), all[0].Places("bob"), err)
	stop()
	fmt.Println(<-ended)
	// Output:
	// 7 <nil>
	// 6 2 <nil>
	// <nil>
}
