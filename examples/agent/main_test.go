package main

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/forktest"
	"github.com/stepwell/stepwell/stepwelltest"
)

func Example() {
	main()
	// Output:
	// Do I need an umbrella on Saturday?
	//   calendar(Saturday)
	//   weather(Bergen)
	// Yes: rain in Bergen
	// And in Atlantis?
	//   weather(Atlantis)
	// I cannot tell: no such city
}

func TestABusyModelIsAskedAgainAndToolsAreNot(t *testing.T) {
	env := stepwelltest.New(t, Agent, Ask)
	stepwelltest.FakeStep(env, Ask, func(ctx context.Context, talk []Message) (Reply, error) {
		if stepwell.Info(ctx).Attempt < 2 {
			return Reply{}, errors.New("429 too many requests")
		}
		return model(talk), nil
	})
	stepwelltest.Return(env, "tool calendar", "Saturday: museum")
	stepwelltest.Return(env, "tool weather", "sun")
	run := stepwelltest.Start(env, Agent, "Do I need an umbrella?")
	if got := run.MustComplete(); got != "No" {
		t.Errorf("got %q, want No", got)
	}
	run.WantSteps("ask-model", "tool calendar", "ask-model", "tool weather", "ask-model")
	env.CrashEverywhere()
}

func TestAModelThatNeverAnswersIsStopped(t *testing.T) {
	env := stepwelltest.New(t, Agent, Ask)
	stepwelltest.Return(env, Ask.Name(), Reply{Tool: "calendar"})
	stepwelltest.Return(env, "tool calendar", "")
	if err := stepwelltest.Start(env, Agent, "?").MustFail(); !strings.Contains(err.Error(), "no answer after 10 turns") {
		t.Errorf("got %v", err)
	}
}

func TestAForkAsksNothingTwice(t *testing.T) {
	said := func(s string) func(context.Context) (any, error) {
		return func(context.Context) (any, error) { return s, nil }
	}
	forktest.EveryEvent(t, forktest.Case{
		Config: stepwell.Config{Definitions: []stepwell.Definition{Agent, Ask}},
		Start:  forktest.Start(Agent, "Do I need an umbrella on Saturday?"),
		Bodies: map[string]func(context.Context) (any, error){"tool calendar": said("walk in Bergen"), "tool weather": said("rain in Bergen")},
	})
}
