package postgres_test

import (
	"testing"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/clocktest"
	"github.com/stepwell/stepwell/internal/pgtest"
	"github.com/stepwell/stepwell/world/postgres"
)

// The process's wall clock is none of a worker's: its steps wake nobody early or late, and end no lease.
func TestTheProcessClockSteps(t *testing.T) {
	t.Parallel()
	var clock clocktest.Clock
	w, err := postgres.Open(t.Context(), pgtest.URL(t), postgres.Options{Now: clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	clocktest.Scene{Clock: &clock, World: w}.Play(t)
	if err := w.Close(); err != nil {
		t.Error(err)
	}
}

// A client's births have the database's time, however wrong its clock is: what its runs wait for counts from there.
func TestAClientsBirthsHaveTheDatabasesTime(t *testing.T) {
	t.Parallel()
	var clock clocktest.Clock
	clock.Step(time.Hour)
	w, err := postgres.Open(t.Context(), pgtest.URL(t), postgres.Options{Now: clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = w.Close() }()
	if _, err := w.Stats(t.Context()); err != nil { // a client looks, and never takes
		t.Fatal(err)
	}
	client, err := stepwell.New(w, stepwell.Config{})
	if err != nil {
		t.Fatal(err)
	}
	run, err := stepwell.Define("never-taken", func(stepwell.Context, int) (int, error) { return 0, nil }).Start(t.Context(), client, 1)
	if err != nil {
		t.Fatal(err)
	}
	info, err := w.Run(t.Context(), run.ID())
	if err != nil {
		t.Fatal(err)
	}
	if d := time.Until(info.CreatedAt); d.Abs() > time.Minute { // this machine is the database's too
		t.Errorf("the run is created %s off the database's time", d)
	}
}
