package behaviour_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/faults"
	"github.com/stepwell/stepwell/world/memory"
)

// TestGatherBeside: limits, rates and the start TTL of a run that gathers are those of a run that begins then.
func TestGatherBeside(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		slow := stepwell.Define("slow", func(ctx stepwell.Context, n int) (int, error) {
			return n, stepwell.Sleep(ctx, "a while", time.Hour)
		}, stepwell.Debounce{Quiet: time.Minute}, stepwell.StartTTL(30*time.Minute), stepwell.Limit{AtOnce: 1, UntilEnd: true},
			stepwell.Limit{Rate: 2, Per: 24 * time.Hour, Burst: 2, Refuse: true, Name: "two"})
		parent := stepwell.Define("parent", func(ctx stepwell.Context, n int) (int, error) { return slow.Child().Run(ctx, n) })
		app, err := stepwell.New(memory.New(), stepwell.Config{
			Logger: slog.New(slog.DiscardHandler), Definitions: []stepwell.Definition{slow, parent},
		})
		if err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- app.Run(ctx) }()
		synctest.Wait()
		start := func(n int) *stepwell.Run[int] {
			t.Helper()
			run, err := slow.Start(ctx, app, n)
			if err != nil {
				t.Fatal(err)
			}
			return run
		}
		first := start(1)
		time.Sleep(50 * time.Second)
		if again := start(2); again.ID() != first.ID() {
			t.Error("not merged")
		}
		time.Sleep(2 * time.Minute)
		second := start(3) // it waits for the place until it has lapsed
		start(4)
		time.Sleep(time.Minute)
		if _, err := slow.Start(ctx, app, 5); !errors.Is(err, stepwell.ErrRateLimited) {
			t.Errorf("a third run of two: got %v", err)
		}
		if got, err := first.Result(ctx); got != 2 || err != nil {
			t.Errorf("got %d, %v", got, err)
		}
		if _, err := second.Result(ctx); !errors.Is(err, stepwell.ErrCancelled) {
			t.Errorf("got %v", err)
		}
		run, err := parent.Start(ctx, app, 1)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := run.Result(ctx); err == nil || !strings.Contains(err.Error(), "merged") {
			t.Errorf("as a child: got %v", err)
		}
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// TestGatherAsksAgain: a start whose run began before its input was there opens another, which counts its time from
// then: by the time of the first question it would be too late to begin.
func TestGatherAsksAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		last := stepwell.Define("last", func(_ stepwell.Context, n int) (int, error) { return n, nil },
			stepwell.Debounce{Quiet: time.Minute, Longest: time.Minute}, stepwell.StartTTL(30*time.Second))
		w := memory.New()
		app, err := stepwell.New(w, stepwell.Config{Logger: slog.New(slog.DiscardHandler), Definitions: []stepwell.Definition{last}})
		if err != nil {
			t.Fatal(err)
		}
		slow, err := stepwell.New(faults.New(w, faults.At(faults.Deliver, 1, faults.Fault{Delay: 2 * time.Minute})),
			stepwell.Config{Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- app.Run(ctx) }()
		synctest.Wait()
		first, err := last.Start(ctx, app, 1)
		if err != nil {
			t.Fatal(err)
		}
		second, err := last.Start(ctx, slow, 2)
		if err != nil || second.ID() == first.ID() || second.Existed() {
			t.Fatalf("got run %v, %v, want another than %s", second, err, first.ID())
		}
		if got, err := second.Result(ctx); got != 2 || err != nil {
			t.Errorf("got %d, %v", got, err)
		}
		info, err := app.Get(ctx, first.ID())
		next, err2 := app.Get(ctx, second.ID())
		if err != nil || err2 != nil || next.CreatedAt.Before(info.EndedAt) {
			t.Errorf("it was created at %s, before run %s ended at %s: %v, %v", next.CreatedAt, first.ID(), info.EndedAt, err, err2)
		}
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}
