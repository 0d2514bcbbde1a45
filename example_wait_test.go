package stepwell_test

// Examples of what runs wait for, and of looking at them while they do.

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/memory"
)

// waitsFor waits until a run waits for something of a kind, or is over.
func waitsFor(app *stepwell.App, run string, kind stepwell.WhyKind) stepwell.Why {
	for end := time.Now().Add(10 * time.Second); ; {
		why, err := app.Why(context.Background(), run)
		if err != nil || why.Kind == kind || why.Kind == stepwell.WhyOver || time.Now().After(end) {
			return why
		}
		<-time.After(time.Millisecond)
	}
}

// A person approves an order: the code chooses the token, so that whoever knows the order can send to its hook.
func ExampleNewHook() {
	type Approval struct {
		By string `json:"by"`
		OK bool   `json:"ok"`
	}
	order := stepwell.Define("order", func(ctx stepwell.Context, id string) (string, error) {
		hook, err := stepwell.NewHook[Approval](ctx, stepwell.Token("approve-"+id), stepwell.Metadata(map[string]int{"cents": 990}))
		if err != nil {
			return "", err // another run holds the token, or this one was cancelled
		}
		a, _, err := hook.Wait(ctx) // for as long as it takes
		if err != nil {
			return "", err
		}
		if !a.OK {
			return id + " refused by " + a.By, nil
		}
		return id + " approved by " + a.By, nil
	})
	app, _ := stepwell.New(memory.New(), stepwell.Config{Definitions: []stepwell.Definition{order}})
	defer background(app)()
	ctx := context.Background()
	run, _ := order.Start(ctx, app, "7")
	waitsFor(app, run.ID(), stepwell.WhyHook)

	hooks, _ := app.Hooks(ctx, "", "approve-7") // what is to be approved?
	fmt.Println(string(hooks[0].Metadata))
	fmt.Println(app.SendHook(ctx, "approve-7", json.RawMessage(`{"by":"ann","ok":true}`)))
	fmt.Println(run.Result(ctx))
	fmt.Println(errors.Is(app.SendHook(ctx, "approve-7", json.RawMessage(`{}`)), stepwell.ErrTerminal))
	ended, err := app.EndedHook(ctx, "approve-7") // it is over, and known for as long as its run is kept
	fmt.Println(ended.Run == run.ID(), err)
	// Output:
	// {"cents":990}
	// <nil>
	// 7 approved by ann <nil>
	// true
	// true <nil>
}

// A run starts other runs, each with its own log, and waits for all of them. It holds nothing meanwhile.
func ExampleWorkflow_Child() {
	area := stepwell.Define("area", func(ctx stepwell.Context, side int) (int, error) { return side * side, nil })
	total := stepwell.Define("total", func(ctx stepwell.Context, sides []int) (int, error) {
		var fs []*stepwell.Future[int]
		for _, side := range sides {
			fs = append(fs, area.Child().Start(ctx, side).Future)
		}
		areas, err := stepwell.All(ctx, fs...)
		sum := 0
		for _, a := range areas {
			sum += a
		}
		return sum, err
	})
	app, _ := stepwell.New(memory.New(), stepwell.Config{Definitions: []stepwell.Definition{area, total}})
	defer background(app)()
	run, _ := total.Start(context.Background(), app, []int{1, 2, 3})
	fmt.Println(run.Result(context.Background()))
	// Output: 14 <nil>
}

// A run waits for one that somebody else started, by its ID.
func ExampleAwaitRun() {
	report := stepwell.Define("report", func(ctx stepwell.Context, day string) (string, error) {
		return "report of " + day, stepwell.Sleep(ctx, "collect", 5*time.Millisecond)
	})
	mail := stepwell.Define("mail", func(ctx stepwell.Context, id string) (string, error) {
		text, err := stepwell.AwaitRun[string](ctx, id)
		if errors.Is(err, stepwell.ErrNotFound) {
			return "nothing to send", nil
		}
		return "sent: " + text, err
	})
	app, _ := stepwell.New(memory.New(), stepwell.Config{Definitions: []stepwell.Definition{report, mail}})
	defer background(app)()
	ctx := context.Background()
	_, _ = report.Start(ctx, app, "Monday", stepwell.RunID("report-monday"))
	for _, id := range []string{"report-monday", "report-sunday"} {
		run, _ := mail.Start(ctx, app, id)
		fmt.Println(run.Result(ctx))
	}
	// Output:
	// sent: report of Monday <nil>
	// nothing to send <nil>
}

// A question that is asked again until it is answered.
func ExampleRemind() {
	answer := stepwell.Event[string]("answer")
	remind := func(ctx context.Context, who string) error { // who answers at once
		return answer.Send(ctx, stepwell.AppFrom(ctx), stepwell.Info(ctx).Run, "yes, says "+who)
	}
	ask := stepwell.Define("ask-again", func(ctx stepwell.Context, who string) (string, error) {
		text, ok, err := answer.Wait(ctx, stepwell.Timeout(72*time.Hour), stepwell.Remind(5*time.Millisecond, func(ctx stepwell.Context) error { // or a day
			return stepwell.Exec(ctx, "remind", remind, who)
		}))
		if err != nil || ok {
			return text, err
		}
		return "nobody answered", nil
	})
	app, stop := exampleApp(ask)
	defer stop()
	run, _ := ask.Start(context.Background(), app, "ann")
	fmt.Println(run.Result(context.Background()))
	// Output: yes, says ann <nil>
}

// Select waits for the first of futures of different types; what lost is cancelled with its part of the run.
func ExampleSelect() {
	type Answer struct {
		Text string `json:"text"`
	}
	answer := stepwell.Event[Answer]("answer")
	ask := stepwell.Define("ask", func(ctx stepwell.Context, _ string) (string, error) {
		part, cancel := stepwell.WithCancel(ctx)
		defer cancel()
		got := answer.Start(part)
		reminder := stepwell.Timer(part, "reminder", time.Hour)
		first, err := stepwell.Select(ctx, got, reminder)
		if err != nil {
			return "", err
		}
		if first == 1 {
			return "reminded", nil
		}
		r, err := got.Get(ctx)
		return r.Payload.Text, err
	})
	app, _ := stepwell.New(memory.New(), stepwell.Config{Definitions: []stepwell.Definition{ask}})
	defer background(app)()
	ctx := context.Background()
	run, _ := ask.Start(ctx, app, "")
	_ = answer.Send(ctx, app, run.ID(), Answer{"yes"})
	fmt.Println(run.Result(ctx))
	// Output: yes <nil>
}

// New code for a workflow whose runs are under way: those that had got further keep their old way.
func ExamplePatched() {
	send := func(context.Context) error { return nil }
	nap := func(ctx stepwell.Context) error { return stepwell.Sleep(ctx, "nap", 50*time.Millisecond) }
	before := stepwell.Define("invite", func(ctx stepwell.Context, _ string) (string, error) {
		if err := stepwell.Do(ctx, "mail", send); err != nil {
			return "", err
		}
		return "mail", nap(ctx)
	})
	after := stepwell.Define("invite", func(ctx stepwell.Context, _ string) (string, error) {
		how := "mail"
		if stepwell.Patched(ctx, "invite-by-letter") {
			how = "letter"
		}
		if err := stepwell.Do(ctx, how, send); err != nil {
			return "", err
		}
		return how, nap(ctx)
	})
	ctx := context.Background()
	w := memory.New()
	app, _ := stepwell.New(w, stepwell.Config{Definitions: []stepwell.Definition{before}})
	stop := background(app)
	early, _ := before.Start(ctx, app, "")
	waitsFor(app, early.ID(), stepwell.WhySleep)
	stop() // deploy

	app, _ = stepwell.New(w, stepwell.Config{Definitions: []stepwell.Definition{after}})
	defer background(app)()
	late, _ := after.Start(ctx, app, "")
	for _, run := range []string{early.ID(), late.ID()} {
		fmt.Println(after.Get(app, run).Result(ctx))
	}
	// Output:
	// mail <nil>
	// letter <nil>
}

// Why a run does not move.
func ExampleApp_Why() {
	paid := stepwell.Event[struct{}]("paid")
	order := stepwell.Define("order", func(ctx stepwell.Context, _ string) (bool, error) {
		_, ok, err := paid.Wait(ctx)
		return ok, err
	})
	app, _ := stepwell.New(memory.New(), stepwell.Config{Definitions: []stepwell.Definition{order}})
	ctx := context.Background()
	run, _ := order.Start(ctx, app, "")
	why, _ := app.Why(ctx, run.ID())
	fmt.Println(why.Kind) // App.Run was not called

	defer background(app)()
	why = waitsFor(app, run.ID(), stepwell.WhyEvent)
	fmt.Println(why.Kind, why.Event)
	fmt.Println(why)
	// Output:
	// no_worker
	// event paid
	// waiting for event "paid"
}

// Runs, newest first.
func ExampleApp_List() {
	greet := stepwell.Define("greet", func(ctx stepwell.Context, name string) (string, error) { return "hello " + name, nil })
	app, _ := stepwell.New(memory.New(), stepwell.Config{Definitions: []stepwell.Definition{greet}})
	defer background(app)()
	ctx := context.Background()
	for _, name := range []string{"ann", "bob"} {
		run, _ := greet.Start(ctx, app, name)
		_, _ = run.Result(ctx)
	}
	for run, err := range app.List(ctx, stepwell.ListFilter{Workflow: "greet", Status: []world.Status{world.Completed}}) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(run.Workflow, run.Status, string(run.Output))
	}
	// Output:
	// greet completed "hello bob"
	// greet completed "hello ann"
}

// A list that is read in parts, as for a page of a program of one's own.
func ExampleApp_Page() {
	greet := stepwell.Define("greet", func(ctx stepwell.Context, name string) (string, error) { return "hello " + name, nil })
	app, _ := stepwell.New(memory.New(), stepwell.Config{Definitions: []stepwell.Definition{greet}})
	defer background(app)()
	ctx := context.Background()
	for _, name := range []string{"ann", "bob", "eve"} {
		_, _ = greet.Start(ctx, app, name)
	}
	for cursor := ""; ; {
		page, err := app.Page(ctx, stepwell.ListFilter{Workflow: "greet"}, cursor, 2)
		if err != nil {
			fmt.Println(err)
			return
		}
		for _, run := range page.Runs {
			fmt.Print(string(run.Input), " ")
		}
		fmt.Println(page.Cursor != "")
		if cursor = page.Cursor; cursor == "" {
			return
		}
	}
	// Output:
	// "eve" "bob" true
	// "ann" false
}

// The log of a run: all of it, in order.
func ExampleApp_Events() {
	greet := stepwell.Define("greet", func(ctx stepwell.Context, name string) (string, error) {
		return stepwell.Step(ctx, "compose", func(context.Context) (string, error) { return "hello " + name, nil })
	})
	app, _ := stepwell.New(memory.New(), stepwell.Config{Definitions: []stepwell.Definition{greet}})
	defer background(app)()
	ctx := context.Background()
	run, _ := greet.Start(ctx, app, "ann")
	_, _ = run.Result(ctx)
	for e, err := range app.Events(ctx, run.ID(), stepwell.EventFilter{}) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(e.Seq, e.Type, cmp.Or(e.Name, "-"), cmp.Or(string(e.Payload), "-"))
	}
	// Output:
	// 1 run_created - "ann"
	// 2 run_started - -
	// 3 step_created compose -
	// 4 step_started - -
	// 5 step_completed - "hello ann"
	// 6 run_completed - "hello ann"
}

// A run tells another.
func ExampleEventDef_SendTo() {
	paid := stepwell.Event[int]("paid")
	order := stepwell.Define("order", func(ctx stepwell.Context, _ int) (int, error) {
		cents, _, err := paid.Wait(ctx)
		return cents, err
	})
	cashier := stepwell.Define("cashier", func(ctx stepwell.Context, to string) (int, error) {
		return 1, paid.SendTo(ctx, to, 4200)
	})
	app, stop := exampleApp(order, cashier)
	defer stop()
	ctx := context.Background()
	run, _ := order.Start(ctx, app, 0)
	_, _ = cashier.Start(ctx, app, run.ID())
	fmt.Println(run.Result(ctx))
	// Output: 4200 <nil>
}

// The first who comes makes the cart, and each who comes is heard.
func ExampleEventDef_AlsoSend() {
	added := stepwell.Event[string]("added")
	cart := stepwell.Define("cart", func(ctx stepwell.Context, _ string) ([]string, error) {
		var items []string
		for len(items) < 2 {
			item, _, err := added.Wait(ctx)
			if err != nil {
				return nil, err
			}
			items = append(items, item)
		}
		return items, nil
	})
	app, stop := exampleApp(cart)
	defer stop()
	ctx := context.Background()
	run, _ := cart.Start(ctx, app, "ann", stepwell.Key("ann"), added.AlsoSend("tea"))
	_, _ = app.Start(ctx, "cart", json.RawMessage(`"ann"`), stepwell.Key("ann"), stepwell.AlsoSignal("added", json.RawMessage(`"cup"`))) // by name
	fmt.Println(run.Result(ctx))
	// Output: [tea cup] <nil>
}

// What came too early is not wanted.
func ExampleEventDef_Drop() {
	bid := stepwell.Event[int]("bid")
	auction := stepwell.Define("auction", func(ctx stepwell.Context, _ int) (int, error) {
		if err := stepwell.Sleep(ctx, "opens", 3*time.Millisecond); err != nil {
			return 0, err
		}
		return bid.Drop(ctx)
	})
	app, stop := exampleApp(auction)
	defer stop()
	ctx := context.Background()
	run, _ := auction.Start(ctx, app, 0, bid.AlsoSend(1), bid.AlsoSend(2))
	fmt.Println(run.Result(ctx))
	// Output: 2 <nil>
}
