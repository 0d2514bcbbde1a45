package sqlite

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/stepwell/stepwell/world"
)

func TestMain(m *testing.M) {
	if path := os.Getenv(readVariable); path != "" {
		readUntilTheEnd(path)
	}
	goleak.VerifyTestMain(m)
}

func open(t testing.TB, o ...Options) *World {
	t.Helper()
	return openAt(t, filepath.Join(t.TempDir(), "runs.db"), o...)
}

func openAt(t testing.TB, path string, o ...Options) *World {
	t.Helper()
	w, err := Open(path, o...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
		checkTotals(t, path)
	})
	return w
}

func join(t testing.TB, w *World, lease time.Duration, classes ...world.Class) world.Worker {
	t.Helper()
	wk := world.Worker{ID: world.NewID(world.PrefixWorker, time.Now()), Name: t.Name(), Build: "b1", Lease: lease, Classes: classes}
	if _, err := w.Join(t.Context(), wk); err != nil {
		t.Fatal(err)
	}
	return wk
}

func commitID() (id [16]byte) {
	rand.Read(id[:])
	return id
}

// birthOf is the birth of a run by a client, due at once.
func birthOf(run, workflow string) *world.Commit {
	return &world.Commit{ID: commitID(), Run: run, Build: "b1", First: 1, Events: []world.Event{{
		Type: world.RunCreated, Time: world.Now(), Payload: json.RawMessage(`{"in":1}`),
		Birth: &world.Birth{Workflow: workflow, Version: 1, Priority: 1, Retention: time.Hour},
	}}}
}

// eager is the birth of a run by a worker, started.
func eager(run, workflow, worker string) *world.Commit {
	c := birthOf(run, workflow)
	c.Worker, c.Claim = worker, 1
	c.Events = append(c.Events, world.Event{Type: world.RunStarted, Time: c.Events[0].Time})
	return c
}

func must(t testing.TB, w *World, c *world.Commit) world.Committed {
	t.Helper()
	done, err := w.Commit(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return done
}

func wantErr(t testing.TB, got, want error) {
	t.Helper()
	if !errors.Is(got, want) {
		t.Fatalf("got error %v, want %v", got, want)
	}
}

func claim(t testing.TB, w *World, wk world.Worker, n int) world.Claimed {
	t.Helper()
	got, err := w.Claim(t.Context(), world.ClaimQuery{Worker: wk.ID, Classes: wk.Classes, Runs: n, Steps: wk.Steps, Tasks: n})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

var class1 = world.Class{Workflow: "w", Version: 1}

func TestRunFromBirthToEnd(t *testing.T) {
	t.Parallel()
	w := open(t)
	wk := join(t, w, 0, class1)
	must(t, w, birthOf("r1", "w"))
	_, err := w.Commit(t.Context(), birthOf("r1", "w"))
	wantErr(t, err, world.ErrRunExists)

	got := claim(t, w, wk, 10)
	if len(got.Runs) != 1 || got.Runs[0].Run != "r1" || got.Runs[0].Seq != 1 || got.Runs[0].Claim != 1 || got.Runs[0].Status != world.Pending {
		t.Fatalf("took %+v, want r1", got.Runs)
	}
	c := &world.Commit{ID: commitID(), Run: "r1", Worker: wk.ID, Claim: 1, First: 2, Build: "b2", Events: []world.Event{
		{Type: world.RunStarted, Time: world.Now()},
	}}
	must(t, w, c)
	if _, err := w.Outcome(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	_, err = w.Commit(t.Context(), c)
	wantErr(t, err, world.ErrLeaseLost)
	done := must(t, w, &world.Commit{ID: commitID(), Run: "r1", Worker: wk.ID, Claim: 1, First: 3, Release: &world.Release{}})
	if done.Mail {
		t.Fatal("released with mail, want none")
	}
	if got := claim(t, w, wk, 10); len(got.Runs) != 0 || !got.Next.IsZero() {
		t.Fatalf("took %+v, next %s, want nothing", got.Runs, got.Next)
	}
	d, err := w.Deliver(t.Context(), &world.Delivery{Run: "r1", ID: "d1", Events: []world.Event{{Type: world.SignalReceived, Name: "go", Payload: json.RawMessage(`1`)}}})
	if err != nil || d.Duplicate {
		t.Fatalf("delivered %+v, %v", d, err)
	}
	got = claim(t, w, wk, 10)
	if len(got.Runs) != 1 || len(got.Runs[0].Mail) != 1 || got.Runs[0].Mail[0].Events[0].Name != "go" || got.Runs[0].Claim != 2 {
		t.Fatalf("took %+v, want r1 with its signal", got.Runs)
	}
	must(t, w, &world.Commit{ID: commitID(), Run: "r1", Worker: wk.ID, Claim: 2, First: 3, Mail: []int64{got.Runs[0].Mail[0].Row}, Events: []world.Event{
		{Type: world.RunCompleted, Time: world.Now(), Payload: json.RawMessage(`"out"`)},
	}})
	page, err := w.Events(t.Context(), "r1", world.EventQuery{})
	if err != nil || len(page.Events) != 3 || page.Cursor != "e3" || page.More || page.Events[1].Build != "b2" {
		t.Fatalf("got %+v, %v, want three events", page, err)
	}
	_, err = w.Deliver(t.Context(), &world.Delivery{Run: "r1", Events: []world.Event{{Type: world.SignalReceived, Name: "go"}}})
	wantErr(t, err, world.ErrTerminal)
}
