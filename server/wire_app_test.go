package server

// Apps on the world of a server: they work as on a database, and go on where the server was when it comes back.

import (
	"context"
	"errors"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/sample"
	"github.com/stepwell/stepwell/keyring"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/remote"
	"github.com/stepwell/stepwell/world/sqlite"
)

// work runs an App until the test ends.
func work(t *testing.T, w world.World, definitions ...stepwell.Definition) *stepwell.App {
	t.Helper()
	return workWith(t, w, nil, definitions...)
}

// workWith runs one that encrypts.
func workWith(t *testing.T, w world.World, keys *keyring.Ring, definitions ...stepwell.Definition) *stepwell.App {
	t.Helper()
	app, err := stepwell.New(w, stepwell.Config{Definitions: definitions, Name: "far", Encryption: keys})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := app.Run(ctx); err != nil {
			t.Errorf("Run = %v", err)
		}
	})
	t.Cleanup(func() {
		cancel()
		running.Wait()
	})
	return app
}

var answered = stepwell.Event[int]("answered")

// TestRemoteApp: one App starts, another one works, neither has the database.
func TestRemoteApp(t *testing.T) {
	t.Parallel()
	double := stepwell.DefineStep("double", func(_ context.Context, n int) (int, error) { return 2 * n, nil })
	child := stepwell.Define("child", func(ctx stepwell.Context, n int) (int, error) { return double.Run(ctx, n) })
	parent := stepwell.Define("parent", func(ctx stepwell.Context, n int) (int, error) {
		for range 3 {
			if _, err := stepwell.Step(ctx, "add", func(ctx context.Context) (int, error) {
				return 0, stepwell.Stream[int](ctx, "sums").Write(n)
			}); err != nil {
				return 0, err
			}
			n++
		}
		m, _, err := answered.Wait(ctx)
		if err != nil {
			return 0, err
		}
		return child.Child().Run(ctx, n+m)
	})
	for _, kind := range sample.OneKey(t, kinds) {
		open := kinds[kind]
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			url := serveWorld(t, open(t), Options{Keys: testKeys(t)})
			work(t, openRemote(t, url, remote.Options{Key: workerSecret}), parent, child, double)
			client, err := stepwell.New(openRemote(t, url, remote.Options{Key: operatorSecret}), stepwell.Config{})
			if err != nil {
				t.Fatal(err)
			}
			run, err := parent.Start(t.Context(), client, 1)
			if err != nil {
				t.Fatal(err)
			}
			if err := answered.Send(t.Context(), client, run.ID(), 10); err != nil {
				t.Fatal(err)
			}
			if got, err := run.Result(t.Context()); err != nil || got != 28 {
				t.Fatalf("got %d, %v, want 28", got, err)
			}
		})
	}
}

// TestRemoteCancel: the body of a step hears that its run was cancelled, elsewhere.
func TestRemoteCancel(t *testing.T) {
	t.Parallel()
	began, ended := make(chan struct{}), make(chan error, 1)
	slow := stepwell.Define("slow", func(ctx stepwell.Context, _ int) (int, error) {
		return stepwell.Step(ctx, "wait", func(ctx context.Context) (int, error) {
			close(began)
			<-ctx.Done()
			ended <- context.Cause(ctx)
			return 0, ctx.Err()
		})
	})
	url := serveWorld(t, kinds["sqlite"](t), Options{})
	work(t, openRemote(t, url, remote.Options{}), slow)
	client, err := stepwell.New(openRemote(t, url, remote.Options{}), stepwell.Config{})
	if err != nil {
		t.Fatal(err)
	}
	run, err := slow.Start(t.Context(), client, 1)
	if err != nil {
		t.Fatal(err)
	}
	<-began
	begin := time.Now()
	if err := client.Cancel(t.Context(), run.ID(), "enough"); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-ended:
		t.Logf("after %s: %v", time.Since(begin), err)
	case <-time.After(20 * time.Second):
		t.Fatal("the body did not hear of it")
	}
}

// TestRemoteAppOutlivesServer: the process that has the database ends and another one begins, and the worker behind it goes on in the middle of a
// step: the run was claimed once, and the step's body ran once.
func TestRemoteAppOutlivesServer(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "runs.db")
	begin := func(address string) (at string, end func()) {
		w, err := sqlite.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		app, err := stepwell.New(w, stepwell.Config{})
		if err != nil {
			t.Fatal(err)
		}
		s, err := New(app, Options{})
		if err != nil {
			t.Fatal(err)
		}
		l, err := s.Listen(t.Context(), address)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		var running sync.WaitGroup
		running.Go(func() {
			if err := s.Serve(ctx, l, Serving{SweepInterval: -1}); err != nil {
				t.Errorf("Serve = %v", err)
			}
		})
		return l.Addr().String(), func() {
			cancel()
			running.Wait()
			if err := w.Close(); err != nil {
				t.Errorf("Close = %v", err)
			}
		}
	}
	at, end := begin("127.0.0.1:0")
	t.Cleanup(func() { end() })
	var bodies atomic.Int32
	inStep, goOn := make(chan struct{}), make(chan struct{})
	flow := stepwell.Define("flow", func(ctx stepwell.Context, n int) (int, error) {
		n, err := stepwell.Step(ctx, "long", func(ctx context.Context) (int, error) {
			bodies.Add(1)
			close(inStep)
			select {
			case <-goOn:
				return n + 1, nil
			case <-ctx.Done():
				return 0, errors.New("its context ended")
			}
		})
		if err != nil {
			return 0, err
		}
		return stepwell.Step(ctx, "short", func(context.Context) (int, error) { return n + 1, nil })
	})
	app := work(t, openRemote(t, "http://"+at, remote.Options{}), flow)
	run, err := flow.Start(t.Context(), app, 1)
	if err != nil {
		t.Fatal(err)
	}
	<-inStep
	end()
	_, end = begin(at)
	close(goOn)
	if got, err := run.Result(t.Context()); err != nil || got != 3 {
		t.Fatalf("got %d, %v, want 3", got, err)
	}
	info, err := app.Get(t.Context(), run.ID())
	if err != nil || info.Claims != 1 || bodies.Load() != 1 {
		t.Errorf("got %d claims, %d bodies, %v; want one of each", info.Claims, bodies.Load(), err)
	}
}
