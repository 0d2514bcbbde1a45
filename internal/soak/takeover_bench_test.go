//go:build unix

package soak

// This file measures takeover: a worker process is killed, and its runs go on in another one.

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/pgtest"
	"github.com/stepwell/stepwell/world/postgres"
)

const (
	tickTime = 100 * time.Millisecond // how long a step takes of the runs that are taken over
	ticking  = 20                     // such runs
)

// ticks is a workflow of many short steps, each of which is noted.
func ticks(n *notes) *stepwell.Workflow[int, int] {
	return stepwell.Define("ticks", func(ctx stepwell.Context, most int) (int, error) {
		for i := range most {
			if err := stepwell.Do(ctx, "tick", func(ctx context.Context) error {
				return n.body(ctx, func() error { return dawdle(ctx, int(tickTime.Milliseconds())) })
			}); err != nil {
				return i, err
			}
		}
		return most, nil
	})
}

// BenchmarkTakeover is the time from the SIGKILL of a worker process until another one has begun a step of a run that the first had, for each of its runs: where the database
// can tell that a process died, and through a pooler, where the default lease of 10 s has to end. One operation is one death.
//
//	go test ./internal/soak -run '^$' -bench Takeover -benchtime 10x -timeout 30m
func BenchmarkTakeover(b *testing.B) {
	server := pgtest.New(b, pgtest.Config{})
	b.Run("session", func(b *testing.B) { benchTakeover(b, server.URL(b)) })
	b.Run("pooler", func(b *testing.B) { benchTakeover(b, pgtest.Pooler(b, server).URL(server.URL(b))) })
}

func benchTakeover(b *testing.B, url string) {
	w, err := postgres.Open(b.Context(), url)
	if err != nil {
		b.Fatal(err)
	}
	defer w.Close()
	app, err := stepwell.New(w, stepwell.Config{Name: "client"})
	if err != nil {
		b.Fatal(err)
	}
	var all []time.Duration
	for b.Loop() {
		all = append(all, killOne(b, app, url)...)
	}
	slices.Sort(all)
	b.ReportMetric(all[0].Seconds(), "least-s")
	b.ReportMetric(all[len(all)/2].Seconds(), "p50-s")
	b.ReportMetric(all[len(all)-1].Seconds(), "most-s")
}

// killOne lets runs tick in a process, kills it when there is a second one, and returns how long after that each of its runs ticked there.
func killOne(b *testing.B, app *stepwell.App, url string) (all []time.Duration) {
	crew := newCrew(b, b.TempDir(), 2, func(string) string { return url })
	crew.told.Lease, crew.told.Poll = 0, 0 // the defaults
	hire := func(place int) (pid int) {
		if err := crew.hire(place); err != nil {
			b.Fatal(err)
		}
		pid = crew.at(place).cmd.Process.Pid
		waitFor(b, "the process to join", func() bool { return len(firstOf(b, crew.dir, noteLease, pid, 0)) > 0 })
		return pid
	}
	victim := hire(0)
	flow := stepwell.Define("ticks", func(stepwell.Context, int) (int, error) { return 0, nil }) // as clients see it
	var runs []string
	for range ticking {
		run, err := flow.Start(b.Context(), app, int(2*patience/tickTime)) // longer than anybody waits for them
		if err != nil {
			b.Fatal(err)
		}
		runs = append(runs, run.ID())
	}
	waitFor(b, "all runs begin", func() bool { return len(firstOf(b, crew.dir, noteStart, victim, 0)) == ticking })
	heir := hire(1)
	<-time.After(2*time.Second + rand.N(time.Second)) // it has looked at its peer by now; it looks about once a second
	killed := time.Now().UnixNano()
	if err := crew.kill(0); err != nil {
		b.Fatal(err)
	}
	var again map[string]note
	waitFor(b, "all runs go on", func() bool {
		again = firstOf(b, crew.dir, noteStart, heir, killed)
		return len(again) == ticking
	})
	for _, tick := range again {
		all = append(all, time.Duration(tick.At-killed))
	}
	for _, run := range runs {
		if err := app.Cancel(b.Context(), run, "measured"); err != nil {
			b.Fatal(err)
		}
	}
	for _, run := range runs {
		if _, err := flow.Get(app, run).Result(b.Context()); !errors.Is(err, stepwell.ErrCancelled) {
			b.Fatalf("run %s: %v, want that it was cancelled", run, err)
		}
	}
	crew.members = crew.members[1:]
	if err := crew.dismiss(); err != nil {
		b.Error(err)
	}
	return all
}

// waitFor polls, seldom: what is measured is on the same machine.
func waitFor(b *testing.B, what string, there func() bool) {
	b.Helper()
	for end := time.Now().Add(patience); !there(); <-time.After(50 * time.Millisecond) {
		if time.Now().After(end) {
			b.Fatalf("waited %s in vain: %s", patience, what)
		}
	}
}

// firstOf is the first note of a kind that a process wrote after a moment, of each run.
func firstOf(b *testing.B, dir string, what noteKind, pid int, after int64) map[string]note {
	b.Helper()
	all, err := readNotes(dir)
	if err != nil {
		b.Fatal(err)
	}
	out := map[string]note{}
	for _, l := range slices.Backward(all) {
		if l.What == what && l.PID == pid && l.At > after {
			out[l.Run] = l
		}
	}
	return out
}
