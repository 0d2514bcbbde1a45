// Package check makes a program answer the command stepwell check: does its code match what
// production has recorded?
//
//	func main() {
//		check.Main(config)
//		…
package check

import (
	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/check"
	"github.com/stepwell/stepwell/internal/kit"
)

// Result is the result of a history in one word. The values are stable.
type Result string

// Results of a history.
const (
	// Fits: the code continues from the history's end, or ends as the history does.
	Fits     Result = "fits"
	Diverged Result = "diverged" // the code asks for something else than the history has
	Unknown  Result = "unknown"  // the program does not have the workflow version
	// Failed: the code panics or cannot read a value, or the history is damaged.
	Failed Result = "failed"
)

// Report is the result of one history: a line of JSON that [Main] prints.
type Report struct {
	Check    Result `json:"check"`
	Run      string `json:"run"`
	Workflow string `json:"workflow"`
	Version  int    `json:"version"`
	Events   int    `json:"events"` // number of events in the history

	// Code: the code with which a worker would block the run: DIVERGED, PANIC, DECODE…
	Code     string `json:"code,omitempty"`
	Seq      int64  `json:"seq,omitempty"`      // number of the event at which it was found
	Step     string `json:"step,omitempty"`     // name of the step or wait in the history
	Expected string `json:"expected,omitempty"` // what the history has
	Actual   string `json:"actual,omitempty"`   // what the code asks for instead
	Where    string `json:"where,omitempty"`    // and at which file:line
	Build    string `json:"build,omitempty"`    // build that wrote the event
	Message  string `json:"message,omitempty"`  // the whole report, for people
}

// End is the last line that [Main] prints. Without it the program ended early.
type End struct {
	Histories int `json:"checked"` // number of histories read
}

// Main makes a program answer the command stepwell check. Programs that use [stepwell.Main] need
// not call it. Call it first in main, with the Config for [stepwell.New], before you open or start
// anything.
//
// Without the environment variable STEPWELL_CHECK, which stepwell check sets, Main returns at once.
// With it, Main reads histories from standard input, as stepwell export writes them, checks the
// definitions of cfg against each as [stepwell.App.Check] does, and exits. No step runs, and no
// database is opened. Standard output gets one [Report] a line, as JSON, and an [End]; output of
// workflow code goes to standard error. The exit code is 0 if all histories fit, 1 if one does not,
// 2 if they could not be checked.
//
// If STEPWELL_CHECK is set and a program does not call Main, stepwell.New, sqlite.Open and
// postgres.Open return an error.
func Main(cfg stepwell.Config) {
	check.Main(func() (kit.Checking, error) { return kit.Checker(&cfg) })
}

// What is printed is what is read.
var (
	_ = func(r check.Report) Report {
		return Report{Result(r.Check), r.Run, r.Workflow, r.Version, r.Events, r.Code, r.Seq, r.Step, r.Expected, r.Actual, r.Where, r.Build, r.Message}
	}
	_ = End(check.End{})
)
