package server

// A server's world over HTTP is a world: it is held to the contract of all.

import (
	"context"
	"sync"
	"testing"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/sample"
	"github.com/stepwell/stepwell/internal/spread"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/memory"
	"github.com/stepwell/stepwell/world/remote"
	"github.com/stepwell/stepwell/world/worldtest"
)

// serveWorld puts a server in front of a world, and returns its URL. It has no App that works.
func serveWorld(t testing.TB, w world.World, o Options) string {
	t.Helper()
	app, err := stepwell.New(w, stepwell.Config{MaxRetention: stepwell.Forever}) // a world has no limit of its own
	if err != nil {
		t.Fatal(err)
	}
	o.PrivateEndpoints = true // as a world refuses none
	s, err := New(app, o)
	if err != nil {
		t.Fatal(err)
	}
	s.topics.Spread = spread.Of(memory.New()) // it is the world's contract that is looked at: nobody else spreads
	l, err := s.Listen(t.Context(), "127.0.0.1:0")
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
	t.Cleanup(func() {
		cancel()
		running.Wait()
		if err := w.Close(); err != nil {
			t.Errorf("Close = %v", err)
		}
	})
	return "http://" + l.Addr().String()
}

// openRemote opens the world of a server.
func openRemote(t testing.TB, url string, o remote.Options) *remote.World {
	t.Helper()
	w, err := remote.Open(t.Context(), url, o)
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

func TestRemoteWorld(t *testing.T) {
	for _, kind := range sample.OneKey(t, kinds) {
		open := kinds[kind]
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			worldtest.RunOver(t, func(tb testing.TB) world.World {
				return openRemote(tb, serveWorld(tb, open(tb), Options{}), remote.Options{})
			}, sample.Share(t, 6))
		})
	}
}

// Two remote Worlds of one server share its storage, and both have workers.
func TestRemoteWorkers(t *testing.T) {
	for _, kind := range sample.OneKey(t, kinds) {
		open := kinds[kind]
		pair := func(tb testing.TB) (a, b world.World) {
			url := serveWorld(tb, open(tb), Options{})
			return openRemote(tb, url, remote.Options{}), openRemote(tb, url, remote.Options{})
		}
		t.Run(kind+" shared", func(t *testing.T) { t.Parallel(); worldtest.RunSharedSome(t, pair, sample.Share(t, 3)) })
		t.Run(kind+" workers", func(t *testing.T) { t.Parallel(); worldtest.RunWorkersSome(t, pair, sample.Share(t, 3)) })
	}
}
