// Package webhook has hooks with a URL, which take HTTP requests of the outside world, and what they are answered with.
// Workflow code opens one with [New]; a server finds it with [Find], and hands it requests.
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

// Path is where servers have webhooks: behind it stands the token.
const Path = "/.well-known/workflow/v1/webhook/"

// defaultWait is how long the sender of a request waits for an answer.
const defaultWait = 30 * time.Second

// Option changes a webhook: [Named], [RespondWith], [RespondManually], [Signed], [Token], [Metadata], [PayloadErrors].
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

// Named gives a webhook a name, by which the journal, the answer to why and the web UI call it; see [stepwell.Named]. Without it, it is "webhook".
func Named(name string) Option { return named(name) }

func (n named) apply(o *options) { o.name = string(n) }

type token string

// Token chooses a webhook's token, as it stands in its URL: whoever knows it can send requests. Without it the token is
// unguessable.
func Token(chosen string) Option { return token(chosen) }

func (t token) apply(o *options) { o.token, o.chosen = string(t), true }

type metadata struct{ v any }

// Metadata keeps a value, as JSON, with a webhook, for those who look it up by its token.
func Metadata(v any) Option { return metadata{v} }

func (m metadata) apply(o *options) { o.metadata = m.v }

type payloadErrors struct{}

// PayloadErrors lets what receives from the webhook get what is no request as a [*stepwell.PayloadError]: see
// [stepwell.PayloadErrors].
func PayloadErrors() Option { return payloadErrors{} }

func (payloadErrors) apply(o *options) { o.tell = true }

type respondWith Response

// RespondWith is what each request is answered with, as soon as it is durable. Without it, and without
// [RespondManually], that is 202 and a line of JSON. Its body may have 64 KiB.
func RespondWith(res Response) Option { return respondWith(res) }

func (r respondWith) apply(o *options) {
	res := Response(r)
	o.Answer = &res
}

type respondManually time.Duration

// RespondManually lets the workflow answer: see [Request.Respond]. Who sent the request waits for that, for so long at
// most (0: 30 s), and no longer than the server lets requests wait; then it is told, with 202, that the request was
// accepted.
func RespondManually(within time.Duration) Option { return respondManually(within) }

func (r respondManually) apply(o *options) {
	if o.Wait = time.Duration(r); o.Wait == 0 {
		o.Wait = defaultWait
	}
}

// Scheme says how requests are signed: a name that servers know.
type Scheme string

// The schemes.
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

// Signed lets requests in that are signed with a secret alone; others are refused, and nothing is written. The secret's
// name is kept with the webhook, the secret itself is in the settings of the server. A name has 1 to 64 characters of
// [A-Za-z0-9_.-].
func Signed(scheme Scheme, secret string) Option { return signed{scheme, secret} }

func (s signed) apply(o *options) { o.Scheme, o.Secret = s.scheme, s.secret }

// Hook is a hook with a URL, whose payloads are requests that were sent there.
type Hook struct {
	*stepwell.Hook[Request]
	f *replay.Future
}

// urlToken is what a token may be that has to stand in a URL.
var urlToken = regexp.MustCompile(`^[A-Za-z0-9_.~-]{1,200}$`)

// New opens a webhook: a [stepwell.Hook] that takes HTTP requests at a URL, of a server that has the run's database. It
// is one in all else: requests are kept, in order, until they are received, it ends with [stepwell.Hook.Dispose] or the
// run, and [stepwell.App.Hooks] lists it.
//
// Its token begins with wh_ and cannot be guessed. With [Token]("order-7") it is wh_order-7, of [A-Za-z0-9_.~-]; where
// another run holds it the error is a [*stepwell.HookConflictError], and where this run does, it is the same webhook
// again, as it was opened first. A chosen token is no secret: let requests be [Signed].
//
// Errors: [stepwell.ErrInvalid] for options that make no sense, [stepwell.ErrCancelled], encoding errors of the
// metadata.
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

// URL is where the outside world sends requests: the base of [stepwell.Config].PublicURL, or of the environment, as it
// was when the webhook was opened, [Path] and the token. A path behind it is part of the request.
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
