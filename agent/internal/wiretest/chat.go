package wiretest

import (
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/stepwell/stepwell/agent"
)

// chat is the wire of OpenAI's Chat Completions.
type chat struct{}

func (chat) parse(h http.Header, body []byte) (*Request, string) {
	var in struct {
		Model    string `json:"model"`
		Stream   bool   `json:"stream"`
		Options  object `json:"stream_options"`
		Messages []struct {
			Role    string `json:"role"`
			Content string `json:"content"`
			Call    string `json:"tool_call_id"`
			Calls   []struct {
				ID       string `json:"id"`
				Type     string `json:"type"`
				Function struct {
					Name      string `json:"name"`
					Arguments string `json:"arguments"`
				} `json:"function"`
			} `json:"tool_calls"`
		} `json:"messages"`
		Tools []struct {
			Type     string `json:"type"`
			Function struct {
				Name       string `json:"name"`
				Parameters struct {
					Type string `json:"type"`
				} `json:"parameters"`
			} `json:"function"`
		} `json:"tools"`
	}
	r := &Request{}
	if err := json.Unmarshal(body, &in); err != nil {
		return r, err.Error()
	}
	r.Stream = in.Stream
	switch {
	case h.Get("Authorization") != "Bearer "+Key:
		return r, "key"
	case in.Model == "", len(in.Messages) == 0:
		return r, "a model and messages are required"
	case in.Stream && in.Options["include_usage"] != true:
		return r, "a stream without its usage"
	}
	for _, t := range in.Tools {
		if t.Type != "function" || t.Function.Parameters.Type != "object" {
			return r, "tools: want functions with parameters that are an object"
		}
		r.Tools = append(r.Tools, t.Function.Name)
	}
	open := map[string]bool{}
	for i, m := range in.Messages {
		if m.Role == "tool" {
			if !open[m.Call] {
				return r, fmt.Sprintf("messages.%d: a tool message must follow the message with its tool_calls", i)
			}
			delete(open, m.Call)
			r.Talk = append(r.Talk, "tool "+m.Call+": "+m.Content)
			continue
		}
		if len(open) > 0 {
			return r, "messages: tool_calls must be followed by tool messages for each tool_call_id"
		}
		if m.Content != "" && m.Role != "system" {
			r.Talk = append(r.Talk, m.Role+": "+m.Content)
		}
		for _, c := range m.Calls {
			if c.Type != "function" || !json.Valid([]byte(c.Function.Arguments)) {
				return r, "messages: a call that is none of a function, or has no JSON"
			}
			open[c.ID] = true
			r.Talk = append(r.Talk, "call "+c.ID+": "+c.Function.Name+c.Function.Arguments)
		}
	}
	if len(open) > 0 {
		return r, "messages: tool_calls must be followed by tool messages for each tool_call_id"
	}
	return r, ""
}

func (chat) fail(a *Answer) any {
	return object{"error": object{"message": "as the script says", "type": a.Error, "param": nil, "code": a.Error}}
}

var finishes = map[agent.Stop]string{
	agent.StopEnd: "stop", agent.StopTools: "tool_calls", agent.StopCut: "length", agent.StopRefused: "content_filter",
}

func (chat) usage(a *Answer) object {
	return object{
		"prompt_tokens": a.In + a.Cached, "completion_tokens": a.Out, "total_tokens": a.In + a.Cached + a.Out,
		"prompt_tokens_details": object{"cached_tokens": a.Cached},
	}
}

func (c chat) whole(a *Answer) any {
	said := object{"role": "assistant", "content": a.text(), "refusal": nil}
	if len(a.Calls) > 0 {
		var calls []object
		for _, call := range a.Calls {
			calls = append(calls, object{
				"id": call.ID, "type": "function", "function": object{"name": call.Tool, "arguments": string(call.Input)},
			})
		}
		said["tool_calls"] = calls
	}
	return object{
		"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "gpt-test", "usage": c.usage(a),
		"choices": []object{{"index": 0, "message": said, "logprobs": nil, "finish_reason": finishes[a.stop()]}},
	}
}

func (chat) chunk(e *events, delta object, finish any) {
	e.send("", object{
		"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "gpt-test", "usage": nil,
		"choices": []object{{"index": 0, "delta": delta, "logprobs": nil, "finish_reason": finish}},
	})
}

func (c chat) begin(e *events, _ *Answer) {
	c.chunk(e, object{"role": "assistant", "content": "", "refusal": nil}, nil)
}

func (c chat) piece(e *events, text string) { c.chunk(e, object{"content": text}, nil) }

func (chat) overloaded(e *events) {
	e.send("", object{"error": object{"message": "The server is overloaded", "type": "server_error", "code": nil}})
}

func (c chat) end(e *events, a *Answer) {
	for i, call := range a.Calls {
		half := len(call.Input) / 2
		c.chunk(e, object{"tool_calls": []object{{
			"index": i, "id": call.ID, "type": "function", "function": object{"name": call.Tool, "arguments": ""},
		}}}, nil)
		for _, part := range []string{string(call.Input[:half]), string(call.Input[half:])} {
			c.chunk(e, object{"tool_calls": []object{{"index": i, "function": object{"arguments": part}}}}, nil)
		}
	}
	c.chunk(e, object{}, finishes[a.stop()])
	e.send("", object{
		"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "gpt-test", "choices": []object{},
		"usage": c.usage(a),
	})
	fmt.Fprint(e.w, "data: [DONE]\n\n")
}
