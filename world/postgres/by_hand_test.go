package postgres

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stepwell/stepwell/world"
)

// TestKnownOfNoRun: what is known of deliveries to runs that are gone is swept, and of others is not.
func TestKnownOfNoRun(t *testing.T) {
	t.Parallel()
	w := open(t)
	must(t, w, birthOf("r", "w"))
	if _, err := w.Deliver(t.Context(), &world.Delivery{Run: "r", ID: "d", Events: []world.Event{{Type: world.SignalReceived, Name: "s"}}}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.pool.Exec(t.Context(), `INSERT INTO stepwell.delivered SELECT (json_populate_record(d, json_build_object('run', d.run + i))).*
		FROM stepwell.delivered d, generate_series(1, $1::integer) i`, 2*lateKnown); err != nil {
		t.Fatal(err)
	}
	for _, want := range []int{lateKnown + 2, 2, 1, 1} {
		if _, err := w.Sweep(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		if n := countRows(t, w, "delivered"); n != want {
			t.Fatalf("%d deliveries are known, want %d", n, want)
		}
	}
}

// TestOwnerTakenByHand: a run whose owner was taken from its row is named, and given again; others beside it are as they were.
func TestOwnerTakenByHand(t *testing.T) {
	t.Parallel()
	w := open(t)
	wk, other := join(t, w, time.Minute, class1), join(t, w, time.Minute, class1)
	for _, run := range []string{"r", "healthy"} {
		must(t, w, eager(run, "w", wk.ID))
	}
	if _, err := w.pool.Exec(t.Context(), `UPDATE stepwell.queue SET owner = NULL WHERE run = (SELECT key FROM stepwell.runs WHERE id = 'r')`); err != nil {
		t.Fatal(err)
	}
	finding := func() world.Finding {
		all, err := world.Findings(t.Context(), w)
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(all, func(f world.Finding) bool { return f.Check == "runs without a worker" })
		return all[i]
	}
	if f := finding(); f.Health != world.HealthBad || !strings.Contains(f.Found, "1 have") || !strings.Contains(f.Found, "one is r") || !strings.Contains(f.Advice, "--mend") {
		t.Errorf("doctor says %+v", f)
	}
	for _, want := range []int{1, 0} {
		found, err := w.Mend(context.Background())
		if err != nil || !strings.Contains(fmt.Sprint(found), fmt.Sprintf("freed what %d owners", want)) {
			t.Errorf("mended: %+v, %v; want %d", found, err, want)
		}
	}
	if f := finding(); f.Health != world.HealthGood {
		t.Errorf("doctor says %+v", f)
	}
	if got := claim(t, w, other, 5); len(got.Runs) != 1 || got.Runs[0].Run != "r" {
		t.Errorf("took %+v, want r", got.Runs)
	}
	if row, err := w.Run(t.Context(), "healthy"); err != nil || row.Queue.Owner != wk.ID {
		t.Errorf("the run beside it: %+v, %v; want owner %s", row.Queue, err, wk.ID)
	}
}
