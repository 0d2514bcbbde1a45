package agent_test

// The code of docs/agents.md and of the recipe in docs/cookbook.md: TestTheDocsAreThis holds them to this file.

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	sdk "github.com/anthropics/anthropic-sdk-go"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/agent"
	"github.com/stepwell/stepwell/agent/anthropic"
	"github.com/stepwell/stepwell/stepwelltest"
)

type City struct {
	Name string `json:"name" jsonschema:"the city's name in English"`
}

var Weather = agent.StepTool("weather", "The weather of a city, now.", func(ctx context.Context, c City) (string, error) {
	return "rain in " + c.Name, nil // call a service here
})

var Claude = anthropic.New(sdk.NewClient(), sdk.MessageNewParams{Model: "claude-sonnet-4-5", MaxTokens: 4096})

var Umbrella = stepwell.Define("umbrella", func(ctx stepwell.Context, question string) (string, error) {
	answer, err := agent.Run(ctx, agent.Options{
		Model:   Claude,
		System:  "Answer in one sentence.",
		Tools:   []agent.Tool{Weather},
		Stream:  "words",
		MaxCost: 0.50,
		Price:   agent.Price{Input: 3, Output: 15, CacheRead: 0.30, CacheWrite: 3.75}, // of a million tokens
	}, question)
	return answer.Text, err
})

type Payback struct {
	Order string `json:"order"`
	Cents int    `json:"cents"`
}

var GiveBack = agent.WorkflowTool("refund", "Give money back. A manager must approve.",
	func(ctx stepwell.Context, p Payback) (string, error) {
		approval, err := stepwell.NewHook[bool](ctx, stepwell.Named("approval"), stepwell.Metadata(p))
		if err != nil {
			return "", err
		}
		ok, _, err := approval.Wait(ctx, stepwell.Timeout(72*time.Hour))
		if err != nil {
			return "", err
		}
		if !ok { // also where nobody answered
			return "the manager did not approve", nil // the model reads this
		}
		return stepwell.Step(ctx, "pay back", func(ctx context.Context) (string, error) {
			return fmt.Sprintf("paid %d cents", p.Cents), nil
		})
	})

func Follow(ctx context.Context, app *stepwell.App, run string) error {
	for c, err := range stepwell.ReadStream[agent.Chunk](ctx, app, run, "words", 0) {
		switch {
		case err != nil:
			return err
		case c.Reset:
			fmt.Println("…") // the answer broke off: drop what was shown of it
		default:
			fmt.Print(c.Value.Text)
		}
	}
	return nil
}

func Careful(ctx stepwell.Context, o agent.Options, question string) (string, error) {
	answer, err := agent.Run(ctx, o, question)
	if limit, ok := errors.AsType[*agent.LimitError](err); ok {
		return fmt.Sprintf("no answer within the limit of %s: %d tokens", limit.Limit, limit.Spent.Usage.Total()), nil
	}
	return answer.Text, err
}

func TestUmbrella(t *testing.T) {
	model := agent.ModelFunc(func(_ context.Context, r *agent.Request, _ func(string, agent.Usage) error) (*agent.Reply, error) {
		if last := r.Messages[len(r.Messages)-1]; last.Role == agent.Tools {
			return &agent.Reply{Message: agent.Message{Text: "Yes: " + last.Results[0].Text}, Stop: agent.StopEnd}, nil
		}
		use := agent.Call{ID: "1", Tool: "weather", Input: []byte(`{"name":"Bergen"}`)}
		return &agent.Reply{Message: agent.Message{Calls: []agent.Call{use}}, Stop: agent.StopTools}, nil
	})
	w := stepwell.Define("umbrella", func(ctx stepwell.Context, question string) (string, error) {
		answer, err := agent.Run(ctx, agent.Options{Model: model, Tools: []agent.Tool{Weather}}, question)
		return answer.Text, err
	})
	env := stepwelltest.NewWith(t, stepwelltest.Options{
		Config:    stepwell.Config{Definitions: []stepwell.Definition{w}},
		RealSteps: true, // the model's, which is ours, and the tool's
	})
	run := stepwelltest.Start(env, w, "Do I need an umbrella?")
	if got := run.MustComplete(); got != "Yes: rain in Bergen" {
		t.Errorf("got %q", got)
	}
	run.WantSteps("model", "tool weather", "model")
	env.CrashEverywhere()
}
