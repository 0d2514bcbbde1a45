package postgres

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stepwell/stepwell/world"
)

// TestHoldDiesAnywhere: a process that holds or releases a workflow ends behind any of its transactions. New starts do
// as was said already, and the next who settles moves the rest.
func TestHoldDiesAnywhere(t *testing.T) {
	t.Parallel()
	w := open(t)
	wk := join(t, w, time.Hour, class1)
	s := starts{w, 2, -time.Hour}
	runs := 0
	birth := func() { must(t, w, birthOf(fmt.Sprint("r-", runs), class1.Workflow)); runs++ }
	for range 7 {
		birth()
	}
	dies := func(behind int, first *statement, args ...any) {
		t.Helper()
		if err := s.alone(t.Context(), func(ctx context.Context, tx txn) error {
			_, err := tx.exec(ctx, first, append([]any{class1.Workflow}, args...)...)
			return err
		}); err != nil {
			t.Fatal(err)
		}
		for from := int64(0); behind > 0; behind-- {
			var err error
			if from, _, err = s.step(t.Context(), class1.Workflow, from); err != nil {
				t.Fatal(err)
			}
		}
	}
	settle := func(held int) {
		t.Helper()
		if _, err := s.Settle(t.Context()); err != nil {
			t.Fatal(err)
		}
		holds, err := s.Holds(t.Context())
		if err != nil || len(holds) != held {
			t.Fatalf("got %v, %v, want %d", holds, err, held)
		}
	}
	for behind := range 4 {
		dies(behind, holdWorkflow, "ann", "")
		birth()
		settle(1)
		if got := claim(t, w, wk, 100).Runs; len(got) > 0 {
			t.Fatalf("behind %d transactions: took %v", behind, got)
		}
		dies(behind, releaseWorkflow)
		settle(0)
	}
	got := 0
	for end := time.Now().Add(10 * time.Second); got < runs && time.Now().Before(end); {
		got += len(claim(t, w, wk, 100).Runs)
	}
	if got != runs {
		t.Errorf("took %d runs, want %d", got, runs)
	}
}

// TestHoldInSQL: what is started in SQL, or by another process that knows nothing of the hold yet, is held too.
func TestHoldInSQL(t *testing.T) {
	t.Parallel()
	w := open(t)
	wk := join(t, w, time.Hour, class1)
	must(t, w, birthOf("first", class1.Workflow)) // its class is known
	if err := w.Starts().Hold(t.Context(), world.Hold{Workflow: class1.Workflow}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.pool.Exec(t.Context(), inSchema("SELECT {schema}.start('w', '1', version => 1)", w.opt.Schema)); err != nil {
		t.Fatal(err)
	}
	if got := claim(t, w, wk, 10).Runs; len(got) > 0 {
		t.Errorf("took %v", got)
	}
	if err := w.Starts().Release(t.Context(), class1.Workflow); err != nil {
		t.Fatal(err)
	}
	got := 0
	for end := time.Now().Add(10 * time.Second); got < 2 && time.Now().Before(end); {
		got += len(claim(t, w, wk, 10).Runs)
	}
	if got != 2 {
		t.Errorf("took %d runs, want 2", got)
	}
}

// TestStartTTLInSQL: what is started in SQL has the start TTL of its definition.
func TestStartTTLInSQL(t *testing.T) {
	t.Parallel()
	w := open(t)
	for _, ttl := range []time.Duration{time.Millisecond, time.Second} {
		if err := w.Define(t.Context(), []world.Definition{{Class: class1, Said: world.Said{StartTTL: ttl}}}); err != nil {
			t.Fatal(err)
		}
		run := ""
		if err := w.pool.QueryRow(t.Context(), inSchema("SELECT {schema}.start('w', '1', version => 1)", w.opt.Schema)).Scan(&run); err != nil {
			t.Fatal(err)
		}
		row, err := w.Run(t.Context(), run)
		if err != nil || row.StartTTL != ttl {
			t.Errorf("got %s, %v, want %s", row.StartTTL, err, ttl)
		}
		due := world.Lapsing{}
		for end := time.Now().Add(10 * time.Second); len(due.Runs) == 0 && time.Now().Before(end); {
			if due, err = w.Starts().Lapsing(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if len(due.Runs) != 1 || due.Runs[0] != (world.LapsingRun{Run: run, Within: ttl}) || due.Next <= 0 || due.Next > world.LapsePatience {
			t.Errorf("got %+v", due)
		}
	}
}
