package stepwell

// This file finds runs by what people know of them, and by the patches that their logs have.

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/stepwell/stepwell/world"
)

// seek is the query of a filter: what is searched for is found out here, and nowhere else. A reading asks again for each of its pages, so that what it
// means may change with the runs that there are.
func seek(ctx context.Context, w world.World, f *ListFilter) (world.RunQuery, error) {
	q := f.query()
	text := strings.TrimSpace(f.Search)
	if text == "" {
		return q, nil
	}
	for _, set := range meanings(&q, text) {
		found := world.RunQuery{Workflow: q.Workflow, Limit: 1}
		set(&found)
		page, err := w.Runs(ctx, found)
		if err != nil && !errors.Is(err, ErrInvalid) {
			return q, err
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
		had := q.Attributes
		all = append(all, func(q *world.RunQuery) {
			q.Attributes = map[string]json.RawMessage{name: Where("", value)}
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

// pageOf reads a page of a query, but for runs that a filter by patches leaves out.
func pageOf(ctx context.Context, w world.World, f *ListFilter, q world.RunQuery) (world.RunPage, error) {
	if f.Patch == "" && f.Unpatched == "" {
		return w.Runs(ctx, q)
	}
	if q.Limit == 0 || q.Limit > patchPage {
		q.Limit = patchPage
	}
	page, err := w.Runs(ctx, q)
	if err != nil {
		return page, err
	}
	kept := page.Runs[:0]
	for _, r := range page.Runs {
		patches, known, err := patchesOf(ctx, w, r.ID)
		if err != nil {
			return page, err
		}
		if !known || (f.Patch == "" || slices.Contains(patches, f.Patch)) && (f.Unpatched == "" || !slices.Contains(patches, f.Unpatched)) {
			kept = append(kept, r)
		}
	}
	page.Runs = kept
	return page, nil
}

// patchPage is how many logs are read for a page.
const patchPage = 100

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
