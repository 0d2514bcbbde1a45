package stepwell_test

// Examples of defining workflows, of starting them, and of what comes back.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/memory"
)

// A workflow is a function with a name; its types are those of what is started and of what comes back.
func ExampleDefine() {
	type Order struct {
		ID    string `json:"id"`
		Cents int    `json:"cents"`
	}
	order := stepwell.Define("order", func(ctx stepwell.Context, o Order) (string, error) {
		return stepwell.Step(ctx, "charge", func(context.Context) (string, error) {
			return fmt.Sprintf("%d for %s", o.Cents, o.ID), nil
		})
	})
	app, stop := exampleApp(order)
	defer stop()
	run, _ := order.Start(context.Background(), app, Order{ID: "o-7", Cents: 990})
	fmt.Println(run.Result(context.Background()))
	// Output: 990 for o-7 <nil>
}

// Two versions of one workflow: a run keeps the one that it was started with.
func ExampleVersion() {
	v1 := stepwell.Define("greet", func(stepwell.Context, string) (string, error) { return "hello", nil })
	v2 := stepwell.Define("greet", func(stepwell.Context, string) (string, error) { return "good day", nil }, stepwell.Version(2))
	app, stop := exampleApp(v1, v2)
	defer stop()
	ctx := context.Background()
	for _, version := range []int{1, 0} { // 0, or none: the highest
		run, err := app.Start(ctx, "greet", []byte(`"ann"`), stepwell.Version(version))
		if err != nil {
			panic(err)
		}
		out, err := run.Result(ctx)
		fmt.Println(string(out), err)
	}
	// Output:
	// "hello" <nil>
	// "good day" <nil>
}

// How long a run is kept after its end.
func ExampleRetention() {
	ping := stepwell.Define("ping", func(stepwell.Context, int) (string, error) { return "pong", nil }, stepwell.Retention(time.Hour))
	app, stop := exampleApp(ping)
	defer stop()
	ctx := context.Background()
	run, _ := ping.Start(ctx, app, 0)
	_, _ = run.Result(ctx)
	info, err := app.Get(ctx, run.ID())
	fmt.Println(info.Status, run.Retention(), info.Retention, err)
	// Output: completed 1h0m0s 1h <nil>
}

// What is wrong with definitions is said at once, all of it, before anything runs.
func ExampleNew() {
	bad := stepwell.Define("two words", func(stepwell.Context, int) (int, error) { return 0, nil })
	_, err := stepwell.New(memory.New(), stepwell.Config{Definitions: []stepwell.Definition{bad}, MaxRuns: -1})
	fmt.Println(errors.Is(err, stepwell.ErrInvalid))

	app, err := stepwell.New(memory.New(), stepwell.Config{}) // without definitions it is a client
	fmt.Println(app != nil, err)
	// Output:
	// true
	// true <nil>
}

// A worker runs until its context ends; then it lets bodies of steps end, and returns.
func ExampleApp_Run() {
	hello := stepwell.Define("hello", func(stepwell.Context, int) (string, error) { return "hello", nil })
	app, _ := stepwell.New(memory.New(), stepwell.Config{Definitions: []stepwell.Definition{hello}})
	ctx, stop := context.WithCancel(context.Background()) // in a program: signal.NotifyContext
	ended := make(chan error, 1)
	go func() { ended <- app.Run(ctx) }()
	run, _ := hello.Start(ctx, app, 0)
	fmt.Println(run.Result(ctx))
	stop()
	fmt.Println(<-ended)
	// Output:
	// hello <nil>
	// <nil>
}

// A world by its URL: a program that is told where its runs are. It knows the kinds whose packages it imports.
func ExampleOpen() {
	w, err := stepwell.Open(context.Background(), "memory:") // or sqlite:app.db, or postgres://app@db/app
	if err != nil {
		panic(err)
	}
	defer func() { _ = w.Close() }()
	_, err = stepwell.New(w, stepwell.Config{})
	fmt.Println(err)
	// Output: <nil>
}

// A run with an ID that the caller chose. The same ID again is refused.
func ExampleWorkflow_Start() {
	invoice := stepwell.Define("invoice", func(_ stepwell.Context, n int) (int, error) { return n, nil })
	app, stop := exampleApp(invoice)
	defer stop()
	ctx := context.Background()
	for range 2 {
		run, err := invoice.Start(ctx, app, 17, stepwell.RunID("invoice-17"), stepwell.Priority(4))
		if errors.Is(err, stepwell.ErrRunExists) {
			fmt.Println("it exists")
			continue
		}
		fmt.Println(run.ID(), err)
	}
	// Output:
	// invoice-17 <nil>
	// it exists
}

// A start that may be repeated: with the same key it gives the run that is there.
func ExampleKey() {
	order := stepwell.Define("order", func(_ stepwell.Context, id string) (string, error) { return "shipped " + id, nil })
	app, stop := exampleApp(order)
	defer stop()
	ctx := context.Background()
	first, _ := order.Start(ctx, app, "o-7", stepwell.Key("order-o-7"))
	again, _ := order.Start(ctx, app, "o-7", stepwell.Key("order-o-7"))
	fmt.Println(first.Existed(), again.Existed(), again.Merged(), first.ID() == again.ID())
	// Output: false true false true
}

// A handle of a run that was started elsewhere, or before.
func ExampleWorkflow_Get() {
	add := stepwell.Define("add", func(_ stepwell.Context, ns []int) (int, error) { return ns[0] + ns[1], nil })
	app, stop := exampleApp(add)
	defer stop()
	ctx := context.Background()
	_, _ = add.Start(ctx, app, []int{2, 3}, stepwell.RunID("sum"))
	fmt.Println(add.Get(app, "sum").Result(ctx))
	// Output: 5 <nil>
}

// Why a run did not complete.
func ExampleRun_Result() {
	pay := stepwell.Define("pay", func(ctx stepwell.Context, _ int) (string, error) {
		return "", errors.New("no such account")
	})
	app, stop := exampleApp(pay)
	defer stop()
	ctx := context.Background()
	run, _ := pay.Start(ctx, app, 0)
	_, err := run.Result(ctx)
	if failed, ok := errors.AsType[*stepwell.RunError](err); ok {
		fmt.Println(failed.Workflow, failed.Cancelled, errors.Unwrap(failed))
	}
	// Output: pay false no such account
}

// A start by name, from JSON: for programs that do not have the workflow's code.
func ExampleApp_Start() {
	greet := stepwell.Define("greet", func(_ stepwell.Context, name string) (string, error) { return "hello " + name, nil })
	w := memory.New()
	worker, _ := stepwell.New(w, stepwell.Config{Definitions: []stepwell.Definition{greet}})
	defer background(worker)()
	client, _ := stepwell.New(w, stepwell.Config{})
	ctx := context.Background()
	run, err := client.Start(ctx, "greet", json.RawMessage(`"ann"`))
	if err != nil {
		panic(err)
	}
	out, err := run.Result(ctx)
	fmt.Println(string(out), err)
	// Output: "hello ann" <nil>
}

// A run as it is listed.
func ExampleApp_Get() {
	greet := stepwell.Define("greet", func(_ stepwell.Context, name string) (string, error) { return "hello " + name, nil })
	app, stop := exampleApp(greet)
	defer stop()
	ctx := context.Background()
	run, _ := greet.Start(ctx, app, "ann", stepwell.Key("ann"))
	_, _ = run.Result(ctx)
	info, err := app.Get(ctx, run.ID())
	fmt.Println(info.Workflow, info.Version, info.Status, info.Key, string(info.Output), err)
	_, err = app.Get(ctx, "another")
	fmt.Println(errors.Is(err, stepwell.ErrNotFound))
	// Output:
	// greet 1 completed ann "hello ann" <nil>
	// true
}

// The name of a workflow, for whoever lists its runs; and why each of them does not move, as far as a list can tell.
func ExampleRunInfo_Why() {
	paid := stepwell.Event[int]("paid")
	bill := stepwell.Define("bill", func(ctx stepwell.Context, _ int) (int, error) {
		cents, _, err := paid.Wait(ctx)
		return cents, err
	})
	app, stop := exampleApp(bill)
	defer stop()
	ctx := context.Background()
	run, _ := bill.Start(ctx, app, 0)
	waitsFor(app, run.ID(), stepwell.WhyEvent)
	stats, err := app.World().Stats(ctx)
	if err != nil {
		panic(err)
	}
	for run, err := range app.List(ctx, stepwell.ListFilter{Workflow: bill.Name()}) {
		fmt.Printf("%s; worker %q, error %v\n", run.Why(stats.Workers, stats.Now), run.Owner(), err)
	}
	// Output: waiting for event "paid"; worker "", error <nil>
}

// How many runs there are, by what is in their input.
func ExampleWhere() {
	order := stepwell.Define("order", func(_ stepwell.Context, o map[string]any) (int, error) { return 0, nil })
	app, stop := exampleApp(order)
	defer stop()
	ctx := context.Background()
	for _, city := range []string{"Ulm", "Oslo", "Ulm"} {
		run, _ := order.Start(ctx, app, map[string]any{"to": map[string]string{"city": city}})
		_, _ = run.Result(ctx)
	}
	n, err := app.Count(ctx, stepwell.ListFilter{
		Status: []world.Status{world.Completed}, Input: stepwell.Match{"to": stepwell.Match{"city": "Ulm"}},
	})
	fmt.Println(n, err)
	// Output: 2 <nil>
}

// A child run, and its result: a run of its own, with its own log and retries.
func ExampleChildCall_Run() {
	ship := stepwell.Define("ship", func(_ stepwell.Context, box string) (string, error) { return "parcel of " + box, nil })
	order := stepwell.Define("order", func(ctx stepwell.Context, box string) (string, error) {
		return ship.Child(stepwell.RunID("ship-"+box)).Run(ctx, box)
	})
	app, stop := exampleApp(order, ship)
	defer stop()
	ctx := context.Background()
	run, _ := order.Start(ctx, app, "tea")
	fmt.Println(run.Result(ctx))
	child, err := app.Get(ctx, "ship-tea")
	fmt.Println(child.Workflow, child.Status, err)
	// Output:
	// parcel of tea <nil>
	// ship completed <nil>
}

// A child that lives on when its parent has ended. Others are cancelled then.
func ExampleDetached() {
	audit := stepwell.Define("audit", func(ctx stepwell.Context, _ int) (string, error) {
		return "audited", stepwell.Sleep(ctx, "later", 5*time.Millisecond)
	})
	order := stepwell.Define("order", func(ctx stepwell.Context, _ int) (string, error) {
		child := audit.Child(stepwell.Detached()).Start(ctx, 0)
		return child.ID(), stepwell.Sleep(ctx, "a-moment", time.Millisecond) // it does not wait for it
	})
	app, stop := exampleApp(order, audit)
	defer stop()
	ctx := context.Background()
	run, _ := order.Start(ctx, app, 0)
	id, err := run.Result(ctx)
	if err != nil {
		panic(err)
	}
	fmt.Println(audit.Get(app, id).Result(ctx))
	// Output: audited <nil>
}

// A start with an ID of the caller's, for later, before others, with what it is found by.
func ExampleRunID() {
	app, stop := exampleApp()
	defer stop()
	ctx := context.Background()
	_, err := app.Start(ctx, "report", []byte(`{"year":2026}`), stepwell.RunID("report-2026"), stepwell.Delay(time.Hour), stepwell.Priority(4),
		stepwell.Tags(map[string]string{"by": "ann"}), stepwell.Attributes(map[string]any{"city": "Ulm"}))
	if err != nil {
		panic(err)
	}
	run, err := app.Get(ctx, "report-2026")
	fmt.Println(run.Status, run.Priority, string(run.Attributes["city"]), err)
	_, err = app.Start(ctx, "report", []byte(`{}`), stepwell.RunID("report-2026"))
	fmt.Println(errors.Is(err, stepwell.ErrRunExists))
	// Output:
	// pending 4 "Ulm" <nil>
	// true
}

// A whole program: it works on a file, or on what STEPWELL_DB names, until it is interrupted. With a function, as here, it
// works until that returns.
func ExampleMain() {
	double := stepwell.Define("double", func(_ stepwell.Context, n int) (int, error) { return 2 * n, nil })
	stepwell.Main(stepwell.Config{Database: "memory:", Definitions: []stepwell.Definition{double}}, func(ctx context.Context, app *stepwell.App) error {
		run, err := double.Start(ctx, app, 21)
		if err != nil {
			return err
		}
		n, err := run.Result(ctx)
		fmt.Println(n, err)
		return err
	})
	// Output: 42 <nil>
}

// A program that has opened its database works until its own function returns, as one that serves something.
func ExampleApp_RunUntil() {
	double := stepwell.Define("double", func(_ stepwell.Context, n int) (int, error) { return 2 * n, nil })
	w := memory.New()
	defer w.Close()
	app, err := stepwell.New(w, stepwell.Config{Definitions: []stepwell.Definition{double}})
	if err != nil {
		panic(err)
	}
	err = app.RunUntil(context.Background(), func(ctx context.Context) error {
		run, err := double.Start(ctx, app, 4)
		if err != nil {
			return err
		}
		fmt.Println(run.Result(ctx))
		return nil
	})
	fmt.Println(err)
	// Output:
	// 8 <nil>
	// <nil>
}
