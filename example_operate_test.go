package stepwell_test

// Examples of what operators do: send, pause, cancel, wake, and begin anew.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/observe"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/memory"
)

// nap is a workflow that sleeps for long.
func nap(name string) *stepwell.Workflow[string, string] {
	return stepwell.Define(name, func(ctx stepwell.Context, who string) (string, error) {
		return who + " slept", stepwell.Sleep(ctx, "nap", 8*time.Hour)
	})
}

// An event as JSON, from whoever does not have its type.
func ExampleApp_Signal() {
	type Paid struct {
		Cents int `json:"cents"`
	}
	paid := stepwell.Event[Paid]("paid")
	bill := stepwell.Define("bill", func(ctx stepwell.Context, _ int) (int, error) {
		p, _, err := paid.Wait(ctx)
		return p.Cents, err
	})
	app, stop := exampleApp(bill)
	defer stop()
	ctx := context.Background()
	run, _ := bill.Start(ctx, app, 0)
	fmt.Println(app.Signal(ctx, run.ID(), paid.Name(), json.RawMessage(`{"cents":990}`)))
	fmt.Println(run.Result(ctx))
	// Output:
	// <nil>
	// 990 <nil>
}

// A send that is repeated under one ID is one event.
func ExampleDeliveryID() {
	vote := stepwell.Event[string]("vote")
	count := stepwell.Define("count", func(ctx stepwell.Context, _ int) (int, error) {
		for n := 0; ; n++ {
			_, ok, err := vote.Wait(ctx, stepwell.Timeout(20*time.Millisecond))
			if err != nil || !ok {
				return n, err
			}
		}
	})
	app, stop := exampleApp(count)
	defer stop()
	ctx := context.Background()
	run, _ := count.Start(ctx, app, 0)
	for range 3 { // the answer was lost, so it was sent again
		if err := vote.Send(ctx, app, run.ID(), "yes", stepwell.DeliveryID("vote-of-ann")); err != nil {
			fmt.Println(err)
		}
	}
	fmt.Println(run.Result(ctx))
	// Output: 1 <nil>
}

// A run is stopped for a while. Nothing is lost meanwhile.
func ExampleApp_Pause() {
	transfer := stepwell.Define("transfer", func(ctx stepwell.Context, _ int) (string, error) {
		return "done", stepwell.Sleep(ctx, "overnight", 10*time.Millisecond)
	})
	app, stop := exampleApp(transfer)
	defer stop()
	ctx := context.Background()
	run, _ := transfer.Start(ctx, app, 0)
	fmt.Println(app.Pause(ctx, run.ID(), "the bank is closed"))
	why := waitsFor(app, run.ID(), stepwell.WhyPaused)
	fmt.Println(why.Kind, why.Reason)
	fmt.Println(app.Resume(ctx, run.ID()))
	fmt.Println(run.Result(ctx))
	// Output:
	// <nil>
	// paused the bank is closed
	// <nil>
	// done <nil>
}

// Sleeps end now; after an outage it would be [stepwell.WakeRetries].
func ExampleApp_Wake() {
	bear := nap("bear")
	app, stop := exampleApp(bear)
	defer stop()
	ctx := context.Background()
	run, _ := bear.Start(ctx, app, "the bear")
	waitsFor(app, run.ID(), stepwell.WhySleep)
	fmt.Println(app.Wake(ctx, run.ID(), stepwell.WakeSleeps))
	fmt.Println(run.Result(ctx))
	// Output:
	// 1 sleep <nil>
	// the bear slept <nil>
}

// A run is asked to end: its code learns it, cleans up, and the run ends cancelled.
func ExampleApp_Cancel() {
	cat := nap("cat")
	app, stop := exampleApp(cat)
	defer stop()
	ctx := context.Background()
	run, _ := cat.Start(ctx, app, "the cat")
	fmt.Println(app.Cancel(ctx, run.ID(), "breakfast"))
	_, err := run.Result(ctx)
	fmt.Println(errors.Is(err, stepwell.ErrCancelled))
	fmt.Println(app.CancelOutcome(ctx, run.ID()))
	// Output:
	// <nil>
	// true
	// cancelled <nil>
}

// A run ends at once, and none of its code runs any more.
func ExampleApp_ForceCancel() {
	dog := nap("dog")
	app, stop := exampleApp(dog)
	defer stop()
	ctx := context.Background()
	run, _ := dog.Start(ctx, app, "the dog")
	fmt.Println(app.ForceCancel(ctx, run.ID(), "it does not heed"))
	info, err := app.Get(ctx, run.ID())
	fmt.Println(info.Status, err)
	// Output:
	// <nil>
	// cancelled <nil>
}

// flaky fails until it is mended; each body says that it runs.
func flaky(mended *bool) *stepwell.Workflow[string, string] {
	return stepwell.Define("order", func(ctx stepwell.Context, id string) (string, error) {
		if err := stepwell.Do(ctx, "charge", func(context.Context) error { fmt.Println("charge", id); return nil }); err != nil {
			return "", err
		}
		return stepwell.Step(ctx, "ship", func(context.Context) (string, error) {
			if !*mended {
				return "", stepwell.Fatal(errors.New("no trucks"))
			}
			return id + " shipped", nil
		})
	})
}

// A failed run goes on from the step that failed it, in a new run: what had succeeded does not run again.
func ExampleApp_Retry() {
	mended := false
	order := flaky(&mended)
	app, stop := exampleApp(order)
	defer stop()
	ctx := context.Background()
	run, _ := order.Start(ctx, app, "o-7")
	_, err := run.Result(ctx)
	fmt.Println(err != nil)

	advice, _ := app.RetryAdvice(ctx, run.ID())
	if advice.Refused != "" {
		fmt.Println(advice.Refused, advice.Instead())
	}
	fmt.Println(advice.Does())

	mended = true
	again, err := app.Retry(ctx, run.ID())
	if err != nil {
		panic(err)
	}
	out, err := again.Result(ctx)
	fmt.Println(string(out), err)
	// Output:
	// charge o-7
	// true
	// a new run continues from the step that failed, "ship"
	// "o-7 shipped" <nil>
}

// Who asked for the run that failed is given what took its place.
func ExampleApp_Newest() {
	mended := false
	order := flaky(&mended)
	app, stop := exampleApp(order)
	defer stop()
	ctx := context.Background()
	run, _ := order.Start(ctx, app, "o-9")
	_, _ = run.Result(ctx)

	mended = true
	again, err := app.Retry(ctx, run.ID())
	if err != nil {
		panic(err)
	}
	fmt.Println(run.Result(ctx))
	_, err = run.Exactly().Result(ctx)
	fmt.Println(err != nil)
	newest, err := app.Newest(ctx, run.ID())
	fmt.Println(newest.ID == again.ID(), err)
	// Output:
	// charge o-9
	// o-9 shipped <nil>
	// true
	// true <nil>
}

// A new run with the input of another, from nothing.
func ExampleApp_Restart() {
	mended := false
	order := flaky(&mended)
	app, stop := exampleApp(order)
	defer stop()
	ctx := context.Background()
	run, _ := order.Start(ctx, app, "o-8")
	_, _ = run.Result(ctx)

	mended = true
	fmt.Println("refused:", app.CheckRestart(ctx, run.ID(), stepwell.RestartOptions{})) // as Restart would
	again, err := app.Restart(ctx, run.ID(), stepwell.RestartOptions{})
	if err != nil {
		panic(err)
	}
	out, err := again.Result(ctx)
	fmt.Println(string(out), err)
	// Output:
	// charge o-8
	// refused: <nil>
	// charge o-8
	// "o-8 shipped" <nil>
}

// A new run that has come as far as another, and from there has another past: a result in the place of a failure.
func ExampleApp_Fork() {
	mended := false
	order := flaky(&mended)
	app, stop := exampleApp(order)
	defer stop()
	ctx := context.Background()
	run, _ := order.Start(ctx, app, "o-9")
	_, _ = run.Result(ctx)

	var failed int64
	for e, err := range app.Events(ctx, run.ID(), stepwell.EventFilter{Types: []world.EventType{world.StepFailed}}) {
		if err != nil {
			panic(err)
		}
		failed = e.Seq
	}
	fork, err := app.Fork(ctx, run.ID(), stepwell.ForkOptions{
		At: failed, Results: map[string]json.RawMessage{"ship": json.RawMessage(`"o-9 went by bicycle"`)},
	})
	if err != nil {
		panic(err)
	}
	out, err := fork.Result(ctx)
	fmt.Println(string(out), err)
	// Output:
	// charge o-9
	// "o-9 went by bicycle" <nil>
}

// The same to many runs: what is refused stops nothing.
func ExampleApp_Bulk() {
	cats := nap("cats")
	app, stop := exampleApp(cats)
	defer stop()
	ctx := context.Background()
	for _, name := range []string{"tom", "garfield", "felix"} {
		run, _ := cats.Start(ctx, app, name, stepwell.RunID(name))
		waitsFor(app, run.ID(), stepwell.WhySleep)
	}
	filter := stepwell.ListFilter{Workflow: "cats", Status: []world.Status{world.Running}}
	fmt.Println(app.Count(ctx, filter))
	for done, err := range app.Bulk(ctx, filter, func(ctx context.Context, run stepwell.RunInfo) error {
		return app.Cancel(ctx, run.ID, "fire alarm")
	}, stepwell.Parallel(2)) {
		if err != nil { // of the list itself
			panic(err)
		}
		fmt.Println(done.Run.ID, done.Err)
	}
	// Output:
	// 3 <nil>
	// felix <nil>
	// garfield <nil>
	// tom <nil>
}

// All that there is to tell of a run: its steps and waits, how they went, and why it does not move.
func ExampleApp_Story() {
	cow := stepwell.Define("cow", func(ctx stepwell.Context, _ int) (int, error) {
		if err := stepwell.Do(ctx, "graze", func(context.Context) error { return nil }); err != nil {
			return 0, err
		}
		return 0, stepwell.Sleep(ctx, "ruminate", 8*time.Hour)
	})
	app, stop := exampleApp(cow)
	defer stop()
	ctx := context.Background()
	run, _ := cow.Start(ctx, app, 0)
	waitsFor(app, run.ID(), stepwell.WhySleep)
	story, err := app.Story(ctx, run.ID(), false)
	if err != nil {
		panic(err)
	}
	for _, e := range story.Journal.Entries {
		fmt.Println(e.Name, e.Kind, e.Status)
	}
	fmt.Println(story.Why.Kind)
	// Output:
	// graze closure completed
	// ruminate sleep waiting
	// sleep
}

// What works beside an App tells the same Observer, as a server does.
func ExampleApp_Observer() {
	app, _ := stepwell.New(memory.New(), stepwell.Config{Observer: &observe.Observer{Swept: func(runs int) { fmt.Println(runs, "swept") }}})
	app.Observer().Swept(3)
	// Output: 3 swept
}
