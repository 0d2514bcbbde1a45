package main

import (
	"testing"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/forktest"
	"github.com/stepwell/stepwell/stepwelltest"
)

func Example() {
	main()
	// Output:
	// delivered to Ada <nil>
	// messages: 2
}

func TestDeliver(t *testing.T) {
	env := stepwelltest.New(t, Deliver)
	stepwelltest.Return(env, "hand over", "delivered to Bob")
	run := stepwelltest.Start(env, Deliver, Parcel{To: "Bob"})
	if got := run.MustComplete(); got != "delivered to Bob" {
		t.Errorf("got %q", got)
	}
	run.WantSteps("pack", "label", "hand over")
	env.CrashEverywhere()
}

func TestAForkDeliversOnce(t *testing.T) {
	forktest.EveryEvent(t, forktest.Case{
		Config: stepwell.Config{Definitions: []stepwell.Definition{Deliver}},
		Start:  forktest.Start(Deliver, Parcel{To: "Ada"}),
	})
}
