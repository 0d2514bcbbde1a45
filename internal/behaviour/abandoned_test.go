package behaviour_test

// This file holds what a worker says that has lost its lease and lives: that its attempts were given up. See
// docs/design/README.md#steps-and-quarantine.

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/faults"
	"github.com/stepwell/stepwell/world"
)

// TestAttemptsOfAWorkerThatOutlivedItsLeaseAreNoDeaths: a worker loses its lease while a body runs. When it knows, it tells whoever owns the run now,
// so that the attempt is not taken for the death of a process.
func TestAttemptsOfAWorkerThatOutlivedItsLeaseAreNoDeaths(t *testing.T) {
	inBubble(t, func(b *bench) {
		wf := stepwell.Define("long", func(ctx stepwell.Context, _ int) (int, error) {
			return stepwell.Step(ctx, "work", func(c context.Context) (int, error) {
				select {
				case <-time.After(time.Minute):
					return 1, nil
				case <-c.Done():
					return 0, context.Cause(c)
				}
			})
		})
		cfg := stepwell.Config{Definitions: []stepwell.Definition{wf}}
		w := faults.New(b.below, nil)
		app, _ := b.worker(w, cfg)
		if _, err := wf.Start(context.Background(), app, 0, stepwell.RunID(benchRun)); err != nil {
			b.Fatal(err)
		}
		<-time.After(5 * time.Second)
		if err := w.Evict(context.Background()); err != nil {
			b.Fatal(err)
		}
		b.worker(b.below, cfg)
		if info := b.over(); info.Status != world.Completed {
			b.Errorf("the run is %s, %v, want completed", info.Status, info.Error)
		}
		if got := b.abandoned(); !slices.Equal(got, []int{1}) {
			b.dump(b.log())
			b.Errorf("abandoned attempts: got %v, want [1]", got)
		}
	})
}

// abandoned are the attempts of the run's steps that were given up.
func (b *bench) abandoned() (attempts []int) {
	for _, e := range b.log() {
		if e.Type == world.StepRetrying && e.Error.Code == world.CodeAbandoned {
			attempts = append(attempts, e.Attempt)
		}
	}
	return attempts
}

// TestStartWhoseOutcomeIsUnknownIsLookedAfter: a start whose birth was not written, though the answer does not say so, is tried again.
func TestStartWhoseOutcomeIsUnknownIsLookedAfter(t *testing.T) {
	for _, lost := range []bool{false, true} { // not written; written, and the answer lost
		inBubble(t, func(b *bench) {
			w := faults.New(b.below, faults.At(faults.Commit, 1, faults.Fault{Err: world.ErrUnknownOutcome, Lost: lost}))
			app, err := stepwell.New(w, stepwell.Config{})
			if err != nil {
				b.Fatal(err)
			}
			if _, err := app.Start(context.Background(), "any", []byte("1"), stepwell.RunID(benchRun)); err != nil {
				b.Errorf("lost %v: start: %v, want no error", lost, err)
			}
			if info, err := app.Get(context.Background(), benchRun); err != nil || info.Status != world.Pending {
				b.Errorf("lost %v: the run is %s, %v, want pending", lost, info.Status, err)
			}
		})
	}
}

// TestARunBornWhileItsWorkerJoinsAnewIsNotForgotten: the worker loses its lease, and joins anew, while the first turn of an eager start is evaluated.
func TestARunBornWhileItsWorkerJoinsAnewIsNotForgotten(t *testing.T) {
	inBubble(t, func(b *bench) {
		var w *faults.World
		evicted := false
		wf := stepwell.Define("first", func(ctx stepwell.Context, _ int) (int, error) {
			if !evicted {
				evicted = true
				if err := w.Evict(context.Background()); err != nil {
					b.Error(err)
				}
				<-time.After(20 * time.Millisecond) // until after the next heartbeat
			}
			return 1, stepwell.Sleep(ctx, "nap", time.Second)
		})
		w = faults.New(b.below, nil)
		app, _ := b.worker(w, stepwell.Config{Definitions: []stepwell.Definition{wf}, Lease: 9 * time.Second})
		before := w.Worker()
		<-time.After(3*time.Second - 10*time.Millisecond) // an idle worker sends heartbeats thrice a lease
		if _, err := wf.Start(context.Background(), app, 0, stepwell.RunID(benchRun)); err != nil {
			b.Fatal(err)
		}
		if w.Worker() == before {
			b.Error("the worker did not join anew: the test shows nothing")
		}
		if info := b.over(); info.Status != world.Completed {
			b.Errorf("the run is %s, %v, want completed", info.Status, info.Error)
		}
	})
}

// TestNoBodyStartsWhereTheAnswerToItsCommitCameTooLate: the worker has joined anew when it hears that its commit was written, and its run is
// somebody else's.
func TestNoBodyStartsWhereTheAnswerToItsCommitCameTooLate(t *testing.T) {
	inBubble(t, func(b *bench) {
		attempts := make(chan int, 10)
		wf := stepwell.Define("late", func(ctx stepwell.Context, _ int) (int, error) {
			return stepwell.Step(ctx, "work", func(c context.Context) (int, error) {
				attempts <- stepwell.Info(c).Attempt
				<-time.After(10 * time.Second) // until after the late answer
				return 1, nil
			})
		})
		cfg := stepwell.Config{Definitions: []stepwell.Definition{wf}}
		var w *faults.World
		w = faults.New(b.below, faults.At(faults.Commit, 1, faults.Fault{Late: 5 * time.Second, After: func() {
			if err := w.Evict(context.Background()); err != nil {
				b.Error(err)
			}
		}}))
		app, _ := b.worker(w, cfg)
		b.worker(b.below, cfg)
		if _, err := wf.Start(context.Background(), app, 0, stepwell.RunID(benchRun)); err != nil {
			b.Fatal(err)
		}
		if info := b.over(); info.Status != world.Completed {
			b.Errorf("the run is %s, %v, want completed", info.Status, info.Error)
		}
		<-time.After(10 * time.Second) // whatever may start late has started
		if got := len(attempts); got != 1 {
			b.Errorf("%d bodies began, want 1", got)
		}
		if got, want := <-attempts, 2; got != want {
			b.Errorf("the body of attempt %d began, want %d", got, want)
		}
		if got := b.abandoned(); !slices.Equal(got, []int{1}) {
			b.dump(b.log())
			b.Errorf("abandoned attempts: got %v, want [1]: its body never began, so that it is no death", got)
		}
	})
}
