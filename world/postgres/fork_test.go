package postgres_test

// What authors see of PostgreSQL: a run that continues, and its forks.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/pgtest"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/postgres"
)

// round is what a segment of the collector hands to the next.
type round struct {
	N   int    `json:"n"`
	Got string `json:"got"`
}

// letter is what the collector waits for in a round.
type letter struct {
	Round int    `json:"round"`
	Text  string `json:"text"`
}

var letters = stepwell.Event[letter]("letter")

// collector goes on after each letter, in three segments.
func collector(body func(run, step string)) *stepwell.Workflow[round, string] {
	return stepwell.Define("collector", func(ctx stepwell.Context, in round) (string, error) {
		step := fmt.Sprint("look ", in.N)
		if err := stepwell.Do(ctx, step, func(ctx context.Context) error { body(stepwell.Info(ctx).Run, step); return nil }); err != nil {
			return "", err
		}
		if err := stepwell.SetAttribute(ctx, "round", in.N); err != nil {
			return "", err
		}
		got, _, err := letters.Wait(ctx, stepwell.Match{"round": in.N})
		if err != nil {
			return "", err
		}
		in.Got += got.Text
		if in.N++; in.N < 3 {
			return "", stepwell.ContinueAsNew(ctx, in)
		}
		return in.Got, nil
	})
}

// TestForkOfARunThatContinues: forked at each of its events it comes to the same end, and no body runs again whose step had ended before.
func TestForkOfARunThatContinues(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	bodies := map[string]int{} // by run and step
	wf := collector(func(run, step string) {
		mu.Lock()
		defer mu.Unlock()
		bodies[run+" "+step]++
	})
	w, err := postgres.Open(t.Context(), pgtest.URL(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	app := work(t, w, wf)
	run, err := wf.Start(t.Context(), app, round{})
	if err != nil {
		t.Fatal(err)
	}
	sendLetters(t, app, run.ID())
	wantLetters(t, app, run)
	events := eventsIn(t, app, run.ID())
	if n := len(slices.DeleteFunc(slices.Clone(events), func(e world.Event) bool { return e.Type != world.RunContinued })); n != 2 {
		t.Fatalf("%d continuations, want 2", n)
	}
	var forks []*stepwell.Run[string]
	for at := range events {
		fork, err := app.Fork(t.Context(), run.ID(), stepwell.ForkOptions{ID: fmt.Sprint("fork-", at+1), At: int64(at + 1)})
		if err != nil {
			t.Fatalf("at event %d: %v", at+1, err)
		}
		sendLetters(t, app, fork.ID())
		forks = append(forks, wf.Get(app, fork.ID()))
	}
	for at, fork := range forks {
		wantLetters(t, app, fork)
		made := map[string]string{}
		mu.Lock()
		for _, e := range events[:at+1] {
			if e.Type == world.StepCreated {
				made[e.ID] = e.Name
			}
			if n := bodies[fork.ID()+" "+made[e.ID]]; e.Type == world.StepCompleted && n != 0 {
				t.Errorf("forked at event %d (%s): step %q had ended, and its body ran %d times", at+1, events[at].Type, made[e.ID], n)
			}
		}
		mu.Unlock()
	}
	if n := len(eventsIn(t, app, run.ID())); n != len(events) {
		t.Errorf("the source has %d events, had %d", n, len(events))
	}
}

// sendLetters sends one for each round that the run has not had.
func sendLetters(t *testing.T, app *stepwell.App, run string) {
	t.Helper()
	had := map[int]bool{}
	for _, e := range eventsIn(t, app, run) {
		var l letter
		if e.Type == world.SignalReceived && json.Unmarshal(e.Payload, &l) == nil {
			had[l.Round] = true
		}
	}
	for n, text := range []string{"a", "b", "c"} {
		if had[n] {
			continue
		}
		if err := letters.Send(t.Context(), app, run, letter{n, text}); err != nil && !errors.Is(err, stepwell.ErrTerminal) {
			t.Fatalf("run %s: %v", run, err)
		}
	}
}

func wantLetters(t *testing.T, app *stepwell.App, run *stepwell.Run[string]) {
	t.Helper()
	got, err := run.Result(t.Context())
	info, readErr := app.Get(t.Context(), run.ID())
	if err != nil || readErr != nil || got != "abc" || string(info.Attributes["round"]) != "2" {
		t.Errorf("run %s came to %q, %v in round %s, %v; want abc in round 2", run.ID(), got, err, info.Attributes["round"], readErr)
	}
}

func eventsIn(t *testing.T, app *stepwell.App, run string) (list []world.Event) {
	t.Helper()
	for e, err := range app.Events(t.Context(), run, stepwell.EventFilter{}) {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, e)
	}
	return list
}
