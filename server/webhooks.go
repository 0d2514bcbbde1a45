package server

// This file opens the door to webhooks: a request of the outside world becomes a payload, and is answered, by the workflow if that wants to.

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/stepwell/stepwell/internal/human"
	"github.com/stepwell/stepwell/webhook"
	"github.com/stepwell/stepwell/world"
)

func webhookRoutes() []route {
	answers := []response{{202, "WebhookAccepted", "", "The request is durable, and its webhook gives no other answer, or none in time."}}
	return []route{
		{method: anyMethod, path: webhook.Path + "{token}", scope: Open, raw: true, anyOrigin: true, handle: atReception((*reception).webhook), op: operation{
			id: "sendWebhook", summary: "Send a request to a webhook", key: "The delivery ID: the same ID is delivered once, for at least 24 hours and the last 10,000 deliveries of the run.", free: true, responses: answers,
		}},
		{method: anyMethod, path: webhook.Path + "{token}/{path...}", scope: Open, raw: true, anyOrigin: true, handle: atReception((*reception).webhook), op: operation{
			id: "sendWebhookPath", summary: "The same, with a path that is part of the request", key: "The delivery ID: the same ID is delivered once, for at least 24 hours and the last 10,000 deliveries of the run.", free: true,
			responses: answers,
		}},
	}
}

// webhookMethods are those of a webhook. HEAD says whether there is one, OPTIONS what they are; the others are requests.
const webhookMethods = "DELETE, GET, HEAD, OPTIONS, PATCH, POST, PUT"

// Bounds of a request's headers.
const (
	mostHeaders     = 128
	mostHeaderBytes = 32 << 10
)

// webhookAccepted is the answer where the workflow gives none.
type webhookAccepted struct {
	Accepted bool   `json:"accepted"`
	Detail   string `json:"detail,omitempty"`
}

func (c *reception) webhook(w http.ResponseWriter, r *request) error {
	w.Header().Set("Content-Security-Policy", "sandbox; default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'") // pages have no origin
	if !strings.Contains(", "+webhookMethods+",", " "+r.Method+",") {
		w.Header().Set("Allow", webhookMethods)
		return errMethod
	}
	if r.Method == http.MethodOptions {
		w.Header().Set("Allow", webhookMethods)
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	door, err := webhook.Find(r.Context(), c.app, r.PathValue("token"))
	if errors.Is(err, world.ErrNotFound) {
		door, err = webhook.FindEnded(r.Context(), c.app, r.PathValue("token"))
	}
	if err != nil {
		return err
	}
	if r.Method == http.MethodHead {
		if door.Ended {
			return c.noHook(r, door.Token)
		}
		w.WriteHeader(http.StatusOK)
		return nil
	}
	secrets, err := c.secrets(door)
	if err != nil {
		return err
	}
	if r.body, err = r.bytes(w); err != nil {
		return err
	}
	if r.ContentLength != 0 {
		_ = http.NewResponseController(w).SetReadDeadline(time.Time{}) // or the wait for the answer would end with it
	}
	defer guestOf(r.Request).work()()
	req, err := r.outside(door.Token)
	if err != nil {
		return err
	}
	if door.Scheme != "" {
		if req.Delivery, err = verify(door.Scheme, secrets, time.Now(), r.Header, r.body); err != nil {
			c.audit.sayUnsigned(r, door, err)
			return err
		}
	}
	if door.Wait > 0 {
		done, err := c.places.wait(c.places.strangers(r, door.Token)...) // before anything is written
		if err != nil {
			return err
		}
		defer done()
	}
	reply, err := door.Send(r.Context(), *req)
	switch {
	case errors.Is(err, world.ErrDeliveryUsed):
		return fmt.Errorf("%w: method, path, query or body differ", errOtherBody)
	case err != nil:
		return gone(err)
	case reply != "":
		return c.manual(w, r, door, reply)
	case door.Response != nil:
		return respond(w, door.Response)
	}
	return answer(w, http.StatusAccepted, webhookAccepted{Accepted: true})
}

// secrets are those that may have signed a request to a webhook.
func (c *reception) secrets(door *webhook.Door) (named [][]byte, err error) {
	if door.Scheme == "" {
		return nil, nil
	}
	for i := range c.opts.WebhookSecrets {
		if known := &c.opts.WebhookSecrets[i]; known.Name == door.Secret {
			key, err := keyOf(door.Scheme, known.secret)
			if err != nil {
				return nil, fmt.Errorf("%w: webhook of run %s: secret %s: %w", errSecret, door.Run, door.Secret, err)
			}
			named = append(named, key)
		}
	}
	if len(named) == 0 {
		return nil, fmt.Errorf("%w: webhook of run %s: secret %s is not among --webhook-secret and --webhook-secret-file", errSecret, door.Run, door.Secret)
	}
	return named, nil
}

// withheld are headers that carry credentials: what is received is kept in a log.
var withheld = map[string]bool{
	"Authorization": true, "Proxy-Authorization": true, "Cookie": true, "X-Api-Key": true, "X-Gitlab-Token": true, "X-Telegram-Bot-Api-Secret-Token": true,
}

// secretShown is what a request has in the place of its webhook's token.
const secretShown = "hidden"

// repeated finds a webhook's token in a text: proxies and browsers repeat it in headers, each of its bytes plain or percent-encoded, more than once too.
func repeated(token string) *regexp.Regexp {
	var b strings.Builder
	for _, r := range token {
		b.WriteString("(?:" + regexp.QuoteMeta(string(r)) + "|")
		for _, c := range []byte(string(r)) {
			fmt.Fprintf(&b, "%%(?:25)*(?i:%02x)", c)
		}
		b.WriteString(")")
	}
	return regexp.MustCompile(b.String())
}

// outside is the request as the workflow gets it.
func (r *request) outside(token string) (*webhook.Request, error) {
	req := &webhook.Request{Method: r.Method, Query: r.URL.RawQuery, Body: r.body, Header: webhook.Header{}}
	if _, rest, found := strings.Cut(r.URL.EscapedPath(), webhook.Path); found {
		if i := strings.IndexByte(rest, '/'); i >= 0 {
			req.Path = rest[i:]
		}
	}
	if !printable(req.Path) || !printable(req.Query) {
		return nil, invalid("the path or the query has characters that are not printable")
	}
	secret := repeated(token)
	req.Path, req.Query = secret.ReplaceAllLiteralString(req.Path, secretShown), secret.ReplaceAllLiteralString(req.Query, secretShown)
	lines, size := 0, 0
	for name, values := range r.Header {
		kept := make([]string, len(values))
		for i, v := range values {
			kept[i] = secret.ReplaceAllLiteralString(v, secretShown)
			lines, size = lines+1, size+len(name)+len(v)
			if !utf8.ValidString(v) {
				return nil, invalid("the header %.100q is not valid UTF-8", name)
			}
		}
		if lines > mostHeaders || size > mostHeaderBytes {
			return nil, fmt.Errorf("%w: more than %d, or than %d bytes", errHeaders, mostHeaders, mostHeaderBytes)
		}
		if !withheld[name] {
			req.Header[name] = kept
		}
	}
	req.Remote = r.RemoteAddr
	if host, _, err := net.SplitHostPort(r.RemoteAddr); err == nil {
		req.Remote = host
	}
	var err error
	req.Delivery, err = r.deliveryName()
	return req, err
}

// deliveryName is what a sender calls a delivery, in the header Idempotency-Key or in one that providers use; "": nothing.
func (r *request) deliveryName() (string, error) {
	key, err := r.idempotencyKey()
	for _, name := range []string{"X-Github-Delivery", "Webhook-Id", "Svix-Id"} {
		if key != "" || err != nil {
			break
		}
		if key = r.Header.Get(name); key != "" {
			err = world.CheckKey("the header "+name+":", key)
		}
	}
	return key, err
}

func printable(text string) bool {
	return utf8.ValidString(text) && !strings.ContainsFunc(text, unicode.IsControl)
}

// manual waits for the workflow's answer.
func (c *reception) manual(w http.ResponseWriter, r *request, door *webhook.Door, reply string) error {
	within := min(door.Wait, c.opts.MaxWait)
	ctx, cancel := context.WithTimeout(r.Context(), within)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		select {
		case <-c.drain:
			cancel()
		case <-ctx.Done():
		}
	}()
	res, err := door.Answer(ctx, reply)
	late := ctx.Err() != nil
	cancel()
	<-ended
	switch {
	case err == nil:
		return respond(w, res)
	case r.Context().Err() != nil:
		return r.Context().Err() // nobody is there to be told
	case errors.Is(err, world.ErrTerminal):
		return answer(w, http.StatusAccepted, webhookAccepted{true, "the run is over, and has no answer: it gave none, or what it gave was trimmed"})
	case !late:
		c.log.Warn("the answer to a webhook cannot be read", "run", door.Run, "err", err)
	}
	return answer(w, http.StatusAccepted, webhookAccepted{true, "the run has not answered within " + human.SpanText(within) + "; the request is durable"})
}

// respond answers as a workflow wants it.
func respond(w http.ResponseWriter, res *webhook.Response) error {
	if err := res.Check(); err != nil { // what a log has is not trusted with headers
		return fmt.Errorf("%w: %w", world.ErrCorrupt, err)
	}
	h := w.Header()
	for name, value := range res.Header {
		h.Set(name, value)
	}
	if h.Get("Content-Type") == "" && len(res.Body) > 0 {
		h.Set("Content-Type", "application/octet-stream")
		if utf8.Valid(res.Body) {
			h.Set("Content-Type", textPlain)
		}
	}
	status := res.Status
	if status == 0 {
		status = http.StatusOK
	}
	if status != http.StatusNoContent && status != http.StatusNotModified {
		h.Set("Content-Length", strconv.Itoa(len(res.Body)))
	}
	w.WriteHeader(status)
	_, _ = w.Write(res.Body) // a client that is gone is not told
	return nil
}
