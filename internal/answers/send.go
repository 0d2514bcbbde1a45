package answers

// Answers about what workflow code sends to other runs.

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
)

var sharedToSend = map[string]func(*answers){
	"a workflow sends to another run, once":  answerSendTo,
	"what is sent last is sent all the same": answerSendLast,
	"a start that also sends":                answerAlsoSend,
	"a child with delay, key and attributes": answerChildOptions,
	"an event that nobody wants is dropped":  answerDrop,
	"a step alone, and what is declared":     answerAlone,
}

// answerSendTo: what is sent arrives once; an unknown run, one that is over, and the run itself are errors that the code sees, the same on replay.
func answerSendTo(r *answers) {
	ping := stepwell.Event[string]("ping")
	hears := stepwell.Define("send-hears", func(ctx stepwell.Context, n int) (string, error) {
		var got []string
		for range n {
			s, _, err := ping.Wait(ctx)
			if err != nil {
				return "", err
			}
			got = append(got, s)
		}
		return strings.Join(got, " "), nil
	})
	tells := stepwell.Define("send-tells", func(ctx stepwell.Context, runs []string) (string, error) {
		var said []string
		for i, run := range append(runs, "wrun_nobody", ctx.RunID(), "not an ID\x00") {
			err := ping.SendTo(ctx, run, fmt.Sprint("hello ", i))
			switch {
			case errors.Is(err, stepwell.ErrNotFound):
				said = append(said, "unknown")
			case errors.Is(err, stepwell.ErrTerminal):
				said = append(said, "over")
			case errors.Is(err, stepwell.ErrInvalid):
				said = append(said, "invalid")
			case err != nil:
				return "", err
			default:
				said = append(said, "sent")
			}
		}
		return strings.Join(said, " "), stepwell.Sleep(ctx, "rest", time.Millisecond) // so that it is replayed, where it is
	})
	app := r.begin(hears, tells)
	one, gone := begun(r, app.App, hears, 2), begun(r, app.App, hears, 0)
	gives(r, gone, "")
	run := begun(r, app.App, tells, []string{one.ID(), gone.ID(), one.ID()})
	gives(r, run, "sent over sent unknown invalid invalid")
	gives(r, one, "hello 0 hello 2")
	if n := len(r.events(one.ID(), world.SignalReceived)); n != 2 {
		r.Errorf("%d signals arrived, want 2", n)
	}
	r.replays(run.ID(), hears, tells)
}

// answerSendLast: a send that nobody waits for is in the log before the run ends.
func answerSendLast(r *answers) {
	ping := stepwell.Event[string]("ping-last")
	hears := stepwell.Define("send-hears-last", func(ctx stepwell.Context, _ int) (string, error) {
		s, _, err := ping.Wait(ctx)
		return s, err
	})
	tells := stepwell.Define("send-tells-last", func(ctx stepwell.Context, to string) (int, error) {
		for _, run := range []string{to, "wrun_nobody"} {
			stepwell.Go(ctx, func(ctx stepwell.Context) (int, error) { return 0, ping.SendTo(ctx, run, "bye") })
		}
		_, err := stepwell.Await(ctx, func() bool { return true })
		return 1, err
	})
	quick := stepwell.Define("send-quick", func(ctx stepwell.Context, to string) (int, error) {
		f := stepwell.Go(ctx, func(ctx stepwell.Context) (int, error) { return 0, ping.SendTo(ctx, to, "bye") })
		none := stepwell.Timer(ctx, "none", 0)
		_, err := stepwell.Select(ctx, f, none)
		return 2, err
	})
	app := r.begin(hears, tells, quick)
	one, two := begun(r, app.App, hears, 0), begun(r, app.App, hears, 0)
	gives(r, begun(r, app.App, quick, two.ID()), 2)
	gives(r, two, "bye")
	run := begun(r, app.App, tells, one.ID())
	gives(r, run, 1)
	r.replays(run.ID(), hears, tells)
	r.must(ping.Send(r.ctx, app.App, one.ID(), "in the end")) // coroutines that never ran asked for nothing
	if _, err := one.Result(r.ctx); err != nil {
		r.Error(err)
	}
}

// answerAlsoSend: the first start makes the run, and each is heard, once.
func answerAlsoSend(r *answers) {
	added := stepwell.Event[string]("added")
	cart := stepwell.Define("send-cart", func(ctx stepwell.Context, n int) (string, error) {
		var got []string
		for range n {
			s, ok, err := added.Wait(ctx, stepwell.Timeout(time.Hour))
			if err != nil || !ok {
				return "", err
			}
			got = append(got, s)
		}
		return strings.Join(got, " "), nil
	})
	app := r.begin(cart)
	key := stepwell.Key("ann")
	one := func(with ...stepwell.StartOption) (*stepwell.Run[string], error) {
		return cart.Start(r.ctx, app.App, 4, append(with, key)...)
	}
	run, err := one(added.AlsoSend("tea"), added.AlsoSend("cup", stepwell.DeliveryID("2")))
	r.must(err)
	for range 2 { // the second is the same
		again, err := one(added.AlsoSend("cup", stepwell.DeliveryID("2")), added.AlsoSend("pot", stepwell.DeliveryID("3")))
		if err != nil || again.ID() != run.ID() || !again.Existed() {
			r.Fatalf("got %v, %v, want run %s", again, err, run.ID())
		}
	}
	if _, err := app.Start(r.ctx, cart.Name(), []byte(`4`), key, stepwell.AlsoSignal(added.Name(), []byte(`"jug"`))); err != nil {
		r.Fatal(err)
	}
	gives(r, run, "tea cup pot jug")
	if _, err := one(added.AlsoSend("late")); !errors.Is(err, stepwell.ErrTerminal) {
		r.Errorf("a start that sends to a run that is over: %v, want ErrTerminal", err)
	}
	for name, bad := range map[string]stepwell.StartOption{
		"a name":    stepwell.AlsoSignal("", []byte(`1`)),
		"a payload": stepwell.AlsoSignal("x", []byte(`{`)),
		"an option": stepwell.AlsoSignal("x", []byte(`1`), nil),
	} {
		if _, err := cart.Start(r.ctx, app.App, 1, bad, stepwell.RunID("send-bad")); !errors.Is(err, stepwell.ErrInvalid) {
			r.Errorf("%s: %v, want ErrInvalid", name, err)
		}
	}
	twice := []stepwell.StartOption{added.AlsoSend("a", stepwell.DeliveryID("d")), added.AlsoSend("b", stepwell.DeliveryID("d")), stepwell.RunID("send-bad")}
	if _, err := cart.Start(r.ctx, app.App, 1, twice...); !errors.Is(err, stepwell.ErrInvalid) {
		r.Errorf("two under one delivery ID: %v, want ErrInvalid", err)
	}
	many := slices.Repeat([]stepwell.StartOption{added.AlsoSend("a")}, 10_001)
	for _, with := range []stepwell.StartOption{stepwell.RunID("send-bad"), key} {
		if _, err := cart.Start(r.ctx, app.App, 1, append(many, with)...); !errors.Is(err, stepwell.ErrTooLarge) {
			r.Errorf("10,001 events: %v, want ErrTooLarge", err)
		}
	}
	if _, err := app.Get(r.ctx, "send-bad"); !errors.Is(err, stepwell.ErrNotFound) {
		r.Errorf("what is bad was started: %v", err)
	}
	r.replays(run.ID(), cart)

	// A repeat finds what the run got that had the key, also when another one took its place and is over.
	fails := true
	frail := stepwell.Define("send-frail", func(ctx stepwell.Context, _ int) (string, error) {
		s, _, err := added.Wait(ctx)
		if err == nil && fails {
			err = errors.New("out of tea")
		}
		return s, err
	})
	app = r.begin(frail)
	repeat := func() (*stepwell.Run[string], error) {
		return frail.Start(r.ctx, app.App, 0, stepwell.Key("frail"), added.AlsoSend("tea", stepwell.DeliveryID("1")))
	}
	failed, err := repeat()
	r.must(err)
	if _, err := failed.Result(r.ctx); err == nil {
		r.Fatal("want a failure")
	}
	fails = false
	instead, err := app.Restart(r.ctx, failed.ID(), stepwell.RestartOptions{InPlace: true})
	r.must(err)
	r.must(app.Signal(r.ctx, instead.ID(), added.Name(), []byte(`"cup"`)))
	_, err = instead.Result(r.ctx)
	r.must(err)
	again, err := repeat()
	r.must(err)
	r.must(added.Send(r.ctx, app.App, failed.ID(), "tea", stepwell.DeliveryID("1")))
	if again.ID() != instead.ID() {
		r.Errorf("the start again: got run %s, want %s", again.ID(), instead.ID())
	}

	client := r.client() // the run is created plain, and its delay holds
	later, err := client.Start(r.ctx, cart.Name(), []byte(`1`), stepwell.Delay(50*time.Millisecond), stepwell.AlsoSignal(added.Name(), []byte(`"tea"`)))
	r.must(err)
	out, err := later.Result(r.ctx)
	if err != nil || string(out) != `"tea"` {
		r.Errorf("result %s, %v", out, err)
	}
	events := r.events(later.ID(), world.RunCreated, world.SignalReceived, world.RunStarted)
	if len(events) != 3 || events[1].Type != world.SignalReceived || events[2].Time.Sub(events[0].Time) < 50*time.Millisecond {
		r.Errorf("log: %+v", events)
	}
}

// answerChildOptions: a child is created with what its starter says; a key that is taken is an error that the code sees, and adopts nobody.
func answerChildOptions(r *answers) {
	kid := stepwell.Define("send-kid", func(ctx stepwell.Context, n int) (int, error) { return n, nil })
	wf := stepwell.Define("send-parent", func(ctx stepwell.Context, key string) (string, error) {
		one := kid.Child(stepwell.Key(key), stepwell.Delay(50*time.Millisecond), stepwell.Attributes(map[string]any{"city": "Ulm"})).Start(ctx, 1)
		if n, err := one.Get(ctx); err != nil || n != 1 {
			return "", fmt.Errorf("%d, %w", n, err)
		}
		if _, err := kid.Child(stepwell.Delay(-1)).Run(ctx, 2); !errors.Is(err, stepwell.ErrInvalid) {
			return "", fmt.Errorf("a negative delay: %w", err)
		}
		part, cancel := stepwell.WithCancel(ctx)
		kid.Child(stepwell.Key(key)).Start(part, 3)
		cancel()
		if _, err := kid.Child(stepwell.Key(key)).Run(ctx, 2); !errors.Is(err, stepwell.ErrRunExists) {
			return "", fmt.Errorf("a key that is taken: %w", err)
		}
		return one.ID(), nil
	})
	app := r.begin(kid, wf)
	run := begun(r, app.App, wf, "kid-7")
	id, err := run.Result(r.ctx)
	r.must(err)
	info := r.get(id)
	created := r.events(id, world.RunCreated)[0]
	if info.Key != "kid-7" || string(info.Attributes["city"]) != `"Ulm"` || created.Birth.NotBefore.Sub(created.Time) != 50*time.Millisecond {
		r.Errorf("the child is %+v", info)
	}
	if log := r.events(id, world.RunStarted); log[0].Time.Before(created.Birth.NotBefore) {
		r.Errorf("it began at %s, before %s", log[0].Time, created.Birth.NotBefore)
	}
	r.replays(run.ID(), kid, wf)
}

// answerDrop: what is there is gone, whatever it is; what comes later is kept.
func answerDrop(r *answers) {
	tick, goOn := stepwell.Event[int]("tick"), stepwell.Event[int]("drop-go-on")
	wf := stepwell.Define("send-drop", func(ctx stepwell.Context, first bool) (int, error) {
		dropped := -1
		if first {
			if _, _, err := goOn.Wait(ctx); err != nil {
				return 0, err
			}
			n, err := tick.Drop(ctx)
			if err != nil {
				return 0, err
			}
			if dropped = n; dropped == 3 {
				return 0, stepwell.ContinueAsNew(ctx, false)
			}
		}
		n, _, err := tick.Wait(ctx)
		return 100*dropped + n, err
	})
	app := r.begin(wf)
	run := begun(r, app.App, wf, true)
	for _, payload := range []string{"1", `"no number"`, "null"} {
		r.must(app.Signal(r.ctx, run.ID(), tick.Name(), []byte(payload)))
	}
	r.must(goOn.Send(r.ctx, app.App, run.ID(), 1))
	r.has(run.ID(), 1, world.RunContinued)
	r.must(tick.Send(r.ctx, app.App, run.ID(), 7))
	gives(r, run, -93)
	r.replays(run.ID(), wf)
}

// answerAlone: a step has runs of its own, with its retries, and its failure is the run's; what is only declared is started by name, and is no definition.
func answerAlone(r *answers) {
	step := stepwell.DefineStep("send-alone", func(ctx context.Context, n int) (int, error) {
		if n < 0 {
			return 0, stepwell.Fatal(errLuck)
		}
		return n + stepwell.Info(ctx).Attempt, nil
	}, stepwell.Retry{Attempts: 2, Base: time.Millisecond})
	app := r.begin(step.Alone(stepwell.Version(3)), step)
	run, err := step.Alone(stepwell.Version(3)).Start(r.ctx, app.App, 1, stepwell.Key("send-alone"))
	r.must(err)
	gives(r, run, 2)
	r.replays(run.ID(), step.Alone(stepwell.Version(3)))
	declared := stepwell.Declare[int, int](step.Name())
	again, err := declared.Start(r.ctx, r.client(), -1)
	r.must(err)
	if _, err := again.Result(r.ctx); err == nil || !strings.Contains(err.Error(), "no luck") {
		r.Errorf("a step that fails: %v", err)
	}
	if v := r.get(again.ID()).Version; v != 3 {
		r.Errorf("it has version %d, want that of the worker, 3", v)
	}
	if _, err := stepwell.New(r.world, stepwell.Config{Definitions: []stepwell.Definition{declared}}); !errors.Is(err, stepwell.ErrInvalid) {
		r.Errorf("New with what is declared: %v, want ErrInvalid", err)
	}
}
