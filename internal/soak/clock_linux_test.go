package soak

// This file is the proof that a clock which steps costs a heartbeat at the most, with the clock that all others go by: the database's.
//
// It is the server that gets its time from libfaketime, and not a worker. A Go program cannot be told the time so: its runtime asks the kernel and not the C library,
// with or without cgo; and a time namespace of Linux has no wall clock of its own. To a worker it is the same: whichever of the two clocks steps, its own and the
// database's are apart all at once. What a worker's own clock does is TestTheProcessClockSteps, of each store, where the clock is the test's.

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/pgtest"
	"github.com/stepwell/stepwell/world"
)

const (
	napsEach = 10
	napTime  = 20 * time.Millisecond
	// napPatience is far less than a clock steps, and far more than naps and a heartbeat take.
	napPatience = 30 * time.Second
)

// napFlow sleeps a little between steps.
var napFlow = stepwell.Define("naps", func(ctx stepwell.Context, n int) (int, error) {
	for i := range n {
		if err := stepwell.Sleep(ctx, "nap", napTime); err != nil {
			return 0, err
		}
		if _, err := stepwell.Step(ctx, "tick", func(context.Context) (int, error) { return i, nil }); err != nil {
			return 0, err
		}
	}
	return n, nil
})

func init() { napping = napWork }

// napWork is the life of a worker that takes naps.
func napWork(ctx context.Context, o *orders) (err error) {
	w, err := openWorld(ctx, o.URL)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	app, err := stepwell.New(w, stepwell.Config{
		Definitions: []stepwell.Definition{napFlow}, Name: o.Name, Lease: o.Lease, Poll: o.Poll, Drain: 5 * time.Second,
		Logger: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
	})
	if err != nil {
		return err
	}
	return app.Run(ctx)
}

// TestTheDatabasesClockStepsUnderFire steps the clock of PostgreSQL far forward and back under worker processes. After each step new runs go on: nobody waits for the
// clock. Each worker that was there is there at the end, and no step of any run began twice: none of them lost its lease to a step, nor took another's.
//
// A time at which something falls due is the database's: what slept when its clock was set back, or was put to sleep in the heartbeat after that, sleeps until that clock
// is there again, which the last step sees to.
func TestTheDatabasesClockStepsUnderFire(t *testing.T) {
	seed := *soakSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("again: go test ./internal/soak -run TestTheDatabasesClockStepsUnderFire -soak.time=%s -soak.seed=%d", *soakTime, seed)
	server := pgtest.New(t, pgtest.Config{NoSync: true, Steps: true})
	url := server.URL(t)
	client, err := openWorld(t.Context(), named(t, url, "napping"))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	app, err := stepwell.New(client, stepwell.Config{Name: "napping"})
	if err != nil {
		t.Fatal(err)
	}
	crew := newCrew(t, t.TempDir(), workers, func(name string) string { return named(t, url, name) })
	crew.told.Nap, crew.told.Lease = true, 0 // the default: a slow machine is to end none
	for place := range workers {
		if err := crew.hire(place); err != nil {
			t.Fatal(err)
		}
	}
	n := &napper{app: app, world: client}
	n.settle(t)

	rnd := rand.New(rand.NewPCG(seed, 7))
	off, most, steps := time.Duration(0), time.Duration(0), 0
	step := func(to time.Duration) {
		n.start(t, 8) // some of them sleep, some work, while it steps
		if err := server.SetClock(to); err != nil {
			t.Fatal(err)
		}
		stands := to < off
		off, most, steps = to, max(most, to), steps+1
		if !stands {
			n.finish(t, steps, off)
		}
		n.goOn(t, steps, off)
	}
	minutes := func() time.Duration { return time.Duration(2+rnd.IntN(20)) * time.Minute }
	for begin := time.Now(); steps < 2 || time.Since(begin) < *soakTime/4; {
		step(off + minutes())
		step(off - minutes())
	}
	if err := server.SetClock(most + time.Hour); err != nil {
		t.Fatal(err)
	}
	n.runs = append(n.asleep, n.runs...)
	n.finish(t, steps+1, most+time.Hour)
	n.examine(t)
	if err := crew.dismiss(); err != nil {
		t.Error(err)
	}
	t.Logf("%d steps of the clock, %d runs", steps+1, len(n.all))
}

// napper starts runs and knows which.
type napper struct {
	app     *stepwell.App
	world   world.World
	workers map[string]bool // that were there at first
	runs    []*stepwell.Run[int]
	asleep  []*stepwell.Run[int] // maybe for as long as the clock is back
	all     []string
	why     string // one did not go on, of those laid aside
}

func (n *napper) start(t *testing.T, count int) {
	t.Helper()
	for range count {
		run, err := napFlow.Start(t.Context(), n.app, napsEach)
		if err != nil {
			t.Fatal(err)
		}
		n.runs, n.all = append(n.runs, run), append(n.all, run.ID())
	}
}

// finish waits for the runs that nothing keeps.
func (n *napper) finish(t *testing.T, step int, off time.Duration) {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), napPatience)
	defer stop()
	for _, run := range n.runs {
		if got, err := run.Result(ctx); err != nil || got != napsEach {
			why, _ := n.app.Why(context.WithoutCancel(ctx), run.ID())
			t.Fatalf("after step %d, to %s: run %s = %d, %v; %v", step, off, run.ID(), got, err, why)
		}
	}
	n.runs = nil
}

// goOn holds that new runs go on when all have heard of a step. Those that were put to sleep before are laid aside.
func (n *napper) goOn(t *testing.T, step int, off time.Duration) {
	t.Helper()
	n.asleep, n.runs = append(n.asleep, n.runs...), nil
	for end := time.Now().Add(napPatience); time.Now().Before(end) && t.Context().Err() == nil; {
		n.start(t, 8)
		ctx, stop := context.WithTimeout(t.Context(), 2*time.Second)
		var late []*stepwell.Run[int]
		for _, run := range n.runs {
			if _, err := run.Result(ctx); err != nil {
				late = append(late, run)
				why, _ := n.app.Why(t.Context(), run.ID())
				n.why = why.String()
			}
		}
		stop()
		n.runs = nil
		if len(late) == 0 {
			return
		}
		n.asleep = append(n.asleep, late...)
	}
	t.Fatalf("after step %d, to %s: new runs do not go on: %s", step, off, n.why)
}

// settle waits until all workers are there.
func (n *napper) settle(t *testing.T) {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), patience)
	defer stop()
	for n.workers = n.present(t); len(n.workers) < workers; n.workers = n.present(t) {
		if err := dawdle(ctx, 20); err != nil {
			t.Fatal(err)
		}
	}
}

func (n *napper) present(t *testing.T) map[string]bool {
	t.Helper()
	stats, err := n.world.Stats(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]bool{}
	for _, w := range stats.Workers {
		all[w.ID] = true
	}
	return all
}

// examine holds that nobody was taken for dead.
func (n *napper) examine(t *testing.T) {
	t.Helper()
	now := n.present(t)
	for id := range n.workers {
		if !now[id] {
			t.Errorf("worker %s was taken for dead", id)
		}
	}
	if len(now) != len(n.workers) {
		t.Errorf("workers %v, want %v: some have joined anew", now, n.workers)
	}
	for _, id := range n.all {
		page, err := n.world.Events(t.Context(), id, world.EventQuery{})
		if err != nil {
			t.Fatal(err)
		}
		for i := range page.Events {
			if e := &page.Events[i]; e.Type == world.StepStarted && e.Attempt != 1 || e.Type == world.StepRetrying {
				t.Errorf("run %s: %s of attempt %d", id, e.Type, e.Attempt)
			}
		}
		if page.More {
			t.Errorf("run %s has more events than were read", id)
		}
	}
}
