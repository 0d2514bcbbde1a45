package server

// Signatures: the examples of the providers' documentation, and what must not pass.

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/webhook"
)

// signedExample is a request that passes.
type signedExample struct {
	scheme   webhook.Scheme
	secret   string
	at       time.Time
	header   map[string]string
	body     string
	delivery string
}

// signedExamples are those of the documentation of GitHub, Slack and Standard Webhooks; Stripe's has no secret, so that one is computed.
var signedExamples = []signedExample{
	{
		scheme: webhook.GitHub, secret: "It's a Secret to Everybody", at: time.Unix(1, 0), body: "Hello, World!", delivery: "signed-3849f3f72cf1ba6b90fa3cf8713a8567",
		header: map[string]string{
			"X-Hub-Signature-256": "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17", "X-GitHub-Delivery": "72d3162e-cc78",
		},
	},
	{
		scheme: webhook.Slack, secret: "8f742231b10e8888abcd99yyyzzz85a5", at: time.Unix(1531420618, 0),
		header: map[string]string{
			"X-Slack-Signature":         "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503",
			"X-Slack-Request-Timestamp": "1531420618",
		},
		body: "token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&channel_name=foobar&user_id=U2CERLKJA" +
			"&user_name=roadrunner&command=%2Fwebhook-collect&text=&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F" +
			"96rGlfmibIGlgcZRskXaIFfN&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c",
		delivery: "signed-ac33ce758df6c1e103cfc648ab9aef01",
	},
	{
		scheme: webhook.Standard, secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", at: time.Unix(1614265330, 0), body: `{"test": 2432232314}`,
		header: map[string]string{
			"Webhook-Id": "msg_p5jXN8AQM9LWM0D4loKWxJek", "Webhook-Timestamp": "1614265330",
			"Webhook-Signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
		},
		delivery: "msg_p5jXN8AQM9LWM0D4loKWxJek",
	},
	{
		scheme: webhook.Stripe, secret: "whsec_test_secret", at: time.Unix(1492774577, 0), body: `{"id": "evt_1", "object": "event"}`,
		header:   map[string]string{"Stripe-Signature": "t=1492774577,v1=" + mac("whsec_test_secret", `1492774577.{"id": "evt_1", "object": "event"}`)},
		delivery: "evt_1",
	},
}

// mac is a signature in hexadecimal digits.
func mac(secret, text string) string {
	m := hmac.New(sha256.New, []byte(secret))
	_, _ = m.Write([]byte(text)) // a hash takes all
	return hex.EncodeToString(m.Sum(nil))
}

func (e *signedExample) headers() http.Header {
	h := http.Header{}
	for name, value := range e.header {
		h.Set(name, value)
	}
	return h
}

func (e *signedExample) verify(t *testing.T, secrets ...string) (string, error) {
	t.Helper()
	var keys [][]byte
	for _, s := range secrets {
		key, err := keyOf(e.scheme, s)
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, key)
	}
	return verify(e.scheme, keys, e.at, e.headers(), []byte(e.body))
}

// TestSignatures: examples pass, with one of two secrets too, and at the edges of the tolerance; nothing that differs from them does.
func TestSignatures(t *testing.T) {
	t.Parallel()
	const other = "whsec_bm9uZSBvZiB0aGVpciBzZWNyZXRz"
	for _, good := range signedExamples {
		timed := good.scheme != webhook.GitHub
		t.Run(string(good.scheme), func(t *testing.T) {
			t.Parallel()
			for what, secrets := range map[string][]string{"its secret": {good.secret}, "two secrets": {other, good.secret}} {
				if id, err := good.verify(t, secrets...); err != nil || id != good.delivery {
					t.Errorf("%s: got %q, %v, want %q", what, id, err, good.delivery)
				}
			}
			for _, d := range []time.Duration{-tolerance, tolerance} {
				edge := good
				edge.at = good.at.Add(d)
				if _, err := edge.verify(t, good.secret); err != nil {
					t.Errorf("%s away: %v", d, err)
				}
				edge.at = edge.at.Add(d / 300)
				if _, err := edge.verify(t, good.secret); errors.Is(err, errSignature) != timed {
					t.Errorf("%s away: got %v, want it to be refused: %v", d+d/300, err, timed)
				}
			}
			bad := func(what string, change func(e *signedExample)) {
				e := good
				e.header = map[string]string{}
				for k, v := range good.header {
					e.header[k] = v
				}
				change(&e)
				if id, err := e.verify(t, good.secret); !errors.Is(err, errSignature) {
					t.Errorf("%s: got %q, %v, want it to be refused", what, id, err)
				} else if strings.Contains(err.Error(), good.secret) {
					t.Errorf("%s: the error shows the secret: %v", what, err)
				}
			}
			if _, err := good.verify(t, other); !errors.Is(err, errSignature) {
				t.Errorf("another secret: got %v", err)
			}
			if _, err := good.verify(t); !errors.Is(err, errSignature) {
				t.Errorf("no secret: got %v", err)
			}
			bad("another body", func(e *signedExample) { e.body += " " })
			bad("no body", func(e *signedExample) { e.body = "" })
			bad("no headers", func(e *signedExample) { e.header = nil })
			for name, value := range good.header {
				if name == "X-GitHub-Delivery" {
					continue // it is not signed
				}
				bad("no "+name, func(e *signedExample) { delete(e.header, name) })
				for _, v := range []string{"", "x", value[:len(value)-1], value + "0", strings.ReplaceAll(value, "1", "2"), "sha256=", "v0=", "v1,", "t=1,v1=", strings.Repeat("v1,v1=a ", 50)} {
					if v != value {
						bad(fmt.Sprintf("%s: %q", name, v), func(e *signedExample) { e.header[name] = v })
					}
				}
			}
		})
	}
}

// TestSignatureHeaders: what a header may have beside the signature, and how often it may be there.
func TestSignatureHeaders(t *testing.T) {
	t.Parallel()
	stripe, standard := signedExamples[3], signedExamples[2]
	sum := strings.TrimPrefix(stripe.header["Stripe-Signature"], "t=1492774577,v1=")
	for value, ok := range map[string]bool{
		"t=1492774577, v1=" + strings.Repeat("0", 64) + ", v1=" + sum + ",v0=" + sum: true,
		"v1=" + sum + ",t=1492774577":                           true,
		"t=1492774577,v0=" + sum:                                false,
		"t=1492774577,t=1,v1=" + sum:                            true, // the first counts
		"t=1,t=1492774577,v1=" + sum:                            false,
		"t=01492774577,v1=" + sum:                               false, // the text is signed, not the number
		"t=-1,v1=" + sum:                                        false,
		"t=1492774577,v1=" + strings.ToUpper(sum):               true,
		strings.Repeat("v1=00,", 16) + "t=1492774577,v1=" + sum: false, // too many
	} {
		stripe.header = map[string]string{"Stripe-Signature": value}
		if _, err := stripe.verify(t, stripe.secret); (err == nil) != ok {
			t.Errorf("Stripe-Signature: %s: got %v, want it to pass: %v", value, err, ok)
		}
	}
	h := standard.headers()
	for old, name := range map[string]string{"Webhook-Id": "Svix-Id", "Webhook-Timestamp": "Svix-Timestamp", "Webhook-Signature": "Svix-Signature"} {
		h.Set(name, h.Get(old))
		h.Del(old)
	}
	key, err := keyOf(standard.scheme, standard.secret)
	if err != nil {
		t.Fatal(err)
	}
	if id, err := verify(standard.scheme, [][]byte{key}, standard.at, h, []byte(standard.body)); err != nil || id != standard.delivery {
		t.Errorf("under the names of svix: got %q, %v", id, err)
	}
	h.Add("Svix-Signature", "v1,"+base64.StdEncoding.EncodeToString([]byte("x")))
	if _, err := verify(standard.scheme, [][]byte{key}, standard.at, h, []byte(standard.body)); !errors.Is(err, errSignature) {
		t.Errorf("two headers: got %v, want it to be refused", err)
	}
	if _, err := keyOf(webhook.Standard, "no base64 at all"); err == nil {
		t.Error("a secret that is no base64 is taken for one of Standard Webhooks")
	}
}

// TestParseWebhookSecrets: what is read, what is refused, and that neither errors nor prints show a secret.
func TestParseWebhookSecrets(t *testing.T) {
	t.Parallel()
	all, err := ParseWebhookSecrets("# of the shop\n\nacme = whsec_0123456789ab=\r\nacme=It's a Secret, to Everybody\n")
	if err != nil || len(all) != 2 || all[0].secret != "whsec_0123456789ab=" || all[1].secret != "It's a Secret, to Everybody" || all[1].Name != "acme" {
		t.Errorf("got %v, %v", all, err)
	}
	for _, format := range []string{"%v", "%+v", "%#v", "%s", "%q"} {
		if s := fmt.Sprintf(format, all) + fmt.Sprintf(format, Options{WebhookSecrets: all}); strings.Contains(s, "0123456789ab") {
			t.Errorf("%s shows a secret: %s", format, s)
		}
	}
	for _, bad := range []string{"hush-hush-hush-hush", "a b=hush-hush-hush-hush", "=hush-hush-hush-hush", "acme=hush", "acme=" + strings.Repeat("hush", 200), strings.Repeat("n", 65) + "=hush-hush-hush-hush"} {
		if all, err := ParseWebhookSecrets("x=0123456789abcdef\n" + bad); !errors.Is(err, stepwell.ErrInvalid) || strings.Contains(err.Error(), "hush") || !strings.Contains(err.Error(), "line 2") {
			t.Errorf("%.40q: got %v, %v", bad, all, err)
		}
	}
	if _, err := New(nil, Options{WebhookSecrets: []WebhookSecret{{Name: "x"}}}); err == nil || !strings.Contains(err.Error(), "WebhookSecrets[0]") {
		t.Errorf("a secret that nobody made: got %v", err)
	}
}
