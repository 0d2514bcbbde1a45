// Package agent runs a language model with tools as part of a workflow. Each call of the model and
// each use of a tool is a step. The run's log records its result, so neither a crash nor a deploy
// repeats it.
//
//	answer, err := agent.Run(ctx, agent.Options{
//		Model:    anthropic.New(client, sdk.MessageNewParams{Model: "claude-sonnet-4-5", MaxTokens: 4096}),
//		Tools:    []agent.Tool{agent.StepTool("weather", "The weather of a city.", weather)},
//		MaxTurns: 10,
//	}, "Do I need an umbrella in Bergen?")
//
// Packages agent/anthropic and agent/openai have the models of two providers, with the providers'
// own client libraries. Another model is one method: see [Model].
package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"time"

	"github.com/stepwell/stepwell"
)

// DefaultTurns is the number of model calls if [Options].MaxTurns is zero.
const DefaultTurns = 20

// ErrRefused means that the model, or its provider's filter, refused to answer. The [Answer] has
// the text so far.
var ErrRefused = errors.New("agent: the model refused to answer")

// Options configure an agent. You may change them while runs are live, except Name and the kinds of
// tools; what runs have recorded stays.
type Options struct {
	Model  Model
	System string // the system prompt
	Tools  []Tool // with distinct names
	// History is an earlier conversation that the prompt continues: see [Answer].Messages.
	History []Message
	// Stream is the stream of the run that gets the answers as [Chunk]s while they arrive. "": no
	// stream, and the provider is asked for whole answers.
	Stream string

	// MaxTurns, MaxTokens and MaxCost limit one [Run]. A limit does not interrupt a call of the
	// model, but stops the next one; the tools requested last are not used. See [LimitError].
	// MaxTurns counts calls of the model: 0 means [DefaultTurns], and [stepwell.Unlimited] no
	// limit.
	MaxTurns  int
	MaxTokens int64   // all kinds of tokens: see [Usage.Total]; 0: no limit
	MaxCost   float64 // in the currency of Price; 0: no limit
	Price     Price   // what the model costs; without it the cost is zero

	Name string // name of the steps that call the model; default "model"
	// Step has options of the steps that call the model. By default a call is tried again for up to
	// an hour, and an attempt may take ten minutes.
	Step []stepwell.StepOption
}

// Answer is the result of an agent.
type Answer struct {
	Text string `json:"text"` // of the model's last answer
	// Messages: the whole conversation: continue it with [Options].History.
	Messages []Message `json:"messages"`
	Spent    Spent     `json:"spent"`
}

// Spent is what an agent has used.
type Spent struct {
	Turns    int `json:"turns"`    // answers of the model
	Attempts int `json:"attempts"` // calls of the model, with refused and lost ones
	// Lost: attempts whose answer was lost, and was paid for again.
	Lost  int     `json:"lost,omitempty"`
	Usage Usage   `json:"usage"`          // with what is known of lost answers
	Cost  float64 `json:"cost,omitempty"` // of Usage, by the Price at that time
}

func (s Spent) plus(t *turn) Spent {
	if t.Reply != nil {
		s.Turns++
	}
	return Spent{s.Turns, s.Attempts + t.Attempts, s.Lost + t.Lost, s.Usage.plus(t.Usage), s.Cost + t.Cost}
}

// Chunk is an element of [Options].Stream: a piece of text, or the end of an answer.
type Chunk struct {
	Turn  int    `json:"turn"` // from 1
	Text  string `json:"text,omitempty"`
	Calls []Call `json:"calls,omitempty"` // the tools to be used next
	End   Stop   `json:"end,omitempty"`   // set in the last chunk of an answer only
}

// Run asks the model, uses the tools that it requests, all of an answer at once, and asks again
// until the model has answered.
//
// A failed tool is reported to the model. A tool that panics, returns a [stepwell.ErrInvalid] or a
// result that does not encode ends the run, and so does a cancel. The error is a [*LimitError] at a
// limit, [ErrRefused], [stepwell.ErrInvalid] for invalid options, [stepwell.ErrCancelled], or wraps
// the [*stepwell.StepError] of a call that failed for good. With an error, the Answer still has
// what was spent.
func Run(ctx stepwell.Context, o Options, prompt string) (Answer, error) {
	if err := o.check(); err != nil {
		return Answer{}, err
	}
	step := append([]stepwell.StepOption{
		stepwell.Retry{Attempts: stepwell.Unlimited, Total: time.Hour}, stepwell.Timeout(10 * time.Minute),
	}, o.Step...)
	out := Answer{Messages: append(slices.Clone(o.History), Message{Role: User, Text: prompt})}
	for {
		is, err := stepwell.Step(ctx, cmp.Or(o.Name, "model"), func(ctx context.Context) (*turn, error) {
			return ask(ctx, &o, out.Messages, out.Spent)
		}, step...)
		if err != nil {
			return out, fmt.Errorf("agent: turn %d: %w", out.Spent.Turns+1, err)
		}
		if out.Spent = out.Spent.plus(is); is.Reply != nil {
			out.Text = is.Reply.Text
		}
		if is.Over != "" {
			return out, &LimitError{Limit: is.Over, Spent: out.Spent}
		}
		out.Messages = append(out.Messages, is.Reply.Message)
		if is.Reply.Stop == StopRefused {
			return out, ErrRefused
		}
		if !is.Reply.goesOn() {
			return out, nil
		}
		if len(is.Reply.Calls) == 0 { // the provider wants to be asked again
			continue
		}
		results, err := use(ctx, o.Tools, is)
		if err != nil {
			return out, err
		}
		out.Messages = append(out.Messages, Message{Role: Tools, Results: results})
	}
}

var toolName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// check refuses options that cannot be.
func (o *Options) check() error {
	invalid := func(format string, args ...any) error {
		return fmt.Errorf("agent: %w: "+format, append([]any{stepwell.ErrInvalid}, args...)...)
	}
	switch {
	case o.Model == nil:
		return invalid("no model")
	case o.MaxTurns < stepwell.Unlimited || o.MaxTokens < 0 || o.MaxCost < 0:
		return invalid("a limit below zero")
	case o.MaxCost > 0 && o.Price == Price{}:
		return invalid("a limit on cost without a price")
	}
	names := map[string]bool{}
	for _, t := range o.Tools {
		switch {
		case t.fault != nil:
			return invalid("tool %q: %w", t.Name, t.fault)
		case !toolName.MatchString(t.Name):
			return invalid("tool %q: want a name of 1 to 64 letters, digits, _ and -", t.Name)
		case names[t.Name]:
			return invalid("two tools %q", t.Name)
		case t.Run == nil:
			return invalid("tool %q: no function", t.Name)
		}
		names[t.Name] = true
	}
	return nil
}
