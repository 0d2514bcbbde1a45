// Package work holds the workloads. Each asks an engine for the abilities that it needs and measures; an engine that has them not is
// [ErrNotOffered].
package work

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/stepwell/stepwell/bench/engine"
	"github.com/stepwell/stepwell/bench/measure"
)

// ErrNotOffered says that an engine has no such thing.
var ErrNotOffered = errors.New("not offered")

// Point is one thing that is measured, in a process of its own.
type Point struct {
	Work        string        `json:"work"`
	N           int           `json:"n,omitempty"`
	Concurrency int           `json:"concurrency"`
	Time        time.Duration `json:"time"` // how long to measure, where the workload repeats something
}

// String names a point in tables and messages.
func (p Point) String() string {
	if p.N > 0 {
		return fmt.Sprintf("%s/%d", p.Work, p.N)
	}
	return p.Work
}

// Bench is what a workload gets.
type Bench struct {
	Point
	Engine engine.Engine
	Result *measure.Result
	// Begin and End tell the parent that what is between them is measured: it reads there what processes have used. One pair at most.
	Begin, End func() error
	// Reopen closes the engine and opens it anew on the same store, in this process.
	Reopen func(ctx context.Context) error
	// Victim starts another process of this program on the same store, which takes over the runs of the recover workload and then waits
	// to be killed. It returns when that process has begun a step of each of n runs.
	Victim func(ctx context.Context, n int) (kill func() error, err error)
}

// Workload is one of the bench's.
type Workload struct {
	Name string
	What string // one sentence, for people
	// Figure is what engines are compared by, and whether less is better.
	Figure func(r *measure.Result) float64
	Less   bool
	Unit   string
	Run    func(ctx context.Context, b *Bench) error
	// Opens says that the workload opens its engine itself, with Bench.Reopen.
	Opens bool
}

// All are the workloads, in the order in which they are measured.
var All = []*Workload{serial, latency, long, fanout, start, sleepers, signal, remote, children, mixed, replay, interleaved, takeover}

// Find returns a workload by its name.
func Find(name string) (*Workload, error) {
	i := slices.IndexFunc(All, func(w *Workload) bool { return w.Name == name })
	if i < 0 {
		return nil, fmt.Errorf("no workload is called %q", name)
	}
	return All[i], nil
}

func stepsPerS(r *measure.Result) float64 { return r.StepsPerS }
func runsPerS(r *measure.Result) float64  { return r.RunsPerS }
func p50(r *measure.Result) float64       { return r.P50 }
