package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/agent"
	"github.com/stepwell/stepwell/agent/internal/wiretest"
	"github.com/stepwell/stepwell/stepwelltest"
)

// TestReplay: a run that is over is evaluated again, by today's code and by that of a deploy with other limits, another
// model and prompt, and without the tool, and asks nobody anything.
func TestReplay(t *testing.T) {
	t.Parallel()
	s := wiretest.New(t, umbrella)
	o := agent.Options{Model: providers["openai"](s.URL, wiretest.Key), Tools: []agent.Tool{weatherTool}}
	r := run(t, o, "Umbrella?")
	r.MustComplete()
	path := filepath.Join(t.TempDir(), "run.jsonl")
	r.Export(path)
	stepwelltest.Replay(t, path, flow(o))
	stepwelltest.Replay(t, path, flow(agent.Options{
		Model: providers["anthropic"](s.URL, wiretest.Key), System: "Be long.", MaxTurns: 1, MaxTokens: 1, MaxCost: 1e-9, Price: price,
		Tools: []agent.Tool{agent.StepTool("clock", "", func(context.Context, struct{}) (int, error) { return 12, nil })},
	}))
	if n := len(s.Requests()); n != 2 {
		t.Errorf("got %d requests, want the 2 of the run itself", n)
	}
}

// TestWhatAModelGetsWrong is said to it.
func TestWhatAModelGetsWrong(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, tool, input, want string }{
		{"no such tool", "wether", `{"city":"Bergen"}`, `there is no tool "wether"`},
		{"a field too many", "weather", `{"city":"Bergen","zip":5003}`, "the input does not fit"},
		{"a field that misses", "weather", `{"days":1}`, "the input does not fit"},
		{"another type", "weather", `{"city":5003}`, "the input does not fit"},
		{"no JSON", "weather", `{"city":`, "the input is no JSON"},
		{"an error", "weather", `{"city":"Atlantis"}`, "no such city"},
	} {
		for name, model := range providers {
			if name == "anthropic" && c.name == "no JSON" {
				continue // its server makes sure of that
			}
			t.Run(name+"/"+c.name, func(t *testing.T) {
				t.Parallel()
				s := wiretest.New(t, func(n int, r *wiretest.Request) wiretest.Answer {
					if n == 1 {
						return wiretest.Answer{Calls: []agent.Call{call("c1", c.tool, c.input)}}
					}
					return wiretest.Answer{Pieces: []string{r.Last()}}
				})
				r := run(t, agent.Options{Model: model(s.URL, wiretest.Key), Tools: []agent.Tool{weatherTool}}, "?")
				got := r.MustComplete().Text
				if !strings.Contains(got, c.want) || !strings.Contains(strings.ToLower(got), map[string]string{"anthropic": "failed", "openai": "error"}[name]) {
					t.Errorf("got %q, want %q", got, c.want)
				}
			})
		}
	}
}

// unwritable does not encode as JSON.
type unwritable struct{}

func (unwritable) MarshalJSON() ([]byte, error) { return nil, errors.New("no words") }

// TestMistakesOfAToolEndTheRun: the model can do nothing about them.
func TestMistakesOfAToolEndTheRun(t *testing.T) {
	t.Parallel()
	for want, tool := range map[string]agent.Tool{
		"no map": agent.StepTool("weather", "", func(context.Context, place) (string, error) { panic("no map") }),
		"result": agent.StepTool("weather", "", func(context.Context, place) (unwritable, error) { return unwritable{}, nil }),
		"invalid": agent.WorkflowTool("weather", "", func(ctx stepwell.Context, _ place) (string, error) {
			return "", stepwell.Sleep(ctx, "", time.Hour)
		}),
	} {
		s := wiretest.New(t, umbrella)
		err := run(t, agent.Options{Model: providers["openai"](s.URL, wiretest.Key), Tools: []agent.Tool{tool}}, "?").MustFail()
		if n := len(s.Requests()); n != 1 || !strings.Contains(err.Error(), want) {
			t.Errorf("got %d requests, %v, want %s", n, err, want)
		}
	}
}

func TestACancelEndsTheRun(t *testing.T) {
	t.Parallel()
	s := wiretest.New(t, umbrella)
	tool := agent.WorkflowTool("weather", "", func(ctx stepwell.Context, _ place) (string, error) {
		_, _, err := stepwell.Event[string]("report").Wait(ctx)
		return "", err
	})
	r := run(t, agent.Options{Model: providers["openai"](s.URL, wiretest.Key), Tools: []agent.Tool{tool}}, "?")
	r.WantWaiting(stepwell.WhyEvent)
	r.Cancel("enough")
	r.MustBeCancelled()
	if n := len(s.Requests()); n != 1 {
		t.Errorf("got %d requests, want 1", n)
	}
}

// TestAConversationGoesOn: with thoughts that the provider wants back, and with another provider, which does not.
func TestAConversationGoesOn(t *testing.T) {
	t.Parallel()
	for _, stream := range streams {
		t.Run("stream "+stream, func(t *testing.T) {
			t.Parallel()
			s := wiretest.New(t, func(_ int, r *wiretest.Request) wiretest.Answer {
				switch len(r.Talk) {
				case 1:
					return wiretest.Answer{Thinks: "Hm.", Calls: []agent.Call{call("c1", "weather", `{"city":"Bergen"}`)}}
				case 3:
					return wiretest.Answer{Thinks: "Hm!", Pieces: []string{"Yes"}, Stop: agent.StopPaused}
				case 4:
					return wiretest.Answer{Pieces: []string{", take one."}}
				}
				return wiretest.Answer{Pieces: []string{"Bye"}}
			})
			claude, chat := providers["anthropic"](s.URL, wiretest.Key), providers["openai"](s.URL, wiretest.Key)
			w := stepwell.Define("agent", func(ctx stepwell.Context, _ string) (agent.Answer, error) {
				o := agent.Options{Model: claude, Tools: []agent.Tool{weatherTool}, Stream: stream}
				answer, err := agent.Run(ctx, o, "Umbrella?")
				for _, model := range []agent.Model{chat, claude} {
					if err == nil {
						o.Model, o.History = model, answer.Messages
						answer, err = agent.Run(ctx, o, "Thanks")
					}
				}
				return answer, err
			})
			env := newEnv(t, w)
			got := stepwelltest.Start(env, w, "").MustComplete()
			asked := s.Requests()
			if len(asked) != 5 || len(got.Messages) != 9 || got.Text != "Bye" {
				t.Fatalf("got %d requests, %+v", len(asked), got)
			}
			want := "user: Umbrella? call c1: weather{\"city\":\"Bergen\"} tool c1: {\"sky\":\"rain\",\"degrees\":12} assistant: Yes " +
				"assistant: , take one. user: Thanks"
			if got := strings.Join(asked[3].Talk, " "); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
			for i, thinks := range []int{0, 1, 2, 0, 2} {
				if n := strings.Count(string(asked[i].Body), `"signature":"sig"`); n != thinks {
					t.Errorf("request %d: got %d thoughts, want %d", i+1, n, thinks)
				}
			}
		})
	}
}

func TestAnswersThatAreNone(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, model func(url, key string) agent.Model, stream string) {
		half := []agent.Call{call("c1", "weather", `{"city":"Ber"}`)}
		for stop, is := range map[agent.Stop]func(err error) bool{
			agent.StopRefused: func(err error) bool { return errors.Is(err, agent.ErrRefused) },
			agent.StopCut: func(err error) bool {
				limit, ok := errors.AsType[*agent.LimitError](err)
				return ok && limit.Limit == agent.LimitAnswer && limit.Spent.Turns == 1
			},
		} {
			s := wiretest.New(t, func(int, *wiretest.Request) wiretest.Answer {
				return wiretest.Answer{Pieces: []string{"I "}, Calls: half, Stop: stop}
			})
			r := run(t, agent.Options{Model: model(s.URL, wiretest.Key), Tools: []agent.Tool{weatherTool}, Stream: stream}, "?")
			if err := r.MustFail(); !is(err) || len(s.Requests()) != 1 {
				t.Errorf("%s: got %v", stop, err)
			}
			r.WantSteps("model")
		}
	})
}

func TestOptionsThatCannotBe(t *testing.T) {
	t.Parallel()
	model := agent.ModelFunc(func(context.Context, *agent.Request, func(string, agent.Usage) error) (*agent.Reply, error) {
		return nil, stepwell.Fatal(errors.New("it was asked"))
	})
	fine := func(stepwell.Context, json.RawMessage) (string, error) { return "", nil }
	for want, o := range map[string]agent.Options{
		"no model":                        {},
		"a limit below zero":              {Model: model, MaxTokens: -1},
		"a limit on cost without a price": {Model: model, MaxCost: 1},
		`two tools "weather"`:             {Model: model, Tools: []agent.Tool{weatherTool, weatherTool}},
		`tool "a b": want a name`:         {Model: model, Tools: []agent.Tool{{Name: "a b", Run: fine}}},
		"want a struct": {Model: model, Tools: []agent.Tool{
			agent.StepTool("x", "", func(context.Context, string) (string, error) { return "", nil }),
		}},
		"no function":  {Model: model, Tools: []agent.Tool{agent.StepTool[place, string]("x", "", nil)}},
		"it was asked": {Model: model, Tools: []agent.Tool{{Name: "x", Schema: json.RawMessage(`{"type":"object"}`), Run: fine}}},
	} {
		err := run(t, o, "?").MustFail()
		if !strings.Contains(err.Error(), want) || errors.Is(err, stepwell.ErrInvalid) != (want != "it was asked") {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
