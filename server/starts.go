package server

// This file has the doors by which operators hold workflows.

import (
	"net/http"
)

func startRoutes() []route {
	act := func(name, id, summary, body, about string, handle func(*Server, http.ResponseWriter, *request) error) route {
		return route{method: "POST", path: "/v1/workflows/{workflow}/" + name, scope: Operator, audit: true, handle: handle, op: operation{
			id: id, summary: summary, body: body, optional: true, responses: []response{{200, "Holds", "", about}},
		}}
	}
	const about = "All workflows that are held now, by name."
	return []route{
		act("hold", "holdWorkflow", "Hold a workflow: its starts are accepted, but its runs do not begin until you release it", "Note", about, holdWorkflow),
		act("release", "releaseWorkflow", "Let the runs of a held workflow begin", "Empty", about, releaseWorkflow),
		{method: "GET", path: "/v1/holds", scope: Viewer, handle: listHolds, op: operation{
			id: "listHolds", summary: "List the held workflows", responses: []response{{200, "Holds", "", about}},
		}},
	}
}

// noted is the body of what has a note.
type noted struct {
	Note string `json:"note"`
}

func holdWorkflow(s *Server, w http.ResponseWriter, r *request) error {
	var b noted
	if err := r.decode(&b); err != nil {
		return err
	}
	r.because(b.Note)
	if err := s.app.Hold(r.Context(), r.PathValue("workflow"), b.Note); err != nil {
		return err
	}
	return listHolds(s, w, r)
}

func releaseWorkflow(s *Server, w http.ResponseWriter, r *request) error {
	if err := s.app.Release(r.Context(), r.PathValue("workflow")); err != nil {
		return err
	}
	return listHolds(s, w, r)
}

func listHolds(s *Server, w http.ResponseWriter, r *request) error {
	all, err := s.app.Holds(r.Context())
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, all)
}
