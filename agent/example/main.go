// Example is a support agent that looks up an order and gives money back, which a person must approve. What is said
// comes as it is said; the answers of the model and what the tools did are in the log of the run.
//
//	go -C agent run ./example
//
// Without a key a script stands in for the model. With ANTHROPIC_API_KEY or OPENAI_API_KEY, and -model, a real one is
// asked.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"os"
	"strings"
	"sync"
	"time"

	claude "github.com/anthropics/anthropic-sdk-go"
	gpt "github.com/openai/openai-go/v3"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/agent"
	"github.com/stepwell/stepwell/agent/anthropic"
	"github.com/stepwell/stepwell/agent/openai"
	_ "github.com/stepwell/stepwell/world/memory"
	_ "github.com/stepwell/stepwell/world/postgres"
	_ "github.com/stepwell/stepwell/world/sqlite"
)

// Lookup is what the model gives to find an order.
type Lookup struct {
	Order string `json:"order" jsonschema:"the order's number"`
}

// Order is what it gets.
type Order struct {
	Item  string `json:"item"`
	Cents int    `json:"cents"`
}

// Refund is what the model gives to pay an order back.
type Refund struct {
	Order string `json:"order" jsonschema:"the order's number"`
	Cents int    `json:"cents" jsonschema:"how much to give back"`
}

// find is the body of a step.
func find(_ context.Context, l Lookup) (Order, error) {
	if l.Order != "7" {
		return Order{}, stepwell.Fatal(fmt.Errorf("there is no order %q", l.Order))
	}
	return Order{"lamp", 4900}, nil
}

// refund is workflow code: it waits for a person, for days if need be.
func refund(ctx stepwell.Context, r Refund) (string, error) {
	approval, err := stepwell.NewHook[bool](ctx, stepwell.Named("approval"), stepwell.Token("refund-"+r.Order), stepwell.Metadata(r))
	if err != nil {
		return "", err
	}
	ok, _, err := approval.Wait(ctx, stepwell.Timeout(72*time.Hour))
	if err != nil || !ok {
		return "the manager did not approve", err
	}
	return stepwell.Step(ctx, "pay back", func(context.Context) (string, error) {
		return fmt.Sprintf("%d cents are on their way", r.Cents), nil
	})
}

var model agent.Model

// Support is the workflow.
var Support = stepwell.Define("support", func(ctx stepwell.Context, question string) (string, error) {
	answer, err := agent.Run(ctx, agent.Options{
		Model:  model,
		System: "You are the support of a shop. Be brief.",
		Tools: []agent.Tool{
			agent.StepTool("find_order", "Find an order by its number.", find),
			agent.WorkflowTool("refund", "Give money back for an order. A manager must approve.", refund),
		},
		Stream:    "words",
		MaxTurns:  10,
		MaxTokens: 50_000,
	}, question)
	return answer.Text, err
})

var (
	db   = flag.String("db", "memory:", "where runs are kept: memory:, sqlite:PATH or postgres://...")
	name = flag.String("model", "", "the model to ask, where a key is set")
)

func main() {
	flag.Parse()
	switch {
	case os.Getenv("ANTHROPIC_API_KEY") != "":
		model = anthropic.New(claude.NewClient(), claude.MessageNewParams{Model: claude.Model(*name), MaxTokens: 4096})
	case os.Getenv("OPENAI_API_KEY") != "":
		model = openai.New(gpt.NewClient(), gpt.ChatCompletionNewParams{Model: *name})
	default:
		fmt.Println("No key is set: a script answers in the place of a model.")
		model = agent.ModelFunc(script)
	}
	ctx, stop := context.WithTimeout(context.Background(), 5*time.Minute)
	w, err := stepwell.Open(ctx, *db)
	check(err)
	defer w.Close()
	app, err := stepwell.New(w, stepwell.Config{Definitions: []stepwell.Definition{Support}})
	check(err)
	var worker sync.WaitGroup
	worker.Go(func() { check(app.Run(ctx)) })
	run, err := Support.Start(ctx, app, "My lamp is broken: order 7. I want my money back.")
	check(err)
	for c, err := range stepwell.ReadStream[agent.Chunk](ctx, app, run.ID(), "words", 0) {
		check(err)
		if c.Reset { // the answer broke off, and is asked for again
			fmt.Print("\n...\n")
		}
		fmt.Print(c.Value.Text)
		for _, call := range c.Value.Calls {
			fmt.Printf("\n  %s%s", call.Tool, call.Input)
			if call.Tool == "refund" {
				approve(ctx, app)
			}
		}
		if c.Value.End != "" {
			fmt.Println()
		}
	}
	_, err = run.Result(ctx)
	check(err)
	stop()
	worker.Wait()
}

// approve is the manager, who looks after the hook until it is there.
func approve(ctx context.Context, app *stepwell.App) {
	for app.SendHook(ctx, "refund-7", json.RawMessage("true")) != nil && ctx.Err() == nil {
		time.Sleep(10 * time.Millisecond)
	}
	fmt.Print("\n  the manager approves")
}

// script says what a model might.
func script(_ context.Context, r *agent.Request, tell func(string, agent.Usage) error) (*agent.Reply, error) {
	said, calls := "It is paid back. Sorry for the trouble!", []agent.Call(nil)
	use := func(text, tool, input string) {
		said, calls = text, []agent.Call{{ID: tool, Tool: tool, Input: json.RawMessage(input)}}
	}
	switch len(r.Messages) {
	case 1:
		use("Let me look at your order.", "find_order", `{"order":"7"}`)
	case 3:
		use("I ask for your refund.", "refund", `{"order":"7","cents":4900}`)
	}
	for word := range strings.SplitAfterSeq(said, " ") {
		if err := tell(word, agent.Usage{}); err != nil {
			return nil, err
		}
	}
	return &agent.Reply{Message: agent.Message{Text: said, Calls: calls}, Stop: agent.StopEnd}, nil
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
