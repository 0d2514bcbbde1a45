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

// Model is a language model.
type Model interface {
	// Call asks the model once. It does not try again: the step that it is called in does, unless the error is
	// [stepwell.Fatal]; an answer that is no success of HTTP is made an error by [Refused].
	//
	// With a tell it asks for a stream and tells of each piece of text as it comes, and of the usage so far as soon as
	// that is known. An error of tell is to be returned. A stream that breaks off before its end is an error.
	Call(ctx context.Context, r *Request, tell func(text string, sofar Usage) error) (*Reply, error)
}

// ModelFunc is a function as a [Model].
type ModelFunc func(ctx context.Context, r *Request, tell func(text string, sofar Usage) error) (*Reply, error)

// Call implements [Model].
func (f ModelFunc) Call(ctx context.Context, r *Request, tell func(string, Usage) error) (*Reply, error) {
	return f(ctx, r, tell)
}

// Request is what a model is asked.
type Request struct {
	System   string
	Messages []Message
	Tools    []Tool // their Name, Description and Schema
}

// Role says whose a message is.
type Role string

// The roles.
const (
	User      Role = "user"
	Assistant Role = "assistant"
	Tools     Role = "tools"
)

// Message is a part of a conversation.
type Message struct {
	Role    Role     `json:"role"`
	Text    string   `json:"text,omitempty"`
	Calls   []Call   `json:"calls,omitempty"`   // of Assistant
	Results []Result `json:"results,omitempty"` // of Tools: of all calls in the message before
	// Raw is the message as the provider From knows it, where Text and Calls do not say all of it. Others leave it out.
	Raw  json.RawMessage `json:"raw,omitempty"`
	From string          `json:"from,omitempty"`
}

// Call is a model's wish to use a tool.
type Call struct {
	ID    string          `json:"id"`
	Tool  string          `json:"tool"`
	Input json.RawMessage `json:"input"`
}

// Result is what a tool came to.
type Result struct {
	Call   string `json:"call"` // its ID
	Text   string `json:"text"`
	Failed bool   `json:"failed,omitempty"`
}

// Stop says why a model stopped.
type Stop string

// Why a model stops.
const (
	StopEnd     Stop = "end"     // it has said all
	StopTools   Stop = "tools"   // it waits for its tools
	StopCut     Stop = "cut"     // the answer is longer than the call allows, or the conversation than the model
	StopRefused Stop = "refused" // it, or a filter, refuses to answer
	StopPaused  Stop = "paused"  // the provider wants to be asked again, with what it said so far
)

// Reply is an answer of a model.
type Reply struct {
	Message
	Stop  Stop  `json:"stop"`
	Usage Usage `json:"usage"`
}

func (r *Reply) goesOn() bool { return len(r.Calls) > 0 || r.Stop == StopPaused }

// Usage counts tokens. Each is in one of the fields only.
type Usage struct {
	Input      int64 `json:"input"` // but for those of a cache
	Output     int64 `json:"output"`
	CacheRead  int64 `json:"cacheRead,omitempty"`
	CacheWrite int64 `json:"cacheWrite,omitempty"`
}

// Total is the sum.
func (u Usage) Total() int64 { return u.Input + u.Output + u.CacheRead + u.CacheWrite }

func (u Usage) plus(v Usage) Usage {
	return Usage{u.Input + v.Input, u.Output + v.Output, u.CacheRead + v.CacheRead, u.CacheWrite + v.CacheWrite}
}

// Price is what a million tokens cost, in the currency of [Options].MaxCost.
type Price struct {
	Input      float64
	Output     float64
	CacheRead  float64 // 0: as Input
	CacheWrite float64 // 0: as Input
}

// Cost is what tokens cost.
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

// RefusedError: the provider answered a call with an error.
type RefusedError struct {
	Status int // of HTTP
	Err    error
}

func (e *RefusedError) Error() string { return e.Err.Error() }

// Unwrap returns the error of the provider's client library.
func (e *RefusedError) Unwrap() error { return e.Err }

// Refused makes the error of a [Model] of an answer that is no success. Another attempt follows, after the time that
// the headers ask for, where the status says that it may help (408, 409, 429, 5xx, such as 529), or the header
// x-should-retry says so; otherwise the error is [stepwell.Fatal].
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
