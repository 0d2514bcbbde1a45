package journal

import (
	"testing"
	"time"

	"github.com/stepwell/stepwell/world"
)

// TestJournalTask: attempts of a queued step are seen before they are in the log.
func TestJournalTask(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	start := func(n int, s int) world.Event {
		return world.Event{Type: world.StepStarted, ID: "s", Attempt: n, Time: at.Add(time.Duration(s) * time.Second)}
	}
	retry := world.Event{Type: world.StepRetrying, ID: "s", Attempt: 1, OccurredAt: at.Add(time.Second), RetryAt: at.Add(time.Minute), Error: &world.Error{Message: "one"}}
	for name, test := range map[string]struct {
		task    world.Task
		status  EntryStatus
		attempt int
		retryAt time.Time
		earlier int
	}{
		"queued":       {world.Task{Step: "s"}, EntryPending, 0, time.Time{}, 0},
		"runs":         {world.Task{Step: "s", Worker: "w", History: []world.Event{start(1, 0)}}, EntryRunning, 1, time.Time{}, 0},
		"to be tried":  {world.Task{Step: "s", History: []world.Event{start(1, 0), retry}}, EntryPending, 1, at.Add(time.Minute), 0},
		"woken":        {world.Task{Step: "s", History: []world.Event{start(1, 0), retry, {Type: world.StepWoken, ID: "s", Attempt: 1}}}, EntryPending, 1, time.Time{}, 0},
		"tried again":  {world.Task{Step: "s", Worker: "w", History: []world.Event{start(1, 0), retry, start(2, 60)}}, EntryRunning, 2, time.Time{}, 1},
		"worker died":  {world.Task{Step: "s", Visible: at, History: []world.Event{start(1, 0)}}, EntryPending, 1, at, 0},
		"another step": {world.Task{Step: "x", Worker: "w", History: []world.Event{start(1, 0)}}, EntryPending, 0, time.Time{}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			j := New("r", false)
			j.Add(world.Event{Type: world.RunCreated, Time: at, Birth: &world.Birth{}}, world.Event{Type: world.RunStarted, Time: at},
				world.Event{Type: world.StepCreated, ID: "s", Name: "s", Kind: world.KindTask, Queued: true, Time: at})
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
