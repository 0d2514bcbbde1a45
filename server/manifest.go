package server

// This file tells what is there to work on runs: the workflows and steps of workers and of endpoints that are pushed to.

import (
	"cmp"
	"context"
	"net/http"
	"slices"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
)

func manifestRoutes() []route {
	return []route{
		{method: "GET", path: ManifestPath, scope: Viewer, handle: (*Server).manifest, op: operation{
			id: "manifest", summary: "List the workflows and steps that workers and push endpoints have, with versions",
			responses: []response{{200, "Manifest", "", "What is known: of workers that are alive, and of endpoints as they said last."}},
		}},
	}
}

// manifest is what can be worked on.
type manifest struct {
	SpecVersion int            `json:"specVersion"` // of logs
	CoreVersion string         `json:"workflowCoreVersion"`
	Workflows   []provided     `json:"workflows"`
	Steps       []provided     `json:"steps"`
	Push        []PushEndpoint `json:"push"`
}

// provided is a workflow or a step, and who has it.
type provided struct {
	Name      string   `json:"name"`
	Version   int      `json:"version,omitempty"` // of a workflow
	Source    string   `json:"source,omitempty"`  // file:line, where an endpoint says it
	Workers   int      `json:"workers"`           // that are alive and have it
	Endpoints []string `json:"endpoints"`         // that are pushed to

	Schemas *world.Schemas `json:"schemas,omitempty"` // of a workflow that a live worker has
}

// gathering is a manifest that is being made.
type gathering map[providedKey]*provided

type providedKey struct {
	step    bool
	name    string
	version int
}

func (g gathering) of(step bool, name string, version int) *provided {
	k := providedKey{step, name, version}
	if g[k] == nil {
		g[k] = &provided{Name: name, Version: version, Endpoints: []string{}}
	}
	return g[k]
}

func (g gathering) list(step bool) []provided {
	list := []provided{}
	for k, v := range g {
		if k.step == step {
			list = append(list, *v)
		}
	}
	slices.SortFunc(list, func(a, b provided) int { return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Version, b.Version)) })
	return list
}

// mostDescribed is how many bytes of schemas a manifest has; of what comes behind them it has none: see GET /v1/workflows/{workflow}.
const mostDescribed = 4 << 20

// describeAll adds the schemas of workflows, in order.
func describeAll(ctx context.Context, app *stepwell.App, all gathering) error {
	bytes := 0
	for _, wf := range all.list(false) {
		known, err := app.Schemas(ctx, wf.Name, wf.Version)
		if err != nil {
			return err
		}
		for _, text := range known.Events {
			bytes += len(text)
		}
		for _, text := range known.Hooks {
			bytes += len(text)
		}
		if bytes += len(known.Input) + len(known.Output); bytes > mostDescribed {
			break
		}
		if known.Input != nil || known.Output != nil || known.Events != nil || known.Hooks != nil {
			all.of(false, wf.Name, wf.Version).Schemas = &known
		}
	}
	return nil
}

func (s *Server) manifest(w http.ResponseWriter, r *request) error {
	stats, err := s.world.Stats(r.Context())
	if err != nil {
		return err
	}
	all := gathering{}
	for i := range stats.Workers {
		wk := &stats.Workers[i]
		if !wk.Until.After(stats.Now) {
			continue
		}
		for _, c := range wk.Classes {
			if c.Version > 0 { // the others say that it claims runs whose version is open
				all.of(false, c.Workflow, c.Version).Workers++
			}
		}
		for _, name := range wk.Steps {
			all.of(true, name, 0).Workers++
		}
	}
	if err := describeAll(r.Context(), s.app, all); err != nil {
		return err
	}
	push := s.PushEndpoints()
	for i := range push {
		e := &push[i]
		for _, wf := range e.manifest.Workflows {
			p := all.of(false, wf.Name, wf.Version)
			p.Source, p.Endpoints = cmp.Or(p.Source, wf.Source), append(p.Endpoints, e.Endpoint)
		}
		for _, st := range e.manifest.Steps {
			p := all.of(true, st.Name, 0)
			p.Source, p.Endpoints = cmp.Or(p.Source, st.Source), append(p.Endpoints, e.Endpoint)
		}
	}
	if push == nil {
		push = []PushEndpoint{}
	}
	return answer(w, http.StatusOK, manifest{world.LogFormat, s.opts.Version, all.list(false), all.list(true), push})
}
