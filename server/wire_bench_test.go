package server

// What a server in between costs: serial steps of one run, on SQLite, with the database in the process and behind a server.
//
//	go test ./server -run '^$' -bench BenchmarkSerial -benchtime 300x
//
// And what a commit of three events costs to write and to read.

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/remote"
	"github.com/stepwell/stepwell/world/remote/wire"
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

func BenchmarkWireCommit(b *testing.B) {
	for _, size := range []int{200, 8 << 10} {
		payload := json.RawMessage(`{"text":"` + strings.Repeat("abcdefghi ", size/10) + `","n":1}`)
		run, worker := "run_01JD3V7Q61QK1ZXW0D8F4T6S2B", "wrkr_01JD3V7Q61QK1ZXW0D8F4T6S2B"
		c := &wire.CommitIn{Commit: world.Commit{ID: [16]byte{1, 2}, Run: run, Worker: worker, Claim: 3, Build: "v1.2.3", First: 17, Events: []world.Event{
			{Type: world.StepCompleted, Time: world.Now(), ID: "step_4", Attempt: 1, Payload: payload},
			{Type: world.StepCreated, Time: world.Now(), ID: "step_5", Kind: world.KindClosure, Name: "charge", Path: "main", Occurrence: 1, Payload: payload},
			{Type: world.StepStarted, Time: world.Now(), ID: "step_5", Attempt: 1, Payload: payload},
		}}}
		var text bytes.Buffer
		b.Run(fmt.Sprint("encode ", size), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				text.Reset()
				if err := wire.Encode(&text, c); err != nil {
					b.Fatal(err)
				}
			}
		})
		r := &request{body: bytes.TrimSpace(text.Bytes())}
		b.Run(fmt.Sprint("decode ", size), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := r.decodeWire(new(wire.CommitIn)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
