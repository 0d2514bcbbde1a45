package stepwell

// This file says what a program has.

import (
	"slices"
	"time"
)

// Manifest says what a program can work on.
type Manifest struct {
	Build     string             `json:"build,omitempty"` // of the program
	Workflows []ManifestWorkflow `json:"workflows"`
	Steps     []ManifestStep     `json:"steps"` // registered ones
	Slice     time.Duration      `json:"-"`     // how long it works on one message
}

// ManifestWorkflow is one version of a workflow.
type ManifestWorkflow struct {
	Name    string `json:"name"`
	Version int    `json:"version"`
	Source  string `json:"source,omitempty"` // file:line of its function
}

// ManifestStep is a registered step.
type ManifestStep struct {
	Name   string `json:"name"`
	Source string `json:"source,omitempty"` // file:line of its function
}

// Manifest says what this App has registered, in the order of its definitions.
func (a *App) Manifest() Manifest {
	m := a.has
	m.Workflows, m.Steps = slices.Clone(m.Workflows), slices.Clone(m.Steps)
	return m
}

func (r *registrar) manifest() Manifest {
	m := Manifest{Build: r.cfg.Build, Slice: r.cfg.Slice, Workflows: []ManifestWorkflow{}, Steps: []ManifestStep{}}
	for _, wf := range r.workflows {
		m.Workflows = append(m.Workflows, ManifestWorkflow{wf.Name, wf.Version, wf.Source})
	}
	for _, st := range r.steps {
		m.Steps = append(m.Steps, ManifestStep{st.Name, st.Source})
	}
	return m
}
