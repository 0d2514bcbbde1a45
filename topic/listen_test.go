package topic_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/pgtest"
	"github.com/stepwell/stepwell/internal/sample"
	"github.com/stepwell/stepwell/stepwelltest"
	"github.com/stepwell/stepwell/stepwelltest/postgrestest"
	"github.com/stepwell/stepwell/stepwelltest/sqlitetest"
	"github.com/stepwell/stepwell/topic"
	"github.com/stepwell/stepwell/world/memory"
)

type paid struct {
	Order int     `json:"order"`
	Cents float64 `json:"cents"`
}

var paidTopic = topic.Of[paid]("order.paid")

// waiter waits until its order is paid.
var waiter = stepwell.Define("waiter", func(ctx stepwell.Context, order int) (float64, error) {
	got, ok, err := stepwell.Event[paid]("order.paid").Wait(ctx, stepwell.Match{"order": order}, stepwell.Listen(), stepwell.Timeout(time.Hour))
	if err != nil || !ok {
		return -1, err
	}
	return got.Cents, nil
})

// TestListen: each of the runs that wait gets what is published for it, and no other; twice is once.
func TestListen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := memory.New()
		late := stepwell.Define("late", func(ctx stepwell.Context, since time.Duration) (float64, error) {
			got, ok, err := stepwell.Event[paid]("order.*").Wait(ctx, stepwell.Match{"order": 1}, stepwell.Since(since), stepwell.Timeout(time.Hour))
			if err != nil || !ok {
				return -1, err
			}
			return got.Cents, nil
		})
		app, _ := run(t, w, waiter, late)
		var all []*stepwell.Run[float64]
		for order := range 3 {
			r, err := waiter.Start(t.Context(), app, order)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, r)
		}
		time.Sleep(time.Minute)
		for _, p := range []paid{{1, 490}, {1, 500}, {7, 600}} {
			if _, err := paidTopic.Publish(t.Context(), app, p); err != nil {
				t.Fatal(err)
			}
		}
		for order, want := range map[int]float64{0: -1, 1: 490, 2: -1} {
			if got, err := all[order].Result(t.Context()); got != want || err != nil {
				t.Errorf("order %d: got %v, %v, want %v", order, got, err, want)
			}
		}
		for since, want := range map[time.Duration]float64{24 * time.Hour: 490, 10 * time.Minute: -1} {
			r, err := late.Start(t.Context(), app, since)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := r.Result(t.Context()); got != want || err != nil {
				t.Errorf("since %s: got %v, %v, want %v", since, got, err, want)
			}
		}
		if shapes, err := w.Topics().Shapes(t.Context()); err != nil || len(shapes) > 0 {
			t.Errorf("shapes are left: %v %v", shapes, err)
		}
	})
}

// stores are where tests with the kit keep what they have.
var stores = map[string]func(*testing.T) stepwelltest.Store{
	"memory":   func(*testing.T) stepwelltest.Store { return nil },
	"sqlite":   func(*testing.T) stepwelltest.Store { return sqlitetest.Store() },
	"postgres": func(t *testing.T) stepwelltest.Store { return postgrestest.Store(pgtest.URL(t)) },
}

// newEnv is an environment on one of the stores, whose steps run their own bodies.
func newEnv(t *testing.T, kind string, definitions ...stepwell.Definition) *stepwelltest.Env {
	t.Helper()
	config := stepwell.Config{Definitions: definitions}
	return stepwelltest.NewWith(t, stepwelltest.Options{Config: config, Store: stores[kind](t), RealSteps: true})
}

// TestListenCrashes kills the worker before and after each commit: the wait gets what it listens to, once.
func TestListenCrashes(t *testing.T) {
	twice := stepwell.Define("twice", func(ctx stepwell.Context, order int) (string, error) {
		event := stepwell.Event[paid]("order.paid")
		first, _, err := event.Wait(ctx, stepwell.Match{"order": order}, stepwell.Since(time.Hour), stepwell.Timeout(24*time.Hour))
		if err != nil {
			return "", err
		}
		if err := stepwell.Do(ctx, "note", func(context.Context) error { return nil }); err != nil {
			return "", err
		}
		second, ok, err := event.Wait(ctx, stepwell.Match{"order": order}, stepwell.Listen(), stepwell.Timeout(24*time.Hour))
		return fmt.Sprintf("%v, %v %t", first.Cents, second.Cents, ok), err
	})
	for _, kind := range sample.OneKey(t, stores) {
		t.Run(kind, func(t *testing.T) {
			env := newEnv(t, kind, twice, waiter)
			publish := func(p paid) {
				env.Do(func(ctx context.Context, app *stepwell.App) error {
					_, err := paidTopic.Publish(ctx, app, p)
					return err
				})
			}
			publish(paid{1, 490})
			publish(paid{2, 500})
			env.Advance(time.Minute)
			run := stepwelltest.Start(env, twice, 1)
			other := stepwelltest.Start(env, waiter, 1)
			env.Advance(time.Minute)
			run.WantWaiting(stepwell.WhyEvent)
			publish(paid{2, 510})
			publish(paid{1, 520})
			publish(paid{1, 530})
			env.Advance(time.Minute)
			if got := run.MustComplete(); got != "490, 520 true" {
				t.Errorf("got %s", got)
			}
			if got := other.MustComplete(); got != 520 {
				t.Errorf("the other run: got %v", got)
			}
			env.CrashEverywhere()
		})
	}
}
