package ui

// This file lists runs: filters, and pages under a stable cursor.

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/human"
	"github.com/stepwell/stepwell/internal/operate"
	"github.com/stepwell/stepwell/internal/timeline"
	"github.com/stepwell/stepwell/world"
)

// runRow is a run in a list.
type runRow struct {
	ID, Workflow string
	Version      int
	Path         string
	Status       status
	Why          string
	Created      *moment
	Span         string
	Attributes   []string
	Key          string
	Priority     int
	Claims       int64
	Merged       bool   // the start whose key was asked for was merged into it
	Parent, Up   string // the run that it is a child of, and its page
	Heir         *heir  // what is in its place

	lasted  time.Duration
	created time.Time
}

// heir is the run in the place of one that did not complete.
type heir struct {
	Path, Run string
	Status    world.Status
}

const mostAttributes = 4

// runRow says of a run what its row says; no log is read.
func (v *visit) runRow(r *stepwell.RunInfo, stats *world.Stats) runRow {
	row := runRow{ID: r.ID, Workflow: r.Workflow, Version: r.Version, Path: runPath(r.ID), Status: runStatus(r), Created: v.moment(r.CreatedAt), Key: timeline.Key(r.Key, r.FirstKey), Priority: r.Priority, Claims: r.Claims, Merged: r.Merged}
	if v.waits == nil { // where it cannot be told what is held, the rows of runs are all that is said
		waits, _ := operate.WaitsOf(v.Context(), v.u.app, stats)
		v.waits = &waits
	}
	why := v.waits.Why(r, stats.Now)
	why.At = why.At.In(v.now.Location())
	if r.Status != world.Completed {
		row.Why = why.String()
	}
	end := stats.Now
	if r.Status.Terminal() {
		end = r.EndedAt
	}
	row.lasted, row.created = end.Sub(r.CreatedAt), r.CreatedAt
	row.Span = human.Span(row.lasted)
	if r.Parent != nil {
		row.Parent, row.Up = r.Parent.Run, runPath(r.Parent.Run)
	}
	if h := r.Newest; h != nil {
		row.Heir = &heir{runPath(h.Run), h.Run, h.Status}
		if h.Status == world.Completed {
			row.Status.Tone = quiet // it is healed
		}
	}
	for name, value := range r.Attributes {
		row.Attributes = append(row.Attributes, human.Cut(visible(name)+" = "+string(value), 40))
	}
	slices.Sort(row.Attributes)
	row.Attributes = row.Attributes[:min(len(row.Attributes), mostAttributes)]
	return row
}

// runsView is the list of runs.
type runsView struct {
	Filter  filterView
	List    runList
	Views   []savedView
	Columns []column
	Begin   *begin // no run is kept
	Sorted  int    // how many runs a sorted page has; 0: the newest are first
	Rows    []runRow
	Next    string
	Newest  string // the first page, where this is another
	May     bool   // act on many
	Acts    []bulkChoice
	Query   string  // of the filter, for forms
	Looked  *moment // the page is short, as only so many runs are looked at at once: back to then
}

// filterView is the form of the filter.
type filterView struct {
	Workflow     string
	Workflows    []string
	Statuses     []typeChoice
	Since, Until string
	Search       string
	Version      string
	Roots        bool
	Kept         []kept // values that inputs, attributes and what else the form has no field for are asked for
	Any          bool
	Sort         string
	Clear        string
}

// kept is a filter by input or attribute.
type kept struct {
	Name, Value string
	Without     string // the list without it
}

const runsPage = 50

func (u *UI) runs(v *visit) error {
	query := v.URL.Query()
	if to, changed := canonical(query); changed {
		v.redirect(Base + "runs?" + to.Encode())
		return nil
	}
	q, err := u.host.Filter(query)
	if err != nil {
		return err
	}
	page, err := runsOf(u, v, q, query.Get("cursor"))
	if err != nil {
		return err
	}
	stats, err := u.world.Stats(v.Context())
	if err != nil {
		return err
	}
	p := &runsView{Filter: filterOf(query, &stats), May: v.may(Admin), Acts: bulkChoices}
	for i := range page.Runs {
		p.Rows = append(p.Rows, v.runRow(&page.Runs[i], &stats))
	}
	p.Query = without(query, "cursor").Encode()
	p.Views, p.Columns = v.viewsOf(p.Query), readColumns(v.Request)
	p.List = runList{Rows: p.Rows, Caption: "Runs, newest first", Shows: shows(p.Columns)}
	if p.List.Sorts, p.List.By = v.sortRows(p.Rows, query); p.List.By != "" {
		p.List.Caption, p.Sorted = "Runs by "+p.List.By, len(p.Rows)
	}
	if len(stats.Workflows) == 0 && len(p.Rows) == 0 {
		p.Begin = v.beginOf(&stats)
	}
	if p.May {
		p.List.Choose = "bulk"
	}
	if page.Cursor != "" {
		to := without(query, "cursor")
		to.Set("cursor", page.Cursor)
		p.Next = Base + "runs?" + to.Encode()
		if len(page.Runs) < runsPage && !page.Reached.IsZero() {
			p.Looked = v.moment(page.Reached)
		}
	}
	if query.Get("cursor") != "" {
		p.Newest = Base + "runs?" + p.Query
	}
	v.draw(http.StatusOK, "runs", "Runs", p)
	return nil
}

// runsOf is a page of the list, with the run behind it where that is the last one: no page holds one run alone but the
// first.
func runsOf(u *UI, v *visit, q stepwell.ListFilter, cursor string) (stepwell.RunsPage, error) {
	page, err := u.app.Page(v.Context(), q, cursor, runsPage)
	for err == nil && page.Cursor != "" && len(page.Runs) < runsPage && !operate.Dear(&q) { // the store has looked at so many and found few
		var more stepwell.RunsPage
		more, err = u.app.Page(v.Context(), q, page.Cursor, runsPage-len(page.Runs))
		more.Runs = append(page.Runs, more.Runs...)
		page = more
	}
	if err != nil || page.Cursor == "" || len(page.Runs) < runsPage {
		return page, err
	}
	rest, err := u.app.Page(v.Context(), q, page.Cursor, 2)
	if err == nil && rest.Cursor == "" && len(rest.Runs) < 2 {
		page.Runs, page.Cursor, page.Reached = append(page.Runs, rest.Runs...), "", rest.Reached
	}
	return page, err
}

// withLast is a page of a list with a cursor, with the row behind it where that is the last one: no page holds one row
// alone but the first.
func withLast[T any](cursor string, most int, read func(cursor string, limit int) ([]T, string, error)) ([]T, string, error) {
	page, cursor, err := read(cursor, most)
	if err != nil || cursor == "" || len(page) < most {
		return page, cursor, err
	}
	rest, on, err := read(cursor, 2)
	if err == nil && on == "" && len(rest) < 2 {
		page, cursor = append(page, rest...), ""
	}
	return page, cursor, err
}

// cutPage is such a page of a list that was read with two rows more than it has.
func cutPage[T any](read []T, most int) (page []T, more bool) {
	if len(read) < most+2 {
		return read, false
	}
	return read[:most], true
}

// without is a query without a parameter, nor what only pages themselves ask for.
func without(query url.Values, name string) url.Values {
	to := url.Values{}
	for k, vs := range query {
		if k != name && k != "refresh" && k != "did" {
			to[k] = slices.Clone(vs)
		}
	}
	return to
}

// canonical makes the API's parameters of what the form has: a name and a value each for an input and an attribute, empty fields left out.
func canonical(query url.Values) (to url.Values, changed bool) {
	to = url.Values{}
	for k, vs := range query {
		for _, s := range vs {
			switch {
			case k == "refresh" || k == "did":
				changed = true
			case strings.TrimSpace(s) == "" && (k == "workflow" || k == "status" || k == "since" || k == "until" || k == "failedSince" || k == "cursor" || k == "search" || k == "version" || k == "roots" || k == "sort"):
				changed = true
			case k == "inputName" || k == "inputValue" || k == "attrName" || k == "attrValue":
				changed = true
			default:
				to[k] = append(to[k], s)
			}
		}
	}
	if name := strings.TrimSpace(query.Get("inputName")); name != "" {
		to.Set("input."+name, query.Get("inputValue"))
	}
	if name := strings.TrimSpace(query.Get("attrName")); name != "" {
		to.Set("attr."+name, query.Get("attrValue"))
	}
	return to, changed
}

// unlisted are the parts of a filter that the form has no field for: links lead to them.
var unlisted = []string{"key", "prefix", "patch", "unpatched", "failedSince", "cause", "parent", "origin"}

func filterOf(query url.Values, stats *world.Stats) filterView {
	f := filterView{Workflow: query.Get("workflow"), Since: query.Get("since"), Until: query.Get("until"), Search: query.Get("search"), Version: query.Get("version"), Roots: query.Get("roots") == "true", Clear: Base + "runs"}
	for i := range stats.Workflows {
		f.Workflows = append(f.Workflows, stats.Workflows[i].Workflow)
	}
	if f.Workflow != "" && !slices.Contains(f.Workflows, f.Workflow) {
		f.Workflows = append(f.Workflows, f.Workflow)
	}
	asked := strings.Split(strings.Join(query["status"], ","), ",")
	for _, s := range world.StatusWords() {
		f.Statuses = append(f.Statuses, typeChoice{string(s), slices.Contains(asked, string(s))})
	}
	for k, vs := range query {
		if !strings.HasPrefix(k, "input.") && !strings.HasPrefix(k, "attr.") && !slices.Contains(unlisted, k) {
			continue
		}
		for _, value := range vs {
			f.Kept = append(f.Kept, kept{k, value, Base + "runs?" + without(query, k).Encode()})
		}
	}
	slices.SortFunc(f.Kept, func(a, b kept) int { return strings.Compare(a.Name+"="+a.Value, b.Name+"="+b.Value) })
	is := without(query, "cursor")
	is.Del("sort")
	f.Any, f.Sort = len(is) > 0, query.Get("sort")
	return f
}

// seek leads to the run that a visitor searches for, or to the list of all that fit: see [stepwell.ListFilter].
func (u *UI) seek(v *visit) error {
	query := v.URL.Query()
	text := strings.TrimSpace(query.Get("search"))
	if text == "" {
		v.redirect(Base + "runs")
		return nil
	}
	page, err := u.app.Page(v.Context(), stepwell.ListFilter{Search: text}, "", 2)
	if err != nil {
		return err
	}
	if len(page.Runs) == 1 && page.Cursor == "" {
		v.redirect(runPath(page.Runs[0].ID))
		return nil
	}
	v.redirect(Base + "runs?" + url.Values{"search": {text}}.Encode())
	return nil
}
