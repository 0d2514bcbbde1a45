package stepwell

// Asking a run to end, and what became of that.

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/stepwell/stepwell/world"
)

// Cancel asks a run to end: its code sees [ErrCancelled], cleans up, and the run ends cancelled. It returns when the
// request is durable. A run whose code is not needed for it (pending, blocked) ends as soon as a worker sees it.
// Asking again is the same request, also where the run is cancelled by now. A run that was about to end may end as
// its code wanted before it reads the request: [App.CancelOutcome] tells.
//
// Errors: [ErrNotFound]; [ErrTerminal] where the run has completed or failed.
func (a *App) Cancel(ctx context.Context, run, reason string) error {
	err := a.deliver(ctx, run, world.Event{Type: world.CancelRequested, By: a.by(ctx), Reason: reason}, nil)
	if errors.Is(err, ErrTerminal) {
		if info, look := a.Get(ctx, run); look == nil && info.Status == world.Cancelled {
			return nil // it is what was asked for
		}
	}
	if err != nil {
		return fmt.Errorf("cancel run %s: %w", run, err)
	}
	return nil
}

// CancelOutcome is what became of a cancel.
type CancelOutcome string

// What can become of a cancel that [App.Cancel] or [App.ForceCancel] accepted.
const (
	CancelRequested CancelOutcome = "requested"       // the run is not over: its code cleans up, or has not seen it yet
	CancelDone      CancelOutcome = "cancelled"       // the run ended cancelled
	CancelTooLate   CancelOutcome = "completed first" // the run had completed before it read the request
	CancelFailed    CancelOutcome = "failed first"    // the run had failed before it read the request, or while it cleaned up
)

// CancelOutcome tells the result of a cancel that was accepted for a run: it is how the run ended. If the run completed
// or failed and nobody had asked it to end, the error is [ErrTerminal].
func (a *App) CancelOutcome(ctx context.Context, run string) (CancelOutcome, error) {
	info, err := a.Get(ctx, run)
	if err != nil {
		return "", fmt.Errorf("cancel outcome: %w", err)
	}
	asked := slices.ContainsFunc(info.Late, func(l world.Late) bool { return l.Type == world.CancelRequested })
	switch {
	case !info.Status.Terminal():
		return CancelRequested, nil
	case info.Status == world.Cancelled:
		return CancelDone, nil
	case !asked:
		if asked, err = a.askedToEnd(ctx, run); err != nil {
			return "", fmt.Errorf("cancel outcome: %w", err)
		}
	}
	switch {
	case !asked:
		return "", fmt.Errorf("run %s is %s, and nobody asked it to end: %w", run, info.Status, ErrTerminal)
	case info.Status == world.Completed:
		return CancelTooLate, nil
	}
	return CancelFailed, nil
}

// askedToEnd reports whether a request to end is in the log of a run, which its timeout did not make.
func (a *App) askedToEnd(ctx context.Context, run string) (bool, error) {
	for e, err := range a.Events(ctx, run, EventFilter{Types: []world.EventType{world.CancelRequested}}) {
		if err != nil {
			return false, err
		}
		if e.Error == nil {
			return true, nil
		}
	}
	return false, nil
}
