package clocktest

// This file plays a scene that any world can stand in: naps under a clock that steps.

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
)

const (
	workers  = 2
	runs     = 8
	naps     = 60
	nap      = 20 * time.Millisecond
	enough   = 40               // naps between steps of the clock: of each run a few
	patience = 20 * time.Second // far less than the clock steps, far more than the naps take
)

// Scene is a world under a clock that steps.
type Scene struct {
	Clock *Clock
	World world.World // where the worker works
	// Follows: the world's time is this clock's, so that a step forward is time that has passed. Else it is a database's, which does not step.
	Follows bool
}

// Play has workers take naps while the clock steps far forward, back, further back and forth again. It fails where a nap waits for the clock, ends early, is taken
// twice, or a worker loses its lease.
func (s Scene) Play(t *testing.T) {
	t.Helper()
	var ticks, early atomic.Int64
	var mu sync.Mutex
	marks, seen := make(map[string]time.Time), make(map[string]int)
	mark := func(run string) {
		mu.Lock()
		defer mu.Unlock()
		marks[run] = time.Now()
	}
	tick := func(run string, n int) {
		mu.Lock()
		defer mu.Unlock()
		if time.Since(marks[run]) < nap {
			early.Add(1)
		}
		seen[fmt.Sprint(run, " ", n)]++
		ticks.Add(1)
	}
	flow := stepwell.Define("naps", func(ctx stepwell.Context, n int) (int, error) {
		for i := range n {
			if err := stepwell.Do(ctx, "mark", func(ctx context.Context) error { mark(stepwell.Info(ctx).Run); return nil }); err != nil {
				return 0, err
			}
			if err := stepwell.Sleep(ctx, "nap", nap); err != nil {
				return 0, err
			}
			if err := stepwell.Do(ctx, "tick", func(ctx context.Context) error { tick(stepwell.Info(ctx).Run, i); return nil }); err != nil {
				return 0, err
			}
		}
		return n, nil
	})
	ctx, cancel := context.WithCancel(context.Background())
	var ended sync.WaitGroup
	defer ended.Wait()
	defer cancel()
	var started []*stepwell.Run[int]
	for range workers { // each could bury the other
		app, err := stepwell.New(s.World, stepwell.Config{Definitions: []stepwell.Definition{flow}})
		if err != nil {
			t.Fatal(err)
		}
		ended.Go(func() {
			if err := app.Run(ctx); err != nil {
				t.Errorf("Run = %v", err)
			}
		})
		for range runs / workers {
			run, err := flow.Start(t.Context(), app, naps)
			if err != nil {
				t.Fatal(err)
			}
			started = append(started, run)
		}
	}
	s.await(t, "all workers are there", func() bool { return len(s.present(t)) == workers })
	before := s.present(t)
	forward := 0
	for _, step := range []time.Duration{0, 10 * time.Minute, -20 * time.Minute, -10 * time.Minute, 20 * time.Minute} {
		s.Clock.Step(step)
		if step > 0 {
			forward++
		}
		ticked := ticks.Load()
		s.await(t, fmt.Sprintf("naps go on after a step of %s", step), func() bool { return ticks.Load() >= ticked+enough })
		if now := s.present(t); !maps.Equal(now, before) {
			t.Fatalf("after a step of %s: workers and whether they are shown as alive: %v, want %v", step, now, before)
		}
	}
	for _, run := range started {
		if got, err := run.Result(t.Context()); err != nil || got != naps {
			t.Errorf("run %s = %d, %v", run.ID(), got, err)
		}
	}
	for what, n := range seen {
		if n != 1 {
			t.Errorf("tick %s came %d times", what, n)
		}
	}
	most := 0
	if s.Follows {
		most = forward * runs // those that slept while it stepped
	}
	if n := early.Load(); len(seen) != runs*naps || n > int64(most) {
		t.Errorf("%d ticks, %d of them early; want %d, %d at most", len(seen), n, runs*naps, most)
	}
}

// present tells of each worker whether it is shown as alive.
func (s Scene) present(t *testing.T) map[string]bool {
	t.Helper()
	stats, err := s.World.Stats(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	alive := make(map[string]bool)
	for _, w := range stats.Workers {
		alive[w.ID] = w.Until.After(stats.Now)
	}
	return alive
}

func (s Scene) await(t *testing.T, what string, there func() bool) {
	t.Helper()
	poll := time.NewTicker(5 * time.Millisecond)
	defer poll.Stop()
	for end := time.Now().Add(patience); !there(); <-poll.C {
		if time.Now().After(end) {
			t.Fatalf("still not: %s", what)
		}
	}
}
