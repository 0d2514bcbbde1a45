package stepwell

// What operators do to runs that wait for a time: they end the waiting.

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/stepwell/stepwell/world"
)

// Waits that [App.Wake] ends.
const (
	// WakeRetries ends retry delays of steps, also of queued ones, and of a blocked run.
	WakeRetries = world.WakeRetries
	WakeStarts  = world.WakeStarts // the delay of a start
	WakeSleeps  = world.WakeSleeps // sleeps and timers of workflow code
)

// wakes says which delays are to end.
type wakes struct{ retries, starts, sleeps bool }

func wakesOf(ends []world.Waking) (w wakes, err error) {
	for _, d := range ends {
		switch d {
		case WakeRetries:
			w.retries = true
		case WakeStarts:
			w.starts = true
		case WakeSleeps:
			w.sleeps = true
		default:
			return w, fmt.Errorf("%w: wake does not know %.40q: want %s, %s or %s", ErrInvalid, string(d), WakeRetries, WakeStarts, WakeSleeps)
		}
	}
	if len(ends) == 0 {
		w = wakes{retries: true, sleeps: true}
	}
	return w, nil
}

// Wake ends a run's waits for time, and returns what it ended:
//
//   - [WakeRetries]: each failed step that waits for its next attempt is tried again now, also a
//     queued one and an undo function; at most a thousand steps of a run. Attempts still count, and
//     later delays stay the same. A blocked run that is not paused is tried again with its backoff
//     reset, even if its log cannot be read.
//   - [WakeStarts]: a run that was started with a delay begins now.
//   - [WakeSleeps]: each sleep and timer ends, as woken.
//
// By default Wake ends retry delays and sleeps, but not the delay of a start. Waits for events,
// hooks and other runs continue, and so do running attempts. The request is durable: a paused run
// acts on it when it is resumed. Error: [ErrTerminal] if the run is over.
func (a *App) Wake(ctx context.Context, run string, ends ...world.Waking) (world.Woken, error) {
	which, err := wakesOf(ends)
	var woken world.Woken
	if err == nil {
		woken, err = a.wake(ctx, run, which)
	}
	if err != nil {
		return world.Woken{}, fmt.Errorf("wake run %s: %w", run, err)
	}
	return woken, nil
}

func (a *App) wake(ctx context.Context, run string, which wakes) (woken world.Woken, err error) {
	if which.retries || which.sleeps {
		open, err := a.delays(ctx, run, which)
		switch {
		case which.retries && (errors.Is(err, world.ErrCorrupt) || errors.Is(err, world.ErrFormat)):
			return a.wakeUnread(ctx, run, err)
		case err != nil:
			return woken, err
		}
		for _, e := range open {
			if err := a.deliverAs(ctx, &world.Delivery{Run: run, ID: wakeID(&e), Events: []world.Event{e}}, nil); err != nil {
				return woken, err
			}
			if e.Type == world.StepWoken {
				woken.Retries++
			} else {
				woken.Sleeps++
			}
		}
	}
	if which.retries {
		n, err := a.wakeTasks(ctx, run)
		if woken.Retries += n; err != nil {
			return woken, err
		}
	}
	if which.retries || which.starts {
		err = a.wakeRow(ctx, run, which, &woken)
		if errors.Is(err, ErrTerminal) && (which.retries || which.sleeps) { // it ended just now
			err = nil
		}
	}
	return woken, err
}

// wakeReads are the events that tell which sleeps are open, and which steps wait for their next attempt. What has a step's result is not among them:
// it follows a start.
var wakeReads = []world.EventType{
	world.WaitCreated, world.WaitCompleted, world.StepRetrying, world.StepWoken, world.StepStarted, world.StepFailed,
	world.RunContinued, world.RunCompleted, world.RunFailed, world.RunCancelled,
}

// delays are the events that end what a log says to be waited for, in the order in which that began. What is due and has not been noticed is among
// them: what is due the world's clock says, which is not this one's.
func (a *App) delays(ctx context.Context, run string, which wakes) ([]world.Event, error) {
	type delay struct {
		since int64
		ends  world.Event
	}
	now, by := world.Now(), a.by(ctx)
	open, begun := map[string]delay{}, map[string]int{} // begun: attempts
	for e, err := range a.Events(ctx, run, EventFilter{Types: wakeReads}) {
		switch {
		case err != nil:
			return nil, err
		case e.Type.Terminal():
			return nil, ErrTerminal
		case e.Type == world.RunContinued: // what was open is over
			clear(open)
		case e.Type == world.WaitCreated && e.Kind == world.KindSleep && which.sleeps:
			open[e.ID] = delay{e.Seq, world.Event{Type: world.WaitCompleted, ID: e.ID, Outcome: world.OutcomeWoken, OccurredAt: now}}
		case e.Type == world.WaitCreated:
		case e.Type != world.StepRetrying:
			if delete(open, e.ID); e.Type == world.StepStarted {
				begun[e.ID] = e.Attempt
			}
		case which.retries && e.Attempt >= begun[e.ID]: // else it tells of an attempt long ago
			open[e.ID] = delay{e.Seq, world.Event{Type: world.StepWoken, ID: e.ID, Attempt: e.Attempt, By: by, OccurredAt: now}}
		}
	}
	var ends []world.Event
	for _, d := range slices.SortedFunc(maps.Values(open), func(a, b delay) int { return cmp.Compare(a.since, b.since) }) {
		ends = append(ends, d.ends)
	}
	return ends, nil
}

// wakeID is the delivery's: a sleep ends once, and so does the delay behind an attempt.
func wakeID(e *world.Event) string {
	if e.Type == world.StepWoken {
		return fmt.Sprintf("wake:%s:%d", e.ID, e.Attempt)
	}
	return "wake:" + e.ID
}

// wakeTasks ends the delays of a run's queued steps.
func (a *App) wakeTasks(ctx context.Context, run string) (n int, err error) {
	tasks, err := a.world.Tasks(ctx, run)
	if err != nil {
		return 0, fmt.Errorf("queued steps: %w", err)
	}
	now := world.Now()
	for i := range tasks {
		t := &tasks[i]
		if t.Worker != "" || t.Attempt == 0 {
			continue
		}
		d := &world.Delivery{
			Run:    run,
			Task:   &world.TaskKey{Run: run, Step: t.Step, Attempt: t.Attempt},
			Events: []world.Event{{Type: world.StepWoken, ID: t.Step, Attempt: t.Attempt, By: a.by(ctx), OccurredAt: now, Time: now}},
		}
		done, err := a.deliverOnce(ctx, d)
		switch {
		case errors.Is(err, ErrTerminal), errors.Is(err, ErrNotFound): // it ended just now
			return n, nil
		case err != nil:
			return n, err
		case !done.Duplicate:
			n++
		}
	}
	return n, nil
}

// wakeRow has a run due at once that is blocked, or whose start is delayed.
func (a *App) wakeRow(ctx context.Context, run string, which wakes, woken *world.Woken) error {
	row, err := a.world.Run(ctx, run)
	switch {
	case err != nil:
		return err
	case row.Queue == nil:
		if row.Status.Terminal() {
			return ErrTerminal
		}
		return nil
	}
	blocked := which.retries && row.Queue.Blocked != nil
	delayed := which.starts && row.Queue.Blocked == nil && row.Queue.Owner == "" && row.Status == world.Pending && row.Queue.WakeAt.After(time.Now())
	if !blocked && !delayed {
		return nil
	}
	act := world.Event{Type: world.RunResumed, By: a.by(ctx), Outcome: world.OutcomeWoken}
	if err := a.deliverAs(ctx, &world.Delivery{Run: run, Act: true, Events: []world.Event{act}}, nil); err != nil {
		return err
	}
	if woken.Tried = blocked && !row.Queue.Paused; delayed {
		woken.Starts++
	}
	return nil
}

// wakeUnread wakes a run whose log cannot be read: if that blocks it already, it is tried again, as its rows may be back.
func (a *App) wakeUnread(ctx context.Context, run string, why error) (woken world.Woken, err error) {
	row, err := a.world.Run(ctx, run)
	switch {
	case err != nil:
		return woken, err
	case row.Queue == nil || row.Queue.Blocked == nil:
		return woken, why
	}
	err = a.wakeRow(ctx, run, wakes{retries: true}, &woken)
	return woken, err
}
