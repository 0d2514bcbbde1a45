package webhook

// What requests to webhooks are answered with, and how workflow code does it.

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/codec"
	"github.com/stepwell/stepwell/internal/kit"
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

// Response is an HTTP answer. The zero value is 200 without a body.
type Response struct {
	Status int `json:"status,omitempty"` // 200 to 599; 0: 200
	// Header has headers by name. Headers of the connection are refused, and so are headers that
	// apply to the server's own pages in browsers, such as Set-Cookie and Content-Security-Policy.
	// Without a Content-Type it is text or application/octet-stream, by the body.
	Header map[string]string `json:"header,omitempty"`
	Body   Body              `json:"body,omitempty"`
}

// Check returns [stepwell.ErrInvalid] or [stepwell.ErrTooLarge] for an invalid answer.
func (r *Response) Check() error {
	if r.Status != 0 && (r.Status < 200 || r.Status > 599) {
		return fmt.Errorf("%w: answer status %d: want 200 to 599", world.ErrInvalid, r.Status)
	}
	if (r.Status == 204 || r.Status == 304) && len(r.Body) > 0 {
		return fmt.Errorf("%w: an answer with status %d cannot have a body, and this one has %d bytes", world.ErrInvalid, r.Status, len(r.Body))
	}
	if len(r.Header) > maxAnswerHeaders {
		return fmt.Errorf("%w: the answer has %d headers: want %d at most", world.ErrTooLarge, len(r.Header), maxAnswerHeaders)
	}
	size, seen := 0, map[string]bool{}
	for name, value := range r.Header {
		size += len(name) + len(value)
		lower := strings.ToLower(name)
		switch {
		case seen[lower]:
			return fmt.Errorf("%w: the answer has the header %.40s twice", world.ErrInvalid, name)
		case !headerName(name):
			return fmt.Errorf("%w: the answer has the header %.40q, which is not a valid name", world.ErrInvalid, name)
		case refusedHeaders[lower]:
			return fmt.Errorf("%w: the answer has the header %s, which a workflow cannot set", world.ErrInvalid, name)
		case !headerValue(value):
			return fmt.Errorf("%w: the answer has the header %s with characters that a header cannot carry", world.ErrInvalid, name)
		}
		seen[lower] = true
	}
	if size > maxAnswerHeader {
		return fmt.Errorf("%w: the answer has %d bytes of headers: want %d at most", world.ErrTooLarge, size, maxAnswerHeader)
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

// Respond answers the request of a webhook with [RespondManually]. It returns at once: the answer
// is part of the run's next commit. So it is given exactly once, even if the code runs again. The
// sender gets it if it still waits, or when it repeats the request with the same delivery.
//
// Errors: [stepwell.ErrInvalid] and [stepwell.ErrTooLarge] for an invalid answer;
// [stepwell.ErrInvalid] for a request that takes no answer; [stepwell.ErrAnswered] after the first
// answer; [stepwell.ErrCancelled] if the run is cancelled: see [stepwell.Context.Uncancelled].
func (r *Request) Respond(ctx stepwell.Context, res Response) error {
	if r == nil {
		return kit.Missing("answer a webhook: the request")
	}
	if !strings.HasPrefix(r.Reply, replyPrefix) {
		return fmt.Errorf("answer a webhook: %w: this webhook answers by itself: use RespondManually", world.ErrInvalid)
	}
	if err := res.Check(); err != nil {
		return fmt.Errorf("answer a webhook: %w", err)
	}
	limit := min(world.MaxChunk, kit.CodeOf(ctx).MaxPayload())
	b, err := codec.Encode(res, limit)
	if errors.Is(err, world.ErrTooLarge) {
		return fmt.Errorf("answer a webhook: %w: the body has %d bytes: an answer may have %d bytes as JSON with its headers, so a text body must be a little "+
			"shorter than that, and a binary body, stored as base64, at most about %d", world.ErrTooLarge, len(res.Body), limit, limit/4*3)
	}
	if err != nil {
		return fmt.Errorf("answer a webhook: %w", err)
	}
	if err := kit.Answer(ctx, r.Reply, b); errors.Is(err, stepwell.ErrAnswered) {
		return fmt.Errorf("answer a webhook: %w", err)
	} else if err != nil {
		return err
	}
	return nil
}
