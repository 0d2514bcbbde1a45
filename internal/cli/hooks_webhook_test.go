package cli

// What the commands about hooks say of webhooks.

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/webhook"
	"github.com/stepwell/stepwell/world/sqlite"
)

// TestWebhooksAreListedByTheirURL: a webhook is told from a hook by its URL; it is sent requests, not payloads, and a run that waits for one says so.
func TestWebhooksAreListedByTheirURL(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "app.db")
	w, err := sqlite.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	wait := stepwell.Define("wait", func(ctx stepwell.Context, _ int) (int, error) {
		hook, err := webhook.New(ctx, webhook.Token("shop"), webhook.Metadata("orders"), webhook.Signed(webhook.GitHub, "acme"))
		if err != nil {
			return 0, err
		}
		_, _, err = hook.Wait(ctx)
		return 0, err
	})
	app, err := stepwell.New(w, stepwell.Config{Definitions: []stepwell.Definition{wait}, PublicURL: "https://hooks.example.com"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- app.Run(ctx) }()
	if _, err := wait.Start(t.Context(), app, 0, stepwell.RunID("the-run")); err != nil {
		t.Fatal(err)
	}
	there := func() bool {
		hooks, err := app.Hooks(t.Context(), "the-run", "")
		return err == nil && len(hooks) == 1
	}
	for end := time.Now().Add(20 * time.Second); !there(); <-time.After(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the webhook is not opened")
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	const url = "https://hooks.example.com/.well-known/workflow/v1/webhook/wh_shop"
	for command, parts := range map[string][]string{
		"hooks list":                           {url, "the-run", `"orders"`},
		"hooks list --token wh_shop":           {url},
		"hooks list --json":                    {`"url":"` + url + `"`, `"token":"wh_shop"`, `"metadata":"orders"`},
		"runs show the-run":                    {"hooks list --token wh_shop"},
		"hooks send wh_shop 1 --delivery-id a": {"send one to its URL"},
	} {
		code, out, errs := call{}.do(t.Context(), append(strings.Fields(command), "--db", path)...)
		if want := strings.HasPrefix(command, "hooks send"); (code != exitOK) != want {
			t.Errorf("%s: exit code %d: %s", command, code, errs)
		}
		for _, part := range parts {
			if !strings.Contains(out+errs, part) {
				t.Errorf("%s: got\n%s%s\nwant it to have %q", command, out, errs, part)
			}
		}
		if strings.Contains(out, "acme") {
			t.Errorf("%s: it shows what the secret is called:\n%s", command, out)
		}
	}
}
