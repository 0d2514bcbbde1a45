package stepwell_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world/memory"
)

// exampleApp works on a world in memory until stop is called.
func exampleApp(defs ...stepwell.Definition) (app *stepwell.App, stop func()) {
	w := memory.New()
	app, err := stepwell.New(w, stepwell.Config{Definitions: defs})
	if err != nil {
		panic(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := app.Run(ctx); err != nil {
			panic(err)
		}
	}()
	return app, func() { cancel(); <-done; _ = w.Close() }
}

// A run that counts in segments of ten: what has to be replayed stays short.
func ExampleContinueAsNew() {
	type state struct{ Sum, Segment int }
	count := stepwell.Define("count", func(ctx stepwell.Context, s state) (string, error) {
		for range 10 {
			n, err := stepwell.Step(ctx, "add", func(context.Context) (int, error) { return s.Sum + 1, nil })
			if err != nil {
				return "", err
			}
			s.Sum = n
		}
		if s.Segment++; s.Segment < 3 {
			return "", stepwell.ContinueAsNew(ctx, s)
		}
		return fmt.Sprintf("%d in %d segments", s.Sum, s.Segment), nil
	})
	app, stop := exampleApp(count)
	defer stop()
	run, err := count.Start(context.Background(), app, state{})
	if err != nil {
		panic(err)
	}
	fmt.Println(run.Result(context.Background()))
	// Output: 30 in 3 segments <nil>
}

// The log of a run that goes on for long keeps its last segments, and what the run has not taken yet; the sweeper deletes the rest.
func ExampleKeepSegments() {
	count := stepwell.Define("count-on", func(ctx stepwell.Context, n int) (int, error) {
		if n < 20 {
			return 0, stepwell.ContinueAsNew(ctx, n+1)
		}
		return n, nil
	}, stepwell.KeepSegments(3))
	app, stop := exampleApp(count)
	defer stop()
	run, err := count.Start(context.Background(), app, 0)
	if err != nil {
		panic(err)
	}
	fmt.Println(run.Result(context.Background()))
	// Output: 20 <nil>
}

// An attribute tells clients how far a run is.
func ExampleSetAttribute() {
	pack := stepwell.Define("pack", func(ctx stepwell.Context, box string) (string, error) {
		return box, stepwell.SetAttribute(ctx, "stage", "packed")
	})
	app, stop := exampleApp(pack)
	defer stop()
	ctx := context.Background()
	run, err := pack.Start(ctx, app, "red")
	if err != nil {
		panic(err)
	}
	if _, err := run.Result(ctx); err != nil {
		panic(err)
	}
	for found, err := range app.List(ctx, stepwell.ListFilter{Attributes: stepwell.Match{"stage": "packed"}}) {
		fmt.Println(found.ID == run.ID(), string(found.Attributes["stage"]), err)
	}
	// Output: true "packed" <nil>
}

// A run that takes too long is cancelled; its code learns why.
func ExampleCancelCause() {
	slow := stepwell.Define("slow", func(ctx stepwell.Context, _ int) (string, error) {
		err := stepwell.Sleep(ctx, "long", time.Hour)
		if errors.Is(stepwell.CancelCause(ctx), stepwell.ErrTimeout) {
			fmt.Println("cleaning up") //stepwell:allow logging the example shows it
		}
		return "", err
	}, stepwell.Timeout(20*time.Millisecond))
	app, stop := exampleApp(slow)
	defer stop()
	run, err := slow.Start(context.Background(), app, 0)
	if err != nil {
		panic(err)
	}
	_, err = run.Result(context.Background())
	fmt.Println(errors.Is(err, stepwell.ErrTimeout))
	// Output:
	// cleaning up
	// true
}
