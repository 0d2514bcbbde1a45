package server

// What a server in between costs: serial steps of one run, on SQLite, with the database in the process and behind a server.
//
//	go test ./server -run '^$' -bench BenchmarkSerial -benchtime 300x

import (
	"context"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/remote"
	"github.com/stepwell/stepwell/world/sqlite"
)

func BenchmarkSerial(b *testing.B) {
	for _, name := range []string{"direct", "remote"} {
		b.Run(name, func(b *testing.B) {
			w, err := sqlite.Open(filepath.Join(b.TempDir(), "runs.db"))
			if err != nil {
				b.Fatal(err)
			}
			var at world.World = w
			if name == "remote" {
				at = openRemote(b, serveWorld(b, w, Options{}), remote.Options{})
			} else {
				b.Cleanup(func() { _ = w.Close() })
			}
			ten := stepwell.Define("ten", func(ctx stepwell.Context, n int) (int, error) {
				for range 10 {
					var err error
					if n, err = stepwell.Step(ctx, "add", func(context.Context) (int, error) { return n + 1, nil }); err != nil {
						return 0, err
					}
				}
				return n, nil
			})
			app, err := stepwell.New(at, stepwell.Config{Definitions: []stepwell.Definition{ten}})
			if err != nil {
				b.Fatal(err)
			}
			ctx, cancel := context.WithCancel(context.Background())
			var running sync.WaitGroup
			running.Go(func() { _ = app.Run(ctx) })
			b.Cleanup(func() { cancel(); running.Wait() })
			run := func() {
				r, err := ten.Start(b.Context(), app, 1)
				if err != nil {
					b.Fatal(err)
				}
				if got, err := r.Result(b.Context()); err != nil || got != 11 {
					b.Fatalf("got %d, %v, want 11", got, err)
				}
			}
			run() // the worker has joined
			b.ResetTimer()
			for b.Loop() {
				run()
			}
		})
	}
}
