package stepwell

// Webhooks: hooks with a URL, which take requests of the outside world. webhook_answer.go has what they are answered with.

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/stepwell/stepwell/internal/codec"
	"github.com/stepwell/stepwell/internal/replay"
	"github.com/stepwell/stepwell/world"
)

// WebhookPath is where servers have webhooks: behind it stands the token.
const WebhookPath = "/.well-known/workflow/v1/webhook/"

// defaultWebhookWait is how long the sender of a request waits for an answer.
const defaultWebhookWait = 30 * time.Second

// WebhookOption changes a webhook: [RespondWith], [RespondManually], [Signed], [Token], [Metadata], [PayloadErrors].
type WebhookOption interface{ webhookOption(o *webhookOptions) }

type webhookOptions struct {
	hookOptions
	webhookRecord
}

type respondWith WebhookResponse

// RespondWith is what each request is answered with, as soon as it is durable. Without it, and without [RespondManually], that is 202 and a line of JSON. Its
// body may have 64 KiB.
func RespondWith(res WebhookResponse) WebhookOption { return respondWith(res) }

func (r respondWith) webhookOption(o *webhookOptions) {
	res := WebhookResponse(r)
	o.Answer = &res
}

type respondManually time.Duration

// RespondManually lets the workflow answer: see [WebhookRequest.Respond]. Who sent the request waits for that, for so long at most (0: 30 s), and no longer than
// the server lets requests wait; then it is told, with 202, that the request was accepted.
func RespondManually(within time.Duration) WebhookOption { return respondManually(within) }

func (r respondManually) webhookOption(o *webhookOptions) {
	if o.Wait = time.Duration(r); o.Wait == 0 {
		o.Wait = defaultWebhookWait
	}
}

// SignatureScheme says how requests are signed: a name that servers know.
type SignatureScheme string

// The schemes.
const (
	GitHubSignature   SignatureScheme = "github"   // X-Hub-Signature-256
	StripeSignature   SignatureScheme = "stripe"   // Stripe-Signature: t, v1
	SlackSignature    SignatureScheme = "slack"    // X-Slack-Signature: v0, X-Slack-Request-Timestamp
	StandardSignature SignatureScheme = "standard" // Webhook-Id, Webhook-Timestamp, Webhook-Signature: see standardwebhooks.com
)

var secretName = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,64}$`)

type signed struct {
	scheme SignatureScheme
	secret string
}

// Signed lets requests in that are signed with a secret alone; others are refused, and nothing is written. The secret's name is kept with the webhook,
// the secret itself is in the settings of the server. A name has 1 to 64 characters of [A-Za-z0-9_.-].
func Signed(scheme SignatureScheme, secret string) WebhookOption { return signed{scheme, secret} }

func (s signed) webhookOption(o *webhookOptions) { o.Scheme, o.Secret = s.scheme, s.secret }

// Webhook is a hook with a URL, whose payloads are requests that were sent there.
type Webhook struct {
	*Hook[WebhookRequest]
}

// webhookToken is what a token may be that has to stand in a URL.
var webhookToken = regexp.MustCompile(`^[A-Za-z0-9_.~-]{1,200}$`)

// NewWebhook opens a webhook: a [Hook] that takes HTTP requests at a URL, of a server that has the run's database. It is one in all else: requests are kept,
// in order, until they are received, it ends with [Hook.Dispose] or the run, and [App.Hooks] lists it.
//
// Its token begins with wh_ and cannot be guessed. With [Token]("order-7") it is wh_order-7, of [A-Za-z0-9_.~-]; where another run holds it the error is a
// [*HookConflictError], and where this run does, it is the same webhook again, as it was opened first. A chosen token is no secret: let requests be [Signed].
//
// Errors: [ErrInvalid] for options that make no sense, [ErrCancelled], encoding errors of the metadata.
func NewWebhook(ctx Context, opts ...WebhookOption) (*Webhook, error) {
	o := webhookOptions{}
	err := given(opts, func(opt WebhookOption) { opt.webhookOption(&o) })
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
	o.Base = ctx.env.base
	record, err := o.encode(ctx.env.limit)
	if err != nil {
		return nil, fmt.Errorf("webhook: metadata: %w", err)
	}
	f := ctx.x.OpenHook(&replay.HookSpec{Name: "webhook", Token: token, Prefix: world.WebhookToken, Metadata: record, Alike: sameWebhook})
	if err := waitFor(ctx, f); err != nil {
		return nil, err
	}
	return &Webhook{&Hook[WebhookRequest]{f: f, tell: o.tell}}, nil
}

func (o *webhookOptions) check() error {
	switch {
	case o.chosen && !webhookToken.MatchString(o.token):
		return fmt.Errorf("%w: token %q: want 1 to 200 characters of [A-Za-z0-9_.~-], as it stands in a URL", ErrInvalid, world.ShownToken(o.token))
	case o.Answer != nil && o.Wait != 0:
		return fmt.Errorf("%w: RespondWith and RespondManually exclude each other", ErrInvalid)
	case o.Wait < 0:
		return fmt.Errorf("%w: RespondManually(%s): must not be negative", ErrInvalid, o.Wait)
	case o.Scheme == "" && o.Secret == "":
	case o.Scheme != GitHubSignature && o.Scheme != StripeSignature && o.Scheme != SlackSignature && o.Scheme != StandardSignature:
		return fmt.Errorf("%w: signature scheme %.40q: want %s, %s, %s or %s", ErrInvalid, o.Scheme, GitHubSignature, StripeSignature, SlackSignature, StandardSignature)
	case !secretName.MatchString(o.Secret):
		return fmt.Errorf("%w: name of the secret: %.40q: want 1 to 64 characters of [A-Za-z0-9_.-]", ErrInvalid, o.Secret)
	}
	if o.Answer == nil {
		return nil
	}
	if n := len(o.Answer.Body); n > maxStaticBody {
		return fmt.Errorf("%w: RespondWith: the body has %d bytes, more than %d", ErrTooLarge, n, maxStaticBody)
	}
	return o.Answer.Check()
}

// URL is where the outside world sends requests: the base of [Config].PublicURL, or of the environment, as it was when the webhook was opened, [WebhookPath]
// and the token. A path behind it is part of the request.
func (h *Webhook) URL() string {
	if h == nil {
		halt(missing("the webhook"))
	}
	if err := h.check(); err != nil {
		halt(err)
	}
	var r webhookRecord
	if b := h.f.Op().Metadata(); len(b) > 0 {
		r, _, _ = decodeWebhook(b)
	}
	return r.url(h.Token())
}

// webhookRecord is what is kept of a webhook with its hook.
type webhookRecord struct {
	Base   string           `json:"base"`
	Answer *WebhookResponse `json:"answer,omitempty"` // static
	Wait   time.Duration    `json:"wait,omitempty"`   // above 0: the workflow answers; nanoseconds
	Scheme SignatureScheme  `json:"scheme,omitempty"` // "": requests need not be signed
	Secret string           `json:"secret,omitempty"` // its name
}

func (r *webhookRecord) url(token string) string { return r.Base + WebhookPath + token }

// webhookMetadata is the metadata of a webhook's hook.
type webhookMetadata struct {
	Webhook  *webhookRecord  `json:"$webhook"`
	Metadata json.RawMessage `json:"metadata,omitempty"`
}

func (o *webhookOptions) encode(limit int) ([]byte, error) {
	m := webhookMetadata{Webhook: &o.webhookRecord}
	if o.metadata != nil {
		b, err := codec.Encode(o.metadata, limit)
		if err != nil {
			return nil, err
		}
		m.Metadata = b
	}
	return codec.Encode(m, limit)
}

// decodeWebhook reads the metadata of a hook; ok is false where it is no webhook's.
func decodeWebhook(b []byte) (r webhookRecord, metadata json.RawMessage, ok bool) {
	var m webhookMetadata
	if err := json.Unmarshal(b, &m); err != nil || m.Webhook == nil {
		return r, nil, false
	}
	return *m.Webhook, m.Metadata, true
}

// sameWebhook reports whether a webhook is the recorded one though its base is another by now: the recorded base stands.
func sameWebhook(asked, recorded []byte) bool {
	a, metaA, okA := decodeWebhook(asked)
	b, metaB, okB := decodeWebhook(recorded)
	if !okA || !okB || string(metaA) != string(metaB) {
		return false
	}
	a.Base, b.Base = "", ""
	textA, errA := json.Marshal(a)
	textB, errB := json.Marshal(b)
	return errA == nil && errB == nil && string(textA) == string(textB)
}
