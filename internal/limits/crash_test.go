package limits_test

import (
	"context"
	"testing"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/pgtest"
	"github.com/stepwell/stepwell/internal/sample"
	"github.com/stepwell/stepwell/stepwelltest"
	"github.com/stepwell/stepwell/stepwelltest/postgrestest"
	"github.com/stepwell/stepwell/stepwelltest/sqlitetest"
)

// TestCrashes: a worker that dies before or behind any commit leaves no place held by nobody, and nobody in line.
func TestCrashes(t *testing.T) {
	nap := stepwell.Define("nap", func(ctx stepwell.Context, j job) (int, error) {
		n, err := stepwell.Step(ctx, "first", func(context.Context) (int, error) { return j.N, nil })
		if err == nil {
			err = stepwell.Sleep(ctx, "a minute", time.Minute)
		}
		if err == nil {
			n, err = stepwell.Step(ctx, "second", func(context.Context) (int, error) { return n + 1, nil })
		}
		return n, err
	}, stepwell.Limit{AtOnce: 1, Key: stepwell.KeyOf(tenantOf)}, stepwell.Limit{AtOnce: 2, Name: "order", UntilEnd: true})
	both := stepwell.Define("both", func(ctx stepwell.Context, j job) (int, error) { return nap.Child().Run(ctx, j) }, stepwell.Limit{AtOnce: 1})
	config := stepwell.Config{Definitions: []stepwell.Definition{nap, both}}
	stores := storesOf(config)
	for _, name := range sample.OneKey(t, stores) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := stores[name](t)
			var all []*stepwelltest.Run[int]
			for i := range 3 {
				all = append(all, stepwelltest.Start(e, nap, job{"ann", i}))
			}
			all = append(all, stepwelltest.Start(e, both, job{"bob", 3}))
			e.Advance(10 * time.Minute)
			for i, r := range all {
				if got := r.MustComplete(); got != i+1 {
					t.Errorf("run %d: got %d, want %d", i, got, i+1)
				}
			}
			e.CrashEverywhere()
		})
	}
}

// storesOf are the stores that deaths are tried on, each with its environment.
func storesOf(config stepwell.Config) map[string]func(t *testing.T) *stepwelltest.Env {
	on := func(t *testing.T, store stepwelltest.Store) *stepwelltest.Env {
		return stepwelltest.NewWith(t, stepwelltest.Options{Config: config, Store: store, RealSteps: true})
	}
	return map[string]func(t *testing.T) *stepwelltest.Env{
		"memory":   func(t *testing.T) *stepwelltest.Env { return on(t, nil) },
		"postgres": func(t *testing.T) *stepwelltest.Env { return on(t, postgrestest.Store(pgtest.URL(t))) },
		"sqlite":   func(t *testing.T) *stepwelltest.Env { return on(t, sqlitetest.Store()) },
	}
}
