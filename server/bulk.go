package server

// This file says what a bulk operation is: the same done to all runs that a filter finds.

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/operate"
	"github.com/stepwell/stepwell/world"
)

// wake chooses what a wake ends. None: retry delays and sleeps.
type wake struct {
	Retries bool `json:"retries"`
	Starts  bool `json:"starts"`
	Sleeps  bool `json:"sleeps"`
}

func (b *wake) what() []world.Waking { return operate.Waking(b.Retries, b.Starts, b.Sleeps) }

func bulkRoutes() []route {
	return []route{{method: "POST", path: "/v1/bulk/{act}", scope: Admin, handle: (*Server).bulk, audit: true, op: operation{
		id: "bulk", summary: "Cancel, pause, resume, signal, wake, retry or restart the runs that a filter finds", body: "Bulk",
		key: "For signal, the delivery ID: the same ID is delivered to a run once for each event, for at least 24 hours and the last 10,000 deliveries of the run.",
		responses: []response{
			{200, "Bulked", "", "The result for each run, newest first: all that were done in 10 s, 10,000 at most. With a cursor there are more: send the same request with it. " +
				"Where the answer was lost, the same may be sent again as it was: what was done is not done twice."},
			{200, "", ndJSON, "With Accept: application/x-ndjson, a line now and then until all is done or the time is up: what became of further runs, the counts so far, and the cursor to go on from " +
				"where it breaks off. The last line has end, and no cursor where all is done."},
		},
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
	wake
	Limit  int    `json:"limit"` // of runs in this request; default and most mostBulk; for lines of JSON the default is all
	Cursor string `json:"cursor"`
}

// mostBulk is how many runs one answer tells of, where it is not lines.
const mostBulk = 10_000

// bulkFilter says which runs are meant; see the parameters of a list.
type bulkFilter struct {
	Workflow    string                     `json:"workflow"`
	Status      []world.Status             `json:"status"`
	Since       string                     `json:"since"`
	Until       string                     `json:"until"`
	Search      string                     `json:"search"`
	Key         string                     `json:"key"`
	Prefix      string                     `json:"prefix"`
	Version     int                        `json:"version"`
	Patch       string                     `json:"patch"`
	Unpatched   string                     `json:"unpatched"`
	FailedSince string                     `json:"failedSince"`
	Cause       string                     `json:"cause"`
	Roots       bool                       `json:"roots"`
	Parent      string                     `json:"parent"`
	Origin      string                     `json:"origin"`
	Input       json.RawMessage            `json:"input"` // JSON that the input contains
	Attributes  map[string]json.RawMessage `json:"attributes"`
}

func (f *bulkFilter) none() bool {
	return f.Workflow == "" && f.Since == "" && f.Until == "" && f.Parent == "" && f.Origin == "" && f.Input == nil && len(f.Attributes) == 0 &&
		f.Search == "" && f.Key == "" && f.Prefix == "" && f.Version == 0 && f.Patch == "" && f.Unpatched == "" && f.FailedSince == "" && f.Cause == "" && !f.Roots
}

// values are what the filter says, as the query of a list has it: for the audit log.
func (f *bulkFilter) values() url.Values {
	out := url.Values{}
	for name, value := range map[string]string{
		"workflow": f.Workflow, "since": f.Since, "until": f.Until, "search": f.Search, "key": f.Key, "prefix": f.Prefix, "patch": f.Patch,
		"unpatched": f.Unpatched, "failedSince": f.FailedSince, "cause": f.Cause, "parent": f.Parent, "origin": f.Origin, "input": string(f.Input),
	} {
		if value != "" {
			out.Set(name, value)
		}
	}
	for _, s := range f.Status {
		out.Add("status", string(s))
	}
	for name, value := range f.Attributes {
		out.Set("attr."+name, string(value))
	}
	if f.Version != 0 {
		out.Set("version", strconv.Itoa(f.Version))
	}
	if f.Roots {
		out.Set("roots", "true")
	}
	return out
}

func (f *bulkFilter) query() (q stepwell.ListFilter, err error) {
	q = stepwell.ListFilter{Workflow: f.Workflow, Status: f.Status, Parent: f.Parent, Origin: f.Origin,
		Search: f.Search, Key: f.Key, Prefix: f.Prefix, Version: f.Version, Patch: f.Patch, Unpatched: f.Unpatched, Cause: f.Cause, Roots: f.Roots}
	for _, status := range f.Status {
		if err := world.CheckStatus("filter.status", status); err != nil {
			return q, err
		}
	}
	if f.Workflow != "" {
		if err := world.CheckWorkflowName(f.Workflow); err != nil {
			return q, err
		}
	}
	for name, run := range map[string]string{"parent": f.Parent, "origin": f.Origin} {
		if run == "" {
			continue
		}
		if err := world.CheckRunID(run); err != nil {
			return q, invalid("filter.%s: %v", name, err)
		}
	}
	if f.Input != nil {
		q.Input = f.Input
	}
	if f.Attributes != nil {
		q.Attributes = stepwell.Match{}
	}
	for name, v := range f.Attributes {
		q.Attributes[name] = v
	}
	now := world.Now()
	if q.Since, err = moment("filter.since", f.Since, now); err == nil {
		q.Until, err = moment("filter.until", f.Until, now)
	}
	if err == nil {
		q.FailedSince, err = moment("filter.failedSince", f.FailedSince, now)
	}
	return q, err
}

func (s *Server) bulk(w http.ResponseWriter, r *request) error {
	act := operate.Find(r.PathValue("act"))
	if act == nil {
		return errNoRoute
	}
	b, err := readBulk(r)
	if err != nil {
		return err
	}
	r.noted = []any{"filter", operate.FilterNoted(b.Filter.values())}
	r.because(b.Reason)
	if b.DryRun {
		r.noted = append(r.noted, "dry_run", true)
	}
	q, err := b.Filter.query()
	if err != nil {
		return err
	}
	words := operate.Words{Reason: b.Reason, Event: b.Event, Payload: b.Payload, Delivery: b.Delivery, Wake: b.what()}
	if len(q.Status) == 0 {
		q.Status = act.Means(&words)
	}
	done, err := s.places.wait(s.places.keyed(r)...)
	if err != nil {
		return err
	}
	defer done()
	do := act.On(s.app, words)
	if b.DryRun {
		do = act.Would(s.app, words)
	}
	work := &bulkWork{s: s, r: r, filter: q, cursor: b.Cursor, dry: b.DryRun, limit: b.Limit, is: act, do: do, total: bulked{DryRun: b.DryRun}}
	defer func() { r.noted = append(r.noted, "runs_done", work.total.Done, "runs_refused", work.total.Refused) }()
	if strings.Contains(r.Header.Get("Accept"), ndJSON) {
		return work.lines(w)
	}
	return work.answer(w)
}

// readBulk reads the body, and refuses what does not fit together.
func readBulk(r *request) (*bulk, error) {
	var b bulk
	if err := r.decode(&b); err != nil {
		return nil, err
	}
	key, err := r.idempotencyKey()
	switch {
	case err != nil:
		return nil, err
	case key != "" && b.Delivery != "" && key != b.Delivery:
		return nil, errConditional
	case key != "":
		b.Delivery = key
	}
	return &b, b.check(r.PathValue("act"))
}

// check refuses what does not fit together, before anything is done.
func (b *bulk) check(act string) error {
	switch {
	case b.Filter.none() && !b.All:
		return invalid("there is no filter, so this would act on all runs; if you want that, give \"all\": true")
	case b.Limit < 0 || b.Limit > mostBulk:
		return invalid("limit is %d: want 1 to %d", b.Limit, mostBulk)
	case act != "signal" && (b.Event != "" || b.Payload != nil || b.Delivery != ""):
		return invalid("event, payload and deliveryId are only for signal")
	case act != "cancel" && act != "pause" && b.Reason != "":
		return invalid("reason is only for cancel and pause")
	case act != "wake" && b.wake != wake{}:
		return invalid("retries, starts and sleeps are only for wake")
	case act != "signal":
		return nil
	case b.Delivery == "" && !b.DryRun:
		return invalid("there is no deliveryId and no header Idempotency-Key: choose one, so that each run gets the event once even if you send this again")
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
