package server

// What the tests share: worlds, a worker, a server on a loopback port, and a client that holds each answer to openapi.json.

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/openapi"
	"github.com/stepwell/stepwell/internal/pgtest"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/memory"
	"github.com/stepwell/stepwell/world/remote/wire"
	"github.com/stepwell/stepwell/world/sqlite"
)

func TestMain(m *testing.M) { pgtest.Main(m, pgtest.Config{NoSync: true}) }

// order is the input of the workflow of the tests.
type order struct {
	Customer string `json:"customer"`
	Cents    int    `json:"cents"`
}

var paid = stepwell.Event[map[string]any]("paid/in full")

// ship has a step that fails where there is nothing to pay, a hook, an event and a sleep.
var ship = stepwell.Define("order", func(ctx stepwell.Context, in order) (string, error) {
	if _, err := stepwell.Step(ctx, "reserve", func(context.Context) (int, error) {
		if in.Cents == 0 {
			return 0, stepwell.Fatal(errors.New("nothing to pay"))
		}
		return in.Cents, nil
	}); err != nil {
		return "", err
	}
	hook, err := stepwell.NewHook[string](ctx, stepwell.Token("courier/"+in.Customer), stepwell.Metadata(map[string]string{"for": in.Customer}))
	if err != nil {
		return "", err
	}
	if _, _, err := paid.Wait(ctx, stepwell.Timeout(24*time.Hour)); err != nil {
		return "", err
	}
	if err := stepwell.Sleep(ctx, "pack", time.Hour); err != nil {
		return "", err
	}
	courier, _, err := hook.Wait(ctx)
	return "shipped by " + courier, err
})

// rig is a world with a worker, and a server in front of it.
type rig struct {
	*testing.T
	world  world.World
	server *Server
	base   string // URL
	doc    *openapi.Document
	log    *lines

	mu      sync.Mutex
	visited map[string]bool // operations that answered as they should
}

// lines is what was logged.
type lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

func (l *lines) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(l, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

var kinds = map[string]func(t testing.TB) world.World{
	"memory": func(testing.TB) world.World { return memory.New() },
	"sqlite": func(t testing.TB) world.World {
		w, err := sqlite.Open(filepath.Join(t.TempDir(), "runs.db"))
		if err != nil {
			t.Fatal(err)
		}
		return w
	},
}

// described is openapi.json, read once.
var described = sync.OnceValues(func() (*openapi.Document, error) { return openapi.Parse(openAPI) })

// newRig starts all; its worker has the workflow of the tests, and more. Options without a logger get one that the test reads.
func newRig(t *testing.T, kind string, o Options, more ...stepwell.Definition) *rig {
	t.Helper()
	return newRigOn(t, kinds[kind](t), o, more...)
}

func newRigOn(t *testing.T, w world.World, o Options, more ...stepwell.Definition) *rig {
	t.Helper()
	r := &rig{T: t, world: w, log: &lines{}, visited: map[string]bool{}}
	t.Cleanup(func() {
		if err := r.world.Close(); err != nil {
			t.Errorf("Close = %v", err)
		}
	})
	app, err := stepwell.New(r.world, stepwell.Config{Definitions: append(more, ship, desk), Name: "tester"})
	if err != nil {
		t.Fatal(err)
	}
	o.Logger = slog.New(slog.NewTextHandler(r.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	if r.server, err = New(app, o); err != nil {
		t.Fatal(err)
	}
	l, err := r.server.Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r.base = "http://" + l.Addr().String()
	if r.doc, err = described(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := app.Run(ctx); err != nil {
			t.Errorf("Run = %v", err)
		}
	})
	running.Go(func() {
		if err := r.server.Serve(ctx, l, Serving{}); err != nil {
			t.Errorf("Serve = %v", err)
		}
	})
	t.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections()
		cancel()
		running.Wait()
	})
	return r
}

// reply is an answer.
type reply struct {
	status int
	header http.Header
	body   []byte
}

// get finds a value in the answer: "runs.0.id".
func (a *reply) get(path string) any {
	var v any
	if err := json.Unmarshal(a.body, &v); err != nil {
		return fmt.Errorf("%w: %.200s", err, a.body)
	}
	if path == "" {
		return v
	}
	for key := range strings.SplitSeq(path, ".") {
		switch in := v.(type) {
		case map[string]any:
			v = in[key]
		case []any:
			n := 0
			if _, err := fmt.Sscan(key, &n); err != nil || n >= len(in) {
				return nil
			}
			v = in[n]
		default:
			return nil
		}
	}
	return v
}

// send sends a request; headers are pairs.
func (r *rig) send(method, path, body string, headers ...string) *reply {
	r.Helper()
	req, err := http.NewRequestWithContext(r.Context(), method, r.base+path, strings.NewReader(body))
	if err != nil {
		r.Fatal(err)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		if headers[i] == "Host" {
			req.Host = headers[i+1]
		}
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		r.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }() // it was read
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		r.Fatalf("%s %s: %v", method, path, err)
	}
	a := &reply{resp.StatusCode, resp.Header, b}
	r.hold(req, a)
	return a
}

// rowOf is the row of the wire that a route is of; nil: none.
func rowOf(path string) *wire.Row {
	for _, rt := range wireRoutes() {
		if rt.path == path {
			return rt.wire
		}
	}
	return nil
}

// holdWire holds an answer to the type of its row.
func (r *rig) holdWire(at string, row *wire.Row, a *reply) {
	r.Helper()
	r.mu.Lock()
	r.visited["world"+strings.ToUpper(row.Name[:1])+row.Name[1:]] = true
	r.mu.Unlock()
	if row.Out == nil { // of notices, which have no end
		return
	}
	answer := reflect.New(reflect.StructOf([]reflect.StructField{{Name: "Answer", Type: reflect.PointerTo(row.Out), Tag: `json:"answer"`}}))
	if err := wire.Decode(a.body, answer.Interface(), true); err != nil || answer.Elem().Field(0).IsNil() || a.header.Get("Content-Type") != "application/json" {
		r.Errorf("%s: %s %.300s is not the answer %s: %v", at, a.header.Get("Content-Type"), a.body, row.Out, err)
	}
}

// hold holds an answer to openapi.json, or to the row of the wire.
func (r *rig) hold(req *http.Request, a *reply) {
	r.Helper()
	at := req.Method + " " + req.URL.Path
	_, pattern := r.server.mux.Handler(req)
	schema := r.doc.Components.Schemas["Problem"]
	if row := rowOf(pattern); row != nil && a.status < 400 {
		r.holdWire(at, row, a)
		return
	}
	if methods := r.doc.Paths[openAPIPath(pattern)]; methods != nil && a.status < 400 {
		op := methods[strings.ToLower(req.Method)]
		if op == nil {
			r.Fatalf("%s: openapi.json has no such operation", at)
		}
		is := op.Answer(a.status)
		if is == nil {
			r.Fatalf("%s: status %d is not in openapi.json", at, a.status)
		}
		r.mu.Lock()
		r.visited[op.ID] = true
		r.mu.Unlock()
		if schema = is.Of(a.header.Get("Content-Type")); schema == nil {
			if len(is.Content) > 0 || len(a.body) > 0 {
				r.Errorf("%s: answered %d with %q, which openapi.json does not have", at, a.status, a.header.Get("Content-Type"))
			}
			return
		}
	} else if got, want := a.header.Get("Content-Type"), "application/problem+json"; got != want {
		r.Errorf("%s: status %d with type %q, want %q", at, a.status, got, want)
	}
	if slices.Contains([]string{eventStream, textPlain, ndJSON, "application/octet-stream"}, a.header.Get("Content-Type")) {
		return
	}
	var v any
	if err := json.Unmarshal(a.body, &v); err != nil {
		r.Fatalf("%s: %v in %.300s", at, err, a.body)
	}
	if faults := schema.Check(v); len(faults) > 0 {
		r.Errorf("%s: the answer is not what openapi.json says: %s", at, strings.Join(faults, "; "))
	}
	if a.status < 400 {
		return
	}
	if got := a.get("status"); got != float64(a.status) {
		r.Errorf("%s: the problem says status %v, the answer %d", at, got, a.status)
	}
}

// want sends and checks the status.
func (r *rig) want(status int, method, path, body string, headers ...string) *reply {
	r.Helper()
	a := r.send(method, path, body, headers...)
	if a.status != status {
		r.Fatalf("%s %s: got %d, want %d: %.500s", method, path, a.status, status, a.body)
	}
	return a
}

// refused sends and checks the problem.
func (r *rig) refused(status int, code, method, path, body string, headers ...string) *reply {
	r.Helper()
	a := r.want(status, method, path, body, headers...)
	if got := a.get("code"); got != code {
		r.Errorf("%s %s: got code %v, want %s: %s", method, path, got, code, a.body)
	}
	return a
}

// events counts the runs there are, and their events.
func (r *rig) events() (n int) {
	r.Helper()
	page, err := r.world.Runs(r.Context(), world.RunQuery{})
	if err != nil {
		r.Fatal(err)
	}
	for _, run := range page.Runs {
		log, err := r.world.Events(r.Context(), run.ID, world.EventQuery{})
		if err != nil {
			r.Fatal(err)
		}
		n += len(log.Events)
		if run.Queue != nil {
			n += run.Queue.Mail
		}
	}
	return n
}

// until waits for something to be seen.
func (r *rig) until(what string, there func() bool) {
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

// waiting waits until a run waits for what a kind says.
func (r *rig) waiting(run, kind string) {
	r.Helper()
	r.until("run "+run+" to be "+kind, func() bool {
		return r.send("GET", "/v1/workflows/order/runs/"+run+"/why", "").get("kind") == kind
	})
}

// notVisited lists operations that nobody asked for with success: those of the doors of remote workers, or the others.
func (r *rig) notVisited(wired bool, but ...string) (missing []string) {
	for _, rt := range routes() {
		if !r.visited[rt.op.id] && !slices.Contains(but, rt.op.id) && strings.HasPrefix(rt.path, wire.Prefix) == wired {
			missing = append(missing, rt.op.id)
		}
	}
	return missing
}
