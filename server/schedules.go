package server

// This file has the doors of schedules: when runs start by themselves.

import (
	"bytes"
	"encoding/json"
	"net/http"
	"time"

	"github.com/stepwell/stepwell/acting"
	"github.com/stepwell/stepwell/internal/kit"
	"github.com/stepwell/stepwell/internal/operate"
	"github.com/stepwell/stepwell/internal/timetable"
	"github.com/stepwell/stepwell/world"
)

const schedulePath = "/v1/schedules/{schedule}"

func scheduleRoutes() []route {
	one := []response{{200, "Schedule", "", "The schedule as it is now."}}
	act := func(name, id, summary, body string, optional bool, responses []response, handle func(*Server, http.ResponseWriter, *request) error) route {
		return route{method: "POST", path: schedulePath + "/" + name, scope: Operator, audit: true, handle: handle, op: operation{
			id: id, summary: summary, body: body, optional: optional, responses: responses,
		}}
	}
	return []route{
		{method: "GET", path: "/v1/schedules", scope: Viewer, wide: true, handle: listSchedules, op: operation{
			id: "listSchedules", summary: "List the schedules, with their next times", query: []param{paramCursor, limit("Limit1000")},
			responses: []response{{200, "SchedulePage", "", "A page, by name."}},
		}},
		{method: "GET", path: schedulePath, scope: Viewer, handle: getSchedule, op: operation{id: "getSchedule", summary: "Show a schedule in words, with its next ten times", responses: one}},
		{method: "PUT", path: schedulePath, scope: Operator, audit: true, handle: putSchedule, op: operation{
			id: "putSchedule", summary: "Create a schedule, or change its settings", body: "PutSchedule", responses: one,
		}},
		{method: "DELETE", path: schedulePath, scope: Operator, audit: true, handle: deleteSchedule, op: operation{
			id: "deleteSchedule", summary: "Delete a schedule; its runs stay", responses: []response{{204, "", "", "It is deleted. If a program declares it, it is created again when that program starts."}},
		}},
		act("pause", "pauseSchedule", "Stop a schedule from starting runs until you resume it", "Reason", true, one, pauseSchedule),
		act("resume", "resumeSchedule", "Resume a schedule from its next time", "Empty", true, one, resumeSchedule),
		act("trigger", "triggerSchedule", "Start one run of a schedule now, in addition to its times", "TriggerSchedule", true,
			[]response{{201, "TriggeredSchedule", "", "The run that was started."}}, triggerSchedule),
		act("backfill", "backfillSchedule", "Start the runs of past times that have none", "BackfillSchedule", false,
			[]response{{200, "BackfilledSchedule", "", "The runs that were started, and those that existed already."}}, backfillSchedule),
	}
}

// scheduleAt is the schedule that a path names, and where it is kept.
func scheduleAt(s *Server, r *request) (*timetable.Keeper, string, error) {
	name := r.PathValue("schedule")
	return kit.AppOf(s.app).Timetable, name, world.CheckScheduleName("schedule", name)
}

func answerSchedule(w http.ResponseWriter, is *world.Schedule, err error) error {
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, operate.ScheduleOf(is))
}

// schedulePage is a page of schedules.
type schedulePage struct {
	Schedules []operate.Schedule `json:"schedules"`
	Cursor    string             `json:"cursor,omitempty"` // none: this is the end
}

func listSchedules(s *Server, w http.ResponseWriter, r *request) error {
	limit, err := r.number("limit", someEvents, mostEvents)
	if err != nil {
		return err
	}
	k := kit.AppOf(s.app).Timetable
	page, err := k.Store.Schedules(r.Context(), world.ScheduleQuery{After: r.query.Get("cursor"), Limit: limit})
	if err != nil {
		return err
	}
	out := schedulePage{Schedules: make([]operate.Schedule, len(page))}
	for i := range page {
		out.Schedules[i] = operate.ScheduleOf(&page[i])
	}
	if len(page) == limit {
		out.Cursor = page[len(page)-1].Name
	}
	return answer(w, http.StatusOK, out)
}

func getSchedule(s *Server, w http.ResponseWriter, r *request) error {
	k, name, err := scheduleAt(s, r)
	if err != nil {
		return err
	}
	is, err := timetable.Find(r.Context(), k.Store, name)
	return answerSchedule(w, is, err)
}

// scheduling is the body of a schedule.
type scheduling struct {
	Workflow       string          `json:"workflow"`
	Version        int             `json:"version"`
	Times          []string        `json:"times"`
	Zone           string          `json:"zone"`
	From           time.Time       `json:"from"`
	Until          time.Time       `json:"until"`
	Runs           int             `json:"runs"`
	Jitter         duration        `json:"jitter"`
	CatchUp        duration        `json:"catchUp"`
	Overlap        world.Overlap   `json:"overlap"`
	PauseOnFailure bool            `json:"pauseOnFailure"`
	Input          json.RawMessage `json:"input"`
}

func (b *scheduling) world(name string) world.Schedule {
	s := world.Schedule{Name: name, Says: world.ScheduleSpec{
		Workflow: b.Workflow, Version: b.Version, Times: b.Times, Zone: b.Zone, From: b.From.UTC(), Until: b.Until.UTC(), Runs: b.Runs,
		Jitter: time.Duration(b.Jitter), CatchUp: time.Duration(b.CatchUp), Overlap: b.Overlap, PauseOnFailure: b.PauseOnFailure, Input: b.Input,
	}}
	if bytes.Equal(s.Says.Input, []byte("null")) {
		s.Says.Input = nil
	}
	return s
}

func putSchedule(s *Server, w http.ResponseWriter, r *request) error {
	var b scheduling
	if err := r.decode(&b); err != nil {
		return err
	}
	k, name, err := scheduleAt(s, r)
	if err != nil {
		return err
	}
	is := b.world(name)
	is.Made = world.Provenance{By: acting.Who(r.Context()), At: world.Now()}
	now, err := timetable.Put(r.Context(), k.Store, is)
	return answerSchedule(w, now, err)
}

func deleteSchedule(s *Server, w http.ResponseWriter, r *request) error {
	k, name, err := scheduleAt(s, r)
	if err != nil {
		return err
	}
	if err := k.Store.DeleteSchedule(r.Context(), name); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func pauseSchedule(s *Server, w http.ResponseWriter, r *request) error {
	var b reason
	if err := r.decode(&b); err != nil {
		return err
	}
	r.because(b.Reason)
	k, name, err := scheduleAt(s, r)
	if err != nil {
		return err
	}
	is, err := timetable.Pause(r.Context(), k.Store, name, acting.Who(r.Context()), b.Reason)
	return answerSchedule(w, is, err)
}

func resumeSchedule(s *Server, w http.ResponseWriter, r *request) error {
	if err := r.decode(&struct{}{}); err != nil {
		return err
	}
	k, name, err := scheduleAt(s, r)
	if err != nil {
		return err
	}
	is, err := timetable.Resume(r.Context(), k.Store, name)
	return answerSchedule(w, is, err)
}

// triggering is the body of a trigger.
type triggering struct {
	Input json.RawMessage `json:"input"` // none: the schedule's
}

// triggeredSchedule is the run that was started.
type triggeredSchedule struct {
	Run string `json:"run"`
}

func triggerSchedule(s *Server, w http.ResponseWriter, r *request) error {
	var b triggering
	if err := r.decode(&b); err != nil {
		return err
	}
	k, name, err := scheduleAt(s, r)
	if err != nil {
		return err
	}
	run, err := k.Trigger(r.Context(), name, b.Input)
	if err != nil {
		return err
	}
	return answer(w, http.StatusCreated, triggeredSchedule{run})
}

// backfilling is the body of a backfill.
type backfilling struct {
	From  time.Time `json:"from"`
	Until time.Time `json:"until"`
}

// backfilledSchedule is what a backfill came to.
type backfilledSchedule struct {
	Started []string `json:"started"`
	Existed []string `json:"existed"`
}

func backfillSchedule(s *Server, w http.ResponseWriter, r *request) error {
	var b backfilling
	if err := r.decode(&b); err != nil {
		return err
	}
	k, name, err := scheduleAt(s, r)
	if err != nil {
		return err
	}
	done, err := k.Backfill(r.Context(), name, b.From, b.Until)
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, backfilledSchedule{append([]string{}, done.Started...), append([]string{}, done.Existed...)})
}
