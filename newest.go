package stepwell

// What took the place of a run that did not complete: who asks by its key, or for its result, is given that.

import (
	"context"
	"fmt"

	"github.com/stepwell/stepwell/world"
)

// Newest is the run in the place of another that did not complete: its retry or restart in place, or, where that did not complete either, what took its
// place in turn. Where nothing did, or the run is not over or completed, it is the run itself. [Run.Result], starts with the run's [Key] and [AwaitRun]
// go there by themselves; [App.Get] does not. Error: [ErrNotFound].
func (a *App) Newest(ctx context.Context, run string) (RunInfo, error) {
	info, err := a.Get(ctx, run)
	for err == nil && info.Status.Terminal() && info.Status != world.Completed {
		next, err := successor(ctx, a, info.ID)
		if err != nil || next.ID == "" {
			return info, err
		}
		info = next
	}
	return info, err
}

// successor is the run that took the place of another; one without ID: none did.
func successor(ctx context.Context, a *App, run string) (RunInfo, error) {
	for r, err := range a.List(ctx, ListFilter{Origin: run}) {
		if err != nil {
			return RunInfo{}, fmt.Errorf("what took the place of run %s: %w", run, err)
		}
		if r.Key == world.RetryKey(run) {
			return r, nil
		}
	}
	return RunInfo{}, nil
}
