// Fibonacci computes by recursion: each number is a run of its own, which starts two child runs and adds what they come to. All of
// it happens on a worker with one slot for runs and one for steps, because what waits holds none.
//
//	go run ./examples/fibonacci
package main

import (
	"context"
	"flag"
	"fmt"

	"github.com/stepwell/stepwell"
	_ "github.com/stepwell/stepwell/world/memory"
	_ "github.com/stepwell/stepwell/world/postgres"
	_ "github.com/stepwell/stepwell/world/sqlite"
)

// Fib is the workflow.
var Fib *stepwell.Workflow[int, int]

func init() { Fib = stepwell.Define("fib", fib) } // not above: fib starts Fib

func fib(ctx stepwell.Context, n int) (int, error) {
	if n < 2 {
		return n, nil
	}
	one, two := Fib.Child().Start(ctx, n-1), Fib.Child().Start(ctx, n-2) // both go on at once
	a, err := one.Get(ctx)
	if err != nil {
		return 0, err
	}
	b, err := two.Get(ctx)
	if err != nil {
		return 0, err
	}
	return stepwell.Step(ctx, "add", func(context.Context) (int, error) { return a + b, nil })
}

var db = flag.String("db", "memory:", "where runs are kept: memory:, sqlite:PATH or postgres://...")

func main() {
	flag.Parse()
	stepwell.Main(stepwell.Config{Database: *db, Definitions: []stepwell.Definition{Fib}, MaxRuns: 1, MaxSteps: 1}, func(ctx context.Context, app *stepwell.App) error {
		run, err := Fib.Start(ctx, app, 10)
		if err != nil {
			return err
		}
		n, err := run.Result(ctx)
		if err != nil {
			return err
		}
		runs := 0
		for _, err := range app.List(ctx, stepwell.ListFilter{Workflow: Fib.Name()}) {
			if err != nil {
				return err
			}
			runs++
		}
		fmt.Printf("fib(10) = %d, by %d runs on one slot\n", n, runs)
		return nil
	})
}
