package wiretest

import (
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/stepwell/stepwell/agent"
)

// claude is the wire of Anthropic's Messages API.
type claude struct{}

type block struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
	Signature string          `json:"signature"`
	ToolUseID string          `json:"tool_use_id"`
	IsError   bool            `json:"is_error"`
	Content   []block         `json:"content"`
}

func (claude) parse(h http.Header, body []byte) (*Request, string) {
	var in struct {
		Model     string  `json:"model"`
		MaxTokens int     `json:"max_tokens"`
		Stream    bool    `json:"stream"`
		System    []block `json:"system"`
		Messages  []struct {
			Role    string  `json:"role"`
			Content []block `json:"content"`
		} `json:"messages"`
		Tools []struct {
			Name   string `json:"name"`
			Schema struct {
				Type string `json:"type"`
			} `json:"input_schema"`
		} `json:"tools"`
	}
	r := &Request{}
	if err := json.Unmarshal(body, &in); err != nil {
		return r, err.Error()
	}
	r.Stream = in.Stream
	switch {
	case h.Get("X-Api-Key") != Key:
		return r, "key"
	case h.Get("Anthropic-Version") == "", in.Model == "", in.MaxTokens < 1, len(in.Messages) == 0:
		return r, "a version, a model, max_tokens and messages are required"
	}
	for _, t := range in.Tools {
		if t.Schema.Type != "object" {
			return r, "tools: input_schema.type: want object"
		}
		r.Tools = append(r.Tools, t.Name)
	}
	open := map[string]bool{}
	for i, m := range in.Messages {
		if len(m.Content) == 0 {
			return r, fmt.Sprintf("messages.%d: content must not be empty", i)
		}
		asked := map[string]bool{}
		for _, b := range m.Content {
			switch {
			case b.Type == "text" && b.Text == "":
				return r, "messages: text content blocks must be non-empty"
			case b.Type == "text":
				r.Talk = append(r.Talk, m.Role+": "+b.Text)
			case b.Type == "thinking" && b.Signature == "":
				return r, "messages: thinking without its signature"
			case b.Type == "tool_use":
				if len(b.Input) == 0 || b.Input[0] != '{' {
					return r, "messages: tool_use.input: want an object"
				}
				asked[b.ID] = true
				r.Talk = append(r.Talk, "call "+b.ID+": "+b.Name+string(b.Input))
			case b.Type == "tool_result":
				if !open[b.ToolUseID] {
					return r, "messages: tool_result without its tool_use in the previous message"
				}
				delete(open, b.ToolUseID)
				if len(b.Content) != 1 || b.Content[0].Text == "" {
					return r, "messages: text content blocks must be non-empty"
				}
				failed := ""
				if b.IsError {
					failed = "failed: "
				}
				r.Talk = append(r.Talk, "tool "+b.ToolUseID+": "+failed+b.Content[0].Text)
			}
		}
		if len(open) > 0 {
			return r, "messages: tool_use without its tool_result in the next message"
		}
		open = asked
	}
	if len(open) > 0 {
		return r, "messages: tool_use without its tool_result in the next message"
	}
	return r, ""
}

func (claude) fail(a *Answer) any {
	return object{"type": "error", "error": object{"type": a.Error, "message": "as the script says"}, "request_id": "req_1"}
}

func (claude) message(a *Answer, content []object, stop any, out int64) object {
	return object{
		"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-test", "content": content,
		"stop_reason": stop, "stop_sequence": nil, "usage": object{
			"input_tokens": a.In, "output_tokens": out, "cache_read_input_tokens": a.Cached, "cache_creation_input_tokens": 0,
		},
	}
}

func (c claude) whole(a *Answer) any {
	content := []object{}
	if a.Thinks != "" {
		content = append(content, object{"type": "thinking", "thinking": a.Thinks, "signature": "sig"})
	}
	if text := a.text(); text != "" {
		content = append(content, object{"type": "text", "text": text})
	}
	for _, call := range a.Calls {
		input := call.Input
		if len(input) == 0 {
			input = json.RawMessage("{}")
		}
		content = append(content, object{"type": "tool_use", "id": call.ID, "name": call.Tool, "input": input})
	}
	return c.message(a, content, reasons[a.stop()], a.Out)
}

var reasons = map[agent.Stop]string{
	agent.StopEnd: "end_turn", agent.StopTools: "tool_use", agent.StopCut: "max_tokens",
	agent.StopRefused: "refusal", agent.StopPaused: "pause_turn",
}

func (c claude) begin(e *events, a *Answer) {
	e.send("message_start", object{"type": "message_start", "message": c.message(a, []object{}, nil, 1)})
	e.send("ping", object{"type": "ping"})
	if a.Thinks != "" {
		c.block(e, object{"type": "thinking", "thinking": "", "signature": ""},
			object{"type": "thinking_delta", "thinking": a.Thinks}, object{"type": "signature_delta", "signature": "sig"})
	}
	if len(a.Pieces) > 0 {
		e.send("content_block_start", object{
			"type": "content_block_start", "index": e.n, "content_block": object{"type": "text", "text": ""},
		})
	}
}

func (claude) piece(e *events, text string) {
	e.send("content_block_delta", object{
		"type": "content_block_delta", "index": e.n, "delta": object{"type": "text_delta", "text": text},
	})
}

// block sends a block in pieces.
func (claude) block(e *events, start object, deltas ...object) {
	e.send("content_block_start", object{"type": "content_block_start", "index": e.n, "content_block": start})
	for _, d := range deltas {
		e.send("content_block_delta", object{"type": "content_block_delta", "index": e.n, "delta": d})
	}
	e.send("content_block_stop", object{"type": "content_block_stop", "index": e.n})
	e.n++
}

func (claude) overloaded(e *events) {
	e.send("error", object{"type": "error", "error": object{"type": "overloaded_error", "message": "Overloaded"}})
}

func (c claude) end(e *events, a *Answer) {
	if len(a.Pieces) > 0 {
		e.send("content_block_stop", object{"type": "content_block_stop", "index": e.n})
		e.n++
	}
	for _, call := range a.Calls {
		half := len(call.Input) / 2
		c.block(e, object{"type": "tool_use", "id": call.ID, "name": call.Tool, "input": object{}},
			object{"type": "input_json_delta", "partial_json": ""},
			object{"type": "input_json_delta", "partial_json": string(call.Input[:half])},
			object{"type": "input_json_delta", "partial_json": string(call.Input[half:])})
	}
	e.send("message_delta", object{
		"type": "message_delta", "delta": object{"stop_reason": reasons[a.stop()], "stop_sequence": nil},
		"usage": object{"output_tokens": a.Out},
	})
	e.send("message_stop", object{"type": "message_stop"})
}
