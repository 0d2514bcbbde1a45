package server

// This file tells what happened in a run: its journal, why it does not move, its log.

import (
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/server/ui"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/journal"
)

func historyRoutes() []route {
	return []route{
		{method: "GET", path: longForm + "/steps", scope: Viewer, wide: true, handle: (*Server).steps, op: operation{
			id: "getSteps", summary: "Show the journal of a run: its steps, waits and hooks, in order of creation",
			query:     []param{{name: "payloads", schema: "Flag", about: "With inputs, outputs and payloads; true unless told."}},
			responses: []response{{200, "Journal", "", "The journal."}},
		}},
		{method: "GET", path: longForm + "/why", scope: Viewer, handle: (*Server).why, op: operation{
			id: "whyRun", summary: "Tell why a run does not move, or what it does",
			responses: []response{{200, "Why", "", "The answer: kind for programs, text for people."}},
		}},
		{method: "GET", path: longForm + "/events", scope: Viewer, wide: true, handle: (*Server).events, op: operation{
			id: "getEvents", summary: "Read the log of a run, or follow it live with Accept: text/event-stream",
			query: []param{
				{name: "cursor", schema: "Cursor", about: "Continue after the page that had this cursor, or after the event with this ID."}, limit("Limit1000"),
				{name: "correlationId", schema: "Text", about: "Only events about this step, wait or hook."},
				{name: "type", schema: "EventTypes", about: "Only events of these types; several with commas.", many: true},
			},
			responses: []response{
				{200, "EventPage", "", "A page of events, in order. It always has a cursor: use it later to get the events appended since."},
				{200, "", "text/event-stream", "The events after the cursor, or after the header Last-Event-ID, until the run is over: id is the cursor, event the type, data the event. A last one of type end has the run's status."},
				{204, "", "", "There is nothing to follow: the run is over, and all of its log after Last-Event-ID was read."},
			},
		}},
		{method: "GET", path: longForm + "/signals", scope: Viewer, wide: true, handle: signals, op: operation{
			id: "listSignals", summary: "List the events that were sent to a run, in the order in which they came",
			query:     []param{{name: "cursor", schema: "Cursor", about: "Continue after the page that had this cursor, or after the event with this ID."}, limit("Limit1000")},
			responses: []response{{200, "EventPage", "", "A page of its log, with the events of type signal_received only. An event that was sent to a run without a worker appears when a worker takes the run."}},
		}},
	}
}

// signals are the part of the log that has what was sent.
func signals(s *Server, w http.ResponseWriter, r *request) error {
	r.query.Set("type", string(world.SignalReceived))
	r.Header.Del("Accept") // it is not followed
	return s.events(w, r)
}

// shownJournal is a run's story as the API shows it.
type shownJournal struct {
	*journal.Journal
	Damage  string `json:"damage,omitempty"`          // why it ends early
	Omitted bool   `json:"payloadsOmitted,omitempty"` // they are too large together
}

func (s *Server) steps(w http.ResponseWriter, r *request) error {
	payloads, err := r.flag("payloads", true)
	if err != nil {
		return err
	}
	id, err := s.findID(r)
	if err != nil {
		return err
	}
	omitted := false
	if payloads {
		if omitted, err = s.heavy(r, id); err != nil {
			return err
		}
	}
	story, err := s.app.Story(r.Context(), id, payloads && !omitted)
	if err != nil {
		return err
	}
	if !r.sees(Operator) {
		for _, en := range story.Journal.Entries {
			en.Token = ""
		}
	}
	return answer(w, http.StatusOK, shownJournal{story.Journal, story.Damage, omitted})
}

// heavy reports whether a run's payloads are too much for one answer. A log that cannot be read, the journal tells of.
func (s *Server) heavy(r *request, run string) (bool, error) {
	bytes := 0
	for e, err := range s.app.Events(r.Context(), run, stepwell.EventFilter{}) {
		if errors.Is(err, world.ErrCorrupt) || errors.Is(err, world.ErrFormat) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		if bytes += e.Size(); bytes > s.journalBytes {
			return true, nil
		}
	}
	return false, nil
}

func (s *Server) why(w http.ResponseWriter, r *request) error {
	id, err := s.findID(r)
	if err != nil {
		return err
	}
	why, err := s.app.Why(r.Context(), id)
	if err != nil {
		return err
	}
	if !r.sees(Operator) {
		why = ui.WithoutTokens(why)
	}
	return answer(w, http.StatusOK, why)
}

// eventPage is a page of a log.
type eventPage struct {
	Events []world.NamedEvent `json:"events"`
	Cursor string             `json:"cursor"`
	More   bool               `json:"more"` // further events are there already
}

// The events of a page: commits are not cut, so it may have a few more; and what the world is asked for at once.
const (
	someEvents   = 100
	mostEvents   = 1000
	eventsAtOnce = 10
)

func (s *Server) events(w http.ResponseWriter, r *request) error {
	q := world.EventQuery{Cursor: r.query.Get("cursor"), CorrelationID: r.query.Get("correlationId")}
	for _, word := range words(r.query, "type") {
		if !slices.Contains(world.EventTypes, world.EventType(word)) {
			return invalid("query parameter type: %.40q is not a type of event", word)
		}
		q.Types = append(q.Types, world.EventType(word))
	}
	follow := strings.Contains(r.Header.Get("Accept"), eventStream)
	if last := r.Header.Get("Last-Event-ID"); follow && last != "" {
		q.Cursor = last
	}
	behind := q.Cursor // an event, or a cursor
	if strings.HasPrefix(behind, world.PrefixEvent+"_") {
		q.Cursor = ""
	}
	if _, err := world.ParseCursor(q.Cursor); err != nil {
		return err
	}
	var err error
	if q.Limit, err = r.number("limit", someEvents, mostEvents); err != nil {
		return err
	}
	id, err := s.findID(r)
	if err != nil {
		return err
	}
	if q.Cursor != behind {
		seq, err := world.ParseEvent(id, behind)
		if err != nil {
			return err
		}
		q.Cursor = world.Cursor(seq)
	}
	if follow {
		return s.follow(w, r, id, q)
	}
	page, err := s.eventPage(r, id, q)
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, page)
}

// eventPage reads a page: fewer events than asked for, and more, where they are large.
func (s *Server) eventPage(r *request, run string, q world.EventQuery) (eventPage, error) {
	out := eventPage{Events: []world.NamedEvent{}}
	limit := q.Limit
	for bytes := 0; ; {
		q.Limit = min(limit-len(out.Events), eventsAtOnce)
		page, err := s.world.Events(r.Context(), run, q)
		if err != nil {
			return out, err
		}
		bytes += eventsBytes(page.Events)
		out.Events = append(out.Events, world.NameEvents(run, shown(r, page.Events))...)
		out.Cursor, out.More, q.Cursor = page.Cursor, page.More, page.Cursor
		if !out.More || len(out.Events) >= limit || bytes > s.pageBytes {
			return out, nil
		}
	}
}
