package server

// What workflow code publishes, in a remote worker.

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/keyring"
	"github.com/stepwell/stepwell/topic"
	"github.com/stepwell/stepwell/world/remote"
)

// TestRemotePublishFrom: a worker that has the server alone publishes from workflow code; a run that listens gets it.
// With a key it lies there encrypted. What a restart carries out again is published again, and what a fork takes over
// is not.
func TestRemotePublishFrom(t *testing.T) {
	t.Parallel()
	key, err := keyring.NewKey("2026")
	if err != nil {
		t.Fatal(err)
	}
	ring, err := keyring.New(key)
	if err != nil {
		t.Fatal(err)
	}
	for kind := range kinds {
		for name, keys := range map[string]*keyring.Ring{"plain": nil, "encrypted": ring} {
			t.Run(kind+" "+name, func(t *testing.T) {
				t.Parallel()
				publishesFrom(t, newRig(t, kind, Options{}), keys)
			})
		}
	}
}

func publishesFrom(t *testing.T, r *rig, keys *keyring.Ring) {
	news := topic.Of[string]("news.daily")
	tells := stepwell.Define("tells", func(ctx stepwell.Context, text string) (string, error) {
		if err := news.PublishFrom(ctx, text, topic.Headers(map[string]string{"of": ctx.RunID()})); err != nil {
			return "", err
		}
		return text, stepwell.Do(ctx, "work", func(context.Context) error { return nil })
	})
	hears := stepwell.Define("hears", func(ctx stepwell.Context, _ string) (string, error) {
		got, _, err := stepwell.Event[string]("news.*").Wait(ctx, stepwell.Since(time.Hour), stepwell.Timeout(time.Hour))
		return got, err
	})
	ctx := t.Context()
	app := workWith(t, openRemote(t, r.base, remote.Options{}), keys, tells, hears)
	run, err := tells.Start(ctx, app, "the secret", stepwell.RunID("one"))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := run.Result(ctx); got != "the secret" || err != nil {
		t.Fatalf("it came to %q, %v", got, err)
	}
	listens, err := hears.Start(ctx, app, "")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := listens.Result(ctx); got != "the secret" || err != nil {
		t.Errorf("who listens got %q, %v", got, err)
	}
	a := r.want(200, "GET", "/v1/publications", "")
	if a.get("publications.0.topic") != "news.daily" || a.get("publications.0.headers.of") != "one" || a.get("publications.1") != nil {
		t.Errorf("publications: got %s", a.body)
	}
	if id := a.get("publications.0.sealed"); keys != nil && (id != "2026" || strings.Contains(string(a.body), "secret")) || keys == nil && id != nil {
		t.Errorf("publications: got %s; want the key's ID and no payload where there is a key", a.body)
	}
	if a := r.want(200, "GET", "/v1/runs/one/steps", ""); a.get("steps.0.type") != "publication" || a.get("steps.0.name") != "news.daily" || a.get("steps.0.status") != "completed" {
		t.Errorf("the journal: got %s", a.body)
	}
	again, err := app.Restart(ctx, "one", stepwell.RestartOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := again.Result(ctx); err != nil {
		t.Fatal(err)
	}
	if a := r.want(200, "GET", "/v1/publications", ""); a.get("publications.0.headers.of") != again.ID() || a.get("publications.2") != nil {
		t.Errorf("after a restart: got %s", a.body)
	}
	events, err := app.Story(ctx, "one", false)
	if err != nil {
		t.Fatal(err)
	}
	fork, err := app.Fork(ctx, "one", stepwell.ForkOptions{At: events.Journal.Entries[1].Seq})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fork.Result(ctx); err != nil {
		t.Fatal(err)
	}
	if a := r.want(200, "GET", "/v1/publications", ""); a.get("publications.2") != nil {
		t.Errorf("after a fork behind it: got %s", a.body)
	}
}
