// Package agent runs a language model with tools as part of a workflow. Each answer of the model is a step, and so is
// each use of a tool: what was paid for or done is in the run's log, and neither a crash nor a deploy repeats it.
//
//	answer, err := agent.Run(ctx, agent.Options{
//		Model:    anthropic.New(client, sdk.MessageNewParams{Model: "claude-sonnet-4-5", MaxTokens: 4096}),
//		Tools:    []agent.Tool{agent.StepTool("weather", "The weather of a city.", weather)},
//		MaxTurns: 10,
//	}, "Do I need an umbrella in Bergen?")
//
// Packages agent/anthropic and agent/openai are the models of two providers, over their own client libraries; another
// is one method: see [Model].
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

// DefaultTurns is how often a model is asked where [Options].MaxTurns is zero.
const DefaultTurns = 20

// ErrRefused: the model, or its provider's filter, refused to answer. The [Answer] beside it has what was said.
var ErrRefused = errors.New("agent: the model refused to answer")

// Options say which model is asked, with what, and how far it may go. They may change while runs are under way, but for
// Name, and the kind of a tool: what was decided by the old ones stays.
type Options struct {
	Model  Model
	System string // the system prompt
	Tools  []Tool // with names of their own
	// History is a conversation that the prompt goes on with: [Answer].Messages of an earlier one.
	History []Message
	// Stream is the stream of the run to which the answers are written, as [Chunk]s, while they come. "": none, and
	// the provider is asked for whole answers.
	Stream string

	// A limit stops the next call of the model, not the one under way, and tools that were asked for last are not used:
	// see [LimitError]. They hold for one Run.
	MaxTurns  int     // calls of the model; 0: [DefaultTurns]; [stepwell.Unlimited]
	MaxTokens int64   // of all kinds, see [Usage.Total]; 0: no limit
	MaxCost   float64 // by Price; 0: no limit
	Price     Price   // what the model costs, as you know it; without it the cost is zero

	Name string // of the steps that ask the model; "": model
	// Step are options of the steps that ask the model. Without them a call is tried for an hour, and an attempt may
	// take ten minutes.
	Step []stepwell.StepOption
}

// Answer is what an agent came to.
type Answer struct {
	Text     string    `json:"text"`     // of the model's last answer
	Messages []Message `json:"messages"` // the whole conversation, fit to be gone on with: see [Options].History
	Spent    Spent     `json:"spent"`
}

// Spent is what an agent has used.
type Spent struct {
	Turns    int     `json:"turns"`          // answers of the model
	Attempts int     `json:"attempts"`       // what it took to get them, with those that were refused or lost
	Lost     int     `json:"lost,omitempty"` // attempts whose answer was lost on its way, and was paid for again
	Usage    Usage   `json:"usage"`          // with what is known of lost answers
	Cost     float64 `json:"cost,omitempty"` // of Usage, by the price at that time
}

func (s Spent) plus(t *turn) Spent {
	if t.Reply != nil {
		s.Turns++
	}
	return Spent{s.Turns, s.Attempts + t.Attempts, s.Lost + t.Lost, s.Usage.plus(t.Usage), s.Cost + t.Cost}
}

// Chunk is what is written to [Options].Stream: a piece of text as it comes, or, last of an answer, how that ended.
type Chunk struct {
	Turn  int    `json:"turn"` // from 1
	Text  string `json:"text,omitempty"`
	Calls []Call `json:"calls,omitempty"` // the tools that are used next
	End   Stop   `json:"end,omitempty"`   // "" but in the last chunk of an answer
}

// Run asks the model, uses the tools that it asks for, all of an answer at once, and asks again, until it has an
// answer.
//
// A tool that fails tells the model so; one that panics, asks for what is [stepwell.ErrInvalid] or has a result that
// is no JSON ends the run, as a cancel does. The error is a [*LimitError] where a limit was reached, [ErrRefused],
// [stepwell.ErrInvalid] for options that cannot be, [stepwell.ErrCancelled], or wraps the [*stepwell.StepError] of a
// call that failed for good. What was spent until then is in the answer.
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
