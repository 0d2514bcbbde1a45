package server

// This file starts, lists, shows and cancels runs, and sends to them.

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/operate"
	"github.com/stepwell/stepwell/world"
)

// filterParams are the query parameters of lists of runs.
var filterParams = []param{
	{name: "status", schema: "Statuses", about: "Only runs with one of these statuses or conditions; several with commas.", many: true},
	{name: "since", schema: "Moment", about: "Only runs created at this time or later: a time, or that long ago."},
	{name: "until", schema: "Moment", about: "Only runs created before this time."},
	{name: "search", schema: "Text", about: "What you know of a run: its ID, its idempotency key, its workflow, an attribute as name=value, or the beginning of its ID; the first that matches any run."},
	{name: "key", schema: "Text", about: "Only runs with this idempotency key, or into which the start with it was merged (`merged`), one of each workflow, and the newest run that replaced each."},
	{name: "prefix", schema: "Text", about: "Only runs whose ID begins with this."},
	{name: "version", schema: "Version", about: "Only runs of this version."},
	{name: "patch", schema: "Text", about: "Only runs that recorded this patch, and so take its new path. Their logs are read: at most 100 for a page."},
	{name: "unpatched", schema: "Text", about: "Only runs that did not record this patch."},
	{name: "failedSince", schema: "Moment", about: "Only runs that failed at this time or later, that are blocked since then, or whose step failed then and waits for its next attempt: the logs of the last are read, at most 100 for a page. Without status: all three."},
	{name: "cause", schema: "Text", about: "Only runs with this cause of failure, and without a replacement: the `id` of a cause of GET /v1/failures. Without status: failed, blocked and retrying runs."},
	{name: "roots", schema: "Flag", about: "No children."},
	{name: "parent", schema: "Text", about: "Only children of this run."},
	{name: "origin", schema: "Text", about: "Only runs made from this one: its forks, restarts and retries."},
	{name: "input.", schema: "FilterValue", about: "Only runs whose input has this value at a path: input.customer.id=42. It is read as JSON if it is valid JSON, else as a string; objects and arrays only need to contain it.", many: true},
	{name: "attr.", schema: "FilterValue", about: "Only runs whose attribute has this value: attr.city=Ulm."},
	{name: "payloads", schema: "Flag", about: "With inputs and outputs."},
	paramCursor, limit("Limit200"),
}

// runRoutes are the routes about runs that are not rows of package api.
func runRoutes() []route {
	return []route{
		{method: "GET", path: "/v1/runs", scope: Viewer, wide: true, handle: (*Server).listRuns, op: operation{
			id: "listAllRuns", summary: "List the runs of all workflows", query: filterParams,
			responses: []response{{200, "RunPage", "", "A page of runs, newest first. A page of a filtered list may be short, even empty, and have a cursor."}},
		}},
	}
}

// runPage is a page of runs.
type runPage struct {
	Runs   []listedRun `json:"runs"`
	Cursor string      `json:"cursor,omitempty"` // none: this is the end

	Reached time.Time `json:"reached,omitzero"` // with a cursor: all that were created later were looked at
}

// listedRun is a run in a list, with why it does not move, as far as its row says it.
type listedRun struct {
	stepwell.RunInfo
	Why stepwell.Why `json:"why"`
}

// find reads the run that a path names. One of another workflow is not found.
func (s *Server) find(r *request) (*stepwell.RunInfo, error) {
	id, workflow := r.PathValue("run"), r.PathValue("workflow")
	if err := world.CheckRunID(id); err != nil {
		return nil, notFound(id, workflow)
	}
	info, err := s.app.Get(r.Context(), id)
	if err != nil {
		return nil, err
	}
	if workflow != "" && info.Workflow != workflow {
		return nil, notFound(id, workflow)
	}
	return &info, nil
}

// findID checks that the run of a path is there.
func (s *Server) findID(r *request) (string, error) {
	info, err := s.find(r)
	if err != nil {
		return "", err
	}
	return info.ID, nil
}

// getRun shows a run. Who waits for its end is told of the newest run's in its place, as who asks for a result is
// anywhere; who says newest=false, of its own.
func (s *Server) getRun(w http.ResponseWriter, r *request) error {
	info, err := s.find(r)
	if err != nil {
		return err
	}
	follow, err := truth(r.query, "newest", r.query.Has("wait"))
	for err == nil {
		if r.query.Has("wait") && !info.Status.Terminal() {
			info, err = s.await(r, info)
		}
		if err != nil || !follow {
			break
		}
		var newest stepwell.RunInfo
		if newest, err = s.app.Newest(r.Context(), info.ID); err != nil || newest.ID == info.ID {
			break
		}
		info = &newest // it may run still
	}
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, info)
}

// truth reads a query parameter that is true or false, or left out.
func truth(query url.Values, name string, without bool) (bool, error) {
	switch v := query.Get(name); v {
	case "":
		return without, nil
	case "false":
		return false, nil
	case "true":
		return true, nil
	default:
		return false, invalid("query parameter %s: want true or false, not %.40q", name, v)
	}
}

// await waits until a run is over, or as long as the request says.
func (s *Server) await(r *request, info *stepwell.RunInfo) (*stepwell.RunInfo, error) {
	d, err := ParseDuration(r.query.Get("wait"))
	if err != nil {
		return nil, err
	}
	d = min(d, s.opts.MaxWait)
	done, err := s.places.wait(s.places.keyed(r)...)
	if err != nil {
		return nil, err
	}
	defer done()
	ctx, cancel := context.WithTimeout(r.Context(), d)
	defer cancel()
	id := info.ID
	err = s.watch(ctx, id, func(fresh time.Duration) (bool, error) {
		now, err := share(s.watchers, id, "run", fresh, func() (stepwell.RunInfo, error) { return s.app.Get(r.Context(), id) })
		if err != nil {
			return false, err
		}
		info = &now
		return now.Status.Terminal(), nil
	}, nil, nil)
	return info, err
}

// filterOf reads what a list is filtered by.
func filterOf(workflow string, query url.Values) (q stepwell.ListFilter, err error) {
	q = stepwell.ListFilter{Workflow: workflow}
	if q.Workflow != "" {
		if err := world.CheckWorkflowName(q.Workflow); err != nil {
			return q, err
		}
	}
	for _, word := range words(query, "status") {
		if err := world.CheckStatus("query parameter status", world.Status(word)); err != nil {
			return q, err
		}
		q.Status = append(q.Status, world.Status(word))
	}
	for name, run := range map[string]*string{"parent": &q.Parent, "origin": &q.Origin} {
		if *run = query.Get(name); *run == "" {
			continue
		}
		if err := world.CheckRunID(*run); err != nil {
			return q, invalid("query parameter %s: %v", name, err)
		}
	}
	if err := knownOf(query, &q); err != nil {
		return q, err
	}
	now := world.Now()
	if q.Since, err = moment("query parameter since", query.Get("since"), now); err != nil {
		return q, err
	}
	if q.Until, err = moment("query parameter until", query.Get("until"), now); err != nil {
		return q, err
	}
	if q.FailedSince, err = moment("query parameter failedSince", query.Get("failedSince"), now); err != nil {
		return q, err
	}
	var input json.RawMessage
	for _, name := range slices.Sorted(maps.Keys(query)) { // in one order, as a cursor may depend on it
		if path, ok := strings.CutPrefix(name, "input."); ok {
			for _, v := range query[name] {
				if input, err = operate.BothPatterns(input, operate.Pattern(path, v)); err != nil {
					return q, invalid("query parameter %s: %v", name, err)
				}
			}
			q.Input = input
		}
		if attr, ok := strings.CutPrefix(name, "attr."); ok {
			if q.Attributes == nil {
				q.Attributes = stepwell.Match{}
			}
			q.Attributes[attr] = operate.Pattern("", query.Get(name))
		}
	}
	return q, nil
}

// knownOf reads what people know of runs.
func knownOf(query url.Values, q *stepwell.ListFilter) (err error) {
	q.Search, q.Patch, q.Unpatched, q.Cause = query.Get("search"), query.Get("patch"), query.Get("unpatched"), query.Get("cause")
	if q.Key = query.Get("key"); q.Key != "" {
		if err := world.CheckKey("query parameter key:", q.Key); err != nil {
			return err
		}
	}
	if q.Prefix = query.Get("prefix"); q.Prefix != "" {
		if err := world.CheckRunID(q.Prefix + "x"); err != nil {
			return invalid("query parameter prefix: an ID of a run cannot begin with %.100q", q.Prefix)
		}
	}
	if text := query.Get("version"); text != "" {
		if q.Version, err = strconv.Atoi(text); err != nil || q.Version < 1 {
			return invalid("query parameter version is %.40q: want a number from 1", text)
		}
	}
	switch text := query.Get("roots"); text {
	case "", "false":
	case "true":
		q.Roots = true
	default:
		return invalid("query parameter roots is %.40q: want true or false", text)
	}
	return nil
}

// Pages of runs: what the world is asked for at once, so that payloads of a long page are not all in memory, the default, and the most.
const (
	runsAtOnce = 20
	someRuns   = 50
	mostRuns   = 200
)

func (s *Server) listRuns(w http.ResponseWriter, r *request) error {
	f, err := filterOf(r.PathValue("workflow"), r.query)
	if err != nil {
		return err
	}
	limit, err := r.number("limit", someRuns, mostRuns)
	if err != nil {
		return err
	}
	payloads, err := r.flag("payloads", false)
	if err != nil {
		return err
	}
	stats, err := s.app.World().Stats(r.Context())
	if err != nil {
		return err
	}
	waits, err := operate.WaitsOf(r.Context(), s.app, &stats)
	if err != nil {
		return err
	}
	page := runPage{Runs: []listedRun{}, Cursor: r.query.Get("cursor")}
	for bytes := 0; ; {
		some, err := s.app.Page(r.Context(), f, page.Cursor, min(limit-len(page.Runs), runsAtOnce))
		if err != nil {
			return err
		}
		for i := range some.Runs {
			run := &some.Runs[i]
			if !payloads {
				run.Input, run.Output, run.InputApart, run.OutputApart = nil, nil, "", ""
			}
			bytes += sizeOf(run)
			page.Runs = append(page.Runs, listedRun{*run, waits.Why(run, stats.Now)})
		}
		page.Cursor, page.Reached = some.Cursor, some.Reached
		if page.Cursor == "" || len(page.Runs) >= limit || bytes > s.pageBytes || operate.Dear(&f) {
			return answer(w, http.StatusOK, page)
		}
	}
}

// sizeOf is about how many bytes a run takes in an answer.
func sizeOf(r *stepwell.RunInfo) int {
	const rest = 900
	n := rest + len(r.Input) + len(r.Output)
	for name, value := range r.Attributes {
		n += len(name) + len(value)
	}
	if r.Error != nil {
		n += r.Error.Size()
	}
	return n
}

// delivery is the delivery ID that a request names.
func (r *request) delivery() ([]stepwell.SendOption, error) {
	id, err := r.idempotencyKey()
	if id == "" || err != nil {
		return nil, err
	}
	return []stepwell.SendOption{stepwell.DeliveryID(id)}, nil
}
