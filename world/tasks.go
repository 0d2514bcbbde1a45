package world

// This file shows queued steps while they run: their attempts are in the log only when the step has ended.

import (
	"slices"
	"time"
)

// keptAttempts is of how many attempts a task remembers the start and the end.
const keptAttempts = 10

// RememberAttempt adds an event of an attempt to the history of a task, which keeps the last
// attempts as wholes. last is the number of the task's last attempt. Stores keep histories with it.
// Do not use the history argument afterwards.
func RememberAttempt(history []Event, e Event, last int) []Event {
	return slices.DeleteFunc(append(history, e), func(x Event) bool { return x.Attempt <= last-keptAttempts })
}

// WakesTask reports whether the delivery ends the retry delay of a queued step.
func (d *Delivery) WakesTask() bool {
	return d.Task != nil && len(d.Events) == 1 && d.Events[0].Type == StepWoken
}

// WakesNow reports whether it applies: it names the attempt that ended last, nobody holds the task,
// and the next attempt is not due. Of t, Worker, Attempt and Visible are used.
func (d *Delivery) WakesNow(t *Task, now time.Time) bool {
	return t.Worker == "" && t.Attempt == d.Task.Attempt && t.Visible.After(now)
}

// ExpiresTask reports whether the delivery ends a queued step that never began.
func (d *Delivery) ExpiresTask() bool {
	return d.Task != nil && d.Task.Attempt == 0 && len(d.Events) == 1 && d.Events[0].Type == StepFailed
}

// ExpiresNow reports whether it applies: nobody holds or held the task. Of t, Worker and Attempt
// are used.
func (d *Delivery) ExpiresNow(t *Task) bool { return t.Worker == "" && t.Attempt == 0 }

// GivesUp reports whether the delivery of a task's end reports an abandoned attempt that nobody
// holds any more and whose end was unknown. Of t, Worker, Attempt and History are used.
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
