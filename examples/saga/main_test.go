package main

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/forktest"
	"github.com/stepwell/stepwell/stepwelltest"
	"github.com/stepwell/stepwell/world"
)

func Example() {
	main()
	// Output:
	// order 1
	//   reserve lamp
	//   charge 4900
	//   ship to Oslo
	// parcel-1
	// order 2
	//   reserve lamp
	//   charge 4900
	//   refund 4900
	//   release lamp
	// run order-2 of order failed: step "ship": no truck goes there
	// lamps: 4, cash: 4900
}

// fakes stands for the three systems. Shipping takes a day, and fails in the end.
func fakes(t *testing.T) *stepwelltest.Env {
	env := stepwelltest.New(t, Order)
	stepwelltest.Return(env, "charge", "4900")
	env.Fail("ship", stepwell.RetryAfter(errors.New("the truck is full"), 12*time.Hour))
	return env
}

var lamp = Purchase{Number: "1", Article: "lamp", Cents: 4900, To: "Oslo"}

func TestWhatFailsIsUndoneInReverse(t *testing.T) {
	env := fakes(t)
	run := stepwelltest.Start(env, Order, lamp)
	run.MustFail()
	run.WantSteps("reserve", "charge", "ship", "refund", "release")
	env.CrashEverywhere()
}

func TestAnUndoIsTriedUntilItHolds(t *testing.T) {
	env := fakes(t)
	stepwelltest.Fake(env, "refund", func(ctx context.Context) (none struct{}, err error) {
		if stepwell.Info(ctx).Attempt < 20 {
			err = errors.New("the bank is closed")
		}
		return none, err
	})
	run := stepwelltest.Start(env, Order, lamp)
	run.MustFail()
	for _, step := range run.Journal().Entries {
		if step.Name == "refund" && step.Attempt != 20 {
			t.Errorf("got %d attempts, want 20", step.Attempt)
		}
	}
}

func TestACancelledOrderIsUndoneToo(t *testing.T) {
	env := fakes(t)
	run := stepwelltest.Start(env, Order, lamp)
	env.Advance(time.Hour) // it waits for the next truck
	run.Cancel("the customer changed his mind")
	run.MustBeCancelled()
	run.WantSteps("reserve", "charge", "ship", "refund", "release")
	env.CrashEverywhere()
}

func TestWhatWasNotDoneIsNotUndone(t *testing.T) {
	env := fakes(t)
	env.Fail("charge", stepwell.Fatal(errors.New("declined")))
	run := stepwelltest.Start(env, Order, lamp)
	run.MustFail()
	run.WantSteps("reserve", "charge", "release")
}

// orders are cases whose parcel is shipped as ship says.
func orders(ship func(context.Context) (any, error)) forktest.Case {
	quietly := func(context.Context) (any, error) { return struct{}{}, nil }
	return forktest.Case{
		Config: stepwell.Config{Definitions: []stepwell.Definition{Order}},
		Start:  forktest.Start(Order, lamp),
		Bodies: map[string]func(context.Context) (any, error){
			"reserve": quietly, "release": quietly, "refund": quietly, "ship": ship,
			"charge": func(context.Context) (any, error) { return "4900", nil },
		},
	}
}

func noTruck(context.Context) (any, error) {
	return nil, stepwell.Fatal(errors.New("no truck goes there"))
}

func TestAForkUndoesWhatIsNotUndone(t *testing.T) {
	forktest.EveryEvent(t, orders(noTruck))
}

func TestAForkOfACancelledOrderIsUndoneToo(t *testing.T) {
	c := orders(func(context.Context) (any, error) {
		return nil, stepwell.RetryAfter(errors.New("the truck is full"), 12*time.Hour)
	})
	c.Live = func(l *forktest.Life, run string) error {
		if len(l.Events(run, world.CancelRequested)) > 0 {
			return nil // before the cut
		}
		return l.App.Cancel(l.Context, run, "the customer changed his mind")
	}
	forktest.EveryEvent(t, c)
}

func TestAnOrderThatWasUndoneIsNotRetried(t *testing.T) {
	forktest.NoRetry(t, orders(noTruck), `it has undone its work ("refund", "release")`)
}
