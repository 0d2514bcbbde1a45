package behaviour_test

// This file holds two processes on one SQLite file: one works, others start, look, signal and cancel.

import (
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/sqlite"
)

// promptly bounds what a worker must notice by itself. It polls every five seconds: what takes that long was not noticed.
const promptly = 3 * time.Second

// besideWorker starts a worker process on a new file and returns a client of it that has seen the worker join.
func besideWorker(t *testing.T) (app *stepwell.App, dir string, worker *exec.Cmd) {
	t.Helper()
	dir = t.TempDir()
	worker, said := victimCommand(t, victim{Role: "worker", Dir: dir})
	in, err := worker.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := worker.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeVictim(t, worker, in, said) })
	w := openFile(t, filepath.Join(dir, "runs.db"))
	within(t, 20*time.Second, "the worker joins", func() bool {
		stats, err := w.Stats(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return len(stats.Workers) == 1
	})
	app, err = stepwell.New(w, stepwell.Config{})
	if err != nil {
		t.Fatal(err)
	}
	return app, dir, worker
}

// within polls for something that must come.
func within(t *testing.T, limit time.Duration, what string, there func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(limit); !there(); <-tick.C {
		if time.Now().After(end) {
			t.Fatalf("waited %s in vain: %s", limit, what)
		}
	}
}

// TestSecondWorkerProcessIsRefused: the error names the first.
func TestSecondWorkerProcessIsRefused(t *testing.T) {
	t.Parallel()
	app, dir, worker := besideWorker(t)
	second, err := sqlite.Open(filepath.Join(dir, "runs.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	other, err := stepwell.New(second, stepwell.Config{Name: "second"})
	if err != nil {
		t.Fatal(err)
	}
	err = other.Run(t.Context())
	first := fmt.Sprintf("victim-worker (process %d)", worker.Process.Pid)
	if !errors.Is(err, stepwell.ErrWorkerExists) || !strings.Contains(err.Error(), first) {
		t.Errorf("got %v, want %v that names %q", err, stepwell.ErrWorkerExists, first)
	}
	run, err := victimFlow.Start(t.Context(), app, 0)
	if err == nil {
		err = signalVictim(t.Context(), app, run.ID())
	}
	if err != nil {
		t.Fatal(err)
	}
	if got, err := run.Result(t.Context()); err != nil || got != victimResult {
		t.Errorf("the first goes on: got %q, %v, want %q", got, err, victimResult)
	}
}

// TestClientBesideIdleWorker: a worker in another process notices a start, a signal and a cancel by itself, soon.
func TestClientBesideIdleWorker(t *testing.T) {
	t.Parallel()
	app, _, _ := besideWorker(t)
	status := func(run string) world.Status {
		info, err := app.Get(t.Context(), run)
		if err != nil {
			t.Fatal(err)
		}
		return info.Status
	}
	waits := func(run string) func() bool {
		return func() bool {
			for e, err := range app.Events(t.Context(), run, stepwell.EventFilter{Types: []world.EventType{world.WaitCreated}}) {
				if err != nil {
					t.Fatal(err)
				}
				if e.Name == victimEvent.Name() {
					return true
				}
			}
			return false
		}
	}
	for _, id := range []string{"signalled", "cancelled"} {
		if _, err := victimFlow.Start(t.Context(), app, 0, stepwell.RunID(id)); err != nil {
			t.Fatal(err)
		}
		within(t, promptly, "the worker claims the run, which waits for its event", waits(id))
	}
	if err := signalVictim(t.Context(), app, "signalled"); err != nil {
		t.Fatal(err)
	}
	within(t, promptly, "the signal is noticed", func() bool { return status("signalled") == world.Completed })
	if err := app.Cancel(t.Context(), "cancelled", "enough"); err != nil {
		t.Fatal(err)
	}
	within(t, promptly, "the cancel is noticed", func() bool { return status("cancelled") == world.Cancelled })
	var listed []string
	for info, err := range app.List(t.Context(), stepwell.ListFilter{Workflow: victimFlow.Name()}) {
		if err != nil {
			t.Fatal(err)
		}
		listed = append(listed, fmt.Sprint(info.ID, " ", info.Status))
	}
	if got, want := strings.Join(listed, ", "), "cancelled cancelled, signalled completed"; got != want {
		t.Errorf("list: got %q, want %q", got, want)
	}
}

// TestIdleWorkerIsQuiet: a worker with nothing to do hardly touches its file.
func TestIdleWorkerIsQuiet(t *testing.T) {
	t.Parallel()
	w := openFile(t, filepath.Join(t.TempDir(), "runs.db"))
	work(t, w, stepwell.Config{Definitions: []stepwell.Definition{victimFlow}})
	statements := func() int64 {
		stats, err := w.Stats(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return stats.Counters.Statements
	}
	var own int64 // what looking costs
	within(t, 20*time.Second, "the worker has begun, and is quiet for a second", func() bool {
		before := statements()
		own = statements() - before
		<-time.After(time.Second)
		return statements()-before == 2*own
	})
	const seconds = 5
	before := statements()
	<-time.After(seconds * time.Second)
	if got, most := statements()-before-own, int64(2*seconds); got > most {
		t.Errorf("%d statements in %d s, want at most %d", got, seconds, most)
	} else {
		t.Logf("%d statements in %d s", got, seconds)
	}
}
