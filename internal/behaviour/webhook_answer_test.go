package behaviour_test

// What a webhook can be, what it can be answered with, and what its requests are in a log.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/keyring"
	"github.com/stepwell/stepwell/webhook"
	"github.com/stepwell/stepwell/world"
)

// TestWebhookResponseCheck: no header of an answer can become another, or speak for the server.
func TestWebhookResponseCheck(t *testing.T) {
	t.Parallel()
	header := func(name, value string) webhook.Response {
		return webhook.Response{Header: map[string]string{name: value}}
	}
	many := map[string]string{}
	for i := range 65 {
		many[fmt.Sprint("X-", i)] = "v"
	}
	for what, test := range map[string]struct {
		res  webhook.Response
		want error
	}{
		"nothing":             {webhook.Response{}, nil},
		"the least status":    {webhook.Response{Status: 200}, nil},
		"the highest":         {webhook.Response{Status: 599}, nil},
		"below":               {webhook.Response{Status: 199}, stepwell.ErrInvalid},
		"switching protocols": {webhook.Response{Status: 101}, stepwell.ErrInvalid},
		"above":               {webhook.Response{Status: 600}, stepwell.ErrInvalid},
		"negative":            {webhook.Response{Status: -1}, stepwell.ErrInvalid},
		"204 with a body":     {webhook.Response{Status: 204, Body: []byte("x")}, stepwell.ErrInvalid},
		"204":                 {webhook.Response{Status: 204}, nil},
		"304 with a body":     {webhook.Response{Status: 304, Body: []byte("x")}, stepwell.ErrInvalid},
		"a header":            {header("X-A", "b\tc ü"), nil},
		"a location":          {header("Location", "https://example.com/"), nil},
		"a line break":        {header("X-A", "b\r\nSet-Cookie: c=d"), stepwell.ErrInvalid},
		"a line feed":         {header("X-A", "b\nc"), stepwell.ErrInvalid},
		"NUL":                 {header("X-A", "b\x00"), stepwell.ErrInvalid},
		"DEL":                 {header("X-A", "b\x7f"), stepwell.ErrInvalid},
		"no UTF-8":            {header("X-A", "\xff"), stepwell.ErrInvalid},
		"no name":             {header("", "b"), stepwell.ErrInvalid},
		"a name with a break": {header("X-A\r\nX-B", "b"), stepwell.ErrInvalid},
		"a name with a colon": {header("X-A:", "b"), stepwell.ErrInvalid},
		"a name with a space": {header("X A", "b"), stepwell.ErrInvalid},
		"twice":               {webhook.Response{Header: map[string]string{"X-A": "b", "x-a": "c"}}, stepwell.ErrInvalid},
		"a length":            {header("content-LENGTH", "5"), stepwell.ErrInvalid},
		"chunks":              {header("Transfer-Encoding", "chunked"), stepwell.ErrInvalid},
		"a connection":        {header("Connection", "close"), stepwell.ErrInvalid},
		"an upgrade":          {header("Upgrade", "h2c"), stepwell.ErrInvalid},
		"a cookie":            {header("Set-Cookie", "a=b"), stepwell.ErrInvalid},
		"a policy":            {header("Content-Security-Policy", "default-src *"), stepwell.ErrInvalid},
		"sniffing":            {header("X-Content-Type-Options", ""), stepwell.ErrInvalid},
		"many headers":        {webhook.Response{Header: many}, stepwell.ErrTooLarge},
		"a long header":       {header("X-A", strings.Repeat("b", 9<<10)), stepwell.ErrTooLarge},
	} {
		if err := test.res.Check(); !errors.Is(err, test.want) {
			t.Errorf("%s: got %v, want %v", what, err, test.want)
		}
	}
}

// TestWebhookOptions: what makes no sense is refused before anything is written, and the code goes on.
func TestWebhookOptions(t *testing.T) {
	everywhere(t, func(r *rig) {
		bad := map[string][]webhook.Option{
			"token":                    {webhook.Token("a/b")},
			"token \"\"":               {webhook.Token("")},
			"want 1 to 200 characters": {webhook.Token(strings.Repeat("x", 201))},
			"not both":                 {webhook.RespondWith(webhook.Response{}), webhook.RespondManually(0)},
			"must not be negative":     {webhook.RespondManually(-1)},
			"signature scheme":         {webhook.Signed("md5", "acme")},
			"name of the secret":       {webhook.Signed(webhook.GitHub, "whsec_+/=")},
			"name of the secret: \"\"": {webhook.Signed(webhook.GitHub, "")},
			"status 99":                {webhook.RespondWith(webhook.Response{Status: 99})},
			"more than 65536":          {webhook.RespondWith(webhook.Response{Body: make([]byte, 65537)})},
			"metadata":                 {webhook.Metadata(func() {})},
		}
		wf := stepwell.Define("bad", func(ctx stepwell.Context, _ int) (int, error) {
			n := 0
			for part, opts := range bad {
				if _, err := webhook.New(ctx, opts...); err == nil || !strings.Contains(err.Error(), part) {
					return 0, fmt.Errorf("%s: got %w", part, err)
				}
				n++
			}
			req := webhook.Request{}
			if err := req.Respond(ctx, webhook.Response{}); !errors.Is(err, stepwell.ErrInvalid) {
				return 0, fmt.Errorf("answer to nobody: got %w", err)
			}
			req.Reply = "my own stream"
			if err := req.Respond(ctx, webhook.Response{}); !errors.Is(err, stepwell.ErrInvalid) {
				return 0, fmt.Errorf("answer to a stream: got %w", err)
			}
			return n, nil
		})
		run := start(r, r.begin(wf), wf, 0)
		want(r, run, len(bad))
		if n := len(r.events(run.ID())); n != 3 {
			r.dump(run.ID())
			r.Errorf("%d events, want 3: nothing is written", n)
		}
	})
}

// TestWebhookTakesRequestsAlone: its token is no way for other payloads, and a plain hook's is none for requests, whatever it is called.
func TestWebhookTakesRequestsAlone(t *testing.T) {
	everywhere(t, func(r *rig) {
		wf := stepwell.Define("both", func(ctx stepwell.Context, _ int) (string, error) {
			hook, err := webhook.New(ctx, webhook.Token("a"), webhook.RespondManually(0))
			if err != nil {
				return "", err
			}
			plain, err := stepwell.NewHook[string](ctx, stepwell.Token("wh_b"))
			if err != nil {
				return "", err
			}
			got, _, err := plain.Wait(ctx)
			if err != nil {
				return "", err
			}
			if err := hook.Dispose(ctx); err != nil {
				return "", err
			}
			_, _, err = hook.Wait(ctx)
			return fmt.Sprint(got, " ", errors.Is(err, stepwell.ErrNotFound)), nil
		})
		wk := r.begin(wf)
		run := start(r, wk, wf, 0)
		synctest.Wait()
		before := len(r.events(run.ID()))
		for token, want := range map[string]error{"wh_a": stepwell.ErrInvalid, "wh_none": stepwell.ErrNotFound} {
			if err := wk.SendHook(r.ctx, token, json.RawMessage(`"x"`)); !errors.Is(err, want) {
				r.Errorf("send to %s: got %v, want %v", token, err, want)
			}
		}
		for _, token := range []string{"wh_b", "a", "none"} {
			if _, err := webhook.Find(r.ctx, wk.App, token); !errors.Is(err, stepwell.ErrNotFound) {
				r.Errorf("webhook %s: got %v, want ErrNotFound", token, err)
			}
		}
		if n := len(r.events(run.ID())); n != before {
			r.Errorf("%d events, want %d: nothing is written", n, before)
		}
		if err := wk.SendHook(r.ctx, "wh_b", json.RawMessage(`"x"`)); err != nil {
			r.Error(err)
		}
		want(r, run, "x true")
	})
}

// TestWebhookOfAnEncryptedRun: requests and answers come through, and a request that comes again finds its answer.
func TestWebhookOfAnEncryptedRun(t *testing.T) {
	onWorlds(t, func(r *rig) {
		ring, err := keyring.Parse("k1:" + "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=")
		if err != nil {
			r.Fatal(err)
		}
		wk := r.beginWith(stepwell.Config{Definitions: []stepwell.Definition{counter}, Encryption: ring})
		run := start(r, wk, counter, nil)
		door := r.door(wk.App, "wh_counter")
		sent := len(r.events(run.ID()))
		for name, other := range map[string]*keyring.Ring{"without keys": nil, "with another key": keysOf(r, "k2")} {
			app, err := stepwell.New(r.world, stepwell.Config{Encryption: other})
			if err != nil {
				r.Fatal(err)
			}
			if _, err := webhook.Find(r.ctx, app, "wh_counter"); !errors.Is(err, stepwell.ErrNoKey) || !strings.Contains(err.Error(), `"k1"`) {
				r.Errorf("%s: got %v, want ErrNoKey and the key's ID", name, err)
			}
			if hooks, err := app.Hooks(r.ctx, "", ""); err != nil || len(hooks) != 1 || hooks[0].Encrypted != "k1" {
				r.Errorf("%s: got hooks %v, %v; want one that is sealed with k1", name, hooks, err)
			}
		}
		if hooks, err := wk.Hooks(r.ctx, "", ""); err != nil || len(hooks) != 1 || hooks[0].Encrypted != "" {
			r.Errorf("got hooks %v, %v; want one that can be read", hooks, err)
		}
		if n := len(r.events(run.ID())); n != sent {
			r.Errorf("%d events, want %d: nothing is written", n, sent)
		}
		for range 2 {
			if res := r.ask(door, webhook.Request{Method: "DELETE", Body: []byte("hush"), Delivery: "d"}); string(res.Body) != "hush" {
				r.Errorf("got %+v", res)
			}
		}
		for _, e := range r.events(run.ID()) {
			if strings.Contains(string(e.Payload), "hush") || strings.Contains(string(e.Payload), "127.0.0.1") {
				r.Errorf("event %d is not encrypted: %s", e.Seq, e.Payload)
			}
		}
	})
}

// TestWebhookAfterACancel: clean-up code can still answer who waits.
func TestWebhookAfterACancel(t *testing.T) {
	everywhere(t, func(r *rig) {
		wf := stepwell.Define("tidy", func(ctx stepwell.Context, _ int) (int, error) {
			hook, err := webhook.New(ctx, webhook.Token("tidy"), webhook.RespondManually(0))
			if err != nil {
				return 0, err
			}
			req, _, err := hook.Wait(ctx)
			if err != nil {
				return 0, err
			}
			err = stepwell.Sleep(ctx, "think", time.Hour)
			if refused := req.Respond(ctx, webhook.Response{}); !errors.Is(refused, stepwell.ErrCancelled) {
				return 0, fmt.Errorf("got %w, want ErrCancelled", refused)
			}
			return 0, errors.Join(err, req.Respond(ctx.Uncancelled(), webhook.Response{Status: 503}))
		})
		wk := r.begin(wf)
		run := start(r, wk, wf, 0)
		door := r.door(wk.App, "wh_tidy")
		reply, err := door.Send(r.ctx, webhook.Request{Method: "GET"})
		if err != nil {
			r.Fatal(err)
		}
		synctest.Wait()
		if err := wk.Cancel(r.ctx, run.ID(), ""); err != nil {
			r.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(r.ctx, time.Minute)
		defer cancel()
		if res, err := door.Answer(ctx, reply); err != nil || res.Status != 503 {
			r.Errorf("got %+v, %v, want 503", res, err)
		}
		wantErr(r, run, world.Cancelled)
	})
}

// TestWebhookBody: whatever bytes a request has, it has them behind the log too, and text is readable there.
func TestWebhookBody(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		body := rapid.OneOf(rapid.SliceOf(rapid.Byte()), rapid.Map(rapid.String(), func(s string) []byte { return []byte(s) })).Draw(t, "body")
		b, err := json.Marshal(webhook.Request{Method: "POST", Body: body})
		if err != nil {
			t.Fatal(err)
		}
		var got webhook.Request
		if err := json.Unmarshal(b, &got); err != nil || string(got.Body) != string(body) {
			t.Fatalf("got %q, %v, want %q, of %s", got.Body, err, body, b)
		}
	})
	for body, want := range map[string]string{`<a href="x">é`: `"<a href=\"x\">é"`, "a\x00b": `{"base64":"YQBi"}`, "\xff": `{"base64":"/w=="}`} {
		if b, err := webhook.Body(body).MarshalJSON(); err != nil || string(b) != want {
			t.Errorf("%q: got %s, %v, want %s", body, b, err, want)
		}
	}
	for _, bad := range []string{`5`, `{"base64": "*"}`, `[`} {
		if err := new(webhook.Body).UnmarshalJSON([]byte(bad)); err == nil {
			t.Errorf("%s is taken for a body", bad)
		}
	}
	req := webhook.Request{Body: []byte(`{"a": `)}
	if err := req.Decode(new(map[string]int)); !errors.Is(err, stepwell.ErrInvalid) {
		t.Errorf("Decode of half a body: got %v", err)
	}
}

// TestAnswersThatAreTooLarge: what the page promises of a body can be answered with; more is refused in the body's own size, and the request can be answered still.
func TestAnswersThatAreTooLarge(t *testing.T) {
	everywhere(t, func(r *rig) {
		wf := stepwell.Define("large", func(ctx stepwell.Context, n int) (string, error) {
			hook, err := webhook.New(ctx, webhook.Token("large"), webhook.RespondManually(time.Minute))
			if err != nil {
				return "", err
			}
			for i, fits := range [][]byte{make([]byte, 768<<10-100), []byte(strings.Repeat("x", 1<<20-100))} {
				req, _, err := hook.Wait(ctx)
				if err != nil {
					return "", err
				}
				for _, body := range [][]byte{make([]byte, 1<<20), make([]byte, 768<<10), []byte(strings.Repeat("x", 1<<20))} {
					err := req.Respond(ctx, webhook.Response{Body: body})
					if size := fmt.Sprintf("the body has %d bytes", len(body)); !errors.Is(err, stepwell.ErrTooLarge) || !strings.Contains(err.Error(), size) {
						return "", fmt.Errorf("%d bytes: got %w, want ErrTooLarge with %s", len(body), err, size)
					}
				}
				if err := req.Respond(ctx, webhook.Response{Body: fits}); err != nil {
					return "", fmt.Errorf("answer %d: %w", i, err)
				}
			}
			return "answered", hook.Dispose(ctx)
		})
		wk := r.begin(wf)
		run := start(r, wk, wf, 0)
		door := r.door(wk.App, "wh_large")
		for _, size := range []int{768<<10 - 100, 1<<20 - 100} {
			reply, err := door.Send(r.ctx, webhook.Request{Method: "POST"})
			if err != nil {
				r.Fatal(err)
			}
			if res, err := door.Answer(r.ctx, reply); err != nil || len(res.Body) != size {
				r.Fatalf("got %v, want %d bytes", err, size)
			}
		}
		want(r, run, "answered")
	})
}
