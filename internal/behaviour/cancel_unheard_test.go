package behaviour_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/faults"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/memory"
)

// deaf is a world that tells of nothing: as one of another process, or one whose notices are lost.
type deaf struct{ world.World }

func (deaf) Notify(func(world.Notice)) (stop func()) { return func() {} }

// TestCancelIsSeenWithinASecond: the body of a cancelled run sees it within 1 s, where no notice comes, whenever its worker last had a reason to send a heartbeat.
func TestCancelIsSeenWithinASecond(t *testing.T) {
	for _, idle := range []time.Duration{0, 300 * time.Millisecond, 1700 * time.Millisecond, 3 * time.Second, 4 * time.Second} {
		t.Run(idle.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := memory.New()
				began, seen := make(chan time.Time, 1), make(chan time.Time, 1)
				wf := stepwell.Define("long", func(ctx stepwell.Context, _ int) (int, error) {
					return stepwell.Step(ctx, "body", func(ctx context.Context) (int, error) {
						began <- time.Now()
						<-ctx.Done()
						seen <- time.Now()
						return 0, ctx.Err()
					})
				})
				app, err := stepwell.New(deaf{w}, stepwell.Config{Definitions: []stepwell.Definition{wf}, Poll: 10 * time.Millisecond})
				if err != nil {
					t.Fatal(err)
				}
				client, err := stepwell.New(w, stepwell.Config{})
				if err != nil {
					t.Fatal(err)
				}
				ctx, stop := context.WithCancel(t.Context())
				ended := make(chan error, 1)
				go func() { ended <- app.Run(ctx) }()
				<-time.After(idle)
				run, err := wf.Start(ctx, client, 0)
				if err != nil {
					t.Fatal(err)
				}
				<-began
				asked := time.Now()
				if err := client.Cancel(ctx, run.ID(), ""); err != nil {
					t.Fatal(err)
				}
				if got := (<-seen).Sub(asked); got > time.Second {
					t.Errorf("after %s of idleness the body saw it after %s, want 1 s at most", idle, got)
				}
				if _, err := run.Result(ctx); err == nil {
					t.Error("the run completed, want it cancelled")
				}
				stop()
				if err := <-ended; err != nil {
					t.Error(err)
				}
				if err := w.Close(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// TestAWorkerThatIsOftenIdleBeats: short runs, one after the other, do not put the heartbeats off: the lease would end.
func TestAWorkerThatIsOftenIdleBeats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := memory.New()
		wf := stepwell.Define("short", func(ctx stepwell.Context, _ int) (int, error) {
			return stepwell.Step(ctx, "body", func(context.Context) (int, error) {
				<-time.After(50 * time.Millisecond)
				return 0, nil
			})
		})
		counting := faults.New(w, nil)
		app, err := stepwell.New(counting, stepwell.Config{Definitions: []stepwell.Definition{wf}})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- app.Run(ctx) }()
		synctest.Wait()
		worker := counting.Worker()
		for range 600 { // a minute
			run, err := wf.Start(ctx, app, 0)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := run.Result(ctx); err != nil {
				t.Fatal(err)
			}
			<-time.After(50 * time.Millisecond)
		}
		if counting.Worker() != worker {
			t.Error("the worker has joined anew: its lease had ended")
		}
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
}
