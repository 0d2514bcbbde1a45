package limits_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/sample"
	"github.com/stepwell/stepwell/stepwelltest"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/memory"
)

// TestRate: three programs on one database let in as many as the rate says, in the order of their starts. What follows
// a sleep, and a step's further attempts, are not paid for.
func TestRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var order []int
		var at []time.Time
		calls := stepwell.Define("call", func(ctx stepwell.Context, j job) (int, error) {
			tries := 0
			n, err := stepwell.Step(ctx, "call", func(context.Context) (int, error) {
				if tries++; tries == 1 {
					order, at = append(order, j.N), append(at, time.Now())
					return 0, errors.New("once more")
				}
				return j.N, nil
			}, stepwell.Retry{Backoff: stepwell.Fixed, Base: time.Millisecond})
			if err == nil {
				err = stepwell.Sleep(ctx, "a second", time.Second)
			}
			return n, err
		}, stepwell.Limit{Rate: 6, Per: time.Minute, Key: stepwell.KeyOf(tenantOf)})
		store := memory.New()
		app := newApp(t, store, stepwell.Config{Definitions: []stepwell.Definition{calls}})
		all := start(t, app, calls, jobs(7, "ann")...)
		for range 3 {
			run(t, store, stepwell.Config{Definitions: []stepwell.Definition{calls}})
		}
		began := time.Now()
		wait(t, all)
		if took := time.Since(began).Round(time.Second); took != 61*time.Second {
			t.Errorf("seven took %s, want 61s: one in ten seconds, and a second for the last", took)
		}
		for i := range order {
			if turn := time.Duration(i) * 10 * time.Second; order[i] != i || at[i].Sub(began).Round(time.Second) != turn {
				t.Errorf("as number %d run %d began, %s behind the first: want %s", i, order[i], at[i].Sub(began), turn)
			}
		}
	})
}

// TestRefuse: what is beyond a rate that refuses says when to come again, and then it is let in.
func TestRefuse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w work
		calls := w.workflow(0, stepwell.Limit{Rate: 2, Per: time.Minute, Burst: 2, Refuse: true, Key: stepwell.KeyOf(tenantOf)})
		parent := stepwell.Define("parent", func(ctx stepwell.Context, j job) (int, error) { return calls.Child().Run(ctx, j) })
		app := run(t, memory.New(), stepwell.Config{Definitions: []stepwell.Definition{calls, parent}})
		wait(t, start(t, app, calls, jobs(2, "ann")...))
		_, err := calls.Start(t.Context(), app, job{"ann", 3})
		var when *world.RateError
		if !errors.Is(err, stepwell.ErrRateLimited) || !errors.As(err, &when) || when.After != 30*time.Second || when.Key != "ann" {
			t.Fatalf("the third: got %v, %+v, want that it may come in 30s", err, when)
		}
		wait(t, start(t, app, calls, job{"bob", 1}))
		time.Sleep(when.After)
		wait(t, start(t, app, calls, job{"ann", 3}))
		if w.total != 4 {
			t.Errorf("%d have run, want 4", w.total)
		}
		p, err := parent.Start(t.Context(), app, job{"cid", 1})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.Result(t.Context()); err == nil || !strings.Contains(err.Error(), "a child cannot try again") {
			t.Errorf("a child: got %v, want why it cannot be", err)
		}
	})
}

// TestRateThatIsNone: what no rate is, is refused where it is defined.
func TestRateThatIsNone(t *testing.T) {
	for want, opts := range map[string][]stepwell.WorkflowOption{
		"rate of 0":                     {stepwell.Limit{Per: time.Second}},
		"want a period":                 {stepwell.Limit{Rate: 1, Per: 0}},
		"one in a microsecond":          {stepwell.Limit{Rate: 1_000_000, Per: time.Millisecond}},
		"burst of -1":                   {stepwell.Limit{Rate: 2, Per: time.Second, Burst: -1}},
		"burst of 3":                    {stepwell.Limit{Rate: 2, Per: time.Second, Burst: 3}},
		"a rate cannot use UntilEnd":    {stepwell.Limit{Rate: 2, Per: time.Second, UntilEnd: true}},
		"only a rate can have":          {stepwell.Limit{AtOnce: 2, Refuse: true}},
		"two limits have this name":     {stepwell.Limit{Rate: 2, Per: time.Second}, stepwell.Limit{AtOnce: 2}},
		"want a period of 1ms":          {stepwell.Limit{Rate: 2, Per: -time.Second}},
		"rate of 2000000":               {stepwell.Limit{Rate: 2_000_000, Per: time.Hour}},
		"want a period of 1ms to 8784h": {stepwell.Limit{Rate: 2, Per: 9000 * time.Hour}},
	} {
		_, err := stepwell.New(memory.New(), stepwell.Config{Definitions: []stepwell.Definition{new(work).workflow(0, opts...)}})
		if !errors.Is(err, stepwell.ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// TestWhyRate: a run in line says of what rate, behind how many, and when it begins.
func TestWhyRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := new(work).workflow(0, stepwell.Limit{Rate: 1, Per: time.Hour, Name: "bank", Key: stepwell.KeyOf(tenantOf)})
		app := run(t, memory.New(), stepwell.Config{Definitions: []stepwell.Definition{calls}})
		all := start(t, app, calls, jobs(3, "ann")...)
		wait(t, all[:1])
		for i, want := range []string{"it is next", "behind one run"} {
			want = fmt.Sprintf(`limit "bank", key "ann", of which 1 may begin in 1h: %s, and begins at %s`, want, time.Now().Add(time.Duration(i+1)*time.Hour).UTC().Format("2006-01-02T15"))
			why, err := app.Why(t.Context(), all[i+1].ID())
			if err != nil || why.Kind != stepwell.WhyLimit || !strings.Contains(why.String(), want) {
				t.Errorf("why run %d: got %s, %q, %v; want %q", i+1, why.Kind, why.String(), err, want)
			}
		}
	})
}

// TestRateCrashes: a worker that dies before or behind any commit leaves nobody in line for ever.
func TestRateCrashes(t *testing.T) {
	calls := stepwell.Define("call", func(ctx stepwell.Context, j job) (int, error) {
		n, err := stepwell.Step(ctx, "call", func(context.Context) (int, error) { return j.N, nil })
		if err == nil {
			err = stepwell.Sleep(ctx, "a minute", time.Minute)
		}
		return n, err
	}, stepwell.Limit{Rate: 1, Per: 10 * time.Second, Key: stepwell.KeyOf(tenantOf)}, stepwell.Limit{AtOnce: 2, Name: "order", UntilEnd: true})
	config := stepwell.Config{Definitions: []stepwell.Definition{calls}, Logger: slog.New(slog.DiscardHandler)}
	stores := storesOf(config)
	for _, name := range sample.OneKey(t, stores) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := stores[name](t)
			var all []*stepwelltest.Run[int]
			for i, tenant := range []string{"ann", "ann", "ann", "bob"} {
				all = append(all, stepwelltest.Start(e, calls, job{tenant, i}))
			}
			e.Advance(10 * time.Minute)
			for i, r := range all {
				if got := r.MustComplete(); got != i {
					t.Errorf("run %d: got %d", i, got)
				}
			}
			e.CrashEverywhere()
		})
	}
}
