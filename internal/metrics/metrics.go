// Package metrics counts what a process writes into logs, and joins what many have counted.
package metrics

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/stepwell/stepwell/world"
)

// Metric is one that is counted; its value is the place in [Specs].
type Metric uint8

// What is counted.
const (
	RunsStarted Metric = iota
	RunsCompleted
	RunSeconds
	StepSeconds
	StepRetries
	Signals
	Swept
)

// Spec says what a metric is called, and what it is.
type Spec struct {
	Name    string
	Help    string
	Labels  []string  // the workflow, and the name beside it
	Buckets []float64 // upper bounds in seconds, of a histogram; nil: it is a counter
}

// Specs are of all metrics.
var Specs = [...]Spec{
	RunsStarted:   {"workflow_runs_started_total", "Runs that began", []string{"workflow"}, nil},
	RunsCompleted: {"workflow_runs_completed_total", "Runs that ended: completed, failed or cancelled", []string{"workflow", "status"}, nil},
	RunSeconds: {"workflow_run_duration_seconds", "Time from a run's start to its end", []string{"workflow"},
		[]float64{.01, .05, .1, .5, 1, 5, 15, 60, 300, 1800, 3600, 6 * 3600, 24 * 3600, 7 * 24 * 3600, 30 * 24 * 3600}},
	StepSeconds: {"workflow_step_duration_seconds", "Time from the first start of a step to its end, retries and their delays included",
		[]string{"workflow", "step"}, []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 15, 60, 300, 1800, 3600}},
	StepRetries: {"workflow_step_retries_total", "Attempts of steps that failed and are followed by another", []string{"workflow", "step"}, nil},
	Signals:     {"workflow_signals_total", "Signals that came to their runs", []string{"workflow", "event"}, nil},
	Swept:       {"workflow_retention_swept_total", "Runs that were deleted, as their retention was over", nil, nil},
}

// Series is what is counted apart: a metric with the values of its labels.
type Series struct {
	Metric         Metric
	Workflow, Name string // empty where the metric has no such label
}

// LabelValues are those of the metric's labels.
func (s Series) LabelValues() []string {
	return []string{s.Workflow, s.Name}[:len(Specs[s.Metric].Labels)]
}

// Value is what a series came to.
type Value struct {
	Count   int64   // of a histogram: all that it saw
	Sum     float64 // of a histogram, in seconds
	Buckets []int64 // of a histogram: how many were at most each bound, and above the one before
}

// Counts are what was counted.
type Counts map[Series]Value

// Add adds others, times a sign.
func (c Counts) Add(others Counts, sign int64) {
	for s, v := range others {
		c.add(s, v, sign)
	}
}

func (c Counts) add(s Series, v Value, sign int64) {
	is := c[s]
	is.Count += sign * v.Count
	is.Sum += float64(sign) * v.Sum
	if len(v.Buckets) > 0 {
		is.Buckets = slices.Clone(is.Buckets)
		is.Buckets = append(is.Buckets, make([]int64, max(0, len(v.Buckets)-len(is.Buckets)))...)
		for i, n := range v.Buckets {
			is.Buckets[i] += sign * n
		}
	}
	c[s] = is
}

// Merge adds others within the bounds of labels: names beyond are counted together.
func (c Counts) Merge(others Counts, l *Labels) {
	for _, s := range slices.SortedFunc(maps.Keys(others), compare) {
		c.add(l.of(s), others[s], 1)
	}
}

func compare(a, b Series) int {
	if a.Metric != b.Metric {
		return int(a.Metric) - int(b.Metric)
	}
	if n := strings.Compare(a.Workflow, b.Workflow); n != 0 {
		return n
	}
	return strings.Compare(a.Name, b.Name)
}

// written is a series as it is kept. Its metric is named, so that one that is new to a reader is passed over.
type written struct {
	Metric   string  `json:"metric"`
	Workflow string  `json:"workflow,omitempty"`
	Name     string  `json:"name,omitempty"`
	Count    int64   `json:"count,omitempty"`
	Sum      float64 `json:"sum,omitempty"`
	Buckets  []int64 `json:"buckets,omitempty"`
}

// MarshalJSON writes all series, in order.
func (c Counts) MarshalJSON() ([]byte, error) {
	all := make([]written, 0, len(c))
	for _, s := range slices.SortedFunc(maps.Keys(c), compare) {
		v := c[s]
		all = append(all, written{Specs[s.Metric].Name, s.Workflow, s.Name, v.Count, v.Sum, v.Buckets})
	}
	return json.Marshal(all)
}

// mostCount is more than a process counts.
const mostCount = 1 << 50

// sane reports whether a process can have counted this: what is written may come over a network.
func (w *written) sane(m Metric) bool {
	if w.Count < 0 || w.Count > mostCount || w.Sum < 0 || w.Sum > mostCount || len(w.Buckets) > len(Specs[m].Buckets) {
		return false
	}
	if slices.ContainsFunc(w.Buckets, func(n int64) bool { return n < 0 || n > w.Count }) {
		return false
	}
	switch labels := len(Specs[m].Labels); {
	case labels == 0:
		return w.Workflow == "" && w.Name == ""
	case world.CheckWorkflowName(w.Workflow) != nil:
		return false
	case m == RunsCompleted:
		return world.Status(w.Name).Terminal()
	case labels == 1:
		return w.Name == ""
	}
	return world.CheckName("name", w.Name) == nil
}

// UnmarshalJSON reads what it knows.
func (c *Counts) UnmarshalJSON(data []byte) error {
	var all []written
	if err := json.Unmarshal(data, &all); err != nil {
		return err
	}
	*c = make(Counts, len(all))
	for _, w := range all {
		m := slices.IndexFunc(Specs[:], func(s Spec) bool { return s.Name == w.Metric })
		if m < 0 || !w.sane(Metric(m)) {
			continue
		}
		c.add(Series{Metric(m), w.Workflow, w.Name}, Value{w.Count, w.Sum, w.Buckets}, 1)
	}
	return nil
}

// Counter counts what one process does. It is safe for concurrent use.
type Counter struct {
	mu     sync.Mutex
	labels *Labels
	counts map[Series]*Value // guarded by mu, as what follows
	total  int64             // how often it was counted
}

// NewCounter makes one whose names are bounded by labels.
func NewCounter(l *Labels) *Counter { return &Counter{labels: l, counts: map[Series]*Value{}} }

// Count counts n of a series, or one that took so many seconds.
func (c *Counter) Count(s Series, n int64, seconds float64) {
	s = c.labels.of(s)
	bounds := Specs[s.Metric].Buckets
	c.mu.Lock()
	defer c.mu.Unlock()
	v := c.counts[s]
	if v == nil {
		v = &Value{Buckets: make([]int64, len(bounds))}
		c.counts[s] = v
	}
	c.total++
	v.Count += n
	if bounds != nil {
		v.Sum += seconds
		if i, _ := slices.BinarySearch(bounds, seconds); i < len(bounds) {
			v.Buckets[i]++
		}
	}
}

// Total is how often it was counted so far.
func (c *Counter) Total() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.total
}

// Counts is what was counted so far.
func (c *Counter) Counts() Counts {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := make(Counts, len(c.counts))
	for s, v := range c.counts {
		out.add(s, *v, 1)
	}
	return out
}
