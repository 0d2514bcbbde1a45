package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/api"
	"github.com/stepwell/stepwell/client"
	"github.com/stepwell/stepwell/internal/pgtest"
	"github.com/stepwell/stepwell/server"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/memory"
	_ "github.com/stepwell/stepwell/world/postgres"
	_ "github.com/stepwell/stepwell/world/sqlite"
)

// greet waits for a word, and writes it to a stream.
var greet = stepwell.Define("greet", func(ctx stepwell.Context, name string) (string, error) {
	if name == "nobody" {
		return "", stepwell.Fatal(errors.New("nobody is there"))
	}
	word, _, err := stepwell.Event[string]("word").Wait(ctx)
	if err != nil {
		return "", err
	}
	return stepwell.Call(ctx, "say", func(ctx context.Context, in string) (string, error) {
		out := stepwell.Stream[string](ctx, "words")
		return in + " " + name, errors.Join(out.Write(in), out.Write(name), out.Close())
	}, word)
})

var secret = "test-client-0123456789abcdef"

// stand is a server on a database, with a worker.
type stand struct {
	t    *testing.T
	url  string
	addr string // "": any
	db   string
	stop func()
}

// up starts the server, on the same port as before.
func (s *stand) up() {
	s.t.Helper()
	w, err := world.Open(s.t.Context(), s.db, world.OpenOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	s.serve(w)
}

func (s *stand) serve(w world.World) {
	s.t.Helper()
	app, err := stepwell.New(w, stepwell.Config{Definitions: []stepwell.Definition{greet}, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		s.t.Fatal(err)
	}
	var keys []server.Key
	for scope, name := range map[server.Scope]string{server.Operator: "ann", server.Viewer: "eve"} {
		k, err := server.NewKey(scope, name, secret+name)
		if err != nil {
			s.t.Fatal(err)
		}
		keys = append(keys, k)
	}
	srv, err := server.New(app, server.Options{Keys: keys, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		s.t.Fatal(err)
	}
	if s.addr == "" {
		s.addr = "127.0.0.1:0"
	}
	l, err := net.Listen("tcp", s.addr)
	if err != nil {
		s.t.Fatal(err)
	}
	s.addr, s.url = l.Addr().String(), "http://"+l.Addr().String()
	ctx, cancel := context.WithCancel(context.Background())
	working := make(chan error, 1)
	go func() { working <- app.Run(ctx) }()
	h := &http.Server{Handler: srv}
	go func() { _ = h.Serve(l) }()
	s.stop = func() {
		_ = h.Close() // every connection is cut
		srv.Drain()
		cancel()
		<-working
		_ = w.Close()
	}
}

func newStand(t *testing.T, db string) *stand {
	s := &stand{t: t, db: db}
	if db == "" {
		s.serve(memory.New())
	} else {
		s.up()
	}
	t.Cleanup(func() { s.stop() })
	return s
}

func (s *stand) client(o client.Options) *client.Client {
	s.t.Helper()
	if o.Key == "" {
		o.Key = secret + "ann"
	}
	c, err := client.New(s.url, o)
	if err != nil {
		s.t.Fatal(err)
	}
	return c
}

func must[T any](t *testing.T) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func TestGoClient(t *testing.T) {
	s := newStand(t, "")
	c, ctx := s.client(client.Options{}), t.Context()
	started := must[api.StartedRun](t)
	in := api.StartRun{Workflow: "greet", Key: "one", Input: json.RawMessage(`"Ann"`)}
	run := started(c.StartRun(ctx, in))
	if again := started(c.StartRun(ctx, in)); run.Existed || !again.Existed || again.ID != run.ID {
		t.Errorf("started %s (existed %t), then %s (existed %t)", run.ID, run.Existed, again.ID, again.Existed)
	}
	must[api.Accepted](t)(c.SignalRun(ctx, api.SignalRun{Run: run.ID, Event: "word", Key: "d", Payload: json.RawMessage(`"Hello"`)}))
	var out string
	if err := c.Result(ctx, run.ID, &out); err != nil || out != "Hello Ann" {
		t.Errorf("result %q, %v", out, err)
	}
	var kinds, words []string
	for item, err := range c.Events(ctx, run.ID, "") {
		if err != nil {
			t.Fatal(err)
		}
		kinds = append(kinds, item.Kind)
	}
	if len(kinds) < 4 || kinds[0] != "run_created" || kinds[len(kinds)-1] != "run_completed" {
		t.Errorf("events %q", kinds)
	}
	for chunk, err := range c.Stream(ctx, run.ID, "words", 0) {
		if err != nil {
			t.Fatal(err)
		}
		words = append(words, string(chunk.Value))
	}
	if len(words) != 2 || words[0] != `"Hello"` || words[1] != `"Ann"` {
		t.Errorf("chunks %q", words)
	}
	fails := started(c.StartRun(ctx, api.StartRun{Workflow: "greet", Input: json.RawMessage(`"nobody"`)}))
	var failed *client.FailedError
	if err := c.Result(ctx, fails.ID, nil); !errors.As(err, &failed) || failed.Run.ID != fails.ID || failed.Run.Status != world.Failed {
		t.Errorf("result of a run that fails: %v", err)
	}
	var listed []string
	for r, err := range c.Runs(ctx, api.ListRuns{Workflow: "greet", Status: "completed,failed", Limit: 1}) {
		if err != nil {
			t.Fatal(err)
		}
		listed = append(listed, r.ID)
	}
	if len(listed) != 2 || listed[0] != fails.ID || listed[1] != run.ID {
		t.Errorf("listed %q, want %s and %s", listed, fails.ID, run.ID)
	}
}

func TestGoClientErrors(t *testing.T) {
	s := newStand(t, "")
	ctx := t.Context()
	c, viewer, nobody := s.client(client.Options{}), s.client(client.Options{Key: secret + "eve"}), s.client(client.Options{Key: "test-nobody-0123456789abcdef"})
	gone := must[*client.Client](t)(client.New("http://127.0.0.1:1", client.Options{RetryFor: -1}))
	pause := api.PauseQueue{Queue: "mails"}
	_, ofPause := c.PauseQueue(ctx, pause)
	_, ofViewer := viewer.PauseQueue(ctx, pause)
	_, ofNobody := nobody.ListQueues(ctx, api.ListQueues{})
	_, ofGone := gone.ListQueues(ctx, api.ListQueues{})
	_, ofPath := c.GetQueue(ctx, api.GetQueue{Queue: ".."})
	_, ofRun := c.GetRun(ctx, api.GetRun{Run: "wrun_no"})
	for what, is := range map[string]struct{ err, want error }{
		"a queue that was never declared": {ofPause, world.ErrNotFound},
		"a viewer's pause":                {ofViewer, client.ErrForbidden},
		"an unknown key":                  {ofNobody, client.ErrUnauthenticated},
		"no server":                       {ofGone, world.ErrStorage},
		"a name that is no path":          {ofPath, world.ErrInvalid},
		"an unknown run":                  {ofRun, world.ErrNotFound},
	} {
		if !errors.Is(is.err, is.want) {
			t.Errorf("%s: %v, want %v", what, is.err, is.want)
		}
	}
	for _, url := range []string{"", "host:80", "ftp://host", "http://"} {
		if _, err := client.New(url, client.Options{}); !errors.Is(err, world.ErrInvalid) {
			t.Errorf("New(%q) = %v", url, err)
		}
	}
}

// lossy passes calls on, and cuts the connection of every second one behind its answer.
func lossy(t *testing.T, to string) (url string, cut *atomic.Int32) {
	cut = new(atomic.Int32)
	var n atomic.Int32
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		req, err := http.NewRequestWithContext(r.Context(), r.Method, to+r.URL.RequestURI(), r.Body)
		if err != nil {
			t.Error(err)
			return
		}
		req.Header = r.Header.Clone()
		resp, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		defer func() { _ = resp.Body.Close() }()
		body, _ := io.ReadAll(resp.Body)
		if n.Add(1)%2 == 1 {
			cut.Add(1)
			panic(http.ErrAbortHandler)
		}
		w.WriteHeader(resp.StatusCode)
		_, _ = w.Write(body)
	}))
	t.Cleanup(h.Close)
	return h.URL, cut
}

// TestGoClientLosesAnswers: a call whose answer was lost is done once, or its outcome is unknown.
func TestGoClientLosesAnswers(t *testing.T) {
	s := newStand(t, "")
	url, cut := lossy(t, s.url)
	c := must[*client.Client](t)(client.New(url, client.Options{Key: secret + "ann"}))
	ctx := t.Context()
	run := must[api.StartedRun](t)(c.StartRun(ctx, api.StartRun{Workflow: "greet", Input: json.RawMessage(`"Bob"`)}))
	forked := must[api.StartedRun](t)(c.ForkRun(ctx, api.ForkRun{Run: run.ID}))
	must[api.MessageQueue](t)(c.DeclareQueue(ctx, api.DeclareQueue{Queue: "mails"}))
	must[api.Sent](t)(c.SendMessages(ctx, api.SendMessages{Queue: "mails", Key: "k", NewMessage: api.NewMessage{Payload: json.RawMessage("1")}}))
	_, err := c.SendMessages(ctx, api.SendMessages{Queue: "mails", NewMessage: api.NewMessage{Payload: json.RawMessage("2")}})
	if !errors.Is(err, world.ErrUnknownOutcome) {
		t.Errorf("a send without a key: %v, want %v", err, world.ErrUnknownOutcome)
	}
	var all []string
	for r, err := range s.client(client.Options{}).Runs(ctx, api.ListRuns{Workflow: "greet"}) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, r.ID)
	}
	want := []string{forked.ID, run.ID}
	if slices.Sort(all); !slices.Equal(all, slices.Sorted(slices.Values(want))) || cut.Load() < 5 {
		t.Errorf("runs %q, want %q; %d answers were cut", all, want, cut.Load())
	}
	q := must[api.MessageQueue](t)(s.client(client.Options{}).GetQueue(ctx, api.GetQueue{Queue: "mails"}))
	if q.Counts.Ready != 2 {
		t.Errorf("%d messages, want 2", q.Counts.Ready)
	}
}

// TestGoClientOutlivesServers: calls, a wait and a follower outlive a server whose connections are cut, again and again.
func TestGoClientOutlivesServers(t *testing.T) {
	cluster := pgtest.Shared(t)
	for kind, db := range map[string]string{"sqlite": "sqlite:" + filepath.Join(t.TempDir(), "kill.db"), "postgres": cluster.URL(t)} {
		t.Run(kind, func(t *testing.T) {
			s := newStand(t, db)
			c, ctx := s.client(client.Options{}), t.Context()
			const runs = 20
			results, followed := make(chan error, runs), make(chan int, 1)
			var ids []string
			for range runs {
				ids = append(ids, must[api.StartedRun](t)(c.StartRun(ctx, api.StartRun{Workflow: "greet", Input: json.RawMessage(`"Cy"`)})).ID)
			}
			go func() {
				n := 0
				for _, err := range c.Events(ctx, ids[runs-1], "") {
					if err != nil {
						t.Error(err)
						break
					}
					n++
				}
				followed <- n
			}()
			for _, id := range ids {
				go func() {
					var out string
					err := c.Result(ctx, id, &out)
					if err == nil && out != "Hi Cy" {
						err = errors.New("the result is " + out)
					}
					results <- err
				}()
			}
			for i, id := range ids {
				if i%5 == 2 {
					s.stop()
					s.up()
				}
				must[api.Accepted](t)(c.SignalRun(ctx, api.SignalRun{Run: id, Event: "word", Key: "d", Payload: json.RawMessage(`"Hi"`)}))
			}
			for range runs {
				if err := <-results; err != nil {
					t.Error(err)
				}
			}
			all := 0
			for range c.Events(ctx, ids[runs-1], "") {
				all++
			}
			if n := <-followed; n != all {
				t.Errorf("the follower got %d events, the log has %d", n, all)
			}
		})
	}
}
