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

// Info is what is known of a webhook.
type Info struct {
	Run   string
	Token string
	URL   string
	// Response is what requests are answered with; nil, and Wait is 0: with 202.
	Response *Response
	// Wait is how long senders wait for the workflow's answer; 0: it gives none.
	Wait time.Duration
	// Scheme says how requests are signed, with the secret of that name; "": they need not be.
	Scheme Scheme
	Secret string
	// Metadata is what the code keeps with it: see [Metadata].
	Metadata json.RawMessage
	// Ended says that the webhook is over: only requests that it has received come through it again.
	Ended bool
}

// Of tells what a hook says of itself that is a webhook; ok is false for one that is none.
func Of(hook *world.HookRow) (info Info, ok bool) {
	if hook == nil || !strings.HasPrefix(hook.Token, world.WebhookToken) {
		return info, false
	}
	r, metadata, ok := decode(hook.Metadata)
	return Info{
		Run: hook.Run, Token: hook.Token, URL: r.url(hook.Token), Response: r.Answer, Wait: r.Wait, Scheme: r.Scheme, Secret: r.Secret, Metadata: metadata, Ended: hook.Ended,
	}, ok
}

// Door is a webhook, as those see it who take requests for it. It is safe for concurrent use.
type Door struct {
	Info
	app  *stepwell.App
	room kit.App
	hook string // its ID
}

// Find finds an active webhook by its token. The error is [stepwell.ErrNotFound] where there is none, also where the
// token is that of a hook which is no webhook. [stepwell.ErrNoKey] says that its run is encrypted with a key that the
// App does not have. Whoever takes requests for it checks their signatures: [Door.Send] does not.
func Find(ctx context.Context, app *stepwell.App, token string) (*Door, error) {
	return find(ctx, app, token, false)
}

// FindEnded finds the last webhook that had a token, where no active one has it, for as long as its run is kept.
// Requests that it has received may come again and get
// their answer; others are refused.
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

// Send hands a request to the webhook. It returns when that is durable. One with a Delivery that was sent before is
// accepted, and received once, for how long see
// [stepwell.DeliveryID]; it is the same one where method, path, query and body are.
// Reply is for [Door.Answer]; it is empty where the workflow gives no answers.
//
// Errors: [stepwell.ErrTooLarge], [stepwell.ErrInvalid], [stepwell.ErrNotFound] and [stepwell.ErrTerminal] where the
// run is no more or over, [stepwell.ErrDeliveryUsed] where the Delivery was another request's, [stepwell.ErrInboxFull].
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

// Answer waits for the workflow's answer to a request: until ctx ends, whose cause the error is then. The error is
// [stepwell.ErrTerminal] where the run ended without an answer. An answer that was given before is returned at once, as
// often as it is asked for.
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
