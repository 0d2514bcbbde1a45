package server

// This file tells how the system stands: health, workflows, workers, and what the API is.

import (
	"context"
	_ "embed"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/operate"
	"github.com/stepwell/stepwell/world"
)

func systemRoutes() []route {
	return []route{
		{method: "GET", path: "/v1/workflows", scope: Viewer, handle: atSystem((*system).workflows), op: operation{
			id: "listWorkflows", summary: "Count the runs of each workflow that are kept",
			responses: []response{{200, "Workflows", "", "The counts, each run once: one that is blocked or paused is not counted as pending or running."}},
		}},
		{method: "GET", path: "/v1/workflows/{workflow}/versions", scope: Viewer, handle: atSystem((*system).versions), op: operation{
			id: "listVersions", summary: "Count the runs of a workflow that are not over by version, and the workers that have each version",
			responses: []response{{200, "Versions", "", "Of the newest 20,000 runs that are not over; more says whether there are more."}},
		}},
		{method: "GET", path: "/v1/failures", scope: Viewer, wide: true, handle: atSystem((*system).failures), op: operation{
			id: "listFailures", summary: "Group failed runs that were not retried, blocked runs, and runs that wait for the next attempt of a step, by cause",
			query: []param{
				{name: "workflow", schema: "Text", about: "Only runs of this workflow."},
				{name: "since", schema: "Moment", about: "Only runs created at this time or later: a time, or a duration before now."},
				{name: "failedSince", schema: "Moment", about: "Only runs that failed at this time or later, that are blocked since then, or whose step failed then and waits for its next attempt."},
				{name: "cause", schema: "Text", about: "Only this cause: its `id`."},
			},
			responses: []response{{200, "Failures", "", "The causes, most runs first; of the newest 10,000 failed runs, the newest 10,000 blocked ones, and the newest 10,000 that wait for the next attempt of a step."}},
		}},
		{method: "GET", path: "/v1/workflows/{workflow}", scope: Viewer, handle: atSystem((*system).showSchemas), op: operation{
			id: "getWorkflow", summary: "Describe the JSON that a workflow takes and returns, in JSON Schema; you can generate clients from it",
			query:     []param{{name: "version", schema: "Version", about: "This version; by default the one that a start gets, the highest that a live worker has."}},
			responses: []response{{200, "Schemas", "", "What a live worker has published. Without a version: no live worker has the workflow; without a schema: the type is unknown."}},
		}},
		{method: "GET", path: "/v1/workers", scope: Viewer, wide: true, handle: atSystem((*system).workers), op: operation{
			id: "listWorkers", summary: "List the workers, and what they can run",
			responses: []response{{200, "Workers", "", "The workers that are alive, or not yet known to be dead."}},
		}},
		{method: "GET", path: "/healthz", scope: Open, handle: atSystem((*system).health), op: operation{
			id: "health", summary: "Check that the process answers", responses: []response{{200, "Health", "", "It does."}},
		}},
		{method: "GET", path: "/readyz", scope: Open, handle: atSystem((*system).ready), op: operation{
			id: "ready", summary: "Check that the database answers too, and that the server is not shutting down",
			responses: []response{{200, "Health", "", "Requests can be sent here."}},
		}},
		{method: "GET", path: "/openapi.json", scope: Open, handle: atSystem((*system).openAPI), op: operation{
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

// system tells how the server, its database and its workers do. It changes nothing.
type system struct {
	app    *stepwell.App
	world  world.World
	opts   *Options
	log    *slog.Logger
	pusher *pusher       // nil: there is nobody to push to
	drain  chan struct{} // closed when the server drains
}

// atSystem makes a handler of a method of the system.
func atSystem(f func(*system, http.ResponseWriter, *request) error) func(*Server, http.ResponseWriter, *request) error {
	return func(s *Server, w http.ResponseWriter, r *request) error { return f(&s.system, w, r) }
}

func (y *system) healthy(w http.ResponseWriter, r *request, push []PushEndpoint) error {
	return answer(w, http.StatusOK, health{true, r.URL.Path, world.LogFormat, y.opts.Version, push})
}

func (y *system) health(w http.ResponseWriter, r *request) error { return y.healthy(w, r, nil) }

// readyTime is how long the database may take to answer.
const readyTime = 2 * time.Second

func (y *system) ready(w http.ResponseWriter, r *request) error {
	select {
	case <-y.drain:
		return fmt.Errorf("%w: it is shutting down", errNotReady)
	default:
	}
	ctx, cancel := context.WithTimeout(r.Context(), readyTime)
	defer cancel()
	if _, err := y.world.Hooks(ctx, world.HookQuery{Limit: 1}); err != nil {
		y.log.Warn("not ready", "err", err)
		return fmt.Errorf("%w: the database does not answer", errNotReady)
	}
	return y.healthy(w, r, y.pusher.standing())
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

	Held *stepwell.Held `json:"held,omitempty"` // nil: it is not
}

func (y *system) workflows(w http.ResponseWriter, r *request) error {
	stats, err := y.world.Stats(r.Context())
	if err != nil {
		return err
	}
	once, err := operate.Workflows(r.Context(), y.app, &stats)
	if err != nil {
		return err
	}
	all := make([]counts, len(once))
	for i, n := range once {
		all[i] = counts{n.Workflow, n.Pending, n.Running, n.Completed, n.Failed, n.Cancelled, n.Blocked, n.Paused, n.Held}
	}
	return answer(w, http.StatusOK, all)
}

func (y *system) versions(w http.ResponseWriter, r *request) error {
	stats, err := y.world.Stats(r.Context())
	if err != nil {
		return err
	}
	all, err := operate.VersionsOf(r.Context(), y.app, &stats, r.PathValue("workflow"))
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, all)
}

func (y *system) failures(w http.ResponseWriter, r *request) error {
	f, err := filterOf(r.query.Get("workflow"), url.Values{"since": r.query["since"], "failedSince": r.query["failedSince"], "cause": r.query["cause"]})
	if err != nil {
		return err
	}
	all, err := operate.FailuresOf(r.Context(), y.app, f)
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, all)
}

func (y *system) showSchemas(w http.ResponseWriter, r *request) error {
	version := 0
	if text := r.query.Get("version"); text != "" {
		var err error
		if version, err = strconv.Atoi(text); err != nil || version < 1 {
			return invalid("query parameter version is %.40q: want a number from 1", text)
		}
	}
	known, err := y.app.Schemas(r.Context(), r.PathValue("workflow"), version)
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, known)
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

func (y *system) workers(w http.ResponseWriter, r *request) error {
	stats, err := y.world.Stats(r.Context())
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

func (y *system) openAPI(w http.ResponseWriter, _ *request) error {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(openAPI) // a client that is gone is not told
	return nil
}
