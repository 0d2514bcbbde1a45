package operate_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/operate"
	"github.com/stepwell/stepwell/world/memory"
)

// TestAFailureBehindManyThatWereHealed: what was healed takes no room among what is looked at.
func TestAFailureBehindManyThatWereHealed(t *testing.T) {
	var away atomic.Bool
	away.Store(true)
	pay := stepwell.Define("pay", func(ctx stepwell.Context, in int) (int, error) {
		return stepwell.Step(ctx, "charge", func(context.Context) (int, error) {
			if away.Load() {
				return 0, stepwell.Fatal(errors.New("the bank is away"))
			}
			return in, nil
		})
	})
	app, err := stepwell.New(memory.New(), stepwell.Config{Definitions: []stepwell.Definition{pay}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- app.Run(ctx) }()
	defer func() { cancel(); <-ended }()
	var runs []*stepwell.Run[int]
	const most = 20
	for i := range most + 2 {
		run, err := pay.Start(ctx, app, i)
		if err != nil {
			t.Fatal(err)
		}
		runs = append(runs, run)
		if _, err := run.Result(ctx); err == nil {
			t.Fatal("a run completed without the bank")
		}
	}
	away.Store(false)
	for _, run := range runs[1:] {
		if _, err := app.Retry(ctx, run.ID()); err != nil {
			t.Fatal(err)
		}
		if _, err := run.Result(ctx); err != nil {
			t.Fatal(err)
		}
	}
	got, err := operate.FailuresUpTo(ctx, app, stepwell.ListFilter{}, most)
	if err != nil || got.Failed != 1 || got.Healed != len(runs)-1 || len(got.Causes) != 1 || got.Causes[0].Runs[0] != runs[0].ID() || got.More {
		t.Errorf("got %+v, want the first run alone: %v", got, err)
	}
}

// A night has thousands of one cause: they are counted, and not the newest few.
func TestAThousandFailuresAreCounted(t *testing.T) {
	t.Parallel()
	const many = 1_100 // more than a page
	pay := stepwell.Define("pay", func(_ stepwell.Context, order int) (int, error) {
		return 0, fmt.Errorf("order %d: the bank is away", order)
	})
	app, err := stepwell.New(memory.New(), stepwell.Config{Definitions: []stepwell.Definition{pay}, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- app.Run(ctx) }()
	defer func() { cancel(); <-ended }()
	var runs []*stepwell.Run[int]
	for i := range many {
		run, err := pay.Start(ctx, app, i)
		if err != nil {
			t.Fatal(err)
		}
		runs = append(runs, run)
	}
	for _, run := range runs {
		if _, err := run.Result(ctx); err == nil {
			t.Fatal("a run completed without the bank")
		}
	}
	got, err := operate.FailuresOf(ctx, app, stepwell.ListFilter{})
	if err != nil || got.Failed != many || len(got.Causes) != 1 || got.Causes[0].Count != many || got.More {
		t.Errorf("%d failed of %d causes, more: %t; want %d of one: %v", got.Failed, len(got.Causes), got.More, many, err)
	}
	if got, err = operate.FailuresUpTo(ctx, app, stepwell.ListFilter{}, 30); err != nil || got.Failed != 30 || !got.More {
		t.Errorf("of the newest 30: %d, more: %t: %v", got.Failed, got.More, err)
	}
}
