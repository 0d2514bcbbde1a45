// Package measure holds what the bench measures: results, what processes use, what stores commit, and the middle of many times.
package measure

import (
	"math"
	"slices"
	"time"
)

// Result is one measurement: a line of the bench's JSON. 0 says that something was not measured, or makes no sense for the workload.
type Result struct {
	Engine      string `json:"engine"`
	Version     string `json:"version"`
	Store       string `json:"store"`
	Work        string `json:"work"`
	N           int    `json:"n,omitempty"` // the size of the work where it has one: steps of the run, parallel steps, children, sleepers, events
	Concurrency int    `json:"concurrency"`

	RunsPerS            float64 `json:"runs_per_s"`
	StepsPerS           float64 `json:"steps_per_s"`
	P50                 float64 `json:"p50_ms"` // of one run, or of what the workload says
	P99                 float64 `json:"p99_ms"`
	CPUPer1kSteps       float64 `json:"cpu_s_per_1k_steps"`     // of the engine, and of the database server
	CommitsPerStep      float64 `json:"commits_per_step"`       // transactions that changed something
	BytesWrittenPerStep float64 `json:"bytes_written_per_step"` // that were sent to the disk
	RSS                 float64 `json:"rss_mb"`                 // MiB at the end, of the engine's processes: without the database server

	IdleRSS    float64 `json:"rss_idle_mb,omitempty"`    // before the work: bench itself, with all peers linked, is most of it
	GapP50     float64 `json:"gap_p50_ms,omitempty"`     // between the beginnings of two steps of a run
	GapP99     float64 `json:"gap_p99_ms,omitempty"`     //
	FirstTenth float64 `json:"first_tenth_us,omitempty"` // per step
	LastTenth  float64 `json:"last_tenth_us,omitempty"`  // per step
	DiskPerRun float64 `json:"disk_bytes_per_run,omitempty"`
	Alone      float64 `json:"alone_runs_per_s,omitempty"` // mixed: without readers
	OfStarts   float64 `json:"of_starts,omitempty"`        // children: the time of as many starts and results from outside is 1
	Asks       float64 `json:"asks_per_s,omitempty"`       // mixed: answered questions
	AskP50     float64 `json:"ask_p50_ms,omitempty"`
	AskP99     float64 `json:"ask_p99_ms,omitempty"`
	Measured   int64   `json:"measured,omitempty"` // runs, or what else was counted
	Steps      int64   `json:"steps,omitempty"`
	Seconds    float64 `json:"seconds,omitempty"`
	Round      int     `json:"round,omitempty"`
	Spread     string  `json:"spread,omitempty"` // the least and the most of the figure that was compared, over the rounds
	Note       string  `json:"note,omitempty"`   // why there is no figure
}

// Took sets the percentiles from the times of runs, or of what the workload measures.
func (r *Result) Took(all []time.Duration) {
	r.P50, r.P99 = Millis(Percentile(all, 50)), Millis(Percentile(all, 99))
}

// Over sets counts and rates.
func (r *Result) Over(runs, steps int64, took time.Duration) {
	r.Measured, r.Steps, r.Seconds = runs, steps, took.Seconds()
	if took > 0 {
		r.RunsPerS, r.StepsPerS = float64(runs)/took.Seconds(), float64(steps)/took.Seconds()
	}
}

// Used sets what a step took; a workload without steps counts its runs.
func (r *Result) Used(u Usage) {
	n := float64(r.Steps)
	if n == 0 {
		n = float64(r.Measured)
	}
	if n == 0 {
		return
	}
	r.CPUPer1kSteps = u.CPU.Seconds() / n * 1000
	r.CommitsPerStep = float64(u.Commits) / n
	r.BytesWrittenPerStep = float64(u.Written) / n
}

// Percentile is the smallest of some times that so many percent of them are not above. It sorts them.
func Percentile(all []time.Duration, percent int) time.Duration {
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	at := int(math.Ceil(float64(len(all))*float64(percent)/100)) - 1
	return all[min(max(at, 0), len(all)-1)]
}

// Millis is a time in milliseconds.
func Millis(d time.Duration) float64 { return float64(d) / 1e6 }
