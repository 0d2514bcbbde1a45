package telemetry

// This file bounds the values of labels: a name that is made of data must not fill the memory of this process and of Prometheus.

import "sync"

// other stands for all values beyond the bounds.
const other = "other"

const (
	mostWorkflows = 200  // different names of workflows
	mostNames     = 100  // different names of steps, or events, of one workflow
	mostPairs     = 1000 // different names of steps, or events, of all workflows together
)

// labels decides which values are told by their name: the first that come, as long as the process lives.
type labels struct {
	mu        sync.RWMutex
	workflows map[string]bool // guarded by mu
	steps     map[pair]bool   // guarded by mu
	events    map[pair]bool   // guarded by mu
	perStep   map[string]int  // steps of a workflow; guarded by mu
	perEvent  map[string]int  // events of a workflow; guarded by mu
}

type pair struct{ workflow, name string }

func newLabels() *labels {
	return &labels{
		workflows: map[string]bool{}, steps: map[pair]bool{}, events: map[pair]bool{}, perStep: map[string]int{}, perEvent: map[string]int{},
	}
}

// workflow is the label of a workflow.
func (l *labels) workflow(name string) string {
	l.mu.RLock()
	known := l.workflows[name]
	l.mu.RUnlock()
	if known {
		return name
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.workflows[name] {
		if len(l.workflows) >= mostWorkflows {
			return other
		}
		l.workflows[name] = true
	}
	return name
}

// step is the labels of a step.
func (l *labels) step(workflow, step string) (string, string) {
	return l.pair(l.steps, l.perStep, workflow, step)
}

// event is the labels of an event.
func (l *labels) event(workflow, event string) (string, string) {
	return l.pair(l.events, l.perEvent, workflow, event)
}

func (l *labels) pair(known map[pair]bool, per map[string]int, workflow, name string) (string, string) {
	workflow = l.workflow(workflow)
	p := pair{workflow, name}
	l.mu.RLock()
	found := known[p]
	l.mu.RUnlock()
	if found {
		return workflow, name
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if !known[p] {
		if len(known) >= mostPairs || per[workflow] >= mostNames {
			return workflow, other
		}
		known[p] = true
		per[workflow]++
	}
	return workflow, name
}
