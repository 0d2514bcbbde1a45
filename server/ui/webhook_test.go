package ui_test

// What the page of hooks says of webhooks.

import (
	"strings"
	"testing"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/server"
	"github.com/stepwell/stepwell/webhook"
)

// TestWebhooksShowTheirURL: where requests are sent to, and nothing of how they are signed.
func TestWebhooksShowTheirURL(t *testing.T) {
	t.Parallel()
	wait := stepwell.Define("wait", func(ctx stepwell.Context, _ int) (string, error) {
		hook, err := webhook.New(ctx, webhook.Token("shop"), webhook.Metadata("orders"), webhook.Signed(webhook.GitHub, "acme"))
		if err != nil {
			return "", err
		}
		req, _, err := hook.Wait(ctx)
		return string(req.Body), err
	})
	s := newSite(t, server.Options{}, wait)
	run, err := wait.Start(t.Context(), s.App, 0)
	if err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(20 * time.Second); ; <-time.After(time.Millisecond) {
		if hooks, err := s.App.Hooks(t.Context(), run.ID(), ""); err == nil && len(hooks) == 1 {
			break
		}
		if time.Now().After(end) {
			t.Fatal("the webhook is not opened")
		}
	}
	p := s.want("/ui/hooks?run="+run.ID(), "http://127.0.0.1:7373/.well-known/workflow/v1/webhook/wh_shop", "orders")
	if strings.Contains(p.body, "acme") {
		t.Errorf("the page shows what the secret is called: %s", p.body)
	}
}
