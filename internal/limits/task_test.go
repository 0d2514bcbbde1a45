package limits_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/pgtest"
	"github.com/stepwell/stepwell/internal/sample"
	"github.com/stepwell/stepwell/stepwelltest"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/memory"
	"github.com/stepwell/stepwell/world/postgres"
	"github.com/stepwell/stepwell/world/sqlite"
)

// step does so for some time.
func (w *work) step(name string, d time.Duration, opts ...stepwell.StepDefinitionOption) *stepwell.RegisteredStep[job, int] {
	return stepwell.DefineStep(name, func(ctx context.Context, j job) (int, error) { w.do(ctx, j, d); return j.N, nil }, opts...)
}

// asks is a workflow that asks for a step some times at once.
func asks(name string, step *stepwell.RegisteredStep[job, int], times int, opts ...stepwell.WorkflowOption) *stepwell.Workflow[job, int] {
	return stepwell.Define(name, func(ctx stepwell.Context, j job) (sum int, err error) {
		var all []*stepwell.Future[int]
		for range times {
			all = append(all, step.Start(ctx, j))
		}
		for _, f := range all {
			n, err := f.Get(ctx)
			if err != nil {
				return 0, err
			}
			sum += n
		}
		return sum, nil
	}, opts...)
}

// TestStepConcurrency: of each key as many attempts run at once as the limit says, whichever runs ask; a step asked for
// alone is no exception.
func TestStepConcurrency(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w work
		charge := w.step("charge", time.Minute, stepwell.Limit{AtOnce: 2, Key: stepwell.KeyOf(tenantOf)})
		order := asks("order", charge, 3)
		app := run(t, memory.New(), stepwell.Config{Definitions: []stepwell.Definition{order, charge}})
		began := time.Now()
		wait(t, start(t, app, order, job{"ann", 1}, job{"ann", 2}, job{"bob", 3}))
		if w.most["ann"] != 2 || w.most["bob"] != 2 || w.total != 9 {
			t.Errorf("at work at once: %v, bodies %d; want 2 of each, and 9", w.most, w.total)
		}
		if took := time.Since(began).Round(time.Minute); took != 3*time.Minute {
			t.Errorf("it took %s, want 3m: six of a minute each, two at once", took)
		}
	})
}

// TestStepSharesALimit: runs and steps of one name share places, also a run and its own step.
func TestStepSharesALimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w work
		bank := stepwell.Limit{AtOnce: 1, Name: "bank"}
		charge := w.step("charge", time.Minute, bank)
		order, imports := asks("order", charge, 2, bank), w.workflow(time.Minute, bank)
		app := run(t, memory.New(), stepwell.Config{Definitions: []stepwell.Definition{order, imports, charge}})
		began := time.Now()
		wait(t, append(start(t, app, order, job{"ann", 1}), start(t, app, imports, job{"ann", 2})...))
		if w.most["ann"] != 1 || w.total != 3 {
			t.Errorf("at work at once: %v, bodies %d; want one, and 3", w.most, w.total)
		}
		if took := time.Since(began).Round(time.Minute); took != 3*time.Minute {
			t.Errorf("it took %s, want 3m", took)
		}
	})
}

// TestStepRate: each attempt of a step pays, as each is a call.
func TestStepRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var began []time.Duration
		since := time.Now()
		charge := stepwell.DefineStep("charge", func(_ context.Context, j job) (int, error) {
			if began = append(began, time.Since(since).Round(time.Second)); len(began) == 1 {
				return 0, errors.New("the bank is closed")
			}
			return j.N, nil
		}, stepwell.Limit{Rate: 6, Per: time.Minute, Key: stepwell.KeyOf(tenantOf)}, stepwell.Retry{Base: time.Millisecond, Jitter: -1})
		order := asks("order", charge, 2)
		app := run(t, memory.New(), stepwell.Config{Definitions: []stepwell.Definition{order, charge}})
		wait(t, start(t, app, order, job{"ann", 0}))
		if want := []time.Duration{0, 10 * time.Second, 20 * time.Second}; !slices.Equal(began, want) {
			t.Errorf("attempts began at %s, want %s", began, want)
		}
	})
}

// TestStepLimitsAreSaid: what a limit of a step cannot be is refused where it is defined, and a key that cannot be
// told fails the step.
func TestStepLimitsAreSaid(t *testing.T) {
	for want, opt := range map[string]stepwell.StepDefinitionOption{
		"UntilEnd":     stepwell.Limit{AtOnce: 1, UntilEnd: true},
		"Refuse":       stepwell.Limit{Rate: 1, Per: time.Second, Refuse: true},
		"want 1 to":    stepwell.Limit{AtOnce: -1},
		"the input is": stepwell.Limit{AtOnce: 1, Key: stepwell.KeyOf(func(n int) string { return "" })},
	} {
		var w work
		_, err := stepwell.New(memory.New(), stepwell.Config{Definitions: []stepwell.Definition{w.step("charge", 0, opt)}})
		if !errors.Is(err, stepwell.ErrInvalid) || !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("got %v, want a word of %q", err, want)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		var w work
		charge := w.step("charge", 0, stepwell.Limit{AtOnce: 1, Key: stepwell.KeyOf(tenantOf)})
		order := asks("order", charge, 1)
		app := run(t, memory.New(), stepwell.Config{Definitions: []stepwell.Definition{order, charge}})
		_, err := start(t, app, order, job{strings.Repeat("a", world.MaxLimitKey+1), 0})[0].Result(t.Context())
		if want := "the most is 256"; err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	})
}

// TestStepCrashes: a worker that dies before or behind any commit leaves no place held by nobody, and no task in line.
func TestStepCrashes(t *testing.T) {
	charge := stepwell.DefineStep("charge", func(ctx context.Context, j job) (int, error) {
		if stepwell.Info(ctx).Attempt == 1 && j.N == 1 {
			return 0, errors.New("once")
		}
		return j.N, nil
	}, stepwell.Limit{AtOnce: 1, Key: stepwell.KeyOf(tenantOf)}, stepwell.Limit{Rate: 60, Per: time.Minute, Name: "calls"})
	order := asks("order", charge, 2)
	config := stepwell.Config{Definitions: []stepwell.Definition{order, charge}}
	stores := storesOf(config)
	for _, name := range sample.OneKey(t, stores) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := stores[name](t)
			var all []*stepwelltest.Run[int]
			for i := range 2 {
				all = append(all, stepwelltest.Start(e, order, job{"ann", i}))
			}
			e.Advance(10 * time.Minute)
			for i, r := range all {
				if got := r.MustComplete(); got != 2*i {
					t.Errorf("run %d: got %d, want %d", i, got, 2*i)
				}
			}
			e.CrashEverywhere()
		})
	}
}

// TestStepsOnAFile is the same on a SQLite file.
func TestStepsOnAFile(t *testing.T) {
	t.Parallel()
	store, err := sqlite.Open(filepath.Join(t.TempDir(), "runs.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	manySteps(t, store)
}

// manySteps has runs ask for steps under limits, and a run of one of them stand beside.
func manySteps(t *testing.T, store world.World) {
	t.Helper()
	var w work
	all := stepwell.Limit{AtOnce: 3, Name: "all"}
	charge := w.step("charge", time.Millisecond, stepwell.Limit{AtOnce: 2, Key: stepwell.KeyOf(tenantOf)}, all)
	order, imports := asks("order", charge, 4), w.workflow(time.Millisecond, all)
	app := run(t, store, stepwell.Config{Definitions: []stepwell.Definition{order, imports, charge}})
	runs := start(t, app, order, append(jobs(4, "ann"), jobs(2, "bob")...)...)
	wait(t, append(runs, start(t, app, imports, jobs(4, "eve")...)...))
	if w.most["ann"] > 2 || w.most["bob"] > 2 || w.total != 28 {
		t.Errorf("at work at once: %v, bodies %d; want at most 2 of each, and 28", w.most, w.total)
	}
	keeper := store.Limits()
	for _, name := range []string{"charge", "all"} {
		keys, err := keeper.ListLimitKeys(t.Context(), name, "", 10)
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range keys {
			if k.Used != 0 || k.Waiting != 0 {
				t.Errorf("limit %s, key %q: %d places are held and %d stand in line, though all is over", name, k.Key, k.Used, k.Waiting)
			}
		}
	}
}

// TestStepsOnPostgres is the same on PostgreSQL.
func TestStepsOnPostgres(t *testing.T) {
	t.Parallel()
	store, err := postgres.Open(t.Context(), pgtest.URL(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	manySteps(t, store)
}
