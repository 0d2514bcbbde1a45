package webhook

// The other side of webhooks: finding one by its token, handing it requests, and waiting for their answers. Servers do
// this.

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/codec"
	"github.com/stepwell/stepwell/internal/kit"
	"github.com/stepwell/stepwell/world"
)

// Info describes a webhook.
type Info struct {
	Run   string
	Token string
	URL   string
	// Response is the answer to each request. Nil, with a Wait of 0: 202.
	Response *Response
	// Wait is how long senders wait for the workflow's answer; 0: the workflow gives none.
	Wait time.Duration
	// Scheme says how requests must be signed; "": they need no signature.
	Scheme Scheme
	// Secret is the name of the signing secret in the server's settings.
	Secret string
	// Metadata is the JSON that the code stored with the option [Metadata].
	Metadata json.RawMessage
	// Ended means that the webhook is over: it accepts only repeats of requests that it has
	// received.
	Ended bool
}

// Of returns the Info of a hook that is a webhook. For other hooks ok is false.
func Of(hook *world.HookRow) (info Info, ok bool) {
	if hook == nil || !strings.HasPrefix(hook.Token, world.WebhookToken) {
		return info, false
	}
	r, metadata, ok := decode(hook.Metadata)
	return Info{
		Run: hook.Run, Token: hook.Token, URL: r.url(hook.Token), Response: r.Answer, Wait: r.Wait, Scheme: r.Scheme, Secret: r.Secret, Metadata: metadata, Ended: hook.Ended,
	}, ok
}

// Door delivers requests to a webhook, for servers. It is safe for concurrent use.
type Door struct {
	Info
	app  *stepwell.App
	room kit.App
	hook string // its ID
}

// Find finds an active webhook by its token. The caller must check signatures of requests:
// [Door.Send] does not.
//
// Errors: [stepwell.ErrNotFound] if there is none, also if the token is that of another kind of
// hook; [stepwell.ErrNoKey] if the App lacks the key of its run.
func Find(ctx context.Context, app *stepwell.App, token string) (*Door, error) {
	return find(ctx, app, token, false)
}

// FindEnded finds the last webhook that had a token, if no active one has it, for as long as its
// run is kept. It accepts only repeats of requests that it has received, and gives their answers.
func FindEnded(ctx context.Context, app *stepwell.App, token string) (*Door, error) {
	return find(ctx, app, token, true)
}

func find(ctx context.Context, app *stepwell.App, token string, ended bool) (*Door, error) {
	if app == nil {
		return nil, kit.Missing("find a webhook: the App")
	}
	if err := world.CheckToken(token); err != nil {
		return nil, err
	}
	if strings.HasPrefix(token, world.WebhookToken) {
		room := kit.AppOf(app)
		hooks, err := room.Hooks(ctx, world.HookQuery{Token: token, Ended: ended, Limit: 1})
		if err != nil {
			return nil, err
		}
		for i := range hooks {
			if info, ok := Of(&hooks[i]); ok && hooks[i].Ended == ended {
				return &Door{Info: info, app: app, room: room, hook: hooks[i].ID}, nil
			}
			if key := hooks[i].Encrypted; key != "" { // what it is cannot be read
				return nil, fmt.Errorf("webhook: %w", &world.KeyError{Run: hooks[i].Run, Key: key})
			}
		}
	}
	return nil, fmt.Errorf("webhook: %w", world.ErrNotFound)
}

// Send delivers a request to the webhook. It returns once the request is durable. A repeat with the
// same Delivery is accepted and received once: see [stepwell.DeliveryID]. Method, path, query and
// body must be the same. Pass reply to [Door.Answer]; it is "" if the workflow gives no answers.
//
// Errors: [stepwell.ErrTooLarge]; [stepwell.ErrInvalid]; [stepwell.ErrNotFound] if the run is
// deleted; [stepwell.ErrTerminal] if it is over; [stepwell.ErrDeliveryUsed] if the Delivery was
// another request's; [stepwell.ErrInboxFull].
func (d *Door) Send(ctx context.Context, req Request) (reply string, err error) {
	if req.ReceivedAt.IsZero() {
		req.ReceivedAt = time.Now().UTC().Round(0)
	}
	name := rand.Text()
	if req.Delivery != "" {
		if err := world.CheckKey("delivery ID", req.Delivery); err != nil {
			return "", fmt.Errorf("webhook: %w", err)
		}
		name = digest(d.hook, req.Delivery)
	}
	if req.Reply = ""; d.Wait > 0 {
		req.Reply = replyPrefix + name
		if req.Delivery != "" { // who knows the delivery's name alone must not get what was answered to another request
			req.Reply = replyPrefix + digest(d.hook, req.Delivery, req.Method, req.Path, req.Query, string(req.Body))
			if res, err := d.answered(ctx, req.Reply); err != nil || res != nil {
				return req.Reply, err
			}
		}
	}
	payload, err := codec.Encode(&req, d.room.Limit)
	if err == nil {
		send := world.Delivery{Run: d.Run, Of: d.Token, ID: replyPrefix + name, Events: []world.Event{{Type: world.HookReceived, ID: d.hook, Payload: payload}}}
		if req.Delivery != "" {
			send.Print = []byte(digest(req.Method, req.Path, req.Query, string(req.Body)))
		}
		if d.Ended {
			send.Run, send.Of, send.Token, send.Events[0].ID = "", "", d.Token, ""
		}
		err = d.room.Deliver(ctx, &send)
	}
	if err != nil {
		return "", fmt.Errorf("webhook: %w", err)
	}
	return req.Reply, nil
}

// digest is a name for several texts: 128 bits in hexadecimal digits.
func digest(texts ...string) string {
	h := sha256.New()
	for _, t := range texts {
		fmt.Fprintf(h, "%d:%s", len(t), t)
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// answered is the answer that is there already; nil: none.
func (d *Door) answered(ctx context.Context, reply string) (*Response, error) {
	page, err := d.room.Chunks(ctx, d.Run, reply, world.ChunkQuery{Limit: 1})
	if err != nil {
		return nil, fmt.Errorf("webhook: %w", err)
	}
	for i := range page.Chunks {
		if page.Chunks[i].Kind == world.ChunkData {
			return readAnswer(page.Chunks[i].Value)
		}
	}
	return nil, nil
}

func readAnswer(b []byte) (*Response, error) {
	res := &Response{}
	if err := codec.Decode(b, res); err != nil {
		return nil, fmt.Errorf("webhook: answer: %w", err)
	}
	if err := res.Check(); err != nil {
		return nil, fmt.Errorf("webhook: %w", err)
	}
	return res, nil
}

// Answer waits for the workflow's answer to a request. It may be called repeatedly, and returns an
// earlier answer at once. If ctx ends first, the error is its cause. If the run ended without an
// answer, the error is [stepwell.ErrTerminal].
func (d *Door) Answer(ctx context.Context, reply string) (*Response, error) {
	for chunk, err := range d.app.ReadStream(ctx, d.Run, reply, 0) {
		if _, over := err.(*stepwell.StreamError); over {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("webhook: %w", err)
		}
		return readAnswer(chunk.Value)
	}
	return nil, fmt.Errorf("webhook: run %s has not answered: %w", d.Run, world.ErrTerminal)
}
