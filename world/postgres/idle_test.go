package postgres

import (
	"testing"
	"time"

	"github.com/stepwell/stepwell/world"
)

// A worker that holds nothing need send no heartbeat: it is alive for who lists workers and for doctor, minutes after the lease in its row; not so one that holds a run.
func TestAnIdleWorkerIsAlive(t *testing.T) {
	t.Parallel()
	w := open(t, Options{})
	wk := join(t, w, 10*time.Second, class1)
	silent := func(ago string) {
		t.Helper()
		if _, err := w.pool.Exec(t.Context(), `UPDATE stepwell.workers SET until = now() - $1::text::interval`, ago); err != nil {
			t.Fatal(err)
		}
	}
	silent("1 minute")
	shown(t, w, wk.ID, true)
	silent("4 minutes")
	shown(t, w, wk.ID, false)
	must(t, w, eager("r", "w", wk.ID))
	silent("2 minutes")
	shown(t, w, wk.ID, false)
}

// shown checks what is said of the only worker there is.
func shown(t *testing.T, w *World, id string, alive bool) {
	t.Helper()
	stats, err := w.Stats(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(stats.Workers) != 1 || stats.Workers[0].ID != id || stats.Workers[0].Until.After(stats.Now) != alive {
		t.Errorf("it is %s, workers %+v; want %s, alive: %v", stats.Now, stats.Workers, id, alive)
	}
	known, err := w.Defined(t.Context(), []string{class1.Workflow})
	if err != nil {
		t.Fatal(err)
	}
	if (len(known.Live) == 1) != alive {
		t.Errorf("starters are told of versions %v, want it to be alive: %v", known.Live, alive)
	}
	all, err := world.Findings(t.Context(), w)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range all {
		if f.Check == "workers" && (f.Health == world.HealthGood) != alive {
			t.Errorf("doctor says %+v, want it to be alive: %v", f, alive)
		}
	}
}
