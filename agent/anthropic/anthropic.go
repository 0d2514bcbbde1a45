// Package anthropic makes Claude an [agent.Model], with Anthropic's own client library.
package anthropic

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
	"github.com/anthropics/anthropic-sdk-go/packages/param"

	"github.com/stepwell/stepwell/agent"
)

// from marks messages that only this provider reads.
const from = "anthropic"

type model struct {
	client sdk.Client
	params sdk.MessageNewParams
}

// New returns a model that uses a client, with parameters for each call: at least Model and
// MaxTokens, and others such as Thinking or CacheControl. The agent sets System and Messages, and
// adds its tools to those of params, which run at the provider. The client's own retries are off.
func New(client sdk.Client, params sdk.MessageNewParams) agent.Model { return &model{client, params} }

// Call implements [agent.Model].
func (m *model) Call(ctx context.Context, r *agent.Request, tell func(string, agent.Usage) error) (*agent.Reply, error) {
	params := m.params
	if r.System != "" {
		params.System = []sdk.TextBlockParam{{Text: r.System}}
	}
	params.Messages = nil
	for i := range r.Messages {
		if is, ok := message(&r.Messages[i]); ok {
			params.Messages = append(params.Messages, is)
		}
	}
	params.Tools = params.Tools[:len(params.Tools):len(params.Tools)]
	for _, t := range r.Tools {
		params.Tools = append(params.Tools, sdk.ToolUnionParam{OfTool: &sdk.ToolParam{
			Name: t.Name, Description: sdk.String(t.Description), InputSchema: param.Override[sdk.ToolInputSchemaParam](t.Schema),
		}})
	}
	once := option.WithMaxRetries(0)
	if tell == nil {
		reply, err := m.client.Messages.New(ctx, params, once, option.WithRequestTimeout(time.Hour)) // the step's is less
		if err != nil {
			return nil, refused(err)
		}
		return made(reply)
	}
	stream := m.client.Messages.NewStreaming(ctx, params, once)
	defer stream.Close()
	var reply sdk.Message
	for stream.Next() {
		event := stream.Current()
		if err := reply.Accumulate(event); err != nil {
			return nil, fmt.Errorf("stream: %w", err)
		}
		if event.Type == "message_start" || event.Delta.Text != "" {
			if err := tell(event.Delta.Text, usage(&reply)); err != nil {
				return nil, err
			}
		}
		if event.Type == "message_stop" {
			return made(&reply)
		}
	}
	if err := stream.Err(); err != nil {
		return nil, refused(err)
	}
	return nil, fmt.Errorf("stream: %w", io.ErrUnexpectedEOF)
}

// message is a part of the conversation as the provider wants it; false: there is nothing in it.
func message(m *agent.Message) (sdk.MessageParam, bool) {
	if m.From == from && m.Raw != nil {
		return param.Override[sdk.MessageParam](m.Raw), true
	}
	is := sdk.MessageParam{Role: sdk.MessageParamRoleUser}
	if m.Role == agent.Assistant {
		is.Role = sdk.MessageParamRoleAssistant
	}
	if m.Text != "" {
		is.Content = append(is.Content, sdk.NewTextBlock(m.Text))
	}
	for _, c := range m.Calls {
		is.Content = append(is.Content, sdk.NewToolUseBlock(c.ID, c.Input, c.Tool))
	}
	for _, r := range m.Results {
		is.Content = append(is.Content, sdk.NewToolResultBlock(r.Call, r.Text, r.Failed))
	}
	return is, len(is.Content) > 0
}

// made makes a reply of what the provider said.
func made(m *sdk.Message) (*agent.Reply, error) {
	r := &agent.Reply{Usage: usage(m), Stop: stops[m.StopReason]}
	whole, texts := true, 0
	var b strings.Builder
	for _, c := range m.Content {
		switch c.Type {
		case "text":
			texts++
			b.WriteString(c.Text)
		case "tool_use":
			r.Calls = append(r.Calls, agent.Call{ID: c.ID, Tool: c.Name, Input: c.Input})
		default: // thinking, or what a tool of the provider did: it wants that back
			whole = false
		}
	}
	if r.Text = b.String(); whole && texts < 2 {
		return r, nil
	}
	raw, err := json.Marshal(m.ToParam())
	if err != nil {
		return nil, fmt.Errorf("message: %w", err)
	}
	r.Raw, r.From = raw, from
	return r, nil
}

var stops = map[sdk.StopReason]agent.Stop{
	sdk.StopReasonEndTurn: agent.StopEnd, sdk.StopReasonStopSequence: agent.StopEnd, sdk.StopReasonToolUse: agent.StopTools,
	sdk.StopReasonMaxTokens: agent.StopCut, sdk.StopReasonModelContextWindowExceeded: agent.StopCut,
	sdk.StopReasonPauseTurn: agent.StopPaused, sdk.StopReasonRefusal: agent.StopRefused,
}

func usage(m *sdk.Message) agent.Usage {
	return agent.Usage{
		Input: m.Usage.InputTokens, Output: m.Usage.OutputTokens,
		CacheRead: m.Usage.CacheReadInputTokens, CacheWrite: m.Usage.CacheCreationInputTokens,
	}
}

// statuses are those of errors that come in a stream, which has begun with success.
var statuses = map[sdk.ErrorType]int{
	"invalid_request_error": 400, "authentication_error": 401, "billing_error": 402, "permission_error": 403,
	"not_found_error": 404, "request_too_large": 413, "rate_limit_error": 429, "api_error": 500, "timeout_error": 504,
	"overloaded_error": 529,
}

func refused(err error) error {
	is, ok := errors.AsType[*sdk.Error](err)
	switch {
	case !ok:
		return err
	case is.StatusCode >= 300:
		return agent.Refused(err, is.StatusCode, is.Response.Header)
	case statuses[is.Type()] != 0:
		return agent.Refused(err, statuses[is.Type()], nil)
	}
	return err
}
