package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	claude "github.com/anthropics/anthropic-sdk-go"
	claudeoption "github.com/anthropics/anthropic-sdk-go/option"
	chat "github.com/openai/openai-go/v3"
	chatoption "github.com/openai/openai-go/v3/option"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/agent"
	"github.com/stepwell/stepwell/agent/anthropic"
	"github.com/stepwell/stepwell/agent/internal/wiretest"
	"github.com/stepwell/stepwell/agent/openai"
	"github.com/stepwell/stepwell/stepwelltest"
)

// providers are the models of both, over their own client libraries.
var providers = map[string]func(url, key string) agent.Model{
	"anthropic": func(url, key string) agent.Model {
		return anthropic.New(claude.NewClient(claudeoption.WithBaseURL(url), claudeoption.WithAPIKey(key),
			claudeoption.WithHTTPClient(client)), claude.MessageNewParams{Model: "claude-test", MaxTokens: 1000})
	},
	"openai": func(url, key string) agent.Model {
		return openai.New(chat.NewClient(chatoption.WithBaseURL(url+"/v1"), chatoption.WithAPIKey(key),
			chatoption.WithHTTPClient(client)), chat.ChatCompletionNewParams{Model: "gpt-test"})
	},
}

// client keeps no connections: their goroutines would hold up virtual time.
var client = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

// streams are the names of a stream, and of none.
var streams = []string{"", "words"}

// each runs a test for each provider, with whole answers and with streams.
func each(t *testing.T, test func(t *testing.T, model func(url, key string) agent.Model, stream string)) {
	t.Helper()
	for name, model := range providers {
		for _, stream := range streams {
			t.Run(name+"/"+map[bool]string{true: "whole", false: "stream"}[stream == ""], func(t *testing.T) {
				t.Parallel()
				test(t, model, stream)
			})
		}
	}
}

var price = agent.Price{Input: 3, Output: 15, CacheRead: 0.3}

type place struct {
	City string `json:"city" jsonschema:"its name in English"`
	Days int    `json:"days,omitempty"`
}

type weather struct {
	Sky     string `json:"sky"`
	Degrees int    `json:"degrees"`
}

func weatherOf(_ context.Context, p place) (weather, error) {
	if p.City == "Atlantis" {
		return weather{}, stepwell.Fatal(errors.New("no such city"))
	}
	return weather{"rain", 12}, nil
}

var weatherTool = agent.StepTool("weather", "The weather of a city.", weatherOf)

// flow is a workflow that is an agent.
func flow(o agent.Options) *stepwell.Workflow[string, agent.Answer] {
	return stepwell.Define("agent", func(ctx stepwell.Context, prompt string) (agent.Answer, error) {
		return agent.Run(ctx, o, prompt)
	})
}

// run runs one in a test, in virtual time.
func run(t *testing.T, o agent.Options, prompt string) *stepwelltest.Run[agent.Answer] {
	t.Helper()
	_, r := start(t, o, prompt)
	return r
}

// newEnv is an environment in which models and tools run.
func newEnv(t *testing.T, definitions ...stepwell.Definition) *stepwelltest.Env {
	t.Helper()
	config := stepwell.Config{Definitions: definitions}
	return stepwelltest.NewWith(t, stepwelltest.Options{Config: config, RealSteps: true})
}

func start(t *testing.T, o agent.Options, prompt string) (*stepwelltest.Env, *stepwelltest.Run[agent.Answer]) {
	t.Helper()
	w := flow(o)
	env := newEnv(t, w, stepwell.KnownErrorType[*agent.LimitError]("agent.LimitError"),
		stepwell.KnownError("agent.ErrRefused", agent.ErrRefused))
	return env, stepwelltest.Start(env, w, prompt)
}

func call(id, tool, input string) agent.Call {
	return agent.Call{ID: id, Tool: tool, Input: json.RawMessage(input)}
}

// chunks are those of a stream that stand at its end.
func chunks(t *testing.T, env *stepwelltest.Env, run string) (seen []string) {
	t.Helper()
	env.Do(func(ctx context.Context, app *stepwell.App) error {
		for c, err := range stepwell.ReadStream[agent.Chunk](ctx, app, run, "words", 0) {
			if _, over := errors.AsType[*stepwell.StreamError](err); over { // the run failed
				return nil
			}
			if err != nil {
				return err
			}
			if c.Reset {
				seen = nil // in these tests one step is reset
				continue
			}
			b, err := json.Marshal(c.Value)
			if err != nil {
				return err
			}
			seen = append(seen, string(b))
		}
		return nil
	})
	return seen
}

// crash does what a test has done with the worker killed at each of its commits. The workflow returns the text alone:
// what was spent depends on crashes.
func crash(t *testing.T, o agent.Options, prompt string, meanwhile func(env *stepwelltest.Env, token func() string)) {
	t.Helper()
	w := stepwell.Define("agent", func(ctx stepwell.Context, prompt string) (string, error) {
		answer, err := agent.Run(ctx, o, prompt)
		return answer.Text, err
	})
	env := newEnv(t, w)
	r := stepwelltest.Start(env, w, prompt)
	if meanwhile != nil {
		meanwhile(env, r.Token)
	}
	r.MustComplete()
	env.CrashEverywhere()
}

// umbrella is a script: a tool, then an answer.
func umbrella(_ int, r *wiretest.Request) wiretest.Answer {
	if strings.HasPrefix(r.Last(), "user: ") {
		return wiretest.Answer{
			Pieces: []string{"Let me ", "look."}, Calls: []agent.Call{call("c1", "weather", `{"city":"Bergen"}`)}, In: 100, Out: 20,
		}
	}
	return wiretest.Answer{Pieces: []string{"Yes: ", "take ", "one."}, In: 50, Cached: 100, Out: 10}
}

func TestAnAnswer(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, model func(url, key string) agent.Model, stream string) {
		s := wiretest.New(t, umbrella)
		env, r := start(t, agent.Options{
			Model: model(s.URL, wiretest.Key), System: "Be short.", Tools: []agent.Tool{weatherTool}, Stream: stream,
			Price: price,
		}, "Umbrella?")
		got := r.MustComplete()
		want := agent.Spent{
			Turns: 2, Attempts: 2, Usage: agent.Usage{Input: 150, Output: 30, CacheRead: 100},
			Cost: price.Cost(agent.Usage{Input: 100, Output: 20}) + price.Cost(agent.Usage{Input: 50, Output: 10, CacheRead: 100}),
		}
		if got.Text != "Yes: take one." || got.Spent != want {
			t.Errorf("got %q, %+v, want %+v", got.Text, got.Spent, want)
		}
		r.WantSteps("model", "tool weather", "model")
		asked := s.Requests()
		if len(asked) != 2 {
			t.Fatalf("got %d requests, want 2", len(asked))
		}
		talk := []string{
			"user: Umbrella?", "assistant: Let me look.", `call c1: weather{"city":"Bergen"}`,
			`tool c1: {"sky":"rain","degrees":12}`,
		}
		for i, r := range asked {
			if want := talk[:[]int{1, 4}[i]]; !slices.Equal(r.Talk, want) {
				t.Errorf("request %d: got %q, want %q", i+1, r.Talk, want)
			}
			if r.Stream != (stream != "") || !slices.Equal(r.Tools, []string{"weather"}) || !strings.Contains(string(r.Body), "Be short.") {
				t.Errorf("request %d: got stream %t, tools %q: %s", i+1, r.Stream, r.Tools, r.Body)
			}
		}
		if stream == "" {
			return
		}
		if got, want := chunks(t, env, r.ID()), []string{
			`{"turn":1,"text":"Let me "}`, `{"turn":1,"text":"look."}`,
			`{"turn":1,"calls":[{"id":"c1","tool":"weather","input":{"city":"Bergen"}}],"end":"tools"}`,
			`{"turn":2,"text":"Yes: "}`, `{"turn":2,"text":"take "}`, `{"turn":2,"text":"one."}`, `{"turn":2,"end":"end"}`,
		}; !slices.Equal(got, want) {
			t.Errorf("got chunks\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	})
}

// TestCrashes kills the worker at each of its commits.
func TestCrashes(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, model func(url, key string) agent.Model, stream string) {
		s := wiretest.New(t, umbrella)
		crash(t, agent.Options{Model: model(s.URL, wiretest.Key), Tools: []agent.Tool{weatherTool}, Stream: stream}, "Umbrella?", nil)
	})
}

func TestTwoToolsAtOnce(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, model func(url, key string) agent.Model, stream string) {
		s := wiretest.New(t, func(_ int, r *wiretest.Request) wiretest.Answer {
			if len(r.Talk) == 1 {
				return wiretest.Answer{Calls: []agent.Call{
					call("c1", "weather", `{"city":"Oslo"}`), call("c2", "weather", `{"city":"Bergen"}`), call("c3", "clock", ``), call("c4", "bell", ``),
				}}
			}
			return wiretest.Answer{Pieces: []string{"Done"}}
		})
		both := make(chan string)
		o := agent.Options{Model: model(s.URL, wiretest.Key), Stream: stream, Tools: []agent.Tool{
			agent.StepTool("weather", "", func(_ context.Context, p place) (string, error) {
				select { // each waits for the other
				case both <- p.City:
					return "rain in " + p.City, nil
				case other := <-both:
					return "sun, and not in " + other, nil
				}
			}),
			agent.StepTool("clock", "", func(context.Context, struct{}) (int, error) { return 12, nil }),
			agent.StepTool("bell", "", func(context.Context, struct{}) (string, error) { return "", nil }),
		}}
		r := run(t, o, "Where?")
		if got := r.MustComplete().Text; got != "Done" {
			t.Errorf("got %q", got)
		}
		got := strings.Join(s.Requests()[1].Talk[5:], "; ")
		one := "tool c1: rain in Oslo; tool c2: sun, and not in Oslo; tool c3: 12; tool c4: \"\""
		other := "tool c1: sun, and not in Bergen; tool c2: rain in Bergen; tool c3: 12; tool c4: \"\""
		if got != one && got != other {
			t.Errorf("got %s", got)
		}
	})
}

type refund struct {
	Order string `json:"order"`
	Cents int    `json:"cents"`
}

func TestAPersonApproves(t *testing.T) {
	t.Parallel()
	s := wiretest.New(t, func(_ int, r *wiretest.Request) wiretest.Answer {
		if len(r.Talk) == 1 {
			return wiretest.Answer{Calls: []agent.Call{call("c1", "refund", `{"order":"7","cents":900}`)}}
		}
		return wiretest.Answer{Pieces: []string{r.Last()}}
	})
	o := agent.Options{Model: providers["anthropic"](s.URL, wiretest.Key), Tools: []agent.Tool{
		agent.WorkflowTool("refund", "Gives money back.", func(ctx stepwell.Context, r refund) (string, error) {
			approval, err := stepwell.NewHook[bool](ctx, stepwell.Named("approval"), stepwell.Metadata(r))
			if err != nil {
				return "", err
			}
			ok, _, err := approval.Wait(ctx)
			if err != nil || !ok {
				return "the manager said no", err
			}
			return stepwell.Step(ctx, "refund", func(context.Context) (string, error) { return "refunded order " + r.Order, nil })
		}),
	}}
	env, r := start(t, o, "I want my money back")
	env.Advance(72 * time.Hour)
	r.WantWaiting(stepwell.WhyHook)
	env.SendHook(r.Token(), true)
	if got := r.MustComplete(); got.Text != "tool c1: refunded order 7" || got.Spent.Turns != 2 {
		t.Errorf("got %+v", got)
	}
	r.WantSteps("model", "refund", "model")
	if n := len(s.Requests()); n != 2 {
		t.Errorf("got %d requests, want 2", n)
	}
	crash(t, o, "I want my money back", func(env *stepwelltest.Env, token func() string) {
		env.Advance(time.Hour)
		env.SendHook(token(), true)
	})
}
