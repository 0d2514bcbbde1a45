package stepwell

// What took the place of a run that did not complete: who asks by its key, or for its result, is given that.

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/stepwell/stepwell/world"
)

// Newest returns the run that replaced another: the last in the chain of its retries and restarts
// in place. It returns the run itself if nothing replaced it, if it is not over, or if it
// completed. [Run.Result], starts with the run's [Key] and [AwaitRun] follow the chain by
// themselves; [App.Get] does not. Error: [ErrNotFound].
func (a *App) Newest(ctx context.Context, run string) (RunInfo, error) {
	info, err := newestRow(ctx, a, run)
	if err == nil {
		readStart(ctx, a, &info)
	}
	return info, err
}

// newestRow is [App.Newest] as lists show it.
func newestRow(ctx context.Context, a *App, run string) (RunInfo, error) {
	info, err := a.row(ctx, run)
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
			return RunInfo{}, fmt.Errorf("find the run that replaced run %s: %w", run, err)
		}
		if r.Key == world.RetryKey(run) {
			return r, nil
		}
	}
	return RunInfo{}, nil
}

// readPage reads a page of a list. Who asks by a key gets the newest runs in the place of those that have it besides, if the rest of the filter fits them.
func readPage(ctx context.Context, a *App, f *ListFilter, q world.RunQuery) (world.RunPage, error) {
	page, err := pageOf(ctx, a, f, q)
	if err != nil || q.Key == "" || q.Cursor != "" {
		return page, err
	}
	keyed, err := a.world.Runs(ctx, world.RunQuery{Workflow: q.Workflow, Key: q.Key, Limit: mostHeirs})
	if err != nil {
		return page, err
	}
	var heirs []world.Run
	for _, r := range keyed.Runs {
		newest, err := newestRow(ctx, a, r.ID)
		switch {
		case errors.Is(err, ErrNotFound), err == nil && newest.ID == r.ID: // swept meanwhile, or in its own place
			continue
		case err != nil:
			return page, err
		}
		own := q
		own.Workflow, own.Key = newest.Workflow, newest.Key
		heir, err := pageOf(ctx, a, f, own)
		if err != nil {
			return page, err
		}
		heirs = append(heirs, heir.Runs...)
	}
	page.Runs = append(heirs, page.Runs...)
	slices.SortStableFunc(page.Runs, func(a, b world.Run) int { return b.CreatedAt.Compare(a.CreatedAt) })
	if q.Limit > 0 && len(page.Runs) > q.Limit {
		page.Runs = page.Runs[:q.Limit]
	}
	return page, nil
}

// mostHeirs is of how many runs with a key, one of each workflow, the newest in their places are looked for.
const mostHeirs = 100
