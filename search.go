package stepwell

// This file finds runs by what people know of them, and by what they failed of, and by the patches that their logs have.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/stepwell/stepwell/internal/causes"
	"github.com/stepwell/stepwell/internal/codec"
	"github.com/stepwell/stepwell/world"
)

// seek is the query of a filter: what is searched for is found out here, and nowhere else. A reading asks again for each of its pages, so that what it
// means may change with the runs that there are.
func seek(ctx context.Context, w world.World, f *ListFilter) (world.RunQuery, error) {
	q, err := f.query()
	text := strings.TrimSpace(f.Search)
	if err != nil || text == "" {
		return q, err
	}
	for _, set := range meanings(&q, text) {
		found := world.RunQuery{Workflow: q.Workflow, Limit: 1}
		set(&found)
		page, err := w.Runs(ctx, found)
		if err != nil && !errors.Is(err, ErrInvalid) {
			return q, fmt.Errorf("list runs: %w", err)
		}
		if len(page.Runs) > 0 || page.Cursor != "" {
			set(&q)
			return q, nil
		}
	}
	q.Key = strings.Repeat(" ", world.MaxKey+1) // too long for any
	return q, nil
}

// meanings are what a text that is searched for may mean, the first that fits a run counts. A filter that the query has by itself stays.
func meanings(q *world.RunQuery, text string) (all []func(*world.RunQuery)) {
	id := strings.TrimRight(text, "….")
	isID := world.CheckRunID(id) == nil
	if isID && len(id) == wholeID && strings.HasPrefix(id, world.PrefixRun+"_") {
		return append(all, func(q *world.RunQuery) { q.Prefix = id })
	}
	if q.Key == "" && world.CheckKey("key", text) == nil {
		all = append(all, func(q *world.RunQuery) { q.Key = text })
	}
	if q.Workflow == "" && world.CheckWorkflowName(text) == nil {
		all = append(all, func(q *world.RunQuery) { q.Workflow = text })
	}
	if name, value, ok := strings.Cut(text, "="); ok && name != "" && q.Attributes[name] == nil {
		had, v := q.Attributes, json.RawMessage(value)
		if !json.Valid(v) {
			v, _ = codec.Encode(value, world.MaxCommit)
		}
		all = append(all, func(q *world.RunQuery) {
			q.Attributes = map[string]json.RawMessage{name: v}
			for k, v := range had {
				q.Attributes[k] = v
			}
		})
	}
	if q.Prefix == "" && isID {
		all = append(all, func(q *world.RunQuery) { q.Prefix = id }, func(q *world.RunQuery) { q.Prefix = world.PrefixRun + "_" + id })
	}
	return all
}

// wholeID is the length of a run's ID that nobody chose.
const wholeID = len(world.PrefixRun) + 1 + 26

// pageOf reads a page of a query, but for runs that the parts of a filter leave out which no store knows.
func pageOf(ctx context.Context, a *App, f *ListFilter, q world.RunQuery) (world.RunPage, error) {
	if f.readsLogs(q.Status) && (q.Limit == 0 || q.Limit > logsPage) {
		q.Limit = logsPage
	}
	page, err := a.world.Runs(ctx, q)
	if err != nil || f.Patch == "" && f.Unpatched == "" && f.Cause == "" && f.FailedSince.IsZero() {
		return page, err
	}
	kept := page.Runs[:0]
	for _, r := range page.Runs {
		fits, err := f.failedSo(ctx, a, &r)
		if fits && err == nil {
			fits, err = f.patched(ctx, a.world, r.ID)
		}
		if err != nil {
			return page, err
		}
		if fits {
			kept = append(kept, r)
		}
	}
	page.Runs = kept
	return page, nil
}

// logsPage is how many logs are read for a page.
const logsPage = 100

// readsLogs reports whether logs are read for a list of runs of some statuses.
func (f *ListFilter) readsLogs(status []world.Status) bool {
	tries := func(s world.Status) bool { return s == world.StandsRetrying || s == world.Running }
	return f.Patch != "" || f.Unpatched != "" || !f.FailedSince.IsZero() && slices.ContainsFunc(status, tries)
}

// patched reports whether a run recorded the patches that it is to have, and no other.
func (f *ListFilter) patched(ctx context.Context, w world.World, run string) (bool, error) {
	if f.Patch == "" && f.Unpatched == "" {
		return true, nil
	}
	patches, known, err := patchesOf(ctx, w, run)
	return !known || (f.Patch == "" || slices.Contains(patches, f.Patch)) && (f.Unpatched == "" || !slices.Contains(patches, f.Unpatched)), err
}

// failedSo reports whether a run fails of the cause that it is to have, since when it is to.
func (f *ListFilter) failedSo(ctx context.Context, a *App, r *world.Run) (bool, error) {
	if f.Cause != "" {
		row := legible(*r)
		if causes.Of(&row).ID != f.Cause {
			return false, nil
		}
	}
	if f.FailedSince.IsZero() {
		return true, nil
	}
	switch causes.KindOf(r) {
	case world.Failed:
		return !r.EndedAt.Before(f.FailedSince), nil
	case world.StandsBlocked:
		return !r.Queue.Blocked.Since.Before(f.FailedSince), nil
	case world.StandsRetrying:
		return retriedSince(ctx, a, r.ID, f.FailedSince)
	}
	return false, nil
}

// retriedSince reports whether an attempt of a run's steps failed at or after a time; also of a log that cannot be read.
func retriedSince(ctx context.Context, a *App, run string, since time.Time) (bool, error) {
	for e, err := range eventsIn(ctx, a.world, run, EventFilter{Types: []world.EventType{world.StepRetrying}}) {
		switch {
		case errors.Is(err, ErrNotFound): // swept meanwhile
			return false, nil
		case errors.Is(err, world.ErrCorrupt), errors.Is(err, world.ErrFormat):
			return true, nil
		case err != nil:
			return false, err
		case !e.Time.Before(since):
			return true, nil
		}
	}
	tasks, err := a.world.Tasks(ctx, run) // their attempts are not in the log before they are over
	return slices.ContainsFunc(tasks, func(t world.Task) bool {
		return slices.ContainsFunc(t.History, func(e world.Event) bool { return e.Type == world.StepRetrying && !e.Time.Before(since) })
	}), err
}

// patchesOf are the patches that a run recorded; not known of a log that cannot be read.
func patchesOf(ctx context.Context, w world.World, run string) (ids []string, known bool, err error) {
	for e, err := range eventsIn(ctx, w, run, EventFilter{Types: []world.EventType{world.StepCreated}}) {
		switch {
		case errors.Is(err, ErrNotFound): // swept meanwhile
			return ids, true, nil
		case errors.Is(err, world.ErrCorrupt), errors.Is(err, world.ErrFormat):
			return nil, false, nil
		case err != nil:
			return nil, false, err
		case e.Kind == world.KindPatch:
			ids = append(ids, e.Name)
		}
	}
	return ids, true, nil
}
