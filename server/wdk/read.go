package wdk

// What of runs, steps, hooks and events is read.

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stepwell/stepwell/world"
)

// A page has so many things at most, and ends behind so many bytes of events.
const (
	maxPage   = 1000
	pageBytes = 8 << 20
)

// page is a page of whatever is listed.
type page struct {
	Data    any     `json:"data"`
	Cursor  *string `json:"cursor"`
	HasMore bool    `json:"hasMore"`
}

// paging selects a page.
type paging struct {
	Limit  int    `json:"limit"`
	Cursor string `json:"cursor"`
	Sort   string `json:"sortOrder"`
}

func (p *paging) most(usual int) int {
	if p.Limit <= 0 {
		return usual
	}
	return min(p.Limit, maxPage)
}

// page is a page of the run's events. The cursor is the position that was read last, and holds behind the last
// page too.
func (r *run) page(cursor string, most int, down, all bool) page {
	n := len(r.shown)
	at, _ := strconv.Atoi(cursor) // the position behind which it goes on
	at = min(max(at, 0), n)
	by := 1
	if down {
		if by = -1; cursor == "" {
			at = n + 1
		}
	}
	out, bytes := []eventOut{}, 0
	for at+by >= 1 && at+by <= n && len(out) < most && bytes <= pageBytes {
		at += by
		out = append(out, r.out(r.shown[at-1], all))
		if all {
			bytes += len(r.events[r.shown[at-1]].Payload)
		}
	}
	p := page{Data: out}
	if len(out) > 0 {
		cursor = strconv.Itoa(at)
		p.HasMore = down && at > 1 || !down && at < n
	}
	if cursor != "" {
		p.Cursor = &cursor
	}
	return p
}

// query asks for what is read: each call takes what it needs of it.
type query struct {
	RunID         string          `json:"runId"`
	EventID       string          `json:"eventId"`
	StepID        string          `json:"stepId"`
	HookID        string          `json:"hookId"`
	CorrelationID string          `json:"correlationId"`
	Token         string          `json:"token"`
	WorkflowName  string          `json:"workflowName"`
	Status        json.RawMessage `json:"status"` // one or several
	Pagination    paging          `json:"pagination"`
	ResolveData   string          `json:"resolveData"`
	TimeoutMs     int64           `json:"timeoutMs"`
}

func (r *run) listEvents(in *query) (any, error) {
	p := &in.Pagination
	return r.page(p.Cursor, p.most(maxPage), p.Sort == "desc", wantsData(in.ResolveData)), nil
}

func (r *run) getEvent(in *query) (any, error) {
	slot, err := strconv.Atoi(strings.TrimPrefix(in.EventID, "evnt_"))
	if err != nil || slot < 1 || slot > len(r.shown) {
		return nil, missing("event %.60q of run %s", in.EventID, r.id)
	}
	return r.out(r.shown[slot-1], wantsData(in.ResolveData)), nil
}

func (r *run) listByCorrelation(in *query) (any, error) {
	all := []eventOut{}
	for _, at := range r.shown {
		if r.events[at].ID == in.CorrelationID {
			all = append(all, r.out(at, wantsData(in.ResolveData)))
		}
	}
	return pageOf(all, &in.Pagination), nil
}

// pageOf is a page of what is there as a whole, in its order or the other way round; the cursor is how many were
// read.
func pageOf[T any](all []T, p *paging) page {
	if p.Sort == "desc" {
		slices.Reverse(all)
	}
	from, _ := strconv.Atoi(p.Cursor)
	from = min(max(from, 0), len(all))
	to := min(from+p.most(100), len(all))
	cursor := strconv.Itoa(to)
	return page{Data: all[from:to], Cursor: &cursor, HasMore: to < len(all)}
}

func (r *run) get(in *query) (any, error) { return r.shownAs(wantsData(in.ResolveData)), nil }

// waitRun waits for the run to end, and shows it, ended or not.
func (h *Host) waitRun(ctx context.Context, in *query) (out any, err error) {
	err = h.await(ctx, in.RunID, time.Duration(in.TimeoutMs)*time.Millisecond, func() (over bool, next time.Duration, err error) {
		err = h.with(ctx, in.RunID, true, func(r *run) (err error) {
			over = r.state.Status.Terminal()
			out, err = r.get(in)
			return err
		})
		return over, look, err
	})
	return out, err
}

// fewRuns is how many runs are read at once with their values.
const fewRuns = 16

// listRuns lists runs of the DevKit, newest first.
func (h *Host) listRuns(ctx context.Context, in *query) (any, error) {
	q := world.RunQuery{Cursor: in.Pagination.Cursor}
	if in.WorkflowName != "" {
		q.Workflow = workflowName(in.WorkflowName)
	}
	if len(in.Status) > 0 {
		if json.Unmarshal(in.Status, &q.Status) != nil {
			q.Status = []world.Status{world.Status(textOf(in.Status))}
		} else if len(q.Status) == 0 {
			return page{Data: []runOut{}}, nil
		}
	}
	most := in.Pagination.most(100)
	out := page{}
	found := []*runOut{}
	all, bytes := wantsData(in.ResolveData), 0
	for {
		if q.Limit = most - len(found); all {
			q.Limit = min(q.Limit, fewRuns)
		}
		got, err := h.world.Runs(ctx, q)
		if err != nil {
			return nil, err
		}
		for i := range got.Runs {
			row := &got.Runs[i]
			if !strings.HasPrefix(row.Workflow, Prefix) {
				continue
			}
			if row.Input, err = h.whole(ctx, row.ID, row.Input, row.InputApart); err == nil && all {
				row.Output, err = h.whole(ctx, row.ID, row.Output, row.OutputApart)
				bytes += len(row.Input) + len(row.Output)
			}
			if err != nil {
				return nil, err
			}
			found = append(found, listed(row, all))
		}
		if q.Cursor = got.Cursor; q.Cursor != "" {
			cursor := q.Cursor
			out.Cursor, out.HasMore = &cursor, true
		} else {
			out.HasMore = false
		}
		if len(found) >= most || bytes > pageBytes || !out.HasMore {
			out.Data = found
			return out, nil
		}
	}
}

// listed is a run as its row tells it.
func listed(row *world.Run, all bool) *runOut {
	o := &runOut{
		RunID: row.ID, Status: row.Status, Attributes: attributes(row.Attributes),
		CreatedAt: row.CreatedAt, CompletedAt: row.EndedAt, UpdatedAt: row.CreatedAt,
	}
	if !row.EndedAt.IsZero() {
		o.UpdatedAt = row.EndedAt
	}
	var birth, end map[string]json.RawMessage
	_ = json.Unmarshal(row.Input, &birth)
	_ = json.Unmarshal(row.Output, &end)
	o.DeploymentID, o.WorkflowName, o.Context = birth["deploymentId"], birth["workflowName"], birth["executionContext"]
	_ = json.Unmarshal(birth[specMember], &o.Spec)
	if row.Error != nil && row.Status == world.Failed {
		o.ErrorCode = row.Error.Code
	}
	if all {
		if o.Input, o.Output = birth["input"], end["output"]; row.Error != nil && row.Status == world.Failed {
			o.Error = row.Error.Value
		}
	}
	return o
}

func (r *run) getStep(in *query) (any, error) {
	if st := r.step(in.StepID, wantsData(in.ResolveData)); st != nil {
		return st, nil
	}
	return nil, missing("step %.60q of run %s", in.StepID, r.id)
}

func (r *run) listSteps(in *query) (any, error) {
	all := make([]*stepOut, len(r.order))
	for i, id := range r.order {
		all[i] = r.step(id, wantsData(in.ResolveData))
	}
	return pageOf(all, &in.Pagination), nil
}

func (h *Host) getHookByToken(ctx context.Context, in *query) (any, error) {
	rows, err := h.world.Hooks(ctx, world.HookQuery{Token: in.Token})
	if err != nil {
		return nil, err
	}
	if len(rows) == 0 {
		return nil, noHook(world.ShownToken(in.Token))
	}
	return h.hookOf(ctx, &rows[0])
}

// hookOf is a hook with what its run says of it.
func (h *Host) hookOf(ctx context.Context, row *world.HookRow) (out *hookOut, err error) {
	err = h.with(ctx, row.Run, false, func(r *run) error {
		out = hookOf(row, r.spec)
		return nil
	})
	if errors.Is(err, world.ErrNotFound) { // a run of ours
		err = noHook(row.ID)
	}
	return out, err
}

func (h *Host) hooks(ctx context.Context, q world.HookQuery) ([]*hookOut, error) {
	q.Limit = maxPage
	rows, err := h.world.Hooks(ctx, q)
	if err != nil {
		return nil, err
	}
	all := []*hookOut{}
	for i := range rows {
		one, err := h.hookOf(ctx, &rows[i])
		switch {
		case err == nil:
			all = append(all, one)
		case !errors.Is(err, world.ErrNotFound):
			return nil, err
		}
	}
	return all, nil
}

func (h *Host) getHook(ctx context.Context, in *query) (any, error) {
	all, err := h.hooks(ctx, world.HookQuery{Run: in.RunID})
	if err != nil {
		return nil, err
	}
	for _, one := range all {
		if one.HookID == in.HookID {
			return one, nil
		}
	}
	return nil, noHook(in.HookID)
}

func (h *Host) listHooks(ctx context.Context, in *query) (any, error) {
	all, err := h.hooks(ctx, world.HookQuery{Run: in.RunID})
	return pageOf(all, &in.Pagination), err
}
