package server

// Push delivery over loopback HTTP: a server that pushes, and programs that serve a flow, on one world.

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/faults"
	"github.com/stepwell/stepwell/internal/sample"
	"github.com/stepwell/stepwell/keyring"
	"github.com/stepwell/stepwell/world"
)

// tens adds 0 … 9 to its input, a step each.
var tens = stepwell.Define("tens", func(ctx stepwell.Context, in int) (int, error) {
	for i := range 10 {
		v, err := stepwell.Step(ctx, "add", func(context.Context) (int, error) { return i, nil })
		if err != nil {
			return 0, err
		}
		in += v
	}
	return in, nil
})

// Ten steps are one message, whether a run came before the pushing began or while it goes on.
func TestPushOneMessageForTenSteps(t *testing.T) {
	for _, kind := range sample.OneKey(t, kinds) {
		t.Run(kind, func(t *testing.T) {
			w := openWorld(t, kind)
			p := serveFlow(t, w, stepwell.Config{}, tens)
			r := newPushRig(t, w, quick(p.URL))
			const n = 20
			var runs []string
			for i := range n {
				runs = append(runs, r.start("tens", i))
			}
			for i, run := range runs {
				if row := r.completed(run, fmt.Sprint(45+i)); row.Claims != 1 {
					t.Errorf("run %s was taken %d times, want 1", run, row.Claims)
				}
			}
			r.stop()
			if runs, steps := p.got(); runs != n || steps != 0 {
				t.Errorf("%d messages for runs, %d for steps; want %d, 0", runs, steps, n)
			}
		})
	}
}

// A thousand things that wake a run while its message is in flight are no message more, and none is lost.
func TestPushCoalesces(t *testing.T) {
	for _, kind := range sample.OneKey(t, kinds) {
		t.Run(kind, func(t *testing.T) {
			const n = 1000
			w := openWorld(t, kind)
			begun, free := make(chan struct{}), make(chan struct{})
			vote := stepwell.Event[int]("vote")
			poll := stepwell.Define("poll", func(ctx stepwell.Context, _ int) (int, error) {
				if err := stepwell.Do(ctx, "open", func(context.Context) error {
					close(begun)
					<-free
					return nil
				}); err != nil {
					return 0, err
				}
				for range n {
					if _, _, err := vote.Wait(ctx); err != nil {
						return 0, err
					}
				}
				return n, nil
			})
			p := serveFlow(t, w, stepwell.Config{}, poll)
			r := newPushRig(t, w, quick(p.URL))
			run := r.start("poll", 0)
			<-begun
			var senders sync.WaitGroup
			for range 50 {
				senders.Go(func() {
					for i := range n / 50 {
						if err := vote.Send(t.Context(), r.client, run, i); err != nil {
							t.Error(err)
						}
					}
				})
			}
			senders.Wait()
			if runs, _ := p.got(); runs != 1 {
				t.Errorf("%d messages while the first is in flight, want 1", runs)
			}
			close(free)
			r.completed(run, fmt.Sprint(n))
			r.stop()
			if runs, _ := p.got(); runs > 2 || p.crowd != 1 {
				t.Errorf("%d messages, %d at once; want 2 at most, 1 at once", runs, p.crowd)
			}
		})
	}
}

// Queued steps have messages of their own, and whoever ends one goes on with the run.
func TestPushQueuedSteps(t *testing.T) {
	for _, kind := range sample.OneKey(t, kinds) {
		t.Run(kind, func(t *testing.T) {
			const n = 12
			w := openWorld(t, kind)
			var bodies atomic.Int32
			square := stepwell.DefineStep("square", func(_ context.Context, n int) (int, error) {
				bodies.Add(1)
				return n * n, nil
			})
			sum := stepwell.Define("sum", func(ctx stepwell.Context, n int) (int, error) {
				var in []int
				for i := range n {
					in = append(in, i)
				}
				all, err := stepwell.Map(ctx, in, 0, func(ctx stepwell.Context, i int) (int, error) { return square.Run(ctx, i) })
				total := 0
				for _, v := range all {
					total += v
				}
				return total, err
			})
			p := serveFlow(t, w, stepwell.Config{MaxSteps: 2}, sum, square)
			r := newPushRig(t, w, quick(p.URL))
			run := r.start("sum", n)
			r.completed(run, "506")
			r.stop()
			if bodies.Load() != n {
				t.Errorf("%d bodies, want %d", bodies.Load(), n)
			}
			if _, steps := p.got(); steps == 0 {
				t.Error("no step had a message of its own")
			}
			if p.crowd != 1 {
				t.Errorf("%d messages named the same at once", p.crowd)
			}
		})
	}
}

// TestPushNamesWhatFits: ten parallel steps that do nothing, and one instance with one slot: the first message is for the run and its first step, nine are for the others; none is
// refused, and none names a run that somebody goes on with.
func TestPushNamesWhatFits(t *testing.T) {
	for _, kind := range sample.OneKey(t, kinds) {
		t.Run(kind, func(t *testing.T) {
			const n = 10
			w := openWorld(t, kind)
			nothing := stepwell.DefineStep("nothing", func(_ context.Context, n int) (int, error) { return n, nil })
			fan := stepwell.Define("fan", func(ctx stepwell.Context, n int) (int, error) {
				all, err := stepwell.Map(ctx, make([]int, n), 0, func(ctx stepwell.Context, i int) (int, error) { return nothing.Run(ctx, i) })
				return len(all), err
			})
			p := serveFlow(t, w, stepwell.Config{MaxSteps: 1}, fan, nothing)
			r := newPushRig(t, w, quick(p.URL))
			r.completed(r.start("fan", n), "10")
			r.stop()
			if refused := strings.Count(r.log.String(), "no free capacity"); refused > 0 {
				t.Errorf("%d messages were refused", refused)
			}
			if runs, steps := p.got(); runs+steps > n {
				t.Errorf("%d messages for the run and %d for its steps, want %d at most", runs, steps, n)
			}
		})
	}
}

// A message whose slice is over is followed by another, and the body that ran then is not cut.
func TestPushYields(t *testing.T) {
	for _, kind := range sample.OneKey(t, kinds) {
		t.Run(kind, func(t *testing.T) {
			w := openWorld(t, kind)
			var over atomic.Pointer[context.CancelFunc]
			var cut atomic.Int32
			long := stepwell.Define("long", func(ctx stepwell.Context, n int) (int, error) {
				for range n {
					if err := stepwell.Do(ctx, "part", func(ctx context.Context) error {
						(*over.Load())()
						if ctx.Err() != nil {
							cut.Add(1)
						}
						return ctx.Err()
					}); err != nil {
						return 0, err
					}
				}
				return n, nil
			})
			p := serveFlow(t, w, stepwell.Config{}, long)
			inner := p.Config.Handler
			p.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodPost { // each part ends the slice of its message
					ctx, cancel := context.WithCancel(r.Context())
					defer cancel()
					over.Store(&cancel)
					r = r.WithContext(ctx)
				}
				inner.ServeHTTP(w, r)
			})
			r := newPushRig(t, w, quick(p.URL))
			run := r.start("long", 3)
			row := r.completed(run, "3")
			r.stop()
			if runs, _ := p.got(); row.Claims < 2 || runs < 2 || cut.Load() != 0 {
				t.Errorf("%d claims, %d messages, %d bodies cut; want 2 or more, 2 or more, 0", row.Claims, runs, cut.Load())
			}
			if n := r.count(run, world.StepCompleted); n != 3 {
				t.Errorf("%d completions, want 3", n)
			}
		})
	}
}

// An endpoint that dies in the middle of a body: its run is ready again when its lease is over, and another message has it done. The first body's end is nobody's.
func TestPushEndpointDies(t *testing.T) {
	for _, kind := range sample.OneKey(t, kinds) {
		t.Run(kind, func(t *testing.T) {
			w := openWorld(t, kind)
			begun, free := make(chan struct{}, 2), make(chan struct{})
			var bodies atomic.Int32
			pay := stepwell.Define("pay", func(ctx stepwell.Context, n int) (int, error) {
				return stepwell.Step(ctx, "charge", func(context.Context) (int, error) {
					if bodies.Add(1) == 1 {
						begun <- struct{}{}
						<-free
						return -1, nil
					}
					return n, nil
				})
			})
			mortal := faults.New(w, nil)
			cfg := stepwell.Config{Lease: 300 * time.Millisecond, Drain: 50 * time.Millisecond}
			first := serveFlow(t, mortal, cfg, pay)
			second := serveFlow(t, w, cfg, pay)
			dead := false
			var mu sync.Mutex
			first.set(func(w http.ResponseWriter, r *http.Request) bool { // the platform has it replaced
				mu.Lock()
				defer mu.Unlock()
				if dead {
					second.ServeHTTP(w, r)
				}
				return dead
			})
			r := newPushRig(t, w, quick(first.URL))
			run := r.start("pay", 42)
			<-begun
			mu.Lock()
			dead = true
			mu.Unlock()
			mortal.Kill()
			first.CloseClientConnections()
			r.completed(run, "42")
			close(free)
			if n := r.count(run, world.StepCompleted); n != 1 || bodies.Load() != 2 {
				t.Errorf("%d completions of %d bodies, want 1 of 2", n, bodies.Load())
			}
		})
	}
}

// A cancel that the server takes reaches the body at the endpoint.
func TestPushCancel(t *testing.T) {
	for _, kind := range sample.OneKey(t, kinds) {
		t.Run(kind, func(t *testing.T) {
			w := openWorld(t, kind)
			begun, cause := make(chan struct{}, 1), make(chan error, 1)
			wait := stepwell.Define("wait", func(ctx stepwell.Context, _ int) (int, error) {
				return 0, stepwell.Do(ctx, "body", func(ctx context.Context) error {
					begun <- struct{}{}
					<-ctx.Done()
					cause <- context.Cause(ctx)
					return ctx.Err()
				})
			})
			p := serveFlow(t, w, stepwell.Config{}, wait)
			r := newPushRig(t, w, quick(p.URL))
			run := r.start("wait", 0)
			<-begun
			if err := r.client.Cancel(t.Context(), run, "enough"); err != nil {
				t.Fatal(err)
			}
			if err := <-cause; !errors.Is(err, stepwell.ErrCancelled) {
				t.Errorf("the body's context ended with %v, want ErrCancelled", err)
			}
			if row := r.result(run); row.Status != world.Cancelled {
				t.Errorf("the run is %s, want cancelled", row.Status)
			}
		})
	}
}

// A run that is to be cancelled goes to the endpoint that has its code, which cleans up, and not to the other.
func TestPushCancelGoesToTheCode(t *testing.T) {
	w := openWorld(t, "memory")
	var cleaned atomic.Int32
	nap := stepwell.Define("nap", func(ctx stepwell.Context, _ int) (int, error) {
		err := stepwell.Sleep(ctx, "nap", time.Hour)
		return 0, errors.Join(err, stepwell.Do(ctx.Uncancelled(), "clean", func(context.Context) error {
			cleaned.Add(1)
			return nil
		}))
	})
	knows := serveFlow(t, w, stepwell.Config{Idle: time.Nanosecond}, nap)
	other := serveFlow(t, w, stepwell.Config{Idle: time.Nanosecond}, tens)
	r := newPushRig(t, w, quick(other.URL, knows.URL))
	run := r.start("nap", 0)
	r.until("the run to sleep, and its worker to leave", func() bool {
		s, err := w.Stats(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return r.count(run, world.WaitCreated) == 1 && len(s.Workers) == 0
	})
	if err := r.client.Cancel(t.Context(), run, "enough"); err != nil {
		t.Fatal(err)
	}
	if row := r.result(run); row.Status != world.Cancelled || cleaned.Load() != 1 {
		t.Errorf("the run is %s, cleaned up %d times; want cancelled, 1", row.Status, cleaned.Load())
	}
	if runs, _ := other.got(); runs != 0 {
		t.Errorf("the endpoint without the code had %d messages, want 0", runs)
	}
}

// After failures in a row nothing is sent, until the endpoint says that it is well; then one message is tried, and all go on.
func TestPushCircuit(t *testing.T) {
	for _, kind := range sample.OneKey(t, kinds) {
		t.Run(kind, func(t *testing.T) {
			w := openWorld(t, kind)
			p := serveFlow(t, w, stepwell.Config{}, tens)
			o := quick(p.URL)
			o.Concurrency, o.Refresh = 1, time.Hour
			r := newPushRig(t, w, o)
			circuit := func() string { return r.server.PushEndpoints()[0].Circuit }
			r.until("the manifest", func() bool { return r.server.PushEndpoints()[0].Healthy })
			var asked, posts atomic.Int32
			p.set(func(w http.ResponseWriter, r *http.Request) bool {
				if r.Method == http.MethodPost {
					posts.Add(1)
				} else {
					asked.Add(1)
				}
				w.WriteHeader(http.StatusBadGateway)
				return true
			})
			var runs []string
			for i := range 5 {
				runs = append(runs, r.start("tens", i))
			}
			r.until("the circuit to open", func() bool { return circuit() == "open" })
			r.until("it to be asked how it is", func() bool { return asked.Load() >= 2 })
			if n := posts.Load(); n != 3 {
				t.Errorf("%d messages before the circuit opened and while it is open, want 3", n)
			}
			if n := strings.Count(r.log.String(), `level=WARN msg="push endpoint failed, and is tried again"`); n != 1 {
				t.Errorf("%d warnings before the circuit opened, want 1, of the first failure", n)
			}
			if is := r.server.PushEndpoints()[0]; is.Healthy || is.Failures < 3 {
				t.Errorf("got %+v of an endpoint that fails", is)
			}
			p.set(nil)
			for i, run := range runs {
				r.completed(run, fmt.Sprint(45+i))
			}
			r.until("the circuit to close", func() bool { return circuit() == "closed" && r.server.PushEndpoints()[0].Failures == 0 })
			for _, line := range []string{"nothing is sent to it until it is healthy", "is healthy again"} {
				r.until("a line in the log: "+line, func() bool { return strings.Contains(r.log.String(), line) })
			}
		})
	}
}

// A deploy changes what an endpoint has: it is seen, and what waited for it is done.
func TestPushManifestChanges(t *testing.T) {
	w := openWorld(t, "memory")
	before := serveFlow(t, w, stepwell.Config{}, stepwell.Define("other", func(stepwell.Context, int) (int, error) { return 0, nil }))
	after := serveFlow(t, w, stepwell.Config{}, tens)
	r := newPushRig(t, w, quick(before.URL))
	run := r.start("tens", 1)
	r.until("the first manifest", func() bool { return r.server.PushEndpoints()[0].Healthy })
	before.set(func(w http.ResponseWriter, r *http.Request) bool {
		after.ServeHTTP(w, r)
		return true
	})
	r.completed(run, "46")
	if runs, _ := before.got(); runs != 0 {
		t.Errorf("%d messages to what does not have the code", runs)
	}
}

// Whatever an endpoint answers, nothing is lost, nobody spins, and redirects are not followed.
func TestPushStrangeAnswers(t *testing.T) {
	elsewhere := atomic.Int32{}
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) }))
	defer other.Close()
	for name, strange := range map[string]func(http.ResponseWriter, *http.Request){
		"a redirect": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
		},
		"an empty answer":    func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) },
		"a page":             func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>") },
		"done, which is not": func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"outcome":"done"}`) },
		"busy":               func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"outcome":"busy"}`) },
		"no free capacity": func(w http.ResponseWriter, _ *http.Request) {
			writeProblem(w, &Problem{Status: 429, Code: "BUSY"})
		},
		"not found": func(w http.ResponseWriter, _ *http.Request) {
			writeProblem(w, &Problem{Status: 404, Code: "NOT_FOUND"})
		},
		"a cut line": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
	} {
		t.Run(name, func(t *testing.T) {
			w := openWorld(t, "memory")
			p := serveFlow(t, w, stepwell.Config{}, tens)
			var posts atomic.Int32
			p.set(func(w http.ResponseWriter, r *http.Request) bool {
				if r.Method != http.MethodPost || posts.Add(1) > 2 {
					return false
				}
				strange(w, r)
				return true
			})
			r := newPushRig(t, w, quick(p.URL))
			if row := r.completed(r.start("tens", 0), "45"); row.Claims != 1 {
				t.Errorf("the run was claimed %d times, want 1", row.Claims)
			}
			r.stop()
			if n := posts.Load(); n != 3 {
				t.Errorf("%d messages, want 3", n)
			}
		})
	}
	if n := elsewhere.Load(); n != 0 {
		t.Errorf("redirects were followed %d times", n)
	}
}

// A server whose App encrypts pushes from the world below: what is ready has no payloads.
func TestPushOfASealedWorld(t *testing.T) {
	keys, err := keyring.Parse("k1:" + base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{7}, 32)))
	if err != nil {
		t.Fatal(err)
	}
	w := openWorld(t, "memory")
	p := serveFlow(t, w, stepwell.Config{Encryption: keys}, tens)
	client, err := stepwell.New(w, stepwell.Config{Encryption: keys})
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(client, Options{Push: quick(p.URL)})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var pushing sync.WaitGroup
	pushing.Go(func() { s.Push(ctx) })
	defer pushing.Wait()
	defer cancel()
	run, err := tens.Start(t.Context(), client, 1)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := run.Result(t.Context()); err != nil || got != 46 {
		t.Errorf("got %d, %v; want 46", got, err)
	}
}

// What is known of workers and endpoints is in the server's manifest, and in its health.
func TestPushIsShown(t *testing.T) {
	w := openWorld(t, "memory")
	square := stepwell.DefineStep("square", func(_ context.Context, n int) (int, error) { return n * n, nil })
	p := serveFlow(t, w, stepwell.Config{Build: "b7"}, tens, square)
	r := newPushRig(t, w, quick(p.URL))
	api := httptest.NewServer(r.server)
	defer api.Close()
	r.until("the manifest", func() bool { return r.server.PushEndpoints()[0].Healthy })
	if _, err := w.Join(t.Context(), world.Worker{ID: "wrkr_1", Classes: []world.Class{{Workflow: "tens", Version: 1}, {Workflow: "tens"}}}); err != nil {
		t.Fatal(err)
	}
	var got manifest
	fetch(t, api.URL+ManifestPath, &got)
	if len(got.Workflows) != 1 || len(got.Steps) != 1 || len(got.Push) != 1 {
		t.Fatalf("got %+v", got)
	}
	wf := got.Workflows[0]
	if !slices.Equal(wf.Endpoints, []string{p.URL}) || wf.Name != "tens" || wf.Version != 1 || wf.Workers != 1 || !strings.Contains(wf.Source, "push_test.go:") {
		t.Errorf("workflow: got %+v", wf)
	}
	if st := got.Steps[0]; st.Name != "square" || st.Workers != 0 || !strings.Contains(st.Source, "push_test.go:") || len(st.Endpoints) != 1 {
		t.Errorf("step: got %+v", st)
	}
	var is health
	fetch(t, api.URL+"/readyz", &is)
	want := []PushEndpoint{{Endpoint: p.URL, Healthy: true, Circuit: "closed"}}
	for i := range is.Push {
		is.Push[i].manifest = flowManifest{}
	}
	if diff := cmp.Diff(want, is.Push, cmp.AllowUnexported(PushEndpoint{}, flowManifest{})); diff != "" || !is.Healthy {
		t.Errorf("ready (-want +got):\n%s", diff)
	}
}

func TestPushOptions(t *testing.T) {
	app, err := stepwell.New(openWorld(t, "memory"), stepwell.Config{})
	if err != nil {
		t.Fatal(err)
	}
	for name, o := range map[string]PushOptions{
		"no URL":            {Endpoints: []string{"app.example.com"}},
		"another scheme":    {Endpoints: []string{"ftp://app.example.com"}},
		"a password":        {Endpoints: []string{"https://ann:topsecretword@app.example.com"}},
		"a bad password":    {Endpoints: []string{"https://ann:topsecretword%@app.example.com"}},
		"a query":           {Endpoints: []string{"https://app.example.com/?a=b"}},
		"one twice":         {Endpoints: []string{"https://app.example.com", "https://app.example.com/"}},
		"no secret":         {Endpoints: []string{"http://10.1.2.3"}},
		"a negative time":   {Margin: -1},
		"a negative number": {Concurrency: -1},
		"an empty secret":   {Secrets: make([]PushSecret, 1)},
	} {
		if _, err := New(app, Options{Push: o}); !errors.Is(err, world.ErrInvalid) || strings.Contains(err.Error(), "topsecretword") {
			t.Errorf("%s: New = %v, want ErrInvalid, without a password", name, err)
		}
	}
}
