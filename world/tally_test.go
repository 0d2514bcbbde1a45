package world

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTally(t *testing.T) {
	tally := Tally{}
	for _, c := range []struct {
		workflow, as string
		n            int
	}{
		{"b", "pending", 1}, {"b", "running", 2}, {"b", "completed", 3}, {"b", "failed", 4}, {"b", "cancelled", 5}, {"b", "paused", 6}, {"b", "blocked", 7},
		{"a", "running", 8}, {"gone", "running", 0},
	} {
		if err := tally.Set(c.workflow, c.as, c.n); err != nil {
			t.Fatal(err)
		}
	}
	if err := tally.Set("c", "lost", 1); !errors.Is(err, ErrCorrupt) {
		t.Errorf("counted as lost: got %v, want %v", err, ErrCorrupt)
	}
	want := []WorkflowStats{
		{Workflow: "a", Running: 8},
		{Workflow: "b", Pending: 1, Running: 2, Completed: 3, Failed: 4, Cancelled: 5, Paused: 6, Blocked: 7},
	}
	if diff := cmp.Diff(want, tally.List()); diff != "" {
		t.Errorf("want -, got +:\n%s", diff)
	}
}
