package server

// Large values of steps that a limited key works on.

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/sample"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/remote"
)

// TestAStepsKeyHasItsLargeValues: a key that is for one step alone reads the large input of the task that its worker
// holds, and keeps the large result; of the run's other values, and of runs that it holds no task of, it reads none.
func TestAStepsKeyHasItsLargeValues(t *testing.T) {
	t.Parallel()
	const whole, limited = "whole-secret-0123456789", "limited-secret-0123456789"
	keys, err := ParseKeys("worker:w:" + whole + ",worker?step=far:l:" + limited)
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range sample.OneKey(t, kinds) {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			w := kinds[kind](t)
			url := serveWorld(t, w, Options{Keys: keys})
			open := func(secret string) *remote.World {
				r, err := remote.Open(t.Context(), url, remote.Options{Key: secret})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = r.Close() })
				return r
			}
			outside := open(limited)
			pieceOf := func(run, value string) error {
				_, err := outside.Values().Piece(t.Context(), run, value, 0)
				return err
			}
			inputOf := func(run string) string {
				row, err := w.Run(t.Context(), run)
				if err != nil || row.InputApart == "" {
					t.Errorf("run %s: input apart %q, %v", run, row.InputApart, err)
				}
				return row.InputApart
			}
			far := stepwell.DefineStep("far", func(ctx context.Context, s string) (string, error) {
				run := stepwell.Info(ctx).Run
				if err := pieceOf(run, inputOf(run)); !errors.Is(err, remote.ErrForbidden) {
					t.Errorf("another value of the run: got %v, want that it is forbidden", err)
				}
				return s + s, nil
			})
			wf := stepwell.Define("asks", func(ctx stepwell.Context, s string) (int, error) {
				out, err := far.Run(ctx, s+"!")
				return len(out), err
			})
			work := func(secret string, defs ...stepwell.Definition) *stepwell.App {
				app, err := stepwell.New(open(secret), stepwell.Config{Definitions: defs})
				if err != nil {
					t.Fatal(err)
				}
				ctx, stop := context.WithCancel(t.Context())
				ended := make(chan error, 1)
				go func() { ended <- app.Run(ctx) }()
				t.Cleanup(func() {
					stop()
					if err := <-ended; err != nil {
						t.Error(err)
					}
				})
				return app
			}
			work(limited, far)
			app := work(whole, wf)
			const n = 2 << 20
			run, err := wf.Start(t.Context(), app, strings.Repeat("x", n))
			if err != nil {
				t.Fatal(err)
			}
			if got, err := run.Result(t.Context()); got != 2*(n+1) || err != nil {
				t.Errorf("got %d, %v; want %d", got, err, 2*(n+1))
			}
			if err := pieceOf(run.ID(), inputOf(run.ID())); !errors.Is(err, remote.ErrForbidden) {
				t.Errorf("a value of a run without a task: got %v, want that it is forbidden", err)
			}
			p := &world.Piece{Run: run.ID(), Value: world.NewID(world.PrefixApart, world.Now()), Data: []byte("\x00\"x\"")}
			if err := outside.Values().KeepPiece(t.Context(), p); !errors.Is(err, remote.ErrForbidden) {
				t.Errorf("a value for a run without a task: got %v, want that it is forbidden", err)
			}
		})
	}
}
