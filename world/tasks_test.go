package world

import (
	"testing"
	"time"
)

// TestJournalTask: attempts of a queued step are seen before they are in the log.
func TestJournalTask(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	start := func(n int, s int) Event {
		return Event{Type: StepStarted, ID: "s", Attempt: n, Time: at.Add(time.Duration(s) * time.Second)}
	}
	retry := Event{Type: StepRetrying, ID: "s", Attempt: 1, OccurredAt: at.Add(time.Second), RetryAt: at.Add(time.Minute), Error: &Error{Message: "one"}}
	for name, test := range map[string]struct {
		task    Task
		status  EntryStatus
		attempt int
		retryAt time.Time
		earlier int
	}{
		"queued":       {Task{Step: "s"}, EntryPending, 0, time.Time{}, 0},
		"runs":         {Task{Step: "s", Worker: "w", History: []Event{start(1, 0)}}, EntryRunning, 1, time.Time{}, 0},
		"to be tried":  {Task{Step: "s", History: []Event{start(1, 0), retry}}, EntryPending, 1, at.Add(time.Minute), 0},
		"woken":        {Task{Step: "s", History: []Event{start(1, 0), retry, {Type: StepWoken, ID: "s", Attempt: 1}}}, EntryPending, 1, time.Time{}, 0},
		"tried again":  {Task{Step: "s", Worker: "w", History: []Event{start(1, 0), retry, start(2, 60)}}, EntryRunning, 2, time.Time{}, 1},
		"worker died":  {Task{Step: "s", Visible: at, History: []Event{start(1, 0)}}, EntryPending, 1, at, 0},
		"another step": {Task{Step: "x", Worker: "w", History: []Event{start(1, 0)}}, EntryPending, 0, time.Time{}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			j := NewJournal("r", false)
			j.Add(Event{Type: RunCreated, Time: at, Birth: &Birth{}}, Event{Type: RunStarted, Time: at},
				Event{Type: StepCreated, ID: "s", Name: "s", Kind: KindTask, Queued: true, Time: at})
			seq := j.Seq
			j.AddTask(&test.task)
			en := j.Entry("s")
			if en.Status != test.status || en.Attempt != test.attempt || !en.RetryAt.Equal(test.retryAt) || len(en.Earlier) != test.earlier {
				t.Errorf("got %s, attempt %d, again at %s, %d earlier; want %s, %d, %s, %d", en.Status, en.Attempt, en.RetryAt, len(en.Earlier),
					test.status, test.attempt, test.retryAt, test.earlier)
			}
			if j.Seq != seq {
				t.Errorf("the journal is at event %d, want %d still", j.Seq, seq)
			}
		})
	}
}
