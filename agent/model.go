package agent

// What a provider's adapter implements, and the conversation in words that are no provider's.

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/stepwell/stepwell"
)

// Model is a language model. Implementations must be safe for concurrent use.
type Model interface {
	// Call asks the model once. It must not retry: the calling step retries, unless the error is
	// [stepwell.Fatal]. Use [Refused] to make errors of HTTP answers.
	//
	// If tell is not nil, Call streams: it calls tell for each piece of text, and with the usage so
	// far once that is known. Call must return an error of tell. A stream that breaks off is an
	// error.
	Call(ctx context.Context, r *Request, tell func(text string, sofar Usage) error) (*Reply, error)
}

// ModelFunc makes a [Model] of a function.
type ModelFunc func(ctx context.Context, r *Request, tell func(text string, sofar Usage) error) (*Reply, error)

// Call implements [Model].
func (f ModelFunc) Call(ctx context.Context, r *Request, tell func(string, Usage) error) (*Reply, error) {
	return f(ctx, r, tell)
}

// Request is the input of a [Model].
type Request struct {
	System   string
	Messages []Message
	Tools    []Tool // only their Name, Description and Schema matter
}

// Role is the author of a message.
type Role string

// Roles.
const (
	User      Role = "user"
	Assistant Role = "assistant"
	Tools     Role = "tools"
)

// Message is one message of a conversation.
type Message struct {
	Role  Role   `json:"role"`
	Text  string `json:"text,omitempty"`
	Calls []Call `json:"calls,omitempty"` // of role Assistant
	// Results: of role Tools: one for each call in the message before.
	Results []Result `json:"results,omitempty"`
	// Raw is the message in the format of the provider From, if Text and Calls do not hold all of
	// it. Other providers ignore it.
	Raw  json.RawMessage `json:"raw,omitempty"`
	From string          `json:"from,omitempty"`
}

// Call is a model's request to use a tool.
type Call struct {
	ID    string          `json:"id"`
	Tool  string          `json:"tool"`
	Input json.RawMessage `json:"input"`
}

// Result is the result of a tool.
type Result struct {
	Call   string `json:"call"` // ID of the call
	Text   string `json:"text"`
	Failed bool   `json:"failed,omitempty"`
}

// Stop is the reason why a model stopped.
type Stop string

// Reasons why a model stops.
const (
	StopEnd   Stop = "end"   // the answer is complete
	StopTools Stop = "tools" // it waits for its tools
	// StopCut: the answer is longer than the call allows, or the conversation than the model.
	StopCut     Stop = "cut"
	StopRefused Stop = "refused" // the model, or a filter, refuses to answer
	StopPaused  Stop = "paused"  // the provider wants to be called again with the text so far
)

// Reply is the result of [Model.Call].
type Reply struct {
	Message
	Stop  Stop  `json:"stop"`
	Usage Usage `json:"usage"`
}

func (r *Reply) goesOn() bool { return len(r.Calls) > 0 || r.Stop == StopPaused }

// Usage counts tokens. Each token counts in one field only.
type Usage struct {
	Input      int64 `json:"input"` // without cached ones
	Output     int64 `json:"output"`
	CacheRead  int64 `json:"cacheRead,omitempty"`
	CacheWrite int64 `json:"cacheWrite,omitempty"`
}

// Total returns the sum.
func (u Usage) Total() int64 { return u.Input + u.Output + u.CacheRead + u.CacheWrite }

func (u Usage) plus(v Usage) Usage {
	return Usage{u.Input + v.Input, u.Output + v.Output, u.CacheRead + v.CacheRead, u.CacheWrite + v.CacheWrite}
}

// Price is the price of a million tokens, in the currency of [Options].MaxCost.
type Price struct {
	Input      float64
	Output     float64
	CacheRead  float64 // 0: as Input
	CacheWrite float64 // 0: as Input
}

// Cost returns the cost of tokens.
func (p Price) Cost(u Usage) float64 {
	if p.CacheRead == 0 {
		p.CacheRead = p.Input
	}
	if p.CacheWrite == 0 {
		p.CacheWrite = p.Input
	}
	return (p.Input*float64(u.Input) + p.Output*float64(u.Output) +
		p.CacheRead*float64(u.CacheRead) + p.CacheWrite*float64(u.CacheWrite)) / 1e6
}

// RefusedError means that the provider answered a call with an error.
type RefusedError struct {
	Status int // HTTP status
	Err    error
}

func (e *RefusedError) Error() string { return e.Err.Error() }

// Unwrap returns the error of the provider's client library.
func (e *RefusedError) Unwrap() error { return e.Err }

// Refused makes the error of a [Model] for an unsuccessful HTTP answer. If another attempt may
// help, by the status (408, 409, 429, 5xx) or by the header x-should-retry, the step tries again
// after the time that the headers ask for. Otherwise the error is [stepwell.Fatal].
func Refused(err error, status int, h http.Header) error {
	err = &RefusedError{Status: status, Err: err}
	again := status >= 500
	switch status {
	case http.StatusRequestTimeout, http.StatusConflict, http.StatusTooManyRequests:
		again = true
	}
	if said, bad := strconv.ParseBool(h.Get("X-Should-Retry")); bad == nil {
		again = said
	}
	if !again {
		return stepwell.Fatal(err)
	}
	if d := retryAfter(h); d > 0 {
		return stepwell.RetryAfter(fmt.Errorf("%w (asked to wait %s)", err, d), d)
	}
	return err
}

// retryAfter is how long a provider asks to wait; 0: it does not say.
func retryAfter(h http.Header) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil {
		return time.Duration(ms * float64(time.Millisecond))
	}
	text := h.Get("Retry-After")
	if s, err := strconv.ParseFloat(text, 64); err == nil {
		return time.Duration(s * float64(time.Second))
	}
	if at, err := http.ParseTime(text); err == nil {
		return time.Until(at)
	}
	return 0
}
