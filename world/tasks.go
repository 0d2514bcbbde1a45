package world

// This file shows queued steps while they run: their attempts are in the log only when the step has ended.

import (
	"context"
	"slices"
	"time"
)

// TaskReader is a [World] that shows the tasks of a run.
type TaskReader interface {
	// Tasks lists the tasks of a run, oldest first, 1,000 at most: who holds each and since which attempt, its history (of the
	// attempt that runs too), and when it is visible. Input and Options are left out. A run that is over or unknown has none.
	Tasks(ctx context.Context, run string) ([]Task, error)
}

// keptAttempts is of how many attempts a task remembers the start and the end.
const keptAttempts = 10

// RememberAttempt adds what happened to an attempt to the history of a task, of which the last attempts are kept, each as a whole. last is the
// number of the task's last attempt. Worlds keep histories with it. The slice that it is given is not to be used again.
func RememberAttempt(history []Event, e Event, last int) []Event {
	return slices.DeleteFunc(append(history, e), func(x Event) bool { return x.Attempt <= last-keptAttempts })
}

// WakesTask reports whether the delivery ends the delay before the next attempt of a queued step.
func (d *Delivery) WakesTask() bool {
	return d.Task != nil && len(d.Events) == 1 && d.Events[0].Type == StepWoken
}

// WakesNow reports whether it does: the attempt that ended last is the one that it names, nobody holds the task, and the
// next is not due. Of the task as it is now, Worker, Attempt and Visible count.
func (d *Delivery) WakesNow(t *Task, now time.Time) bool {
	return t.Worker == "" && t.Attempt == d.Task.Attempt && t.Visible.After(now)
}

// GivesUp reports whether the delivery of a task's end says that an attempt which nobody holds any more was abandoned, and nothing was known of its end. Of the
// task as it is now, Worker, Attempt and History count.
func (d *Delivery) GivesUp(t *Task) bool {
	k, e := d.Task, &d.Events[0]
	if d.RetryAt.IsZero() || e.Error == nil || e.Error.Code != CodeAbandoned || k.Attempt > t.Attempt || k.Attempt == t.Attempt && t.Worker != "" {
		return false
	}
	known := func(typ EventType) bool {
		return slices.ContainsFunc(t.History, func(e Event) bool { return e.Type == typ && e.Attempt == k.Attempt })
	}
	return known(StepStarted) && !known(StepRetrying)
}
