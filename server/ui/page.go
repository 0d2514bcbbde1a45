package ui

// This file draws pages: the frame that all have, and the templates.

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/stepwell/stepwell/api"
	"github.com/stepwell/stepwell/internal/human"
	"github.com/stepwell/stepwell/internal/ops"
)

//go:embed templates
var templateFiles embed.FS

// views are the pages by name, each the frame with a main part of its own.
var views = parseViews()

func parseViews() map[string]*template.Template {
	frame := template.Must(template.New("frame").Funcs(template.FuncMap{"list": listOf, "sorted": sortedBy, "add": func(a, b int) int { return a + b }, "rows": rowsOf, "limitText": func(l api.QueueLimit) string { return ops.QueueLimitText(&l) }}).ParseFS(templateFiles, "templates/frame.html", "templates/parts.html"))
	files, err := templateFiles.ReadDir("templates")
	if err != nil {
		panic(err) // they are part of the program
	}
	all := map[string]*template.Template{}
	for _, f := range files {
		name := f.Name()[:len(f.Name())-len(".html")]
		if name == "frame" || name == "parts" {
			continue
		}
		all[name] = template.Must(template.Must(frame.Clone()).ParseFS(templateFiles, "templates/"+f.Name()))
	}
	return all
}

// runList is what the table of runs needs.
type runList struct {
	Rows    []runRow
	Caption string
	Choose  string // the form that chosen ones belong to; "": they cannot be chosen
	Shows   map[string]bool
	Sorts   map[string]string // addresses of the list sorted by a column; nil: it cannot be
	By      string            // what it is sorted by
}

func listOf(rows []runRow, caption, choose string) runList {
	return runList{rows, caption, choose, shows(columns), nil, ""}
}

// sortHead is the head of a column that a list can be sorted by.
type sortHead struct {
	Label, Class, Path, Way string
	On                      bool
}

func sortedBy(l runList, name, label, class string) sortHead {
	h := sortHead{Label: label, Class: class, Path: l.Sorts[name], Way: "descending", On: l.By == name}
	if name == "workflow" || name == "status" || name == "created" {
		h.Way = "ascending"
	}
	return h
}

func shows(list []column) map[string]bool {
	is := map[string]bool{}
	for _, c := range list {
		is[c.Name] = c.On
	}
	return is
}

// rowsOf is how high a field of text is.
func rowsOf(text string) int { return min(max(strings.Count(text, "\n")+2, 4), 24) }

// frame is what all pages have.
type frame struct {
	Name   string // of the view
	Title  string
	Who    *Who
	Locked bool // there is something to log in to
	Theme  string
	NoKeys bool
	Token  string // of forms
	Here   string // this page's address
	Zone   string
	Asset  string // the path of assets
	Nav    []navItem
	Did    string // what was just done, for people
	Every  int    // seconds between reloads where there are no scripts; 0: none
	View   any
}

// navItem is a page of the head.
type navItem struct {
	Name, Path, Key string
	Here            bool
}

// navs are the pages of the head.
var navs = []navItem{
	{Name: "Overview", Path: Base, Key: "o"},
	{Name: "Runs", Path: Base + "runs", Key: "r"},
	{Name: "Failures", Path: Base + "failures", Key: "f"},
	{Name: "Workflows", Path: Base + "workflows", Key: "w"},
	{Name: "Schedules", Path: Base + "schedules", Key: "s"},
	{Name: "Hooks", Path: Base + "hooks", Key: "h"},
	{Name: "Queues", Path: Base + "queues", Key: "q"},
	{Name: "Topics", Path: Base + "topics", Key: "t"},
	{Name: "Limits", Path: Base + "limits", Key: "l"},
	{Name: "Workers", Path: Base + "workers", Key: "e"},
}

// navOf says to which page of the head a view belongs.
var navOf = map[string]string{
	"overview": "Overview", "runs": "Runs", "failures": "Failures", "bulk": "Runs", "run": "Runs", "family": "Runs", "events": "Runs", "event": "Runs", "stream": "Runs", "act": "Runs",
	"workflows": "Workflows", "versions": "Workflows", "schedules": "Schedules", "hooks": "Hooks", "queues": "Queues", "queue": "Queues", "topics": "Topics", "limits": "Limits", "limit": "Limits", "workers": "Workers", "worker": "Workers",
}

// draw answers with a page.
func (v *visit) draw(status int, name, title string, view any) {
	f := frame{
		Name: name, Title: title, Who: v.who, Locked: v.u.host.Locked(), Theme: v.prefs.theme, NoKeys: v.prefs.noKeys, Token: v.u.token(v.session),
		Here: v.URL.RequestURI(), Zone: v.now.Location().String(), Asset: assetPath, View: view, Did: v.did(), Every: v.every(),
	}
	if v.Method != http.MethodGet && v.Method != http.MethodHead {
		f.Here = Base
	}
	if f.Zone == "Local" {
		f.Zone, _ = v.now.Zone()
	}
	for _, item := range navs {
		item.Here = item.Name == navOf[name]
		f.Nav = append(f.Nav, item)
	}
	var b bytes.Buffer
	if err := views[name].ExecuteTemplate(&b, "frame", &f); err != nil {
		panic(fmt.Errorf("draw %s: %w", name, err)) // the server logs it, and answers
	}
	h := v.w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Length", strconv.Itoa(b.Len()))
	v.begun = true
	v.w.WriteHeader(status)
	_, _ = v.w.Write(b.Bytes()) // a client that is gone is not told
}

// dids are what pages say of what was done on the page before.
var dids = map[string]string{
	"cancel": "The cancel is requested.", "forced": "The run was ended.", "pause": "The run is paused.", "resume": "The run continues.",
	"wake": "Its sleeps were ended.", "retries": "Its steps are tried again now.", "starts": "It begins now.", "woken": "Its steps are tried again now, and its sleeps were ended.",
	"nowake": "It has no such wait: there was nothing to end.", "tried": "It is tried again now.", "signal": "The event was sent.", "retry": "This run continues from where the other failed.",
	"restart": "This run started over, with the input of the other.", "fork": "This run was forked.", "start": "The run was started.",
	"there": "This run already existed.", "hook": "The payload was sent.", "heartbeat": "The run knows that someone is still working on it.",
	"queue-pause": "The queue is paused: nothing is received from it.", "queue-resume": "Messages are received again.", "queue-redrive": "Its dead letters are ready again.",
	"publish": "It is published.", "subscribe": "The subscription is saved.", "unsubscribe": "The subscription is ended.",
	"workflow-hold": "The workflow is held: none of its runs begins.", "workflow-release": "The workflow is released: its runs begin.",
	"schedule-put": "The schedule is saved.", "schedule-pause": "The schedule is paused: it starts nothing.", "schedule-resume": "It continues with its next time.",
	"schedule-trigger": "A run is started.", "schedule-delete": "The schedule is deleted.", "schedule-backfill": "Each of those times has a run now.",
	"topic-pause": "The subscription is paused: its deliveries wait.", "topic-resume": "Its deliveries continue.", "topic-redeliver": "Its dead letters are delivered again.",
}

func (v *visit) did() string { return dids[v.URL.Query().Get("did")] }

// every reads how often a page without scripts is loaded again.
func (v *visit) every() int {
	n, err := strconv.Atoi(v.URL.Query().Get("refresh"))
	if err != nil || n < 2 || n > 3600 {
		return 0
	}
	return n
}

// moment is a time as pages show it: relative beside absolute.
type moment struct {
	ISO string // for programs
	At  string // as a clock on the wall has it
	Ago string
	All string // to the second, with the zone
}

func (v *visit) moment(t time.Time) *moment {
	if t.IsZero() {
		return nil
	}
	in := t.In(v.now.Location())
	return &moment{
		ISO: t.UTC().Format(time.RFC3339Nano), At: human.Moment(t, v.now), Ago: human.Relative(t, v.now), All: in.Format("Mon 2 Jan 2006 15:04:05.000 MST"),
	}
}

// Paths of pages.

func runPath(run string) string { return Base + "runs/" + url.PathEscape(run) }

func eventsPath(run string) string { return runPath(run) + "/events" }

func eventPath(run string, seq int64) string {
	return eventsPath(run) + "/" + strconv.FormatInt(seq, 10)
}

func streamPath(run, name string) string { return runPath(run) + "/streams/" + url.PathEscape(name) }

// runsPath is the list of a workflow's runs, with one status or any.
func runsPath(workflow, status string) string {
	q := url.Values{}
	if workflow != "" {
		q.Set("workflow", workflow)
	}
	if status != "" {
		q.Set("status", status)
	}
	return Base + "runs?" + q.Encode()
}
