package server

// This file tells how the system stands: health, workflows, workers, and what the API is.

import (
	"context"
	_ "embed"
	"fmt"
	"net/http"
	"time"

	"github.com/stepwell/stepwell/internal/operate"
	"github.com/stepwell/stepwell/world"
)

func systemRoutes() []route {
	return []route{
		{method: "GET", path: "/v1/workflows", scope: Viewer, handle: (*Server).workflows, op: operation{
			id: "listWorkflows", summary: "Count the runs of each workflow that are kept",
			responses: []response{{200, "Workflows", "", "The counts, each run once: one that is blocked or paused is not counted as pending or running."}},
		}},
		{method: "GET", path: "/v1/workflows/{workflow}/versions", scope: Viewer, handle: versions, op: operation{
			id: "listVersions", summary: "Count the runs of a workflow that are not over by version, and the workers that have it",
			responses: []response{{200, "Versions", "", "Of the newest 20,000 runs that are not over; more says that there are more."}},
		}},
		{method: "GET", path: "/v1/workers", scope: Viewer, wide: true, handle: (*Server).workers, op: operation{
			id: "listWorkers", summary: "List the workers, and what they know",
			responses: []response{{200, "Workers", "", "The workers that are alive, or were not yet found dead."}},
		}},
		{method: "GET", path: "/healthz", scope: Open, handle: (*Server).health, op: operation{
			id: "health", summary: "Tell that the process answers", responses: []response{{200, "Health", "", "It does."}},
		}},
		{method: "GET", path: "/readyz", scope: Open, handle: (*Server).ready, op: operation{
			id: "ready", summary: "Tell whether the database answers too, and the server is not about to end",
			responses: []response{{200, "Health", "", "Requests can be sent here."}},
		}},
		{method: "GET", path: "/openapi.json", scope: Open, handle: (*Server).openAPI, op: operation{
			id: "openapi", summary: "This description", responses: []response{{200, "Anything", "", "OpenAPI 3.0."}},
		}},
	}
}

// health is the answer of /healthz and /readyz. The names of its fields are those of Workflow DevKit.
type health struct {
	Healthy             bool   `json:"healthy"`
	Endpoint            string `json:"endpoint"`
	SpecVersion         int    `json:"specVersion"` // of logs
	WorkflowCoreVersion string `json:"workflowCoreVersion"`
	// Push are the endpoints that are pushed to, of /readyz alone. One that is not well does not make the server so.
	Push []PushEndpoint `json:"push,omitempty"`
}

func (s *Server) healthy(w http.ResponseWriter, r *request, push []PushEndpoint) error {
	return answer(w, http.StatusOK, health{true, r.URL.Path, world.LogFormat, s.opts.Version, push})
}

func (s *Server) health(w http.ResponseWriter, r *request) error { return s.healthy(w, r, nil) }

// readyTime is how long the database may take to answer.
const readyTime = 2 * time.Second

func (s *Server) ready(w http.ResponseWriter, r *request) error {
	select {
	case <-s.drain:
		return fmt.Errorf("%w: it is shutting down", errNotReady)
	default:
	}
	ctx, cancel := context.WithTimeout(r.Context(), readyTime)
	defer cancel()
	if _, err := s.world.Hooks(ctx, world.HookQuery{Limit: 1}); err != nil {
		s.log.Warn("not ready", "err", err)
		return fmt.Errorf("%w: the database does not answer", errNotReady)
	}
	return s.healthy(w, r, s.PushEndpoints())
}

// counts are the runs of a workflow, each counted once.
type counts struct {
	Name      string `json:"name"`
	Pending   int    `json:"pending"`
	Running   int    `json:"running"`
	Completed int    `json:"completed"`
	Failed    int    `json:"failed"`
	Cancelled int    `json:"cancelled"`
	Blocked   int    `json:"blocked"`
	Paused    int    `json:"paused"`
}

func (s *Server) workflows(w http.ResponseWriter, r *request) error {
	stats, err := s.world.Stats(r.Context())
	if err != nil {
		return err
	}
	once, err := operate.Counts(r.Context(), s.app, &stats)
	if err != nil {
		return err
	}
	all := make([]counts, len(once))
	for i, n := range once {
		all[i] = counts{n.Workflow, n.Pending, n.Running, n.Completed, n.Failed, n.Cancelled, n.Blocked, n.Paused}
	}
	return answer(w, http.StatusOK, all)
}

func versions(s *Server, w http.ResponseWriter, r *request) error {
	stats, err := s.world.Stats(r.Context())
	if err != nil {
		return err
	}
	all, err := operate.VersionsOf(r.Context(), s.app, &stats, r.PathValue("workflow"))
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, all)
}

// worker is a process that works on runs.
type worker struct {
	ID        string        `json:"id"`
	Name      string        `json:"name"`
	Build     string        `json:"build,omitempty"`
	Workflows []world.Class `json:"workflows"` // version 0: runs whose version is open
	Steps     []string      `json:"steps"`
	JoinedAt  time.Time     `json:"joinedAt"`
	Until     time.Time     `json:"until"` // end of its lease
	Alive     bool          `json:"alive"`
	Runs      int           `json:"runs"`
	Tasks     int           `json:"tasks"`
}

func (s *Server) workers(w http.ResponseWriter, r *request) error {
	stats, err := s.world.Stats(r.Context())
	if err != nil {
		return err
	}
	all := make([]worker, len(stats.Workers))
	for i, x := range stats.Workers {
		all[i] = worker{x.ID, x.Name, x.Build, x.Classes, x.Steps, x.JoinedAt, x.Until, x.Until.After(stats.Now), x.Runs, x.Tasks}
		if all[i].Workflows == nil {
			all[i].Workflows = []world.Class{}
		}
		if all[i].Steps == nil {
			all[i].Steps = []string{}
		}
	}
	return answer(w, http.StatusOK, all)
}

// openAPI describes the API; it is generated from the routes: go test ./server -run TestOpenAPI -update.
//
//go:embed openapi.json
var openAPI []byte

func (s *Server) openAPI(w http.ResponseWriter, _ *request) error {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(openAPI) // a client that is gone is not told
	return nil
}
