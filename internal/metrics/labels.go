package metrics

// This file bounds the values of labels: a name that is made of data must not fill the memory of a process, or of Prometheus.

import "sync"

// Other stands for all values beyond the bounds.
const Other = "other"

const (
	mostWorkflows = 200  // different names of workflows
	mostNames     = 100  // different names of steps, or events, of one workflow
	mostPairs     = 1000 // different names of steps, or events, of all workflows together
)

// Labels decides which values are told by their name: the first that come, as long as it lives. It is safe for concurrent use.
type Labels struct {
	mu        sync.RWMutex
	workflows map[string]bool // guarded by mu, as what follows
	steps     names
	events    names
}

type pair struct{ workflow, name string }

// names are pairs that are told, and how many of each workflow.
type names struct {
	known map[pair]bool
	per   map[string]int
}

// NewLabels makes one that has seen nothing.
func NewLabels() *Labels {
	return &Labels{
		workflows: map[string]bool{}, steps: names{map[pair]bool{}, map[string]int{}}, events: names{map[pair]bool{}, map[string]int{}},
	}
}

// of is the series in which one is counted.
func (l *Labels) of(s Series) Series {
	switch s.Metric {
	case Swept:
	case StepSeconds, StepRetries:
		s.Workflow, s.Name = l.pair(&l.steps, s.Workflow, s.Name)
	case Signals:
		s.Workflow, s.Name = l.pair(&l.events, s.Workflow, s.Name)
	default:
		s.Workflow = l.Workflow(s.Workflow)
	}
	return s
}

// Workflow is the label of a workflow.
func (l *Labels) Workflow(name string) string {
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
			return Other
		}
		l.workflows[name] = true
	}
	return name
}

func (l *Labels) pair(of *names, workflow, name string) (string, string) {
	workflow = l.Workflow(workflow)
	p := pair{workflow, name}
	l.mu.RLock()
	found := of.known[p]
	l.mu.RUnlock()
	if found {
		return workflow, name
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if !of.known[p] {
		if len(of.known) >= mostPairs || of.per[workflow] >= mostNames {
			return workflow, Other
		}
		of.known[p] = true
		of.per[workflow]++
	}
	return workflow, name
}
