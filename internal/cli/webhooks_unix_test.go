//go:build unix

package cli

// Webhooks between processes: two workers and a server, each with connections of its own to one PostgreSQL database.

import (
	"context"
	"fmt"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/pgtest"
	"github.com/stepwell/stepwell/server"
	"github.com/stepwell/stepwell/webhook"
	"github.com/stepwell/stepwell/world"
)

// echoes receives three requests and answers each with itself.
var echoes = stepwell.Define("echoes", func(ctx stepwell.Context, token string) (int, error) {
	hook, err := webhook.New(ctx, webhook.Token(token), webhook.RespondManually(time.Minute))
	if err != nil {
		return 0, err
	}
	n := 0
	for req, err := range hook.All(ctx) {
		if err != nil {
			return n, err
		}
		if err := req.Respond(ctx, webhook.Response{Status: 207, Body: req.Body}); err != nil {
			return n, err
		}
		if n++; n == 3 {
			break
		}
	}
	return n, nil
})

// TestWebhookOfAnotherProcess: requests come to a server that works on nothing, and get the answers of runs that others work on. A worker goes away in
// between: the other answers.
func TestWebhookOfAnotherProcess(t *testing.T) {
	t.Parallel()
	database := pgtest.URL(t)
	const runs, requests = 4, 3
	open := func(name string) (*stepwell.App, world.World) {
		w, err := world.Open(t.Context(), database)
		if err != nil {
			t.Fatal(err)
		}
		app, err := stepwell.New(w, stepwell.Config{Definitions: []stepwell.Definition{echoes}, Name: name})
		if err != nil {
			t.Fatal(err)
		}
		return app, w
	}
	works := func(name string) (stop func()) {
		app, w := open(name)
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() { ended <- app.Run(ctx) }()
		return sync.OnceFunc(func() {
			cancel()
			if err := <-ended; err != nil {
				t.Errorf("Run = %v", err)
			}
			if err := w.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	first, second := works("first"), works("second")
	defer second()
	defer first()
	app, w := open("server")
	defer func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	}()
	s, err := server.New(app, server.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var started [runs]*stepwell.Run[int]
	for i := range started {
		token := fmt.Sprint("pg-", i)
		if started[i], err = echoes.Start(t.Context(), app, token); err != nil {
			t.Fatal(err)
		}
		for end := time.Now().Add(20 * time.Second); ; <-time.After(time.Millisecond) {
			if _, err := webhook.Find(t.Context(), app, "wh_"+token); err == nil {
				break
			}
			if time.Now().After(end) {
				t.Fatalf("webhook %s is not opened", token)
			}
		}
	}
	for n := range requests {
		var asking sync.WaitGroup
		for i := range runs {
			asking.Go(func() {
				body := fmt.Sprintf("run %d, request %d", i, n)
				for again := range 2 { // the same delivery
					req := httptest.NewRequestWithContext(t.Context(), "POST", fmt.Sprint("http://127.0.0.1/.well-known/workflow/v1/webhook/wh_pg-", i), strings.NewReader(body))
					req.Header.Set("Idempotency-Key", fmt.Sprint("k", n))
					answer := httptest.NewRecorder()
					s.ServeHTTP(answer, req)
					if again == 1 && n == requests-1 && answer.Code == 404 {
						break // the run is over
					}
					if answer.Code != 207 || answer.Body.String() != body {
						t.Errorf("%s: got %d %s", body, answer.Code, answer.Body)
					}
				}
			})
		}
		asking.Wait()
		if n == 0 {
			first()
		}
	}
	for i, run := range started {
		if got, err := run.Result(t.Context()); err != nil || got != requests {
			t.Errorf("run %d received %d requests, %v, want %d", i, got, err, requests)
		}
	}
}
