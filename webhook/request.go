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
	// the rest of the path after the token: "", or "/a/b", with its escapes
	Path string `json:"path,omitempty"`
	// Query: without the question mark, as it was sent: [url.ParseQuery] parses it.
	Query  string `json:"query,omitempty"`
	Header Header `json:"header,omitempty"`
	Body   Body   `json:"body,omitempty"`
	// Remote is the address of the sender, or of a proxy between.
	Remote     string    `json:"remote,omitempty"`
	ReceivedAt time.Time `json:"receivedAt"` // by the server's clock
	// Delivery is the sender's ID of this delivery, the same in each repeat. The workflow receives
	// it once. "": none.
	Delivery string `json:"delivery,omitempty"`
	// Reply is the stream of the run for the answer: see [Request.Respond]. "": the workflow cannot
	// answer.
	Reply string `json:"reply,omitempty"`
}

// Header has a request's headers: values by canonical name, as in net/http. Headers with
// credentials are removed: Authorization, Proxy-Authorization, Cookie, X-Api-Key, X-Gitlab-Token,
// X-Telegram-Bot-Api-Secret-Token. In other headers, in the path and in the query, the webhook's
// token is replaced by "hidden".
type Header map[string][]string

// Get returns the first value of a header, in any case; "" if there is none.
func (h Header) Get(name string) string {
	for n, values := range h {
		if len(values) > 0 && strings.EqualFold(n, name) {
			return values[0]
		}
	}
	return ""
}

// Body is the bytes of a body. Its JSON is a string for text, and {"base64": "…"} otherwise.
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

// Decode parses a JSON body into the pointer v, by the rules for hook payloads. It refuses null for
// a type without nil, JSON that is not UTF-8, and repeated members. The error then is
// [stepwell.ErrInvalid], also if a method of v's type panics.
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
