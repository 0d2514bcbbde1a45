package behaviour_test

// App.Run before its worker has begun: what it waits for, and what ends it.

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/memory"
)

// away is a world that cannot be joined for its first tries.
type away struct {
	world.World
	err   error
	tries int // that fail
	joins int
}

func (w *away) Join(ctx context.Context, wk world.Worker) (world.Heartbeat, error) {
	if w.joins++; w.joins <= w.tries {
		return world.Heartbeat{}, w.err
	}
	return w.World.Join(ctx, wk)
}

func TestAWorkerWaitsForItsDatabase(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		w := &away{World: memory.New(), err: fmt.Errorf("%w: no connection", world.ErrStorage), tries: 100}
		wf := stepwell.Define("late", func(stepwell.Context, int) (string, error) { return "done", nil })
		cfg := stepwell.Config{Definitions: []stepwell.Definition{wf}, Logger: slog.New(slog.NewTextHandler(&log, nil))}
		app, err := stepwell.New(w, cfg)
		if err != nil {
			t.Fatal(err)
		}
		run, err := wf.Start(t.Context(), app, 0)
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- app.Run(ctx) }()
		if got, err := run.Result(t.Context()); got != "done" || err != nil {
			t.Errorf("result = %q, %v", got, err)
		}
		stop()
		if err := <-ended; err != nil {
			t.Errorf("Run = %v", err)
		}
		if w.joins != 101 {
			t.Errorf("joined after %d tries, want 101", w.joins)
		}
		if n := strings.Count(log.String(), "join failed"); n < 5 || n > 15 {
			t.Errorf("%d lines for 100 tries, want a handful:\n%s", n, log.String())
		}
	})
}

func TestAWorkerWaitsUntilItsContextEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &away{World: memory.New(), err: world.ErrUnknownOutcome, tries: 1 << 30}
		app, err := stepwell.New(w, stepwell.Config{})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithTimeout(t.Context(), time.Hour)
		defer stop()
		if err := app.Run(ctx); err != nil || ctx.Err() == nil {
			t.Errorf("Run = %v, want nil when its context has ended", err)
		}
	})
}

func TestWhatTryingCannotMendEndsAWorker(t *testing.T) {
	for _, want := range []error{world.ErrWorkerExists, world.ErrInvalid, world.ErrClosed, world.ErrConflict, world.ErrFormat} {
		w := &away{World: memory.New(), err: fmt.Errorf("refused: %w", want), tries: 1}
		app, err := stepwell.New(w, stepwell.Config{})
		if err != nil {
			t.Fatal(err)
		}
		if err := app.Run(t.Context()); !errors.Is(err, want) || w.joins != 1 {
			t.Errorf("Run = %v after %d tries, want %v at once", err, w.joins, want)
		}
	}
}
