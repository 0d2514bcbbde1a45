package webhook

// What a webhook receives: requests, as they are kept in a log.

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/stepwell/stepwell/internal/codec"
	"github.com/stepwell/stepwell/internal/kit"
	"github.com/stepwell/stepwell/world"
)

// Request is a request that was sent to a webhook.
type Request struct {
	Method string `json:"method"`
	Path   string `json:"path,omitempty"`  // what stands behind the token: "", or "/a/b", with its escapes
	Query  string `json:"query,omitempty"` // without the question mark, as it was sent: [url.ParseQuery] reads it
	Header Header `json:"header,omitempty"`
	Body   Body   `json:"body,omitempty"`
	// Remote is the address that the request came from: a proxy's, where one is in between.
	Remote     string    `json:"remote,omitempty"`
	ReceivedAt time.Time `json:"receivedAt"` // by the server's clock
	// Delivery is what the sender calls this delivery, the same when it sends it again: it is received once. "": it has
	// no name.
	Delivery string `json:"delivery,omitempty"`
	// Reply is where the answer goes, a stream of the run: see [Request.Respond]. "": the webhook does not let its
	// workflow answer.
	Reply string `json:"reply,omitempty"`
}

// Header are the headers of a request: values by canonical name, as net/http has them. Those that carry credentials are
// left out: Authorization, Proxy-Authorization, Cookie, X-Api-Key, X-Gitlab-Token, X-Telegram-Bot-Api-Secret-Token.
// Where a header, the path or the query repeats the webhook's token it says "hidden" instead.
type Header map[string][]string

// Get is the first value of a header, whatever the case of its name; "" where there is none.
func (h Header) Get(name string) string {
	for n, values := range h {
		if len(values) > 0 && strings.EqualFold(n, name) {
			return values[0]
		}
	}
	return ""
}

// Body is a body: bytes, which as JSON are a string where they are text, else {"base64": "…"}.
type Body []byte

// MarshalJSON implements json.Marshaler.
func (b Body) MarshalJSON() ([]byte, error) {
	if utf8.Valid(b) && strings.IndexByte(string(b), 0) < 0 {
		return codec.Encode(string(b), -1)
	}
	return codec.Encode(binaryBody{b}, -1)
}

type binaryBody struct {
	Base64 []byte `json:"base64"`
}

// UnmarshalJSON implements json.Unmarshaler.
func (b *Body) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '{' {
		var v binaryBody
		if err := json.Unmarshal(data, &v); err != nil {
			return fmt.Errorf("body of a webhook: %w", err)
		}
		*b = v.Base64
		return nil
	}
	var s string
	if err := json.Unmarshal(data, &s); err != nil {
		return fmt.Errorf("body of a webhook: %w", err)
	}
	*b = []byte(s)
	return nil
}

// Decode reads a body of JSON into the pointer v, as a hook reads its payload: null does not fit a type that has no
// nil, and what is not UTF-8, or has a member twice, is not JSON. Where a method of v's type panics over it, it does
// not fit either. What does not fit is [stepwell.ErrInvalid].
func (r *Request) Decode(v any) error {
	if r == nil || kit.IsNil(v) {
		return kit.Missing("decode a request: it, or what it is decoded into,")
	}
	if err := world.CheckJSON("the body of the request", r.Body); err != nil {
		return err
	}
	if err := codec.Fits(r.Body, v); err != nil {
		return fmt.Errorf("%w: the body of the request is not the expected JSON: %w", world.ErrInvalid, err)
	}
	codec.FixZones(v)
	return nil
}
