package postgres

// Which of what could be claimed is.

import (
	"slices"
	"sync"
	"time"

	"github.com/stepwell/stepwell/world/rules"
)

// kind is what a row of ready.sql is about.
type kind int16

const (
	readyRun kind = iota
	readyTask
	mailedRun // mail makes it runnable
	peer      // a worker
	clockRow
	limitNews
	rateDue
)

// partition is a part of the queue that is served in the order of due times: of runs by class and priority, of tasks by step, workflow and priority.
type partition struct {
	class          int32
	step, workflow string
	priority       int16
}

// candidate is a run or task that could be given, or will be.
type candidate struct {
	kind      kind
	key       int64
	partition partition // of a run: without a workflow
	workflow  string
	due       time.Time
	task      taskSeen // where it is one
	lacks     bool     // a run: it lacks places
	limited   bool     // it may need places
}

// fairness are those of all workers of this World.
type fairness struct {
	mu sync.Mutex
	rules.Fairness
}

// pick chooses what is given, at most n. What is in skip is left out.
func (t *fairness) pick(all []candidate, now time.Time, n int, skip map[int64]bool) (chosen []candidate) {
	if n <= 0 {
		return nil
	}
	all = slices.DeleteFunc(slices.Clone(all), func(c candidate) bool { return skip[c.key] })
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, i := range t.Pick(column(all, (*candidate).compared), now, n) {
		chosen = append(chosen, all[i])
	}
	return chosen
}

// compared is the candidate as others are compared with it.
func (c *candidate) compared() rules.Candidate {
	return rules.Candidate{Key: c.key, Workflow: c.workflow, Priority: int(c.partition.priority), Due: c.due}
}

// serve notes that workflows had their turn.
func (t *fairness) serve(all []candidate) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, c := range all {
		t.Serve(c.workflow)
	}
}

// partitionArgs are the partitions of runs that a worker asks for, as columns.
func partitionArgs(classes []int32, low func(partition) time.Time) (class []int32, priority []int16, from []time.Time) {
	n := len(classes) * rules.Priorities
	class, priority, from = make([]int32, 0, n), make([]int16, 0, n), make([]time.Time, 0, n)
	for _, c := range classes {
		for p := range int16(rules.Priorities) {
			class, priority, from = append(class, c), append(priority, p), append(from, low(partition{class: c, priority: p}))
		}
	}
	return class, priority, from
}
