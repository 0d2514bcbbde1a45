package server

// The parts of tests of push delivery: programs that serve a flow, and a server that pushes to them.

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/push"
	"github.com/stepwell/stepwell/world"
)

var testSecrets = mustSecrets("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")

func mustSecrets(text string) []PushSecret {
	s, err := ParsePushSecrets(text)
	if err != nil {
		panic(err)
	}
	return s
}

// program is one that serves a flow, and counts the messages that it gets.
type program struct {
	*httptest.Server
	app  *stepwell.App
	flow *Flow

	mu       sync.Mutex
	messages []push.Message                                // guarded by mu
	flying   map[push.Message]int                          // guarded by mu
	crowd    int                                           // messages that named the same at once, at most; guarded by mu
	instead  func(http.ResponseWriter, *http.Request) bool // answers instead of the flow, if it returns true; guarded by mu
}

// serveFlow starts a program with definitions.
func serveFlow(t *testing.T, w world.World, cfg stepwell.Config, defs ...stepwell.Definition) *program {
	t.Helper()
	cfg.Definitions = defs
	app, err := stepwell.New(w, cfg)
	if err != nil {
		t.Fatal(err)
	}
	flow, err := NewFlow(app, FlowOptions{Secrets: testSecrets})
	if err != nil {
		t.Fatal(err)
	}
	p := &program{app: app, flow: flow, flying: map[push.Message]int{}}
	p.Server = httptest.NewServer(p)
	t.Cleanup(func() {
		if err := flow.Close(); err != nil && !errors.Is(err, world.ErrClosed) {
			t.Errorf("Close = %v", err)
		}
		p.Server.Close()
	})
	return p
}

// ServeHTTP counts messages.
func (p *program) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	instead := p.instead
	p.mu.Unlock()
	if instead != nil && instead(w, r) {
		return
	}
	if r.Method == http.MethodPost {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		var m push.Message
		_ = json.Unmarshal(body, &m)
		p.mu.Lock()
		p.messages = append(p.messages, m)
		p.flying[m]++
		p.crowd = max(p.crowd, p.flying[m])
		p.mu.Unlock()
		defer func() {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.flying[m]--
		}()
	}
	p.flow.ServeHTTP(w, r)
}

func (p *program) set(instead func(http.ResponseWriter, *http.Request) bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.instead = instead
}

// got counts the messages so far: for runs, and for queued steps.
func (p *program) got() (runs, steps int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, m := range p.messages {
		if m.Step == "" {
			runs++
		} else {
			steps++
		}
	}
	return runs, steps
}

// pushRig is a world and a server that pushes.
type pushRig struct {
	*testing.T
	world  world.World
	client *stepwell.App
	server *Server
	log    *lines
	stop   func() // ends the pushing
}

// quick are options for tests: what a minute is in life is a moment here.
func quick(endpoints ...string) PushOptions {
	return PushOptions{Endpoints: endpoints, Secrets: testSecrets, Refresh: 50 * time.Millisecond, Reset: 20 * time.Millisecond, Failures: 3}
}

func newPushRig(t *testing.T, w world.World, o PushOptions) *pushRig {
	t.Helper()
	r := &pushRig{T: t, world: w, log: &lines{}}
	var err error
	if r.client, err = stepwell.New(w, stepwell.Config{Name: "client"}); err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.NewTextHandler(r.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	if r.server, err = New(r.client, Options{Push: o, Logger: log}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var pushing sync.WaitGroup
	pushing.Go(func() { r.server.Push(ctx) })
	r.stop = func() {
		cancel()
		pushing.Wait()
	}
	t.Cleanup(r.stop)
	return r
}

func openWorld(t *testing.T, kind string) world.World {
	t.Helper()
	w := kinds[kind](t)
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Errorf("Close = %v", err)
		}
	})
	return w
}

func (r *pushRig) start(workflow string, in any) string {
	r.Helper()
	text, err := json.Marshal(in)
	if err != nil {
		r.Fatal(err)
	}
	run, err := r.client.Start(r.Context(), workflow, text)
	if err != nil {
		r.Fatal(err)
	}
	return run.ID()
}

// until waits for something to be seen.
func (r *pushRig) until(what string, there func() bool) {
	r.Helper()
	for limit := time.Now().Add(20 * time.Second); !there(); {
		if time.Now().After(limit) {
			r.Fatalf("waited 20 s for %s; log: %s", what, r.log)
		}
		select {
		case <-time.After(2 * time.Millisecond):
		case <-r.Context().Done():
			r.Fatal(r.Context().Err())
		}
	}
}

// result waits for the end of a run.
func (r *pushRig) result(run string) world.Run {
	r.Helper()
	var row world.Run
	r.until("the end of run "+run, func() bool {
		var err error
		if row, err = r.world.Run(r.Context(), run); err != nil {
			r.Fatal(err)
		}
		return row.Status.Terminal()
	})
	return row
}

func (r *pushRig) completed(run, want string) world.Run {
	r.Helper()
	row := r.result(run)
	if row.Status != world.Completed || string(row.Output) != want {
		r.Fatalf("run is %s with %s, %v; want completed with %s; log: %s", row.Status, row.Output, row.Error, want, r.log)
	}
	return row
}

// count is how many events of a type the run has.
func (r *pushRig) count(run string, typ world.EventType) int {
	r.Helper()
	page, err := r.world.Events(r.Context(), run, world.EventQuery{Types: []world.EventType{typ}})
	if err != nil {
		r.Fatal(err)
	}
	return len(page.Events)
}

// fetch reads a JSON document.
func fetch(t *testing.T, url string, into any) {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }() // it was read
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: status %d", url, resp.StatusCode)
	}
	if err := json.NewDecoder(resp.Body).Decode(into); err != nil {
		t.Fatal(err)
	}
}
