package world

// This file shows queued steps while they run: their attempts are in the log only when the step has ended.

import (
	"context"
	"time"
)

// TaskReader is a [World] that shows the tasks of a run.
type TaskReader interface {
	// Tasks lists the tasks of a run, oldest first, 1,000 at most: who holds each and since which attempt, its history (of the
	// attempt that runs too), and when it is visible. Input and Options are left out. A run that is over or unknown has none.
	Tasks(ctx context.Context, run string) ([]Task, error)
}

// AddTask shows what is known of a queued step and not in the log yet: its attempts so far. Call it after the last Add; the events
// that come to the log later repeat it.
func (j *Journal) AddTask(t *Task) {
	en := j.open[t.Step]
	if en == nil {
		return
	}
	for i := range t.History {
		if e := &t.History[i]; e.Type == StepStarted || e.Type == StepRetrying {
			j.change(en, e)
		}
	}
	if t.Worker == "" && en.Status == EntryRunning { // the worker of the last attempt is gone
		en.Status, en.RetryAt, en.CompletedAt = EntryPending, t.Visible, time.Time{}
	}
}
