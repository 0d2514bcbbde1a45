package starts_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/pgtest"
	"github.com/stepwell/stepwell/internal/sample"
	"github.com/stepwell/stepwell/stepwelltest"
	"github.com/stepwell/stepwell/stepwelltest/postgrestest"
	"github.com/stepwell/stepwell/stepwelltest/sqlitetest"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/memory"
)

// TestStartTTL: a run that does not begin in time is cancelled, whatever keeps it, and a worker that dies at any commit
// changes nothing about that. One that begins goes on.
func TestStartTTL(t *testing.T) {
	work := stepwell.Define("work", func(ctx stepwell.Context, name string) (string, error) {
		return name, stepwell.Sleep(ctx, "a while", 10*time.Minute)
	}, stepwell.StartTTL(5*time.Minute))
	ask := stepwell.Define("ask", func(ctx stepwell.Context, name string) (string, error) {
		_, err := work.Child(stepwell.StartTTL(time.Minute)).Run(ctx, name)
		if err == nil {
			return "", errors.New("the child began")
		}
		return err.Error(), nil
	})
	config := stepwell.Config{Definitions: []stepwell.Definition{work, ask}}
	stores := map[string]func(t *testing.T) stepwelltest.Store{
		"memory":   func(*testing.T) stepwelltest.Store { return nil },
		"sqlite":   func(*testing.T) stepwelltest.Store { return sqlitetest.Store() },
		"postgres": func(t *testing.T) stepwelltest.Store { return postgrestest.Store(pgtest.URL(t)) },
	}
	for _, name := range sample.OneKey(t, stores) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := stepwelltest.NewWith(t, stepwelltest.Options{Config: config, Store: stores[name](t)})
			first := stepwelltest.Start(e, work, "first")
			e.Advance(time.Second)
			e.Do(func(ctx context.Context, app *stepwell.App) error { return app.Hold(ctx, "work", "") })
			second := stepwelltest.Start(e, work, "second")
			parent := stepwelltest.Start(e, ask, "child")
			patient := stepwelltest.Start(e, work, "patient", stepwell.StartTTL(stepwell.Forever))
			delayed := stepwelltest.Start(e, work, "delayed", stepwell.Delay(19*time.Minute), stepwell.StartTTL(2*time.Minute))
			e.Advance(4 * time.Minute)
			if got := second.Status(); got != world.Pending {
				t.Errorf("in time: got %s", got)
			}
			e.Advance(11 * time.Minute)
			e.Do(func(ctx context.Context, app *stepwell.App) error { return app.Release(ctx, "work") })
			e.Advance(25 * time.Minute)
			for _, r := range []*stepwelltest.Run[string]{first, patient, delayed} {
				r.MustComplete()
			}
			if got := parent.MustComplete(); !strings.Contains(got, "was cancelled") {
				t.Errorf("the parent is told %q", got)
			}
			if err := second.MustBeCancelled(); !errors.Is(err, stepwell.ErrCancelled) || err.Code != world.CodeNotStarted {
				t.Errorf("got %v", err)
			}
			e.CrashEverywhere()
		})
	}
}

// TestStartTTLRefused: what makes no sense is refused at the definition, and at the start.
func TestStartTTLRefused(t *testing.T) {
	bad := stepwell.Define("bad", func(stepwell.Context, int) (int, error) { return 0, nil }, stepwell.StartTTL(0))
	w := memory.New()
	app, err := stepwell.New(w, stepwell.Config{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := stepwell.New(w, stepwell.Config{Definitions: []stepwell.Definition{bad}}); !errors.Is(err, stepwell.ErrInvalid) {
		t.Errorf("at the definition: got %v", err)
	}
	if _, err := app.Start(t.Context(), "any", []byte("1"), stepwell.StartTTL(-2)); !errors.Is(err, stepwell.ErrInvalid) {
		t.Errorf("at the start: got %v", err)
	}
}
