package wire

// This file has errors: the codes of problem documents, and what each is in Go.

import (
	"errors"
	"fmt"
	"time"

	"github.com/stepwell/stepwell/world"
)

// Problem is what a refused request is answered with (RFC 9457, application/problem+json).
type Problem struct {
	Title   string `json:"title"`
	Status  int    `json:"status"`
	Code    string `json:"code"`
	Detail  string `json:"detail"`
	Request string `json:"request"` // where the server failed: find it in its log

	RetryAfterMs int64  `json:"retryAfterMs"` // TOO_EARLY, RATE_LIMITED
	Limit        string `json:"limit"`        // RATE_LIMITED
	Step         string `json:"step"`         // TOO_EARLY
	Run          string `json:"run"`          // CORRUPTED_EVENT_LOG, NO_KEY
	Key          string `json:"key"`          // NO_KEY: the ID of the missing key
	Seq          int64  `json:"seq"`          // CORRUPTED_EVENT_LOG
}

// Codes of what stands before a world: the key, and the server's own state.
const (
	CodeNoKey     = "UNAUTHENTICATED"
	CodeForbidden = "FORBIDDEN"
	CodeDraining  = "SHUTTING_DOWN" // nothing was done
	CodeNotReady  = "NOT_READY"     // nothing was done
	CodeBusy      = "BUSY"          // nothing was done
)

// sentinels are the errors of package world by their codes, without those that are about the server's own process.
var sentinels = func() map[string]error {
	known := map[string]error{}
	for _, c := range world.Codes() {
		if !c.Own {
			known[c.Code] = c.Err
		}
	}
	return known
}()

// Sentinel is the error of package world that a code stands for, nil where there is none.
func Sentinel(code string) error { return sentinels[code] }

// Err is the problem as the error of package world that it stands for: errors.Is and errors.As hold as they do in the server. Where there is
// none it is [world.ErrStorage].
func (p *Problem) Err() error {
	text := p.Detail
	if text == "" {
		text = p.Title
	}
	if p.Request != "" {
		text += "; the server's log has more at " + p.Request
	}
	is := sentinels[p.Code]
	switch {
	case p.Code == "TOO_EARLY" && p.RetryAfterMs > 0:
		is = &world.TooEarlyError{Step: p.Step, RetryAfter: time.Duration(p.RetryAfterMs) * time.Millisecond}
	case errors.Is(is, world.ErrRateLimited) && p.RetryAfterMs > 0:
		after := time.Duration(p.RetryAfterMs) * time.Millisecond
		is = &world.RateError{Limit: p.Limit, Key: p.Key, At: time.Now().Add(after).UTC(), After: after}
	case p.Code == world.CodeCorrupt && p.Run != "":
		is = &world.CorruptError{Run: p.Run, Seq: p.Seq, Err: fmt.Errorf("%s", text)}
	case p.Code == world.CodeNoKey && p.Run != "":
		is = &world.KeyError{Run: p.Run, Key: p.Key}
	case is == nil:
		is, text = world.ErrStorage, fmt.Sprintf("the server answered %d %s: %s", p.Status, p.Code, text)
	}
	return &problemError{text: text, is: is}
}

// problemError says what the server said.
type problemError struct {
	text string
	is   error
}

func (e *problemError) Error() string { return e.text }
func (e *problemError) Unwrap() error { return e.is }
