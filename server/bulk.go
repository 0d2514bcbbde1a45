package server

// This file does the same to many runs: a page of them a request, so that none takes long, and one that breaks off can be gone on with.

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
)

func bulkRoutes() []route {
	return []route{{method: "POST", path: "/v1/bulk/{act}", scope: Admin, handle: (*Server).bulk, audit: true, op: operation{
		id: "bulk", summary: "Cancel, pause, resume, signal, wake or retry the runs that a filter finds", body: "Bulk",
		responses: []response{{200, "Bulked", "", "What became of each run of this page. With a cursor there are more: send it again, with that."}},
	}}}
}

// bulk is the body of a bulk operation.
type bulk struct {
	Filter   bulkFilter      `json:"filter"`
	All      bool            `json:"all"`    // where no filter is given
	DryRun   bool            `json:"dryRun"` // nothing is done
	Reason   string          `json:"reason"`
	Event    string          `json:"event"`
	Payload  json.RawMessage `json:"payload"`
	Delivery string          `json:"deliveryId"`
	Limit    int             `json:"limit"` // default and most 100
	Cursor   string          `json:"cursor"`
}

// bulkFilter says which runs are meant; see the parameters of a list.
type bulkFilter struct {
	Workflow   string                     `json:"workflow"`
	Status     []world.Status             `json:"status"`
	Since      string                     `json:"since"`
	Until      string                     `json:"until"`
	Input      json.RawMessage            `json:"input"` // JSON that the input contains
	Attributes map[string]json.RawMessage `json:"attributes"`
}

func (f *bulkFilter) none() bool {
	return f.Workflow == "" && f.Since == "" && f.Until == "" && f.Input == nil && len(f.Attributes) == 0
}

func (f *bulkFilter) query() (q world.RunQuery, err error) {
	q = world.RunQuery{Workflow: f.Workflow, Status: f.Status, Attributes: f.Attributes}
	for _, status := range f.Status {
		if !slices.Contains(statuses, status) {
			return q, invalid("filter.status: %.40q is none", status)
		}
	}
	if f.Workflow != "" {
		if err := world.CheckWorkflowName(f.Workflow); err != nil {
			return q, err
		}
	}
	if f.Input != nil {
		q.Input = []json.RawMessage{f.Input}
	}
	now := world.Now()
	if q.Since, err = moment("filter.since", f.Since, now); err == nil {
		q.Until, err = moment("filter.until", f.Until, now)
	}
	return q, err
}

// bulkAct is what can be done to many runs: which are meant unless told, and how.
type bulkAct struct {
	status []world.Status
	act    func(s *Server, b *bulk) stepwell.Act
}

var live = []world.Status{world.Pending, world.Running}

var bulkActs = map[string]bulkAct{
	"cancel": {live, func(s *Server, b *bulk) stepwell.Act {
		return func(ctx context.Context, r stepwell.RunInfo) error { return s.app.Cancel(ctx, r.ID, b.Reason) }
	}},
	"pause": {live, func(s *Server, b *bulk) stepwell.Act {
		return func(ctx context.Context, r stepwell.RunInfo) error { return s.app.Pause(ctx, r.ID, b.Reason) }
	}},
	"resume": {live, func(s *Server, _ *bulk) stepwell.Act {
		return func(ctx context.Context, r stepwell.RunInfo) error { return s.app.Resume(ctx, r.ID) }
	}},
	"wake": {[]world.Status{world.Running}, func(s *Server, _ *bulk) stepwell.Act {
		return func(ctx context.Context, r stepwell.RunInfo) error { _, err := s.app.Wake(ctx, r.ID); return err }
	}},
	"retry": {[]world.Status{world.Failed}, func(s *Server, _ *bulk) stepwell.Act {
		return func(ctx context.Context, r stepwell.RunInfo) error { _, err := s.app.Retry(ctx, r.ID); return err }
	}},
	"signal": {live, func(s *Server, b *bulk) stepwell.Act {
		var opts []stepwell.SendOption
		if b.Delivery != "" {
			opts = append(opts, stepwell.DeliveryID(b.Delivery))
		}
		return func(ctx context.Context, r stepwell.RunInfo) error {
			return s.app.Signal(ctx, r.ID, b.Event, b.Payload, opts...)
		}
	}},
}

// bulked is what became of a page.
type bulked struct {
	Runs    []bulkedRun `json:"runs"`
	Done    int         `json:"done"`
	Refused int         `json:"refused"`
	DryRun  bool        `json:"dryRun,omitempty"`
	Cursor  string      `json:"cursor,omitempty"`
}

// bulkedRun is what became of one run.
type bulkedRun struct {
	ID       string   `json:"id"`
	Workflow string   `json:"workflow"`
	Error    *Problem `json:"error,omitempty"`
}

// mostBulk is how many runs are acted on in one request.
const mostBulk = 100

func (s *Server) bulk(w http.ResponseWriter, r *request) error {
	act, known := bulkActs[r.PathValue("act")]
	if !known {
		return errNoRoute
	}
	var b bulk
	if err := r.decode(&b); err != nil {
		return err
	}
	q, err := b.Filter.query()
	if err == nil {
		err = b.check(r.PathValue("act"))
	}
	if err != nil {
		return err
	}
	if len(q.Status) == 0 {
		q.Status = act.status
	}
	q.Cursor, q.Limit = b.Cursor, b.Limit
	if q.Limit == 0 {
		q.Limit = mostBulk
	}
	page, err := s.world.Runs(r.Context(), q)
	if err != nil {
		return err
	}
	out := bulked{Runs: make([]bulkedRun, 0, len(page.Runs)), DryRun: b.DryRun, Cursor: page.Cursor}
	do := act.act(s, &b)
	for i := range page.Runs {
		is := bulkedRun{ID: page.Runs[i].ID, Workflow: page.Runs[i].Workflow}
		if !b.DryRun {
			err := do(r.Context(), stepwell.RunInfo{Run: page.Runs[i]})
			if r.Context().Err() != nil {
				return r.Context().Err()
			}
			if err != nil {
				is.Error = problemOf(err)
				out.Refused++
			} else {
				out.Done++
			}
		}
		out.Runs = append(out.Runs, is)
	}
	return answer(w, http.StatusOK, out)
}

// check refuses what does not fit together, before anything is done.
func (b *bulk) check(act string) error {
	switch {
	case b.Filter.none() && !b.All:
		return invalid("there is no filter: that would be all runs; say \"all\": true where they are meant")
	case b.Limit < 0 || b.Limit > mostBulk:
		return invalid("limit is %d: want 1 to %d", b.Limit, mostBulk)
	case act != "signal" && (b.Event != "" || b.Payload != nil || b.Delivery != ""):
		return invalid("event, payload and deliveryId are for signal")
	case act != "cancel" && act != "pause" && b.Reason != "":
		return invalid("reason is for cancel and pause")
	case act != "signal":
		return nil
	case b.Delivery != "":
		if err := world.CheckKey("deliveryId", b.Delivery); err != nil {
			return err
		}
	}
	if b.Payload == nil {
		b.Payload = json.RawMessage("null")
	}
	return world.CheckName("event", b.Event)
}
