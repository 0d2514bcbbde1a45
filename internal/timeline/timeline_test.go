package timeline

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/journal"
)

func TestSaidAndBeginsBy(t *testing.T) {
	now := time.Date(2026, 11, 27, 9, 0, 0, 0, time.UTC)
	progress := &world.Progress{Value: json.RawMessage(`{"page":41}`), Attempt: 1, At: now.Add(-4 * time.Second)}
	for _, c := range []struct {
		en             journal.Entry
		said, beginsBy string
	}{
		{journal.Entry{}, "", ""},
		{journal.Entry{Attempt: 1, Status: journal.EntryRunning, Progress: progress}, `progress {"page":41} (4 s ago)`, ""},
		{journal.Entry{Attempt: 2, Status: journal.EntryRunning, Progress: progress}, `progress {"page":41} of attempt 1 (4 s ago)`, ""},
		{journal.Entry{Status: journal.EntryPending, Until: now.Add(time.Minute)}, "", "to begin until 09:01:00 (in 1 m)"},
		{journal.Entry{Status: journal.EntryPending, Attempt: 1, Until: now.Add(time.Minute)}, "", ""},
	} {
		if got := Said(&c.en, now, 40); got != c.said {
			t.Errorf("Said = %q, want %q", got, c.said)
		}
		if got := BeginsBy(&c.en, now); got != c.beginsBy {
			t.Errorf("BeginsBy = %q, want %q", got, c.beginsBy)
		}
	}
}

// TestUndoIsWhatUndoes at the run's end, and where its code says so.
func TestUndoIsWhatUndoes(t *testing.T) {
	for path, want := range map[string]string{
		"": "step refund", "go[0]": "step refund in go[0]", "undo[0]": "undo refund", "undo-now[2]": "undo refund",
		"map[3]/undo-now[0]": "undo refund in map[3]", "undo-now[0]/go[0]": "step refund in undo-now[0]/go[0]",
	} {
		en := &journal.Entry{Kind: world.KindClosure, Name: "refund", Path: path}
		if got := Kind(en) + " " + en.Title(); got != want {
			t.Errorf("a step in %q is %q, want %q", path, got, want)
		}
	}
}
