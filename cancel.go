package stepwell

// Asking a run to end, and what became of that.

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/stepwell/stepwell/world"
)

// Cancel asks a run to end. The run's code sees [ErrCancelled] and cleans up; then the run ends as
// cancelled. Cancel returns once the request is durable. A run that is pending or blocked ends as
// soon as a worker sees the request. A repeated cancel is the same request, also after the run was
// cancelled. A run that is about to end may still complete or fail: see [App.CancelOutcome].
//
// Errors: [ErrNotFound]; [ErrTerminal] if the run has completed or failed.
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

// CancelOutcome is the result of a cancel.
type CancelOutcome string

// Results of a cancel that [App.Cancel] or [App.ForceCancel] accepted.
const (
	// CancelRequested means that the run is not over: it cleans up, or has not seen the request.
	CancelRequested CancelOutcome = "requested"
	CancelDone      CancelOutcome = "cancelled"       // the run ended as cancelled
	CancelTooLate   CancelOutcome = "completed first" // the run completed before it saw the request
	// CancelFailed means that the run failed before it saw the request, or while it cleaned up.
	CancelFailed CancelOutcome = "failed first"
)

// CancelOutcome returns the result of an accepted cancel: how the run ended. If the run completed
// or failed without a cancel request, the error is [ErrTerminal].
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
