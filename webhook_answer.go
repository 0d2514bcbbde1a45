package stepwell

// What requests to webhooks are answered with, and how workflow code does it.

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/stepwell/stepwell/internal/codec"
	"github.com/stepwell/stepwell/internal/engine"
	"github.com/stepwell/stepwell/world"
)

// Bounds of an answer.
const (
	maxStaticBody    = 64 << 10 // bytes of the body of RespondWith, as it is kept with the hook
	maxAnswerHeaders = 64
	maxAnswerHeader  = 8 << 10 // bytes of all names and values
)

// replyPrefix is what the streams with answers are called.
const replyPrefix = world.WebhookAnswers

// ErrAnswered: the request was answered before, and this answer was not given.
var ErrAnswered = errors.New("the request was answered before")

// WebhookResponse is an answer. The zero value is 200 without a body.
type WebhookResponse struct {
	Status int `json:"status,omitempty"` // 200 to 599; 0: 200
	// Header are headers by name. Those about the connection, and those that browsers hold against the server's own pages, such as Set-Cookie and
	// Content-Security-Policy, are refused. Without a Content-Type the body is text, or bytes.
	Header map[string]string `json:"header,omitempty"`
	Body   WebhookBody       `json:"body,omitempty"`
}

// Check refuses, with [ErrInvalid] or [ErrTooLarge], what no request can be answered with.
func (r *WebhookResponse) Check() error {
	if r.Status != 0 && (r.Status < 200 || r.Status > 599) {
		return fmt.Errorf("%w: an answer with status %d: want 200 to 599", ErrInvalid, r.Status)
	}
	if (r.Status == 204 || r.Status == 304) && len(r.Body) > 0 {
		return fmt.Errorf("%w: an answer with status %d has no body, this has %d bytes", ErrInvalid, r.Status, len(r.Body))
	}
	if len(r.Header) > maxAnswerHeaders {
		return fmt.Errorf("%w: an answer with %d headers, more than %d", ErrTooLarge, len(r.Header), maxAnswerHeaders)
	}
	size, seen := 0, map[string]bool{}
	for name, value := range r.Header {
		size += len(name) + len(value)
		lower := strings.ToLower(name)
		switch {
		case seen[lower]:
			return fmt.Errorf("%w: an answer with the header %.40s twice", ErrInvalid, name)
		case !headerName(name):
			return fmt.Errorf("%w: an answer with the header %.40q, which is no name of one", ErrInvalid, name)
		case refusedHeaders[lower]:
			return fmt.Errorf("%w: an answer with the header %s, which is not a workflow's to set", ErrInvalid, name)
		case !headerValue(value):
			return fmt.Errorf("%w: an answer whose header %s has characters that a header cannot carry", ErrInvalid, name)
		}
		seen[lower] = true
	}
	if size > maxAnswerHeader {
		return fmt.Errorf("%w: an answer with %d bytes of headers, more than %d", ErrTooLarge, size, maxAnswerHeader)
	}
	return nil
}

// refusedHeaders are about the connection, or about the origin that the server's own pages have too.
var refusedHeaders = map[string]bool{
	"connection": true, "content-length": true, "keep-alive": true, "proxy-authenticate": true, "proxy-authorization": true, "proxy-connection": true,
	"te": true, "trailer": true, "transfer-encoding": true, "upgrade": true, "date": true,
	"set-cookie": true, "set-cookie2": true, "clear-site-data": true, "content-security-policy": true, "content-security-policy-report-only": true,
	"x-content-type-options": true, "x-frame-options": true, "strict-transport-security": true, "service-worker-allowed": true, "alt-svc": true,
	"nel": true, "report-to": true, "set-login": true,
}

// headerName reports whether a text is a token, as RFC 9110 has it.
func headerName(s string) bool {
	for i := range len(s) {
		c := s[i]
		if !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte("!#$%&'*+-.^_`|~", c) >= 0) {
			return false
		}
	}
	return s != ""
}

func headerValue(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' && c != '\t' || c == 0x7f {
			return false
		}
	}
	return utf8.ValidString(s)
}

// Respond answers the request, which a webhook with [RespondManually] received. It returns at once; the answer is part of the run's next commit, and who
// waits for it gets it then. So it is given once, however often the code runs again, and whichever process of whoever waits, or comes again with the same
// delivery. Where nobody waits any more it is kept, and does no harm.
//
// Errors: [ErrInvalid] and [ErrTooLarge] for what cannot be an answer, or a request that nobody waits for an answer to; [ErrAnswered] behind the first
// answer; [ErrCancelled] when the run is cancelled: see [Context.Uncancelled].
func (r *WebhookRequest) Respond(ctx Context, res WebhookResponse) error {
	if r == nil {
		return missing("answer a webhook: the request")
	}
	if !strings.HasPrefix(r.Reply, replyPrefix) {
		return fmt.Errorf("answer a webhook: %w: its webhook answers by itself: see RespondManually", ErrInvalid)
	}
	if err := res.Check(); err != nil {
		return fmt.Errorf("answer a webhook: %w", err)
	}
	b, err := codec.Encode(res, min(ctx.env.limit, world.MaxChunk))
	if err != nil {
		return fmt.Errorf("answer a webhook: %w", err)
	}
	kept := localOf(ctx)
	if kept == nil {
		return ctx.x.Refusal()
	}
	if _, ok := kept.answered[r.Reply]; ok {
		return fmt.Errorf("answer a webhook: %w", ErrAnswered)
	}
	if err := askStream(ctx, r.Reply, &engine.StreamSpec{Chunk: b}); err != nil {
		return err
	}
	if kept.answered == nil {
		kept.answered = map[string]struct{}{}
	}
	kept.answered[r.Reply] = struct{}{}
	return nil
}
