package starts_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/memory"
)

// TestHeldOverRestarts: no run of a workflow that is held begins, whoever starts it and whatever restarts; when it is
// released all do. What had begun goes on.
func TestHeldOverRestarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		var mu sync.Mutex
		began := make(map[string]int) // guarded by mu
		pay := stepwell.Define("pay", func(ctx stepwell.Context, name string) (string, error) {
			if name == "early" {
				if err := stepwell.Sleep(ctx, "a while", time.Hour); err != nil {
					return "", err
				}
			}
			return name, stepwell.Do(ctx, "count", func(context.Context) error {
				mu.Lock()
				defer mu.Unlock()
				began[name]++
				return nil
			})
		})
		shop := stepwell.Define("shop", func(ctx stepwell.Context, name string) (string, error) { return pay.Child().Run(ctx, name) })
		w := memory.New()
		open := func() (*stepwell.App, func()) {
			app, err := stepwell.New(w, stepwell.Config{Logger: slog.New(slog.DiscardHandler), Definitions: []stepwell.Definition{pay, shop}})
			if err != nil {
				t.Fatal(err)
			}
			ctx, stop := context.WithCancel(ctx)
			ended := make(chan error, 1)
			go func() { ended <- app.Run(ctx) }()
			synctest.Wait()
			return app, func() {
				stop()
				if err := <-ended; err != nil {
					t.Error(err)
				}
			}
		}
		app, stop := open()
		var runs []*stepwell.Run[string]
		start := func(of *stepwell.Workflow[string, string], name string, opts ...stepwell.StartOption) *stepwell.Run[string] {
			t.Helper()
			run, err := of.Start(ctx, app, name, opts...)
			if err != nil {
				t.Fatal(err)
			}
			runs = append(runs, run)
			return run
		}
		early := start(pay, "early")
		if err := app.Hold(ctx, "pay", "the bank is down"); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			start(pay, "plain")
		}
		start(pay, "keyed", stepwell.Key("k"))
		start(pay, "delayed", stepwell.Delay(time.Minute))
		start(shop, "child")
		for range 2 { // restarts
			time.Sleep(10 * time.Minute)
			stop()
			app, stop = open()
		}
		time.Sleep(time.Hour)
		if got, err := early.Result(ctx); got != "early" || err != nil {
			t.Errorf("what had begun: got %q, %v", got, err)
		}
		mu.Lock()
		if len(began) != 1 {
			t.Errorf("these began: %v", began)
		}
		mu.Unlock()
		again, err := pay.Start(ctx, app, "keyed", stepwell.Key("k"))
		if err != nil || !again.Existed() || again.ID() != runs[4].ID() {
			t.Errorf("the same start again: got %v, %v", again, err)
		}
		if why, err := app.Why(ctx, again.ID()); err != nil || why.Kind != stepwell.WhyHeld || why.Status != world.Pending {
			t.Errorf("got %v, %v", why, err)
		}
		if err := app.Release(ctx, "pay"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		for _, run := range runs {
			if err := app.Cancel(ctx, run.ID(), ""); err == nil { // a run that is over refuses it
				t.Errorf("run %s is not over", run.ID())
			}
		}
		stop()
		mu.Lock()
		defer mu.Unlock()
		if began["plain"] != 3 || began["keyed"] != 1 || began["delayed"] != 1 || began["child"] != 1 {
			t.Errorf("these began: %v", began)
		}
	})
}

// TestForksAndRetriesAreHeld: a fork and a retry are made of a run that had begun, and no step of theirs runs while
// their workflow is held.
func TestForksAndRetriesAreHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		var transfers atomic.Int32
		pay := stepwell.Define("pay", func(ctx stepwell.Context, name string) (string, error) {
			if err := stepwell.Do(ctx, "check", func(context.Context) error { return nil }); err != nil {
				return "", err
			}
			return name, stepwell.Do(ctx, "transfer", func(context.Context) error {
				if transfers.Add(1) == 1 {
					return stepwell.Fatal(errors.New("the bank is down"))
				}
				return nil
			})
		})
		app, err := stepwell.New(memory.New(), stepwell.Config{Logger: slog.New(slog.DiscardHandler), Definitions: []stepwell.Definition{pay}})
		if err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- app.Run(ctx) }()
		run, err := pay.Start(ctx, app, "h-1")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := run.Result(ctx); err == nil {
			t.Fatal("the first transfer did not fail")
		}
		if err := app.Hold(ctx, "pay", "the bank is down"); err != nil {
			t.Fatal(err)
		}
		retry, err := app.Retry(ctx, run.ID())
		if err != nil {
			t.Fatal(err)
		}
		fork, err := app.Fork(ctx, run.ID(), stepwell.ForkOptions{At: 2})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Hour)
		if n := transfers.Load(); n != 1 {
			t.Errorf("%d transfers were made, want that of the origin", n)
		}
		for _, r := range []*stepwell.Run[json.RawMessage]{retry, fork} {
			if why, err := app.Why(ctx, r.ID()); err != nil || why.Kind != stepwell.WhyHeld || why.Reason != "the bank is down" {
				t.Errorf("got %v, %v", why, err)
			}
		}
		if err := app.Release(ctx, "pay"); err != nil {
			t.Fatal(err)
		}
		for _, r := range []*stepwell.Run[json.RawMessage]{retry, fork} {
			if got, err := r.Result(ctx); string(got) != `"h-1"` || err != nil {
				t.Errorf("got %s, %v", got, err)
			}
		}
		if n := transfers.Load(); n != 3 {
			t.Errorf("%d transfers were made, want 3", n)
		}
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}
