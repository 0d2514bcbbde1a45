package server

// This file puts the web UI below /ui/, with what package ui needs of the server around it, and the documentation below
// /docs/.

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/server/site"
	"github.com/stepwell/stepwell/server/ui"
	"github.com/stepwell/stepwell/world"
)

// mountUI serves the pages, and sends there who asks for / and takes a page.
func (s *Server) mountUI() {
	pages := ui.New(s.app, s.ops, uiHost{s})
	s.mux.HandleFunc(ui.Base, func(w http.ResponseWriter, r *http.Request) {
		if err := s.entry.sameHouse(r); err != nil {
			s.audit.refuse(w, r, err)
			return
		}
		if r.Method == http.MethodGet {
			defer guestOf(r).work()() // but who sends a form may be anybody
		}
		pages.ServeHTTP(w, r)
	})
	s.mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		if accept := r.Header.Get("Accept"); !strings.Contains(accept, "text/html") && !strings.Contains(accept, "*/*") {
			s.audit.refuse(w, r, errNoRoute)
			return
		}
		http.Redirect(w, r, ui.Base, http.StatusSeeOther)
	})
}

// mountDocs serves the documentation. It is no secret: whoever may connect may read it.
func (s *Server) mountDocs() {
	pages := site.Handler()
	s.mux.HandleFunc(site.Base, func(w http.ResponseWriter, r *http.Request) {
		if err := s.entry.rightHost(r); err != nil {
			s.audit.refuse(w, r, err)
			return
		}
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			s.audit.refuse(w, r, errMethod)
			return
		}
		defer guestOf(r).work()()
		pages.ServeHTTP(w, r)
	})
}

// uiHost is the server as the pages see it.
type uiHost struct{ s *Server }

// levels are the scopes by what the pages call them.
var levels = map[Scope]ui.Level{Viewer: ui.Viewer, Operator: ui.Operator, Worker: ui.Operator, Admin: ui.Admin}

// Locked: see [ui.Host].
func (h uiHost) Locked() bool { return len(h.s.opts.Keys) > 0 }

// Identify: see [ui.Host].
func (h uiHost) Identify(secret string) (ui.Who, bool) {
	return whoOf(h.s.entry.keyOf(secret))
}

// whoOf is who has a key, for the pages: a step worker, and whose key is limited, has no business there.
func whoOf(key *Key) (ui.Who, bool) {
	if key == nil || key.Limit.limits() {
		return ui.Who{}, false
	}
	return ui.Who{Name: key.Name, Level: levels[key.Scope]}, true
}

// Session: see [ui.Host].
func (h uiHost) Session(secret string, until time.Time) (string, error) {
	return h.s.entry.session(secret, until)
}

// Visitor: see [ui.Host].
func (h uiHost) Visitor(session string, now time.Time) (ui.Who, bool) {
	return whoOf(h.s.entry.visitor(session, now))
}

// FormSecret: see [ui.Host].
func (h uiHost) FormSecret() []byte { return h.s.entry.formSecret() }

// Pushed: see [ui.Host].
func (h uiHost) Pushed(workflow string) bool {
	return h.s.pusher.pushes(workflow)
}

// pushes reports whether an endpoint that is pushed to has a workflow.
func (p *pusher) pushes(workflow string) bool {
	return p != nil && slices.ContainsFunc(p.endpoints, func(e *endpoint) bool { return e.has(world.Class{Workflow: workflow}) })
}

// listPage is what a list of the pages takes: what lists over REST take, a workflow, and what it is sorted by.
var listPage = operation{query: append(slices.Clone(filterParams), param{name: "workflow"}, param{name: "sort"})}

// Filter: see [ui.Host].
func (h uiHost) Filter(query url.Values) (stepwell.ListFilter, error) {
	if err := listPage.checkQuery(query); err != nil {
		return stepwell.ListFilter{}, err
	}
	return filterOf(query.Get("workflow"), query)
}

// Refused: see [ui.Host].
func (h uiHost) Refused(r *http.Request, err error) ui.Refusal {
	p := h.s.audit.problem(r, err)
	return ui.Refusal{Status: p.Status, Code: p.Code, Title: p.Title, Detail: p.Detail, Request: p.Request}
}

// Audit: see [ui.Host].
func (h uiHost) Audit(r *http.Request, who, what, run string, err error, more ...any) {
	if what == "ui login" && err != nil {
		h.s.audit.sayRefused(r, wrongKey)
	}
	h.s.audit.note(r, who, what, run, "", err, more...)
}

// Watch: see [ui.Host].
func (h uiHost) Watch(ctx context.Context, run string, look func() (bool, error), keepalive func() error) error {
	done, err := h.s.places.wait(h.s.places.seat("the pages", 2))
	if err != nil {
		return err
	}
	defer done()
	keepalives := time.NewTicker(h.s.opts.Heartbeat)
	defer keepalives.Stop()
	return h.s.watch(ctx, run, func(time.Duration) (bool, error) { return look() }, keepalives.C, keepalive)
}

// WatchStreams: see [ui.Host].
func (h uiHost) WatchStreams(ctx context.Context, run string, look func() (bool, error), keepalive func() error) error {
	return h.Watch(ctx, streamsOf+run, look, keepalive)
}

// Patience: see [ui.Host].
func (h uiHost) Patience() (read, write time.Duration) {
	return h.s.opts.ReadTimeout, h.s.opts.WriteTimeout
}

// Body: see [ui.Host].
func (h uiHost) Body(r *http.Request, who string, body io.ReadCloser, most int64) (io.ReadCloser, func()) {
	if who != "" {
		who = "key " + who
	} else {
		who = "address " + hostOf(r.RemoteAddr)
	}
	counted := h.s.bodies.arrives(r.Context(), who, body, r.ContentLength, most+1)
	return counted, counted.leave
}

// MaxBody: see [ui.Host].
func (h uiHost) MaxBody() int64 { return h.s.opts.MaxBody }
