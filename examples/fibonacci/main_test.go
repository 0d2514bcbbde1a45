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
	// fib(10) = 55, by 177 runs on one slot
}

func TestFibOnOneSlotThoughItsWorkerIsKilled(t *testing.T) {
	env := stepwelltest.NewWith(t, stepwelltest.Options{
		Config:    stepwell.Config{Definitions: []stepwell.Definition{Fib}, MaxRuns: 1, MaxSteps: 1},
		RealSteps: true, // it adds
	})
	run := stepwelltest.Start(env, Fib, 3)
	if got := run.MustComplete(); got != 2 {
		t.Errorf("got %d, want 2", got)
	}
	run.WantSteps("fib", "fib", "add")
	env.CrashEverywhere()
}

func TestAForkComputesWhatWasNotDone(t *testing.T) {
	forktest.EveryEvent(t, forktest.Case{
		Config: stepwell.Config{Definitions: []stepwell.Definition{Fib}, MaxRuns: 1, MaxSteps: 1},
		Start:  forktest.Start(Fib, 4),
	})
}
