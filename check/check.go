// Package check lets a program answer to stepwell check: does its code go with what production has recorded?
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

// Result says in one word what became of a history that was held against a program's code. The values are stable.
type Result string

// What a history can come to.
const (
	Fits     Result = "fits"     // the code goes on from the history's end, or ends as it says
	Diverged Result = "diverged" // the code asks for something else than the history has
	Unknown  Result = "unknown"  // the program does not have the workflow in that version
	Failed   Result = "failed"   // the code, or the history, is not fit: it panics, cannot read a value, is damaged
)

// Report is what became of one history: a line of JSON that [Main] prints.
type Report struct {
	Check    Result `json:"check"`
	Run      string `json:"run"`
	Workflow string `json:"workflow"`
	Version  int    `json:"version"`
	Events   int    `json:"events"` // that the history has

	Code     string `json:"code,omitempty"`     // what a worker would block the run as: DIVERGED, PANIC, DECODE…
	Seq      int64  `json:"seq,omitempty"`      // number of the event where it was found
	Step     string `json:"step,omitempty"`     // name of what the history has there
	Expected string `json:"expected,omitempty"` // what the history has
	Actual   string `json:"actual,omitempty"`   // what the code asks for instead
	Where    string `json:"where,omitempty"`    // and where: file:line
	Build    string `json:"build,omitempty"`    // of the program that wrote the event
	Message  string `json:"message,omitempty"`  // all of it, for people
}

// End is the last line that [Main] prints: without it the program ended before it was done.
type End struct {
	Histories int `json:"checked"` // that were read
}

// Main makes the program that calls it answer to stepwell check, as [stepwell.Main] does, which is for programs that
// leave it their whole life. Call it first in main, with the Config that [stepwell.New] gets, before anything is
// opened or started. It returns at once unless the environment variable STEPWELL_CHECK is set, as stepwell check does
// in the program that it starts. Then it reads histories from standard input, as stepwell export writes them, holds
// the definitions of cfg against each as [stepwell.App.Check] does, and ends the process: no step runs, and no database
// is touched. Standard output gets a [Report] a line, as JSON, and an [End]; what workflow code prints goes to standard
// error. The exit code is 0 where all fit, 1 where one does not, 2 where they could not be checked.
//
// A program with STEPWELL_CHECK that does not call Main opens no database: stepwell.New, sqlite.Open and postgres.Open
// refuse.
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
