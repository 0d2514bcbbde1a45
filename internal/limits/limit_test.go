package limits_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/memory"
	"github.com/stepwell/stepwell/world/sqlite"
)

type job struct {
	Tenant string `json:"tenant"`
	N      int    `json:"n"`
}

func tenantOf(j job) string { return j.Tenant }

// work counts how many bodies of each tenant are at work at once.
type work struct {
	mu        sync.Mutex
	now, most map[string]int
	total     int
}

func (w *work) do(ctx context.Context, j job, d time.Duration) {
	w.mu.Lock()
	if w.now == nil {
		w.now, w.most = map[string]int{}, map[string]int{}
	}
	w.now[j.Tenant]++
	w.most[j.Tenant] = max(w.most[j.Tenant], w.now[j.Tenant])
	w.total++
	w.mu.Unlock()
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
	w.mu.Lock()
	w.now[j.Tenant]--
	w.mu.Unlock()
}

// workflow does so for some time in a step.
func (w *work) workflow(d time.Duration, opts ...stepwell.WorkflowOption) *stepwell.Workflow[job, int] {
	return stepwell.Define("import", func(ctx stepwell.Context, j job) (int, error) {
		return stepwell.Step(ctx, "work", func(ctx context.Context) (int, error) { w.do(ctx, j, d); return j.N, nil })
	}, opts...)
}

func newApp(t *testing.T, w world.World, cfg stepwell.Config) *stepwell.App {
	t.Helper()
	cfg.Logger = slog.New(slog.DiscardHandler)
	app, err := stepwell.New(w, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return app
}

// run has an App work until the test is over.
func run(t *testing.T, w world.World, cfg stepwell.Config) *stepwell.App {
	t.Helper()
	app := newApp(t, w, cfg)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- app.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("run: %v", err)
		}
	})
	return app
}

func start(t *testing.T, app *stepwell.App, w *stepwell.Workflow[job, int], jobs ...job) (runs []*stepwell.Run[int]) {
	t.Helper()
	for _, j := range jobs {
		r, err := w.Start(t.Context(), app, j)
		if err != nil {
			t.Fatal(err)
		}
		runs = append(runs, r)
	}
	return runs
}

func wait(t *testing.T, runs []*stepwell.Run[int]) {
	t.Helper()
	for _, r := range runs {
		if _, err := r.Result(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

func jobs(n int, tenant string) (all []job) {
	for i := range n {
		all = append(all, job{tenant, i})
	}
	return all
}

// TestConcurrency: of each key as many are at work as the limit says, and no more; nobody waits for nothing.
func TestConcurrency(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w work
		imports := w.workflow(time.Minute, stepwell.Limit{AtOnce: 2, Key: stepwell.KeyOf(tenantOf)})
		app := run(t, memory.New(), stepwell.Config{Definitions: []stepwell.Definition{imports}})
		began := time.Now()
		all := start(t, app, imports, append(jobs(6, "ann"), jobs(3, "bob")...)...)
		wait(t, all)
		if w.most["ann"] != 2 || w.most["bob"] != 2 || w.total != 9 {
			t.Errorf("at work at once: %v, bodies %d; want 2 of each, and 9", w.most, w.total)
		}
		if took := time.Since(began).Round(time.Minute); took != 3*time.Minute {
			t.Errorf("it took %s, want 3m: six of a minute each, two at once", took)
		}
	})
}

// TestFile is the same on a SQLite file, and with two limits.
func TestFile(t *testing.T) {
	t.Parallel()
	store, err := sqlite.Open(filepath.Join(t.TempDir(), "runs.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	var w work
	imports := w.workflow(time.Millisecond, stepwell.Limit{AtOnce: 2, Key: stepwell.KeyOf(tenantOf)}, stepwell.Limit{AtOnce: 3, Name: "all"})
	app := run(t, store, stepwell.Config{Definitions: []stepwell.Definition{imports}})
	wait(t, start(t, app, imports, append(jobs(12, "ann"), jobs(6, "bob")...)...))
	if w.most["ann"] > 2 || w.most["bob"] > 2 || w.total != 18 {
		t.Errorf("at work at once: %v, bodies %d; want at most 2 of each, and 18", w.most, w.total)
	}
}

// TestWaits: a run that sleeps is not at work, unless it holds its place until the end.
func TestWaits(t *testing.T) {
	for name, of := range map[string]struct {
		until bool
		took  time.Duration
	}{
		"while running": {false, time.Hour},
		"until the end": {true, 3 * time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				sleeps := stepwell.Define("sleeps", func(ctx stepwell.Context, j job) (int, error) {
					return j.N, stepwell.Sleep(ctx, "an hour", time.Hour)
				}, stepwell.Limit{AtOnce: 1, UntilEnd: of.until})
				app := run(t, memory.New(), stepwell.Config{Definitions: []stepwell.Definition{sleeps}})
				began := time.Now()
				wait(t, start(t, app, sleeps, jobs(3, "ann")...))
				if took := time.Since(began).Round(time.Minute); took != of.took {
					t.Errorf("three took %s, want %s", took, of.took)
				}
			})
		})
	}
}

// TestChild: a child has the limits of its own workflow, and passes that which its parent holds until its end.
func TestChild(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w work
		same := stepwell.Limit{AtOnce: 1, Key: stepwell.KeyOf(tenantOf), Name: "tenant", UntilEnd: true}
		imports := w.workflow(time.Minute, same)
		parent := stepwell.Define("parent", func(ctx stepwell.Context, j job) (int, error) {
			return imports.Child().Run(ctx, j)
		}, same)
		app := run(t, memory.New(), stepwell.Config{Definitions: []stepwell.Definition{imports, parent}})
		began := time.Now()
		wait(t, start(t, app, parent, jobs(3, "ann")...))
		if took := time.Since(began).Round(time.Minute); took != 3*time.Minute || w.most["ann"] != 1 {
			t.Errorf("three parents with a child each took %s, %d at once; want 3m, one after the other", took, w.most["ann"])
		}
	})
}

// TestFair: one key with many runs delays others by no more than it takes itself.
func TestFair(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		alone := func(crowd int) time.Duration {
			var w work
			imports := w.workflow(time.Second, stepwell.Limit{AtOnce: 10, Key: stepwell.KeyOf(tenantOf)})
			ctx, stop := context.WithCancel(t.Context())
			app := newApp(t, memory.New(), stepwell.Config{Definitions: []stepwell.Definition{imports}, MaxRuns: 20, MaxSteps: 20})
			start(t, app, imports, jobs(crowd, "crowd")...)
			var few []*stepwell.Run[int]
			for i := range 50 {
				few = append(few, start(t, app, imports, jobs(20, fmt.Sprint(i))...)...)
			}
			ended := make(chan error, 1)
			go func() { ended <- app.Run(ctx) }()
			began := time.Now()
			wait(t, few)
			took := time.Since(began)
			stop()
			if err := <-ended; err != nil {
				t.Error(err)
			}
			return took
		}
		without, with := alone(0), alone(5000)
		t.Logf("50 keys with 20 runs each: %s alone, %s beside a key with 5,000", without, with)
		if with > 2*without {
			t.Errorf("50 keys with 20 runs each took %s beside a key with 5,000, and %s alone: want twice that at most", with, without)
		}
	})
}

// TestByName: who starts by name has the key from the code where that is at hand, else from its path; a key that only
// code tells elsewhere is refused.
func TestByName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memory.New()
		var w work
		computed := w.workflow(time.Minute, stepwell.Limit{AtOnce: 1, Key: stepwell.KeyOf(tenantOf)})
		found := stepwell.Define("found", func(_ stepwell.Context, j job) (int, error) { return j.N, nil }, stepwell.Limit{AtOnce: 7, By: "tenant"})
		app := run(t, store, stepwell.Config{Definitions: []stepwell.Definition{computed, found}})
		other := newApp(t, store, stepwell.Config{})
		time.Sleep(time.Minute) // the worker has joined
		input := json.RawMessage(`{"tenant":"ann","n":1}`)
		placed := func(a *stepwell.App, workflow string) []world.Place {
			t.Helper()
			r, err := a.Start(t.Context(), workflow, input)
			if err != nil {
				t.Fatal(err)
			}
			page, err := store.Events(t.Context(), r.ID(), world.EventQuery{Limit: 1})
			if err != nil {
				t.Fatal(err)
			}
			return page.Events[0].Birth.Places
		}
		for a, workflow := range map[*stepwell.App]string{app: "import", other: "found"} {
			if got := placed(a, workflow); len(got) != 1 || got[0].Key != "ann" || got[0].Limit != workflow {
				t.Errorf("%s was started with places %+v, want one, of key ann", workflow, got)
			}
		}
		_, err := other.Start(t.Context(), "import", input)
		if !errors.Is(err, stepwell.ErrInvalid) || !strings.Contains(err.Error(), "By") {
			t.Errorf("a key that only code elsewhere tells: got %v, want what to do", err)
		}
		_, err = other.Start(t.Context(), "found", json.RawMessage(`{"n":1}`))
		if !errors.Is(err, stepwell.ErrInvalid) || !strings.Contains(err.Error(), "tenant") {
			t.Errorf("an input without the key: got %v, want what is missing", err)
		}
	})
}

// TestRefused: what is wrong with a limit shows in New, what is wrong with a key at the start.
func TestRefused(t *testing.T) {
	for want, opts := range map[string][]stepwell.WorkflowOption{
		"want 1 to":       {stepwell.Limit{AtOnce: -1}},
		"AtOnce or Rate":  {stepwell.Limit{By: "tenant"}},
		"does not have":   {stepwell.Limit{AtOnce: 1, By: "tennant"}},
		"is string":       nil,
		"two limits have": {stepwell.Limit{AtOnce: 1}, stepwell.Limit{AtOnce: 2}},
		"not both":        {stepwell.Limit{AtOnce: 1, Key: stepwell.KeyOf(tenantOf), By: "tenant"}},
		"is nil":          {stepwell.Limit{AtOnce: 1, Key: stepwell.KeyOf[job](nil)}},
		"option 1 is nil": {nil},
		"path":            {stepwell.Limit{AtOnce: 1, By: "a..b"}},
		"name of a limit": {stepwell.Limit{AtOnce: 1, Name: "a b"}},

		"has the weight 0: want 1 to 100":   {stepwell.Limit{AtOnce: 1, Key: stepwell.KeyOf(tenantOf), Weights: map[string]int{"ann": 0}}},
		"has the weight 101: want 1 to 100": {stepwell.Limit{AtOnce: 1, By: "tenant", Weights: map[string]int{"ann": 101}}},
		"weights are of keys":               {stepwell.Limit{AtOnce: 1, Weights: map[string]int{"ann": 2}}},
		"weights share out places":          {stepwell.Limit{Rate: 1, Per: time.Minute, Key: stepwell.KeyOf(tenantOf), Weights: map[string]int{"ann": 2}}},
		"has 257 bytes: the most is 256":    {stepwell.Limit{AtOnce: 1, Key: stepwell.KeyOf(tenantOf), Weights: map[string]int{strings.Repeat("k", 257): 2}}},
	} {
		definition := stepwell.Definition(new(work).workflow(0, opts...))
		if opts == nil {
			definition = stepwell.Define("other", func(stepwell.Context, string) (int, error) { return 0, nil }, stepwell.Limit{AtOnce: 1, Key: stepwell.KeyOf(tenantOf)})
		}
		_, err := stepwell.New(memory.New(), stepwell.Config{Definitions: []stepwell.Definition{definition}})
		if !errors.Is(err, stepwell.ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	panics := new(work).workflow(0, stepwell.Limit{AtOnce: 1, Key: stepwell.KeyOf(func(j job) string {
		if j.N == 0 {
			panic("oh")
		}
		return strings.Repeat("k", 300)
	})})
	app := newApp(t, memory.New(), stepwell.Config{Definitions: []stepwell.Definition{panics}})
	for n, want := range []string{"panicked: oh", "300 bytes"} {
		if _, err := panics.Start(t.Context(), app, job{N: n}); !errors.Is(err, stepwell.ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// TestWhy: a run in line says for what, and behind how many.
func TestWhy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w work
		imports := w.workflow(time.Minute, stepwell.Limit{AtOnce: 1, Key: stepwell.KeyOf(tenantOf)})
		store := memory.New()
		app := run(t, store, stepwell.Config{Definitions: []stepwell.Definition{imports}})
		all := start(t, app, imports, jobs(4, "ann")...)
		time.Sleep(time.Second)
		for i, want := range []string{
			"worker ", `limit "import", key "ann", of which 1 may be at work at once: it is next`, "behind one run", "behind 2 runs",
		} {
			why, err := app.Why(t.Context(), all[i].ID())
			if err != nil || !strings.Contains(why.String(), want) || (why.Kind == stepwell.WhyLimit) != (i > 0) {
				t.Errorf("why run %d: got %s, %q, %v; want %q", i, why.Kind, why.String(), err, want)
			}
		}
		none := 0
		if err := store.Limits().SetLimit(t.Context(), "import", &none); err != nil {
			t.Fatal(err)
		}
		if why, err := app.Why(t.Context(), all[3].ID()); err != nil || !strings.Contains(why.String(), "set to 0") {
			t.Errorf("why a run that is held: got %q, %v", why.String(), err)
		}
	})
}

// TestWhyNoWorkerHolds: a run that nobody can go on with says which places it keeps from others, and which it does not;
// and these go to others.
func TestWhyNoWorkerHolds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w work
		imports := w.workflow(time.Minute, stepwell.Limit{AtOnce: 1, Key: stepwell.KeyOf(tenantOf)}, stepwell.Limit{AtOnce: 9, Name: "all"})
		orders := stepwell.Define("order", func(ctx stepwell.Context, j job) (int, error) { return 0, stepwell.Sleep(ctx, "rest", time.Minute) },
			stepwell.Limit{AtOnce: 1, Key: stepwell.KeyOf(tenantOf), UntilEnd: true})
		shared := stepwell.Define("other", func(stepwell.Context, job) (int, error) { return 0, nil },
			stepwell.Limit{AtOnce: 1, Name: "import", Key: stepwell.KeyOf(tenantOf)})
		store := memory.New()
		// It works on nothing.
		app := newApp(t, store, stepwell.Config{Definitions: []stepwell.Definition{imports, shared, orders}})
		all := start(t, app, imports, jobs(2, "ann")...)
		behind := start(t, app, shared, jobs(1, "ann")...)[0]
		begun := start(t, app, orders, jobs(1, "ann")...)[0]
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			ended <- newApp(t, store, stepwell.Config{Definitions: []stepwell.Definition{orders}}).Run(ctx)
		}()
		time.Sleep(time.Second)
		stop()
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
		run(t, store, stepwell.Config{Definitions: []stepwell.Definition{shared}})
		time.Sleep(time.Second)
		const yielded = `; it holds up nobody in limit "import", key "ann", and in limit "all" for longer than a minute`
		if why, err := app.Why(t.Context(), all[0].ID()); err != nil || why.Kind != stepwell.WhyNoWorker || len(why.Holds) != 2 || !strings.HasSuffix(why.String(), yielded) {
			t.Errorf("why a run that nobody can go on with: got %q, %v; want %q at its end", why.String(), err, yielded)
		}
		if why, err := app.Why(t.Context(), all[1].ID()); err != nil || why.Kind != stepwell.WhyLimit || why.Holds != nil {
			t.Errorf("why the run behind it: got %+v, %v", why, err)
		}
		if info, err := app.Get(t.Context(), behind.ID()); err != nil || info.Status != world.Pending {
			t.Errorf("the run behind both is %s, %v; want it to wait", info.Status, err)
		}
		time.Sleep(90 * time.Second)
		if info, err := app.Get(t.Context(), behind.ID()); err != nil || info.Status != world.Completed {
			t.Errorf("the run behind both is %s, %v, after a minute; want it done", info.Status, err)
		}
		if why, err := app.Why(t.Context(), all[0].ID()); err != nil || why.Kind != stepwell.WhyNoWorker || !strings.HasSuffix(why.String(), yielded) {
			t.Errorf("why the run that gave its places back: got %q, %v; want %q at its end, as before", why.String(), err, yielded)
		}
		const kept = `; it keeps its place in limit "order", key "ann" from others, until it ends: a cancel gives it back`
		if why, err := app.Why(t.Context(), begun.ID()); err != nil || why.Kind != stepwell.WhyNoWorker || !strings.HasSuffix(why.String(), kept) {
			t.Errorf("why a run that has begun: got %q, %v; want %q at its end", why.String(), err, kept)
		}
	})
}
