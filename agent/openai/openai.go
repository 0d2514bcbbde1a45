// Package openai makes a model of OpenAI an [agent.Model], with OpenAI's own client library. It
// uses Chat Completions, which many other providers and local servers support: give the client
// their address.
package openai

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/ssestream"

	"github.com/stepwell/stepwell/agent"
)

type model struct {
	client sdk.Client
	params sdk.ChatCompletionNewParams
}

// New returns a model that uses a client, with parameters for each call: at least Model, and others
// such as MaxCompletionTokens. The agent sets Messages and Tools. The client's own retries are off.
func New(client sdk.Client, params sdk.ChatCompletionNewParams) agent.Model {
	return &model{client, params}
}

// Call implements [agent.Model].
func (m *model) Call(ctx context.Context, r *agent.Request, tell func(string, agent.Usage) error) (*agent.Reply, error) {
	params := m.params
	params.Messages, params.Tools = nil, nil
	if r.System != "" {
		params.Messages = append(params.Messages, sdk.SystemMessage(r.System))
	}
	for i := range r.Messages {
		params.Messages = append(params.Messages, messages(&r.Messages[i])...)
	}
	for _, t := range r.Tools {
		var schema map[string]any
		if err := json.Unmarshal(t.Schema, &schema); err != nil {
			return nil, fmt.Errorf("schema of tool %s: %w", t.Name, err)
		}
		params.Tools = append(params.Tools, sdk.ChatCompletionFunctionTool(sdk.FunctionDefinitionParam{
			Name: t.Name, Description: sdk.String(t.Description), Parameters: schema,
		}))
	}
	once := option.WithMaxRetries(0)
	if tell == nil {
		reply, err := m.client.Chat.Completions.New(ctx, params, once)
		if err != nil {
			return nil, refused(err)
		}
		return made(reply)
	}
	params.StreamOptions.IncludeUsage = sdk.Bool(true)
	stream := m.client.Chat.Completions.NewStreaming(ctx, params, once)
	defer stream.Close()
	var reply sdk.ChatCompletionAccumulator
	for stream.Next() {
		chunk := stream.Current()
		if !reply.AddChunk(chunk) {
			return nil, errors.New("stream: a chunk that belongs to another answer")
		}
		for _, c := range chunk.Choices {
			if err := tell(c.Delta.Content, agent.Usage{}); err != nil {
				return nil, err
			}
		}
	}
	if err := stream.Err(); err != nil {
		return nil, refused(err)
	}
	return made(&reply.ChatCompletion)
}

// messages are a part of the conversation as the provider wants it.
func messages(m *agent.Message) (all []sdk.ChatCompletionMessageParamUnion) {
	switch m.Role {
	case agent.User:
		return append(all, sdk.UserMessage(m.Text))
	case agent.Tools:
		for _, r := range m.Results {
			text := r.Text
			if r.Failed {
				text = "Error: " + text
			}
			all = append(all, sdk.ToolMessage(text, r.Call))
		}
		return all
	}
	if m.Text == "" && len(m.Calls) == 0 {
		return nil
	}
	is := sdk.ChatCompletionAssistantMessageParam{}
	if m.Text != "" {
		is.Content.OfString = sdk.String(m.Text)
	}
	for _, c := range m.Calls {
		is.ToolCalls = append(is.ToolCalls, sdk.ChatCompletionMessageToolCallUnionParam{
			OfFunction: &sdk.ChatCompletionMessageFunctionToolCallParam{
				ID:       c.ID,
				Function: sdk.ChatCompletionMessageFunctionToolCallFunctionParam{Name: c.Tool, Arguments: string(c.Input)},
			},
		})
	}
	return append(all, sdk.ChatCompletionMessageParamUnion{OfAssistant: &is})
}

// made makes a reply of what the provider said.
func made(c *sdk.ChatCompletion) (*agent.Reply, error) {
	if len(c.Choices) == 0 || c.Choices[0].FinishReason == "" { // a stream that broke off ends like any other
		return nil, fmt.Errorf("answer: %w", io.ErrUnexpectedEOF)
	}
	said := c.Choices[0].Message
	cached := c.Usage.PromptTokensDetails.CachedTokens
	r := &agent.Reply{Stop: stops[c.Choices[0].FinishReason], Usage: agent.Usage{
		Input: c.Usage.PromptTokens - cached, Output: c.Usage.CompletionTokens, CacheRead: cached,
	}}
	if r.Text = said.Content; said.Refusal != "" {
		r.Text, r.Stop = said.Refusal, agent.StopRefused
	}
	for _, t := range said.ToolCalls {
		r.Calls = append(r.Calls, agent.Call{ID: t.ID, Tool: t.Function.Name, Input: json.RawMessage(t.Function.Arguments)})
	}
	return r, nil
}

var stops = map[string]agent.Stop{
	"stop": agent.StopEnd, "tool_calls": agent.StopTools, "length": agent.StopCut, "content_filter": agent.StopRefused,
}

// noCredit is the code of an answer 429 that no waiting helps.
const noCredit = "insufficient_quota"

func refused(err error) error {
	if cut, ok := errors.AsType[*ssestream.StreamError](err); ok {
		return fmt.Errorf("stream: %w", cut)
	}
	is, ok := errors.AsType[*sdk.Error](err)
	if !ok {
		return err
	}
	if is.StatusCode != 401 && is.Message != "" { // that one has a part of the key
		err = fmt.Errorf("%w: %s", err, strings.TrimSpace(is.Message))
	}
	if is.Code == noCredit {
		return agent.Refused(err, 402, nil)
	}
	return agent.Refused(err, is.StatusCode, is.Response.Header)
}
