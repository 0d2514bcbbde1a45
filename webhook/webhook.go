// Package webhook has hooks with a URL, which receive HTTP requests from outside and answer them.
// Workflow code opens one with [New]. A server finds it with [Find] and delivers requests.
//
//	hook, err := webhook.New(ctx, webhook.Signed(webhook.GitHub, "github"))
//	// hook.URL() is where requests go
//	req, _, err := hook.Wait(ctx)
package webhook

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/codec"
	"github.com/stepwell/stepwell/internal/engine"
	"github.com/stepwell/stepwell/internal/kit"
	"github.com/stepwell/stepwell/internal/replay"
	"github.com/stepwell/stepwell/world"
)

// Path is the path of webhooks on a server. The token follows it.
const Path = "/.well-known/workflow/v1/webhook/"

// defaultWait is how long the sender of a request waits for an answer.
const defaultWait = 30 * time.Second

// Option is an option of a webhook: [Named], [RespondWith], [RespondManually], [Signed], [Token],
// [Metadata], [PayloadErrors].
type Option interface{ apply(o *options) }

type options struct {
	name     string
	token    string
	chosen   bool
	tell     bool // of payloads that do not fit
	metadata any
	record
}

type named string

// Named names a webhook in the journal, in [stepwell.App.Why] and in the web UI: see
// [stepwell.Named]. The default is "webhook".
func Named(name string) Option { return named(name) }

func (n named) apply(o *options) { o.name = string(n) }

type token string

// Token chooses a webhook's token, which is part of its URL. Anyone who knows the token can send
// requests. The default is unguessable.
func Token(chosen string) Option { return token(chosen) }

func (t token) apply(o *options) { o.token, o.chosen = string(t), true }

type metadata struct{ v any }

// Metadata stores a JSON value with a webhook, for programs that look it up by its token.
func Metadata(v any) Option { return metadata{v} }

func (m metadata) apply(o *options) { o.metadata = m.v }

type payloadErrors struct{}

// PayloadErrors makes a wait return a payload that is not a request as a [*stepwell.PayloadError]:
// see [stepwell.PayloadErrors].
func PayloadErrors() Option { return payloadErrors{} }

func (payloadErrors) apply(o *options) { o.tell = true }

type respondWith Response

// RespondWith sets the answer to each request, which is sent once the request is durable. Its body
// has at most 64 KiB. The default is 202 and a line of JSON.
func RespondWith(res Response) Option { return respondWith(res) }

func (r respondWith) apply(o *options) {
	res := Response(r)
	o.Answer = &res
}

type respondManually time.Duration

// RespondManually lets the workflow answer: see [Request.Respond]. A sender waits for the answer
// for at most within (0: 30 s), and no longer than the server allows. Then it gets 202: the request
// was accepted.
func RespondManually(within time.Duration) Option { return respondManually(within) }

func (r respondManually) apply(o *options) {
	if o.Wait = time.Duration(r); o.Wait == 0 {
		o.Wait = defaultWait
	}
}

// Scheme names a way to sign requests.
type Scheme string

// Schemes that servers know, with their headers.
const (
	GitHub   Scheme = "github"   // X-Hub-Signature-256
	Stripe   Scheme = "stripe"   // Stripe-Signature: t, v1
	Slack    Scheme = "slack"    // X-Slack-Signature: v0, X-Slack-Request-Timestamp
	Standard Scheme = "standard" // Webhook-Id, Webhook-Timestamp, Webhook-Signature: see standardwebhooks.com
)

var secretName = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,64}$`)

type signed struct {
	scheme Scheme
	secret string
}

// Signed accepts only requests that are signed with a secret. Others are refused, and nothing is
// written. secret is a name of 1 to 64 characters of [A-Za-z0-9_.-]: the webhook stores the name,
// and the server's settings have the secret itself.
func Signed(scheme Scheme, secret string) Option { return signed{scheme, secret} }

func (s signed) apply(o *options) { o.Scheme, o.Secret = s.scheme, s.secret }

// Hook is a hook with a URL. Its payloads are the requests sent there.
type Hook struct {
	*stepwell.Hook[Request]
	f *replay.Future
}

// urlToken is what a token may be that has to stand in a URL.
var urlToken = regexp.MustCompile(`^[A-Za-z0-9_.~-]{1,200}$`)

// New opens a webhook: a [stepwell.Hook] that takes HTTP requests at a URL of a server with the
// run's database. As any hook, it keeps requests, in order, until the code receives them, it ends
// with [stepwell.Hook.Dispose] or the run, and [stepwell.App.Hooks] lists it.
//
// Its token begins with wh_ and is unguessable. [Token]("order-7") makes it wh_order-7, of
// [A-Za-z0-9_.~-]. If another run holds the token, the error is a [*stepwell.HookConflictError]. If
// this run holds it, New returns the same webhook, with its first options. A chosen token is not a
// secret: use [Signed] with it.
//
// Errors: [stepwell.ErrInvalid] for invalid options, [stepwell.ErrCancelled], encoding errors of
// the metadata.
func New(ctx stepwell.Context, opts ...Option) (*Hook, error) {
	o := options{name: "webhook"}
	err := kit.Given(opts, func(opt Option) { opt.apply(&o) })
	if err == nil {
		err = o.check()
	}
	if err != nil {
		return nil, fmt.Errorf("webhook: %w", err)
	}
	token := o.token
	if o.chosen {
		token = world.WebhookToken + strings.TrimPrefix(token, world.WebhookToken)
	}
	code := kit.CodeOf(ctx)
	record, err := o.encode(code.Base, code.MaxPayload())
	if err != nil {
		return nil, fmt.Errorf("webhook: metadata: %w", err)
	}
	f := code.Ctx.OpenHook(&replay.HookSpec{Name: o.name, Token: token, Prefix: world.WebhookToken, Metadata: record, Alike: same})
	if err := kit.Wait(ctx, f); err != nil {
		return nil, err
	}
	hook := &stepwell.Hook[Request]{}
	kit.Bind(hook, f, o.tell)
	return &Hook{hook, f}, nil
}

func (o *options) check() error {
	if err := world.CheckName("hook name", o.name); err != nil {
		return err
	}
	switch {
	case o.chosen && !urlToken.MatchString(o.token):
		return fmt.Errorf("%w: token %q: want 1 to 200 characters of [A-Za-z0-9_.~-], as it stands in a URL", world.ErrInvalid, world.ShownToken(o.token))
	case o.Answer != nil && o.Wait != 0:
		return fmt.Errorf("%w: use RespondWith or RespondManually, not both", world.ErrInvalid)
	case o.Wait < 0:
		return fmt.Errorf("%w: RespondManually(%s): must not be negative", world.ErrInvalid, o.Wait)
	case o.Scheme == "" && o.Secret == "":
	case o.Scheme != GitHub && o.Scheme != Stripe && o.Scheme != Slack && o.Scheme != Standard:
		return fmt.Errorf("%w: signature scheme %.40q: want %s, %s, %s or %s", world.ErrInvalid, o.Scheme, GitHub, Stripe, Slack, Standard)
	case !secretName.MatchString(o.Secret):
		return fmt.Errorf("%w: name of the secret: %.40q: want 1 to 64 characters of [A-Za-z0-9_.-]", world.ErrInvalid, o.Secret)
	}
	if o.Answer == nil {
		return nil
	}
	if n := len(o.Answer.Body); n > maxStaticBody {
		return fmt.Errorf("%w: RespondWith: the body has %d bytes, more than %d", world.ErrTooLarge, n, maxStaticBody)
	}
	return o.Answer.Check()
}

// URL returns the address for requests: the base of [stepwell.Config].PublicURL, as it was when the
// webhook was opened, [Path] and the token. Requests may append a path: see Request.Path.
func (h *Hook) URL() string {
	if h == nil || h.f == nil {
		panic(engine.Block(world.CodeInternal, kit.Missing("the webhook")))
	}
	var r record
	if b := h.f.Op().Metadata(); len(b) > 0 {
		r, _, _ = decode(b)
	}
	return r.url(h.Token())
}

// record is what is kept of a webhook with its hook.
type record struct {
	Base   string        `json:"base"`
	Answer *Response     `json:"answer,omitempty"` // static
	Wait   time.Duration `json:"wait,omitempty"`   // above 0: the workflow answers; nanoseconds
	Scheme Scheme        `json:"scheme,omitempty"` // "": requests need not be signed
	Secret string        `json:"secret,omitempty"` // its name
}

func (r *record) url(token string) string { return r.Base + Path + token }

// recorded is the metadata of a webhook's hook.
type recorded struct {
	Webhook  *record         `json:"$webhook"`
	Metadata json.RawMessage `json:"metadata,omitempty"`
}

// encode is the hook's metadata. The limit is of what the code gave: a worker with another base may evaluate it again.
func (o *options) encode(base string, limit int) ([]byte, error) {
	m := recorded{Webhook: &o.record}
	if o.metadata != nil {
		b, err := codec.Encode(o.metadata, limit)
		if err != nil {
			return nil, err
		}
		m.Metadata = b
	}
	if _, err := codec.Encode(m, limit); err != nil {
		return nil, err
	}
	o.Base = base
	return codec.Encode(m, -1)
}

// decode reads the metadata of a hook; ok is false where it is no webhook's.
func decode(b []byte) (r record, metadata json.RawMessage, ok bool) {
	var m recorded
	if err := json.Unmarshal(b, &m); err != nil || m.Webhook == nil {
		return r, nil, false
	}
	return *m.Webhook, m.Metadata, true
}

// same reports whether a webhook is the recorded one though its base is another by now: the recorded base stands.
func same(asked, recorded []byte) bool {
	a, metaA, okA := decode(asked)
	b, metaB, okB := decode(recorded)
	if !okA || !okB || string(metaA) != string(metaB) {
		return false
	}
	a.Base, b.Base = "", ""
	textA, errA := json.Marshal(a)
	textB, errB := json.Marshal(b)
	return errA == nil && errB == nil && string(textA) == string(textB)
}
