package server

// This file checks the signatures of requests to webhooks, each provider's in its way.

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/stepwell/stepwell/internal/human"
	"github.com/stepwell/stepwell/webhook"
	"github.com/stepwell/stepwell/world"
)

// tolerance is how old a signed request may be, and how far a sender's clock may be ahead.
const tolerance = 5 * time.Minute

// mostSignatures is how many signatures of one request are looked at: a provider that changes its secret sends two.
const mostSignatures = 16

// verify refuses a request that is not signed with one of the keys, or too long ago. It tells what the provider calls the delivery, from what is signed if
// that has it: a request that is repeated within the tolerance is the same delivery, whoever repeats it. GitHub's name is not signed, and its
// requests have no time: what was signed names them.
func verify(scheme webhook.Scheme, keys [][]byte, now time.Time, h http.Header, body []byte) (delivery string, err error) {
	switch scheme {
	case webhook.GitHub:
		return verifyGitHub(keys, h, body)
	case webhook.Stripe:
		return verifyStripe(keys, now, h, body)
	case webhook.Slack:
		return verifySlack(keys, now, h, body)
	case webhook.Standard:
		return verifyStandard(keys, now, h, body)
	}
	return "", fmt.Errorf("%w: this server does not know the signature scheme %.40q", errSecret, scheme)
}

func unsigned(format string, args ...any) error {
	return fmt.Errorf("%w: %s", errSignature, fmt.Sprintf(format, args...))
}

// one is the value of a header that must be there once.
func one(h http.Header, name string) (string, error) {
	values := h.Values(name)
	if len(values) != 1 || values[0] == "" {
		return "", unsigned("the header %s is there %d times, want once", name, len(values))
	}
	return values[0], nil
}

// fresh refuses a time, in seconds, that is not of now.
func fresh(text string, now time.Time) error {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 || n > 1<<40 {
		return unsigned("its time is not a number of seconds")
	}
	if d := now.Sub(time.Unix(n, 0)); d > tolerance || d < -tolerance {
		return unsigned("its time differs from the server's by more than %s", human.SpanText(tolerance))
	}
	return nil
}

// matches reports whether one of the signatures is that of a text, with one of the keys. It takes as long whichever it is.
func matches(keys, signatures [][]byte, texts ...[]byte) bool {
	found := false
	for _, key := range keys {
		m := hmac.New(sha256.New, key)
		for _, t := range texts {
			_, _ = m.Write(t) // a hash takes all
		}
		want := m.Sum(nil)
		for _, got := range signatures {
			found = hmac.Equal(want, got) || found
		}
	}
	return found
}

func unhex(s string) []byte {
	b, err := hex.DecodeString(s)
	if err != nil {
		return nil
	}
	return b
}

func verifyGitHub(keys [][]byte, h http.Header, body []byte) (string, error) {
	text, err := one(h, "X-Hub-Signature-256")
	if err != nil {
		return "", err
	}
	sum, found := strings.CutPrefix(text, "sha256=")
	if !found || !matches(keys, [][]byte{unhex(sum)}, body) {
		return "", unsigned("X-Hub-Signature-256 is not that of this body")
	}
	return signedName("", body), nil // its own name for the delivery is not signed: whoever repeats the request could change it
}

func verifyStripe(keys [][]byte, now time.Time, h http.Header, body []byte) (string, error) {
	text, err := one(h, "Stripe-Signature")
	if err != nil {
		return "", err
	}
	at := ""
	var sums [][]byte
	for part := range strings.SplitSeq(text, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		switch {
		case name == "t" && at == "":
			at = value
		case name == "v1" && len(sums) < mostSignatures:
			sums = append(sums, unhex(value))
		}
	}
	if err := fresh(at, now); err != nil {
		return "", err
	}
	if !matches(keys, sums, []byte(at+"."), body) {
		return "", unsigned("no v1 of Stripe-Signature is that of this body and time")
	}
	return named(body, "id", at), nil
}

func verifySlack(keys [][]byte, now time.Time, h http.Header, body []byte) (string, error) {
	at, err := one(h, "X-Slack-Request-Timestamp")
	if err != nil {
		return "", err
	}
	text, err := one(h, "X-Slack-Signature")
	if err != nil {
		return "", err
	}
	if err := fresh(at, now); err != nil {
		return "", err
	}
	sum, found := strings.CutPrefix(text, "v0=")
	if !found || !matches(keys, [][]byte{unhex(sum)}, []byte("v0:"+at+":"), body) {
		return "", unsigned("X-Slack-Signature is not that of this body and time")
	}
	return named(body, "event_id", at), nil
}

func verifyStandard(keys [][]byte, now time.Time, h http.Header, body []byte) (string, error) {
	prefix := "Webhook-"
	if len(h.Values("Webhook-Id")) == 0 && len(h.Values("Svix-Id")) > 0 {
		prefix = "Svix-"
	}
	var values [3]string
	for i, name := range []string{"Id", "Timestamp", "Signature"} {
		var err error
		if values[i], err = one(h, prefix+name); err != nil {
			return "", err
		}
	}
	id, at := values[0], values[1]
	if err := fresh(at, now); err != nil {
		return "", err
	}
	var sums [][]byte
	for part := range strings.FieldsSeq(values[2]) {
		if sum, found := strings.CutPrefix(part, "v1,"); found && len(sums) < mostSignatures {
			b, err := base64.StdEncoding.DecodeString(sum)
			if err == nil {
				sums = append(sums, b)
			}
		}
	}
	if !matches(keys, sums, []byte(id+"."+at+"."), body) {
		return "", unsigned("no v1 of %sSignature is that of this body, ID and time", prefix)
	}
	return id, world.CheckKey("the header "+prefix+"Id:", id)
}

// named is what a signed body calls itself; where it does not, its time and what it says.
func named(body []byte, field, at string) string {
	var fields map[string]json.RawMessage
	var id string
	if json.Unmarshal(body, &fields) == nil && json.Unmarshal(fields[field], &id) == nil && world.CheckKey(field, id) == nil {
		return id
	}
	return signedName(at, body)
}

// signedName names a delivery by all that was signed.
func signedName(at string, body []byte) string {
	h := sha256.New()
	_, _ = h.Write([]byte(at + "\x00")) // a hash takes all
	_, _ = h.Write(body)
	return "signed-" + hex.EncodeToString(h.Sum(nil)[:16])
}
