package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
)

// Tool is something that a model may use. [StepTool] and [WorkflowTool] make one from a function.
// Fill in the struct for tools from elsewhere, such as an MCP server.
type Tool struct {
	Name        string // 1 to 64 letters, digits, _ and -
	Description string // what it does and when to use it, for the model
	Schema      json.RawMessage
	// Run uses the tool, as workflow code: side effects belong in a step. The input fits the
	// schema.
	Run func(ctx stepwell.Context, input json.RawMessage) (string, error)

	fault error
}

// StepTool returns a tool that is a step with the name "tool " + name. fn runs at least once and is
// tried again as [stepwell.Retry] says; its result is recorded. In is a struct. The tag json names
// its fields, and the tag jsonschema describes them:
//
//	type City struct {
//		Name string `json:"name" jsonschema:"the city's name in English"`
//	}
//
// The model may omit fields with omitempty. A result that is not a string is given to the model as
// JSON.
func StepTool[In, Out any](name, description string, fn func(ctx context.Context, in In) (Out, error),
	opts ...stepwell.StepOption) Tool {
	if fn == nil {
		return Tool{Name: name}
	}
	return WorkflowTool(name, description, func(ctx stepwell.Context, in In) (Out, error) {
		return stepwell.Step(ctx, stepName(name), func(ctx context.Context) (Out, error) { return fn(ctx, in) }, opts...)
	})
}

// WorkflowTool returns a tool that is workflow code: it may wait for a person with a hook, sleep,
// or start children. For its types see [StepTool].
func WorkflowTool[In, Out any](name, description string, fn func(ctx stepwell.Context, in In) (Out, error)) Tool {
	t := Tool{Name: name, Description: description}
	if fn == nil {
		return t
	}
	if t.Schema, t.fault = schemaOf[In](); t.fault != nil {
		return t
	}
	t.Run = func(ctx stepwell.Context, input json.RawMessage) (string, error) {
		var in In
		if err := json.Unmarshal(input, &in); err != nil {
			return "", fmt.Errorf("the input does not fit: %w", err)
		}
		out, err := fn(ctx, in)
		if err != nil {
			return "", err
		}
		return text(out)
	}
	return t
}

func stepName(tool string) string { return "tool " + tool }

func schemaOf[In any]() (json.RawMessage, error) {
	s, err := jsonschema.For[In](nil)
	if err == nil && s.Type != "object" {
		err = fmt.Errorf("its input is %T: want a struct", *new(In))
	}
	if err != nil {
		return nil, err
	}
	return json.Marshal(s)
}

// fits says where an input does not fit the schema.
func (t *Tool) fits(input json.RawMessage) error {
	var s jsonschema.Schema
	if err := json.Unmarshal(t.Schema, &s); err != nil {
		return fmt.Errorf("schema: %w", err)
	}
	r, err := s.Resolve(nil)
	if err != nil {
		return fmt.Errorf("schema: %w", err)
	}
	var v any
	if err := json.Unmarshal(input, &v); err != nil {
		return err
	}
	return r.Validate(v)
}

// text is a value as the model is given it.
func text(v any) (string, error) {
	if raw, ok := v.(json.RawMessage); ok {
		var s string
		if json.Unmarshal(raw, &s) == nil {
			return s, nil
		}
	}
	if s, ok := v.(string); ok {
		return s, nil
	}
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return strings.TrimSuffix(b.String(), "\n"), err
}

func find(tools []Tool, name string) *Tool {
	for i := range tools {
		if tools[i].Name == name {
			return &tools[i]
		}
	}
	return nil
}

// use uses the tools that an answer asks for, all at once. The error is a cancel, or that of a tool which
// cannot be as it is.
func use(ctx stepwell.Context, tools []Tool, is *turn) ([]Result, error) {
	type job struct {
		call    Call
		refused string
	}
	jobs := make([]job, len(is.Reply.Calls))
	for i, c := range is.Reply.Calls {
		jobs[i] = job{c, is.Refused[i]}
	}
	return stepwell.Map(ctx, jobs, 0, func(ctx stepwell.Context, j job) (Result, error) {
		if j.refused != "" {
			return Result{j.call.ID, j.refused, true}, nil
		}
		run := gone(j.call.Tool)
		if t := find(tools, j.call.Tool); t != nil {
			run = t.Run
		}
		said, err := run(ctx, j.call.Input)
		if err == nil {
			if said == "" { // some providers refuse a text without a letter
				said = `""`
			}
			return Result{j.call.ID, said, false}, nil
		}
		if cause := stepwell.CancelCause(ctx); cause != nil {
			return Result{}, cause
		}
		step, ok := errors.AsType[*stepwell.StepError](err)
		switch {
		case ok && (step.Code == world.CodePanic || step.Code == world.CodeEncode), !ok && errors.Is(err, stepwell.ErrInvalid):
			return Result{}, fmt.Errorf("agent: tool %s: %w", j.call.Tool, err) // a mistake of the program
		case ok && err == error(step):
			return Result{j.call.ID, step.Message, true}, nil
		}
		return Result{j.call.ID, err.Error(), true}, nil
	})
}

// gone is a tool that a deploy has removed while a run was about to use it: where it was a step that has its result,
// that counts.
func gone(name string) func(stepwell.Context, json.RawMessage) (string, error) {
	return func(ctx stepwell.Context, _ json.RawMessage) (string, error) {
		v, err := stepwell.Step(ctx, stepName(name), func(context.Context) (json.RawMessage, error) {
			return nil, stepwell.Fatal(errors.New("the tool is not there any more"))
		})
		if err != nil {
			return "", err
		}
		return text(v)
	}
}
