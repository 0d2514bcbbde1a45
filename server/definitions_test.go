package server

// A definition holds for every starter: version, retention and timeout of a workflow, by REST, by Apps that have not the code, and behind a server.

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/remote"
	"github.com/stepwell/stepwell/world/remote/wire"
)

const day = 24 * time.Hour

// greeter is a version of a workflow that says which one it is.
func greeter(version int, opts ...stepwell.WorkflowOption) stepwell.Definition {
	return stepwell.Define("greet", func(stepwell.Context, json.RawMessage) (int, error) { return version, nil }, append(opts, stepwell.Version(version))...)
}

// live runs an App, and returns when it has joined; stop ends it.
func live(t *testing.T, w world.World, definitions ...stepwell.Definition) (stop func()) {
	t.Helper()
	app, err := stepwell.New(w, stepwell.Config{Definitions: definitions})
	if err != nil {
		t.Fatal(err)
	}
	before := liveWorkers(t, w)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- app.Run(ctx) }()
	over := false
	stop = func() {
		cancel()
		if !over {
			over = true
			if err := <-ended; err != nil {
				t.Errorf("Run = %v", err)
			}
		}
	}
	t.Cleanup(stop)
	await(t, "a worker has joined", func() bool { return liveWorkers(t, w) > before })
	return stop
}

func liveWorkers(t *testing.T, w world.World) int {
	t.Helper()
	stats, err := w.Stats(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return len(stats.Workers)
}

// await waits until something holds.
func await(t *testing.T, what string, there func() bool) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(30 * time.Second); !there(); <-tick.C {
		if time.Now().After(end) {
			t.Fatalf("waited in vain: %s", what)
		}
	}
}

// starters are ways to start a run of a workflow whose code the starter has not; each gives the run's ID.
type starter func(t *testing.T, workflow string, opts ...stepwell.StartOption) string

func starterOf(app *stepwell.App) starter {
	return func(t *testing.T, workflow string, opts ...stepwell.StartOption) string {
		t.Helper()
		run, err := app.Start(t.Context(), workflow, json.RawMessage(`1`), opts...)
		if err != nil {
			t.Fatal(err)
		}
		return run.ID()
	}
}

// posts starts by REST, with what else the body has.
func posts(t *testing.T, url, workflow, more string) string {
	t.Helper()
	resp, err := http.Post(url+"/v1/workflows/"+workflow+"/runs", "application/json", strings.NewReader(`{"input":1`+more+`}`))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	var run struct{ ID string }
	if err := json.NewDecoder(resp.Body).Decode(&run); err != nil || resp.StatusCode != http.StatusCreated {
		t.Fatalf("status %d, %v", resp.StatusCode, err)
	}
	return run.ID
}

func TestDefinitionsHoldForEveryStarter(t *testing.T) {
	t.Parallel()
	for kind, open := range map[string]func(testing.TB) world.World{"memory": kinds["memory"], "sqlite": kinds["sqlite"], "postgres": openPostgres} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			w := open(t)
			url := serveWorld(t, w, Options{})
			far := openRemote(t, url, remote.Options{})
			clients := map[string]starter{"REST": func(t *testing.T, workflow string, _ ...stepwell.StartOption) string {
				return posts(t, url, workflow, "")
			}}
			for name, w := range map[string]world.World{"an App": w, "a remote App": far} {
				app, err := stepwell.New(w, stepwell.Config{})
				if err != nil {
					t.Fatal(err)
				}
				clients[name] = starterOf(app)
			}
			app, err := stepwell.New(w, stepwell.Config{})
			if err != nil {
				t.Fatal(err)
			}
			ended := func(id string) stepwell.RunInfo {
				t.Helper()
				var info stepwell.RunInfo
				await(t, "run "+id+" is over", func() bool {
					if info, err = app.Get(t.Context(), id); err != nil {
						t.Fatal(err)
					}
					return info.Status.Terminal()
				})
				return info
			}
			is := func(how, id string, output string, version int, kept, timeout time.Duration) {
				t.Helper()
				if r := ended(id); string(r.Output) != output || r.Version != version || r.Retention != stepwell.Span(kept) || r.Timeout != stepwell.Span(timeout) {
					t.Errorf("%s: version %d gave %s, kept %s, timeout %s; want version %d, %s, %s, %s", how, r.Version, r.Output, r.Retention, time.Duration(r.Timeout), version, output, kept, timeout)
				}
			}
			slow := stepwell.Define("slow", func(ctx stepwell.Context, _ int) (int, error) { return 0, stepwell.Sleep(ctx, "nap", time.Hour) }, stepwell.Timeout(200*time.Millisecond))
			v1, v2 := greeter(1, stepwell.Retention(7*day)), greeter(2, stepwell.Retention(2*day), stepwell.Timeout(time.Minute), stepwell.Attributes(map[string]any{"team": "lobby", "tier": 1}))
			has := func(how, id, want string) {
				t.Helper()
				if got, err := json.Marshal(ended(id).Attributes); err != nil || string(got) != want {
					t.Errorf("%s: attributes %s, %v; want %s", how, got, err, want)
				}
			}
			stopOld, stopNew := live(t, w, v1), live(t, far, v1, v2, slow)
			joined := time.Now()
			for name, start := range clients {
				for range 14 {
					is(name, start(t, "greet"), "2", 2, 2*day, time.Minute)
				}
				has(name, start(t, "greet"), `{"team":"lobby","tier":1}`)
				if r := ended(start(t, "slow")); r.Status != world.Failed || r.Error == nil || r.Error.Code != world.CodeTimeout {
					t.Errorf("%s: a run that takes too long %s with %+v; want that it took too long", name, r.Status, r.Error)
				}
			}
			// What a start says itself counts.
			is("REST, said", posts(t, url, "greet", `,"version":1,"retentionDays":9,"timeout":"5s"`), "1", 1, 9*day, 5*time.Second)
			is("REST, another version", posts(t, url, "greet", `,"version":1`), "1", 1, 7*day, 0)
			has("REST, said", posts(t, url, "greet", `,"attributes":{"tier":2,"city":"Ulm"}`), `{"city":"Ulm","team":"lobby","tier":2}`)
			has("REST, another version", posts(t, url, "greet", `,"version":1`), "null")
			start := clients["a remote App"]
			has("a remote App, said", start(t, "greet", stepwell.Attributes(map[string]any{"tier": 2})), `{"team":"lobby","tier":2}`)
			is("a remote App, said", start(t, "greet", stepwell.Retention(time.Hour), stepwell.Timeout(stepwell.Forever)), "2", 2, time.Hour, 0)
			// A run without a version, as of one that was started when nobody was there, is left to the worker with the highest.
			await(t, "the worker of version 1 has heard of the other", func() bool { return time.Since(joined) > 1500*time.Millisecond })
			for i := range 40 {
				c := &world.Commit{ID: [16]byte{1, byte(i)}, Run: fmt.Sprint("open-", i), First: 1, Events: []world.Event{{
					Type: world.RunCreated, Time: world.Now(), Payload: json.RawMessage(`1`), Birth: &world.Birth{Workflow: "greet", Priority: 1, Retention: day},
				}}}
				if _, err := w.Commit(t.Context(), c); err != nil {
					t.Fatal(err)
				}
				is("without a version", c.Run, "2", 2, day, 0)
			}
			// Nobody is alive: what is known of the highest version counts, and whoever comes may take it.
			stopNew()
			stopOld()
			first := clients["an App"]
			var id string
			await(t, "it is known that nobody is alive", func() bool {
				id = first(t, "greet")
				r, err := app.Get(t.Context(), id)
				if err != nil || r.Retention != stepwell.Span(2*day) || r.Timeout != stepwell.Span(time.Minute) {
					t.Fatalf("nobody is alive: kept %s, timeout %s, %v; want those of version 2", r.Retention, time.Duration(r.Timeout), err)
				}
				return r.Version == 0
			})
			live(t, w, v1)
			is("nobody was alive", id, "1", 1, 2*day, time.Minute)
		})
	}
}

// The limit of the database holds for all who start runs there; the lowest that a worker says counts, whoever comes first.
func TestLimitOfRetentionHoldsForEveryStarter(t *testing.T) {
	t.Parallel()
	w := kinds["sqlite"](t)
	url := serveWorld(t, w, Options{})
	var apps []*stepwell.App
	said := &lines{}
	log := slog.New(slog.NewTextHandler(said, nil))
	for _, limit := range []time.Duration{0, stepwell.Forever, 9 * day, 20 * day} {
		app, err := stepwell.New(w, stepwell.Config{MaxRetention: limit, Logger: log, Definitions: []stepwell.Definition{greeter(1, stepwell.Retention(stepwell.Forever))}})
		if err != nil {
			t.Fatal(err)
		}
		apps = append(apps, app)
	}
	client := starterOf(apps[0])
	kept := func(id string) time.Duration {
		t.Helper()
		r, err := apps[0].Get(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		return time.Duration(r.Retention)
	}
	if got := kept(client(t, "greet")); got != 365*day {
		t.Errorf("nobody has said a limit: kept %s, want 365 days", got)
	}
	runs(t, apps[1])
	await(t, "a worker that keeps for ever", func() bool { return kept(client(t, "greet")) == stepwell.Forever })
	runs(t, apps[2])
	await(t, "a worker that lowers it", func() bool { return kept(client(t, "greet")) == 9*day })
	await(t, "the server knows of it", func() bool { return kept(posts(t, url, "greet", `,"retentionDays":30`)) == 9*day })
	runs(t, apps[3])
	for _, want := range []string{"keep ended runs for less: Config.MaxRetention of this one is lower\" before=forever now=\"9 d\"", "another program of this database has set a lower limit\" asked=\"20 d\" kept=\"9 d\""} {
		await(t, want, func() bool { return strings.Contains(said.String(), want) })
	}
	if got := kept(client(t, "greet")); got != 9*day {
		t.Errorf("behind a worker with a higher limit: kept %s, want 9 days", got)
	}
	if got := kept(client(t, "greet", stepwell.Retention(time.Hour))); got != time.Hour {
		t.Errorf("a start that asks for less: kept %s, want 1h", got)
	}
}

// runs runs an App until the test ends.
func runs(t *testing.T, app *stepwell.App) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- app.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Run = %v", err)
		}
	})
}

// A server of before workers said what their definitions say when they join is told it by itself.
func TestAnOlderServerIsToldDefinitions(t *testing.T) {
	t.Parallel()
	w := kinds["memory"](t)
	to, err := url.Parse(serveWorld(t, w, Options{}))
	if err != nil {
		t.Fatal(err)
	}
	var refused atomic.Int32
	through := httputil.NewSingleHostReverseProxy(to)
	older := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		if bytes.Contains(body, []byte(`"maxRetention"`)) || r.URL.Path == "/v1/world/join" && bytes.Contains(body, []byte(`"definitions"`)) {
			refused.Add(1)
			rw.Header().Set("Content-Type", "application/problem+json")
			rw.Header().Set(wire.CallHeader, r.Header.Get(wire.CallHeader))
			rw.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(rw, `{"code":"INVALID","status":400,"title":"Bad Request","detail":"body: unknown field \"/definitions\""}`)
			return
		}
		through.ServeHTTP(rw, r)
	}))
	t.Cleanup(older.Close)
	live(t, openRemote(t, older.URL, remote.Options{}), greeter(3, stepwell.Retention(7*day)))
	said, err := w.Defined(t.Context(), []string{"greet"})
	if err != nil || refused.Load() != 1 || len(said.Definitions) != 1 || said.Definitions[0].Retention != 7*day || len(said.Live) != 1 {
		t.Errorf("got %+v, %v, after %d refused; want what version 3 says", said, err, refused.Load())
	}
}
