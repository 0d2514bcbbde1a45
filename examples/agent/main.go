// Agent is an agent loop: a model is asked what to do, a tool does it, and the model is asked again, until it has an answer. Each
// answer of the model and each use of a tool is a step, so nothing that was paid for is asked or done twice, however often the
// process dies, and what the agent did can be read in its log. The model here is a few lines of Go. Package agent does the same with
// real ones: see docs/agents.md.
//
//	go run ./examples/agent
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"strings"
	"time"

	"github.com/stepwell/stepwell"
	_ "github.com/stepwell/stepwell/world/memory"
	_ "github.com/stepwell/stepwell/world/postgres"
	_ "github.com/stepwell/stepwell/world/sqlite"
)

// Message is a part of a conversation.
type Message struct {
	Role string `json:"role"` // user, model, or the tool's name
	Text string `json:"text"`
}

// Reply is what the model says: an answer, or a tool to be used first.
type Reply struct {
	Answer string `json:"answer,omitempty"`
	Tool   string `json:"tool,omitempty"`
	Input  string `json:"input,omitempty"`
}

const mostTurns = 10

// Agent is the workflow.
var Agent = stepwell.Define("agent", func(ctx stepwell.Context, question string) (string, error) {
	talk := []Message{{"user", question}}
	for range mostTurns {
		reply, err := Ask.Run(ctx, talk)
		if err != nil {
			return "", err
		}
		if reply.Tool == "" {
			return reply.Answer, nil
		}
		result, err := stepwell.Step(ctx, "tool "+reply.Tool, func(ctx context.Context) (string, error) {
			return use(ctx, reply.Tool, reply.Input)
		}, stepwell.Timeout(time.Minute))
		if failed, ok := errors.AsType[*stepwell.StepError](err); ok {
			result = "error: " + failed.Message // the model may know what to do about it
		} else if err != nil {
			return "", err // the run was cancelled
		}
		talk = append(talk, Message{"model", "use " + reply.Tool + " " + reply.Input}, Message{reply.Tool, result})
	}
	return "", fmt.Errorf("no answer after %d turns", mostTurns)
})

// Ask asks the model. Models are often busy: it is tried for an hour.
var Ask = stepwell.DefineStep("ask-model", func(_ context.Context, talk []Message) (Reply, error) {
	return model(talk), nil
}, stepwell.Retry{Attempts: stepwell.Unlimited, Total: time.Hour})

// tools are what the model can use.
var tools = map[string]func(ctx context.Context, input string) (string, error){
	"weather": func(_ context.Context, city string) (string, error) {
		if city == "Atlantis" {
			return "", stepwell.Fatal(errors.New("no such city"))
		}
		return "rain in " + city, nil
	},
	"calendar": func(_ context.Context, day string) (string, error) { return day + ": walk in Bergen", nil },
}

func use(ctx context.Context, tool, input string) (string, error) {
	fn := tools[tool]
	if fn == nil {
		return "", stepwell.Fatal(fmt.Errorf("there is no tool %q", tool))
	}
	fmt.Printf("  %s(%s)\n", tool, input)
	return fn(ctx, input)
}

// model stands for a large one.
func model(talk []Message) Reply {
	question, last := talk[0].Text, talk[len(talk)-1]
	switch {
	case last.Role == "user" && strings.Contains(question, "Atlantis"):
		return Reply{Tool: "weather", Input: "Atlantis"}
	case last.Role == "user":
		return Reply{Tool: "calendar", Input: "Saturday"}
	case last.Role == "calendar":
		return Reply{Tool: "weather", Input: "Bergen"}
	case strings.HasPrefix(last.Text, "error: "):
		return Reply{Answer: "I cannot tell: " + strings.TrimPrefix(last.Text, "error: ")}
	case strings.HasPrefix(last.Text, "rain"):
		return Reply{Answer: "Yes: " + last.Text}
	}
	return Reply{Answer: "No"}
}

var db = flag.String("db", "memory:", "where runs are kept: memory:, sqlite:PATH or postgres://...")

var definitions = []stepwell.Definition{Agent, Ask}

func main() {
	flag.Parse()
	stepwell.Main(stepwell.Config{Database: *db, Definitions: definitions}, func(ctx context.Context, app *stepwell.App) error {
		for _, question := range []string{"Do I need an umbrella on Saturday?", "And in Atlantis?"} {
			fmt.Println(question)
			run, err := Agent.Start(ctx, app, question)
			if err != nil {
				return err
			}
			answer, err := run.Result(ctx)
			if err != nil {
				return err
			}
			fmt.Println(answer)
		}
		return nil
	})
}
