package main

import (
	"context"
	"fmt"
	"strings"
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
	// to Grace: please decide about 30 euros
	// approved by Grace <nil>
	// to Grace: please decide about 900000 euros
	// to Barbara: please decide about 900000 euros
	// nobody decided <nil>
}

var lunch = Expense{ID: "1", Euros: 30, Managers: []string{"Grace", "Barbara"}, Patience: 48 * time.Hour}

func TestADecisionCountsThoughItComesLate(t *testing.T) {
	env := stepwelltest.New(t, Approve)
	run := stepwelltest.Start(env, Approve, lunch)
	env.Advance(50 * time.Hour) // Grace has had her time
	run.WantSteps("ask", "ask")
	env.SendHook("expense-1", Decision{By: "Grace", Note: "no lamp"})
	if got, want := run.MustComplete(), "refused by Grace: no lamp"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	env.CrashEverywhere()
}

func TestNobodyDecidesThoughTheWorkerIsKilled(t *testing.T) {
	env := stepwelltest.New(t, Approve)
	run := stepwelltest.Start(env, Approve, lunch)
	if got, want := run.MustComplete(), "nobody decided"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	run.WantSteps("ask", "ask")
	env.CrashEverywhere()
}

func TestAnExpenseIsDecidedOnceAtATime(t *testing.T) {
	env := stepwelltest.New(t, Approve)
	first := stepwelltest.Start(env, Approve, lunch)
	err := stepwelltest.Start(env, Approve, lunch).MustFail()
	if !strings.Contains(err.Error(), first.ID()) {
		t.Errorf("got %v, want it to name the run that holds the token", err)
	}
}

func TestAForkWaitsForItsOwnDecision(t *testing.T) {
	forktest.EveryEvent(t, forktest.Case{
		Config: stepwell.Config{Definitions: []stepwell.Definition{Approve}},
		Start:  forktest.Start(Approve, lunch),
		Bodies: map[string]func(context.Context) (any, error){"ask": func(context.Context) (any, error) { return struct{}{}, nil }},
		Live: func(l *forktest.Life, run string) error {
			if len(l.Events(run, world.HookReceived)) > 0 {
				return nil // before the cut
			}
			l.Until("Barbara to be asked", func() bool { return len(l.Events(run, world.StepCompleted)) == 2 })
			hooks, err := l.App.Hooks(l.Context, run, "")
			if err != nil || len(hooks) != 1 {
				return fmt.Errorf("hooks %v, %w, want one", hooks, err)
			}
			return l.App.SendHook(l.Context, hooks[0].Token, []byte(`{"by": "Barbara", "approved": true}`))
		},
	})
}
