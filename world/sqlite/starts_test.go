package sqlite

import (
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
		if err := w.write(t.Context(), func(g *group) error {
			g.queue.holds.forget()
			return g.tx.exec(first, append(append([]any{class1.Workflow}, args...), w.Time().UnixMicro())...)
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
	if got := claim(t, w, wk, 100).Runs; len(got) != runs {
		t.Errorf("took %d runs, want %d", len(got), runs)
	}
}

// TestHoldByAnother: another process holds a workflow, and the one that works on the file keeps to it.
func TestHoldByAnother(t *testing.T) {
	t.Parallel()
	path := t.TempDir() + "/runs.db"
	a, b := openAt(t, path), openAt(t, path)
	wk := join(t, a, time.Hour, class1)
	must(t, a, birthOf("first", class1.Workflow))
	if err := b.Starts().Hold(t.Context(), world.Hold{Workflow: class1.Workflow}); err != nil {
		t.Fatal(err)
	}
	must(t, a, birthOf("second", class1.Workflow))
	must(t, b, birthOf("third", class1.Workflow))
	if got := claim(t, a, wk, 10).Runs; len(got) > 0 {
		t.Errorf("took %v", got)
	}
	if err := b.Starts().Release(t.Context(), class1.Workflow); err != nil {
		t.Fatal(err)
	}
	if got := claim(t, a, wk, 10).Runs; len(got) != 3 {
		t.Errorf("took %v", got)
	}
}
