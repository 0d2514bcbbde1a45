package observe_test

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/observe"
	"github.com/stepwell/stepwell/world/memory"
)

// Two Observers: one counts, one is a log of ends. Neither is told anything twice, however often a run is replayed.
func ExampleJoin() {
	var steps atomic.Int64
	ended := make(chan string, 1)
	counts := &observe.Observer{StepEnded: func(observe.Step) { steps.Add(1) }}
	ends := &observe.Observer{RunEnded: func(run observe.Run) { ended <- fmt.Sprint(run.Workflow, " ", run.Status) }}

	greet := stepwell.Define("greet", func(ctx stepwell.Context, name string) (string, error) {
		return stepwell.Step(ctx, "greet", func(context.Context) (string, error) { return "hello " + name, nil })
	})
	w := memory.New()
	defer func() { _ = w.Close() }()
	app, err := stepwell.New(w, stepwell.Config{
		Definitions: []stepwell.Definition{greet},
		Observer:    observe.Join(counts, ends),
	})
	if err != nil {
		panic(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); _ = app.Run(ctx) }()

	run, _ := greet.Start(ctx, app, "ann")
	fmt.Println(run.Result(ctx))
	fmt.Println(<-ended, "after", steps.Load(), "step")
	fmt.Println(app.Observer() != nil)
	stop()
	<-done
	// Output:
	// hello ann <nil>
	// greet completed after 1 step
	// true
}
