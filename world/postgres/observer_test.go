package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/observe"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/postgres"
)

// TestTransactionalStepsAreObservedOnce: their ends are written with the body's transaction, and told as others are.
func TestTransactionalStepsAreObservedOnce(t *testing.T) {
	t.Parallel()
	b := openBank(t)
	w, err := postgres.Open(t.Context(), b.url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	body := func(ctx context.Context, _ int) (int, error) {
		if _, err := postgres.TxFrom(ctx).Exec(ctx, move, "ada", -1); err != nil {
			return 0, err
		}
		if stepwell.Info(ctx).Attempt == 1 { // seen at COMMIT, after the body has returned
			_, err := postgres.TxFrom(ctx).Exec(ctx, "INSERT INTO owed VALUES ('x', 'nobody')")
			return 0, err
		}
		return 1, nil
	}
	queued := stepwell.DefineStep("queued", body, quick, stepwell.Transactional())
	other := stepwell.DefineStep("other", func(context.Context, int) (int, error) { return 0, nil })
	wf := stepwell.Define("w", func(ctx stepwell.Context, _ int) (int, error) {
		if _, err := stepwell.Step(ctx, "closure", func(ctx context.Context) (int, error) { return body(ctx, 0) }, quick, stepwell.Transactional()); err != nil {
			return 0, err
		}
		all, err := stepwell.All(ctx, other.Start(ctx, 0), queued.Start(ctx, 1)) // the first runs in place, the second is queued
		return len(all), err
	})
	var mu sync.Mutex
	got := map[string]int{}
	add := func(typ world.EventType) func(observe.Step) {
		return func(s observe.Step) {
			mu.Lock()
			defer mu.Unlock()
			got[fmt.Sprint(typ, " ", s.ID)]++
		}
	}
	app, err := stepwell.New(w, stepwell.Config{Definitions: []stepwell.Definition{wf, queued, other}, Observer: &observe.Observer{
		StepStarted: add(world.StepStarted), StepRetried: add(world.StepRetrying), StepEnded: add(world.StepCompleted),
		Attempt: func(ctx context.Context, _ observe.Step) (context.Context, func(error)) {
			return context.WithValue(ctx, observedKey{}, true), nil // the transaction must be found below it
		},
	}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- app.Run(ctx) }()
	run, err := wf.Start(t.Context(), app, 0)
	if err == nil {
		wants(b, run, 2)
	}
	cancel()
	if err := errors.Join(err, <-ended); err != nil {
		t.Fatal(err)
	}
	want := map[string]int{}
	page, err := w.Events(t.Context(), run.ID(), world.EventQuery{})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range page.Events {
		switch e.Type {
		case world.StepStarted, world.StepRetrying, world.StepCompleted:
			want[fmt.Sprint(e.Type, " ", e.ID)]++
		}
	}
	if diff := cmp.Diff(want, got); diff != "" || len(want) < 7 {
		t.Errorf("in the log -, told +:\n%s", diff)
	}
}

type observedKey struct{}
