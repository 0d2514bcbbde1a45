//go:build unix

package cli

// The server that pushes, as people start it, with programs elsewhere: on PostgreSQL, and over the server itself as their world.

import (
	"context"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/faults"
	"github.com/stepwell/stepwell/internal/pgtest"
	"github.com/stepwell/stepwell/server"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/remote"
)

const pushSecret = "a-secret-of-both-sides"

// pushed is a program that serves a flow.
type pushed struct {
	*httptest.Server
	messages atomic.Int32
	handler  atomic.Pointer[http.Handler]
}

func newPushed(t *testing.T) *pushed {
	p := &pushed{}
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := p.handler.Load()
		if h == nil {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		if r.Method == http.MethodPost {
			p.messages.Add(1)
		}
		(*h).ServeHTTP(w, r)
	}))
	t.Cleanup(p.Close)
	return p
}

// serve makes the program work on a world.
func (p *pushed) serve(t *testing.T, w world.World, cfg stepwell.Config) *server.Flow {
	t.Helper()
	app, err := stepwell.New(w, cfg)
	if err != nil {
		t.Fatal(err)
	}
	secrets, err := server.ParsePushSecrets(pushSecret)
	if err != nil {
		t.Fatal(err)
	}
	flow, err := server.NewFlow(app, server.FlowOptions{Secrets: secrets})
	if err != nil {
		t.Fatal(err)
	}
	h := http.Handler(flow)
	p.handler.Store(&h)
	return flow
}

func openURL(t *testing.T, url string) world.World {
	t.Helper()
	w, err := stepwell.Open(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Errorf("Close = %v", err)
		}
	})
	return w
}

var pushTens = stepwell.Define("tens", func(ctx stepwell.Context, in int) (int, error) {
	for i := range 10 {
		v, err := stepwell.Step(ctx, "add", func(context.Context) (int, error) { return i, nil })
		if err != nil {
			return 0, err
		}
		in += v
	}
	return in, nil
})

func startOne(t *testing.T, app *stepwell.App, in int) *stepwell.Run[int] {
	t.Helper()
	run, err := pushTens.Start(t.Context(), app, in)
	if err != nil {
		t.Fatal(err)
	}
	return run
}

func endsWith(t *testing.T, run *stepwell.Run[int], want int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if got, err := run.Result(ctx); err != nil || got != want {
		t.Fatalf("run %s: got %d, %v; want %d", run.ID(), got, err, want)
	}
}

// On PostgreSQL two programs and the server are three worlds; ten steps are one message, and one that dies in the middle of a body has its run done by the other.
func TestPushOnPostgres(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	client, err := stepwell.New(openURL(t, url), stepwell.Config{})
	if err != nil {
		t.Fatal(err)
	}
	var bodies atomic.Int32
	begun, ended := make(chan struct{}), make(chan struct{})
	free := sync.OnceFunc(func() { close(ended) })
	defer free()
	pay := stepwell.Define("pay", func(ctx stepwell.Context, in int) (int, error) {
		return stepwell.Step(ctx, "charge", func(context.Context) (int, error) {
			if bodies.Add(1) == 1 {
				close(begun)
				<-ended
				return -1, nil
			}
			return in, nil
		})
	})
	mortal := faults.New(openURL(t, url), nil)
	first, second := newPushed(t), newPushed(t)
	dying := first.serve(t, mortal, stepwell.Config{Definitions: []stepwell.Definition{pay}, Lease: time.Second, Drain: 50 * time.Millisecond})
	flow := second.serve(t, openURL(t, url), stepwell.Config{Definitions: []stepwell.Definition{pushTens}})
	served(t, map[string]string{
		"STEPWELL_DB": url, "STEPWELL_PUSH": first.URL + "," + second.URL, "STEPWELL_PUSH_SECRET": pushSecret, "STEPWELL_PUSH_REFRESH": "50ms",
	})
	const n = 10
	var runs []*stepwell.Run[int]
	for i := range n {
		runs = append(runs, startOne(t, client, i))
	}
	for i, run := range runs {
		endsWith(t, run, 45+i)
		if info, err := client.Get(t.Context(), run.ID()); err != nil || info.Claims != 1 {
			t.Errorf("run %s: %v, %d claims, want 1", run.ID(), err, info.Claims)
		}
	}
	if got := second.messages.Load(); got != n {
		t.Errorf("%d messages, want %d", got, n)
	}

	run, err := pay.Start(t.Context(), client, 42)
	if err != nil {
		t.Fatal(err)
	}
	<-begun
	mortal.Kill()
	if err := flow.Close(); err != nil {
		t.Errorf("Close = %v", err)
	}
	last := first.serve(t, openURL(t, url), stepwell.Config{Definitions: []stepwell.Definition{pay}})
	endsWith(t, run, 42)
	free()
	_ = dying.Close() // its world is dead
	if err := last.Close(); err != nil {
		t.Errorf("Close = %v", err)
	}
	ends := 0
	for e, err := range client.Events(t.Context(), run.ID(), stepwell.EventFilter{Types: []world.EventType{world.StepCompleted}}) {
		if err != nil {
			t.Fatal(err)
		}
		ends++
		if string(e.Payload) != "42" {
			t.Errorf("the step ended with %s", e.Payload)
		}
	}
	if ends != 1 || bodies.Load() != 2 {
		t.Errorf("%d completions of %d bodies, want 1 of 2", ends, bodies.Load())
	}
}

// A program without a database: the server that pushes to it is its world.
func TestPushOverTheServer(t *testing.T) {
	t.Parallel()
	p := newPushed(t)
	addr := served(t, map[string]string{
		"STEPWELL_DB": "sqlite:" + filepath.Join(t.TempDir(), "app.db"), "STEPWELL_PUSH": p.URL, "STEPWELL_PUSH_SECRET": pushSecret,
		"STEPWELL_PUSH_REFRESH": "50ms",
	})
	w, err := remote.Open(t.Context(), "http://"+addr)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = w.Close() }()
	flow := p.serve(t, w, stepwell.Config{Definitions: []stepwell.Definition{pushTens}})
	client, err := stepwell.New(w, stepwell.Config{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		endsWith(t, startOne(t, client, i), 45+i)
	}
	if got := p.messages.Load(); got != 3 {
		t.Errorf("%d messages, want 3", got)
	}
	if err := flow.Close(); err != nil {
		t.Errorf("Close = %v", err)
	}
}
