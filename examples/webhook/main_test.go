package main

import (
	"context"
	"fmt"
	"testing"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/forktest"
	"github.com/stepwell/stepwell/stepwelltest"
	"github.com/stepwell/stepwell/webhook"
	"github.com/stepwell/stepwell/world"
)

func Example() {
	main()
	// Output:
	// forger:   401 Unauthorized
	// provider: 422 Unprocessable Entity: 200 cents are missing
	// provider: 422 Unprocessable Entity: 200 cents are missing (again)
	// provider: 200 OK: thank you
	// order 7 is paid by Ada <nil>
}

// pay sends what the provider would, behind the server's check of its signature, to the webhook of a run.
func pay(ctx context.Context, app *stepwell.App, run, id, body string) (door *webhook.Door, reply string, err error) {
	hooks, err := app.Hooks(ctx, run, "")
	if err != nil || len(hooks) != 1 {
		return nil, "", fmt.Errorf("hooks %v, %w, want one", hooks, err)
	}
	if door, err = webhook.Find(ctx, app, hooks[0].Token); err != nil {
		return nil, "", err
	}
	reply, err = door.Send(ctx, webhook.Request{Method: "POST", Body: []byte(body), Delivery: id})
	return door, reply, err
}

func TestAPaymentIsAnsweredThoughTheWorkerIsKilled(t *testing.T) {
	env := stepwelltest.New(t, Sell)
	run := stepwelltest.Start(env, Sell, Order{ID: "1", Cents: 100})
	for _, payment := range []struct{ id, body, want string }{
		{"evt_1", `{"cents": 70}`, "30 cents are missing"},
		{"evt_2", `?`, "what is this?"},
		{"evt_1", `{"cents": 70}`, "30 cents are missing"},
		{"evt_3", `{"cents": 100, "by": "Bob"}`, "thank you"},
	} {
		env.Do(func(ctx context.Context, app *stepwell.App) error {
			door, reply, err := pay(ctx, app, run.ID(), payment.id, payment.body)
			if err != nil {
				return err
			}
			answer, err := door.Answer(ctx, reply)
			if err == nil && string(answer.Body) != payment.want {
				t.Errorf("%s: got %q, want %q", payment.id, answer.Body, payment.want)
			}
			return err
		})
	}
	if got, want := run.MustComplete(), "order 1 is paid by Bob"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	run.WantSteps("checkout")
	env.CrashEverywhere()
}

func TestAForkHasAURLOfItsOwn(t *testing.T) {
	forktest.EveryEvent(t, forktest.Case{
		Config: stepwell.Config{Definitions: []stepwell.Definition{Sell}},
		Start:  forktest.Start(Sell, Order{ID: "1", Cents: 100}),
		Bodies: map[string]func(context.Context) (any, error){"checkout": func(context.Context) (any, error) { return struct{}{}, nil }},
		Live: func(l *forktest.Life, run string) error {
			if len(l.Events(run, world.HookReceived)) > 0 {
				return nil // before the cut
			}
			_, _, err := pay(l.Context, l.App, run, "evt_1", `{"cents": 100, "by": "Bob"}`)
			return err
		},
	})
}
