package server

// Serving: connections are bounded, a server ends in good order, ended runs are swept.

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/human"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/memory"
)

// serving is a server that a test ends itself.
type serving struct {
	*testing.T
	server *Server
	world  *memory.World
	addr   string
	end    context.CancelFunc
	ended  chan error
}

func serve(t *testing.T, o Options, v Serving) *serving {
	t.Helper()
	w := memory.New()
	app, err := stepwell.New(w, stepwell.Config{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(app, o)
	if err != nil {
		t.Fatal(err)
	}
	l, err := s.Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithCancel(context.Background())
	is := &serving{T: t, server: s, world: w, addr: l.Addr().String(), end: end, ended: make(chan error, 1)}
	go func() { is.ended <- s.Serve(ctx, l, v) }()
	t.Cleanup(func() {
		end()
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	return is
}

// ask sends a request on a connection of its own, which it leaves open.
func (s *serving) ask(path string) net.Conn {
	s.Helper()
	c, err := net.Dial("tcp", s.addr)
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { _ = c.Close() })
	if _, err := io.WriteString(c, "GET "+path+" HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
		s.Fatal(err)
	}
	return c
}

// answered waits for the first bytes of an answer.
func (s *serving) answered(c net.Conn, limit time.Duration) bool {
	s.Helper()
	if err := c.SetReadDeadline(time.Now().Add(limit)); err != nil {
		s.Fatal(err)
	}
	b := make([]byte, 15)
	_, err := io.ReadFull(c, b)
	return err == nil && string(b) == "HTTP/1.1 200 OK"
}

// TestConnections: who comes when there are enough has the place of one that is idle.
func TestConnections(t *testing.T) {
	t.Parallel()
	s := serve(t, Options{}, Serving{MaxConnections: 2, MaxPerAddress: 2})
	first, second := s.ask("/healthz"), s.ask("/healthz")
	if !s.answered(first, 20*time.Second) || !s.answered(second, 20*time.Second) {
		t.Fatal("two connections: want both answered")
	}
	if !s.answered(s.ask("/healthz"), 20*time.Second) {
		t.Error("the third connection is not answered")
	}
	s.end()
	if err := <-s.ended; err != nil {
		t.Errorf("Serve = %v", err)
	}
}

// TestShutdown: who waits for a result is answered with what there is, and Serve returns; who comes then finds nobody.
func TestShutdown(t *testing.T) {
	t.Parallel()
	s := serve(t, Options{}, Serving{})
	if _, err := s.server.app.Start(t.Context(), "order", []byte("1"), stepwell.RunID("w1")); err != nil {
		t.Fatal(err)
	}
	c := s.ask("/v1/runs/w1?wait=60s")
	waitFor(t, "somebody to wait", func() bool { return len(s.server.places.waiting) == 1 })
	s.end()
	if !s.answered(c, 20*time.Second) {
		t.Error("the server ends: want the waiting request answered")
	}
	if err := <-s.ended; err != nil {
		t.Errorf("Serve = %v", err)
	}
	if c, err := net.Dial("tcp", s.addr); err == nil {
		_ = c.Close()
		t.Error("the server has ended: want no connection")
	}
}

func waitFor(t *testing.T, what string, there func() bool) {
	t.Helper()
	for limit := time.Now().Add(20 * time.Second); !there(); {
		if time.Now().After(limit) {
			t.Fatalf("waited 20 s for %s", what)
		}
		<-time.After(time.Millisecond)
	}
}

// sweepWorld counts sweeps; the first ones find a full batch.
type sweepWorld struct {
	*memory.World
	sweeps atomic.Int32
}

func (w *sweepWorld) Sweep(context.Context, int) (int, error) {
	switch n := w.sweeps.Add(1); {
	case n < 3:
		return 1000, nil
	case n == 3:
		return 7, nil
	default:
		return 0, errors.New("disk full")
	}
}

// TestSweep: full batches follow each other at once, and a failure stops nothing.
func TestSweep(t *testing.T) {
	t.Parallel()
	w := &sweepWorld{World: memory.New()}
	defer func() { _ = w.Close() }()
	app, err := stepwell.New(w, stepwell.Config{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(app, Options{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); s.sweep(ctx, time.Millisecond) }()
	waitFor(t, "sweeps to go on", func() bool { return w.sweeps.Load() >= 6 })
	cancel()
	<-done
	if err := s.Serve(t.Context(), nopListener{}, Serving{Shutdown: -1}); !errors.Is(err, stepwell.ErrInvalid) || !strings.Contains(err.Error(), "Shutdown") {
		t.Errorf("a negative time: got %v, want an error that names it", err)
	}
}

type nopListener struct{ net.Listener }

func (nopListener) Close() error { return nil }

// brokenWorld fails as a database does.
type brokenWorld struct {
	*memory.World
	err error
}

func (w brokenWorld) Run(context.Context, string) (world.Run, error) { return world.Run{}, w.err }

func (w brokenWorld) Hooks(context.Context, world.HookQuery) ([]world.HookRow, error) {
	return nil, w.err
}

func (w brokenWorld) Stats(context.Context) (world.Stats, error) { panic("a fault of the world") }

// TestFailures: what is wrong with the server is logged under a name that the client is told, and no more; a panic ends one request.
func TestFailures(t *testing.T) {
	t.Parallel()
	r := newRig(t, "memory", Options{})
	app, err := stepwell.New(brokenWorld{memory.New(), errors.Join(world.ErrStorage, errors.New("password=hunter2 at /var/db"))}, stepwell.Config{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(app, Options{Logger: r.server.log})
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{"/v1/runs/x": "STORAGE", "/readyz": "NOT_READY", "/v1/workflows": "INTERNAL"} {
		answer := &recorder{header: http.Header{}}
		s.ServeHTTP(answer, httptest.NewRequest("GET", "http://127.0.0.1"+path, nil))
		if answer.status < 500 || !strings.Contains(answer.body, `"`+want+`"`) || strings.Contains(answer.body, "hunter2") {
			t.Errorf("%s: got %d %s, want %s and no word of the database's", path, answer.status, answer.body, want)
		}
	}
	if log := r.log.String(); !strings.Contains(log, "hunter2") || !strings.Contains(log, "a fault of the world") || !strings.Contains(log, "request=req_") {
		t.Errorf("the log does not say what failed: %s", log)
	}
}

// recorder is an http.ResponseWriter without deadlines.
type recorder struct {
	header http.Header
	status int
	body   string
}

func (r *recorder) Header() http.Header         { return r.header }
func (r *recorder) WriteHeader(status int)      { r.status = status }
func (r *recorder) Write(b []byte) (int, error) { r.body += string(b); return len(b), nil }

// TestProblems: every sentinel of the world is a problem with a code of its own, and a status that says whose fault it is.
func TestProblems(t *testing.T) {
	t.Parallel()
	codes := map[string]error{}
	source, err := os.ReadFile(filepath.Join("..", "world", "errors.go"))
	if err != nil {
		t.Fatal(err)
	}
	all := []error{
		world.ErrNotFound, world.ErrRunExists, world.ErrTerminal, world.ErrConflict, world.ErrTooEarly, world.ErrLeaseLost, world.ErrUnknownOutcome,
		world.ErrInboxFull, world.ErrTooLarge, world.ErrInvalid, world.ErrCorrupt, world.ErrFormat, world.ErrWorkerExists, world.ErrStorage, world.ErrClosed,
		world.ErrStreamClosed, world.ErrNoKey, world.ErrDeliveryUsed, world.ErrReplaced, world.ErrWrongKey, world.ErrForbidden,
	}
	if got, want := len(all), bytes.Count(source, []byte("= errors.New(")); got != want {
		t.Errorf("got %d sentinels, package world has %d", got, want)
	}
	for _, err := range all {
		p := problemOf(errors.Join(errors.New("run x"), err))
		if other := codes[p.Code]; other != nil || p.Code == "INTERNAL" || p.Title == "" || p.Type != "urn:stepwell:problem:"+p.Code {
			t.Errorf("%v: got %+v, which is also %v; want a code of its own", err, p, other)
		}
		codes[p.Code] = err
		if told := strings.Contains(p.Detail, "run x"); told != (p.Status < 500 || errors.Is(err, world.ErrCorrupt) || errors.Is(err, world.ErrFormat)) {
			t.Errorf("%v: status %d with detail %q", err, p.Status, p.Detail)
		}
	}
}

func TestDurations(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{
		"90s": 90 * time.Second, "5m": 5 * time.Minute, "36h": 36 * time.Hour, "7d": 168 * time.Hour, "1d12h": 36 * time.Hour, "250ms": 250 * time.Millisecond, "0s": 0,
	} {
		got, err := ParseDuration(text)
		if err != nil || got != want {
			t.Errorf("%s: got %s, %v, want %s", text, got, err, want)
		}
		if again, err := ParseDuration(human.SpanText(got)); err != nil || again != got {
			t.Errorf("%s: written as %s, read as %s, %v", text, human.SpanText(got), again, err)
		}
	}
	for _, text := range []string{"", "5", "d", "-1d", "1d-5s", "1.5d", "99999999d", "1h1d", "7 d", "+5s", "1d+5s", "5x"} {
		if got, err := ParseDuration(text); err == nil {
			t.Errorf("%q: got %s, want an error", text, got)
		}
	}
}

// TestSlowHead: a head that does not come costs a connection for so long and no longer; an idle connection likewise.
func TestSlowHead(t *testing.T) {
	t.Parallel()
	s := serve(t, Options{}, Serving{HeaderTimeout: 10 * time.Millisecond, IdleTimeout: 10 * time.Millisecond, MaxConnections: 1})
	for _, head := range []string{"GET /healthz HTTP/1.1\r\nHo", "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n", ""} {
		c, err := net.Dial("tcp", s.addr)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(c, head); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadAll(c); errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%q: the connection is kept", head)
		}
		_ = c.Close()
	}
}

// TestListenWhereAnotherDoes: who starts a second server is told what to do.
func TestListenWhereAnotherDoes(t *testing.T) {
	t.Parallel()
	s := serve(t, Options{}, Serving{})
	_, err := s.server.Listen(t.Context(), s.addr)
	if err == nil || !strings.Contains(err.Error(), "another program listens there, perhaps another server") {
		t.Errorf("got %v, want what to do", err)
	}
}
