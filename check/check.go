// Package check lets a program answer to stepwell check: does its code go with what production has recorded?
//
//	func main() {
//		check.Main(config)
//		…
package check

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/engine"
	"github.com/stepwell/stepwell/internal/kit"
	"github.com/stepwell/stepwell/internal/replay"
	"github.com/stepwell/stepwell/world"
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

// Main makes the program that calls it answer to stepwell check. Call it first in main, with the Config that
// [stepwell.New] gets, before anything is opened or started. It returns at once unless the environment variable
// STEPWELL_CHECK is set, as stepwell check does in the program that it starts. Then it reads histories from standard
// input, as stepwell export writes them, holds the definitions of cfg against each as [stepwell.App.Check] does, and
// ends the process: no step runs, and no database is touched. Standard output gets a [Report] a line, as JSON, and an
// [End]; what workflow code prints goes to standard error. The exit code is 0 where all fit, 1 where one does not, 2
// where they could not be checked.
//
// A program with STEPWELL_CHECK that does not call Main opens no database: stepwell.New, sqlite.Open and postgres.Open
// refuse.
func Main(cfg stepwell.Config) {
	if os.Getenv(world.CheckVariable) == "" {
		return
	}
	report := os.Stdout
	os.Stdout = os.Stderr
	wrong, err := checkAll(context.Background(), cfg, os.Stdin, report)
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	case wrong > 0:
		os.Exit(1)
	}
	os.Exit(0)
}

// checkAll holds definitions against the histories of a file, and reports. It returns how many do not fit.
func checkAll(ctx context.Context, cfg stepwell.Config, from io.Reader, to io.Writer) (wrong int, err error) {
	code, err := kit.Checker(&cfg)
	if err != nil {
		return 0, err
	}
	enc := json.NewEncoder(to)
	enc.SetEscapeHTML(false)
	n := 0
	for h, err := range stepwell.ReadHistories(from) {
		if err != nil {
			return wrong, fmt.Errorf("check: %w", err)
		}
		is := checked(ctx, code, h)
		if n++; is.Check != Fits {
			wrong++
		}
		if err := enc.Encode(&is); err != nil {
			return wrong, fmt.Errorf("check: %w", err)
		}
	}
	return wrong, enc.Encode(End{Histories: n})
}

// checked holds the code against one history.
func checked(ctx context.Context, code kit.Checking, h *stepwell.History) Report {
	class := engine.ClassOf(h.Events)
	is := Report{Check: Fits, Run: h.Run, Workflow: class.Workflow, Version: class.Version, Events: len(h.Events)}
	if !code.Knows(class) {
		is.Check, is.Code = Unknown, world.CodeNoWorker
		is.Message = fmt.Sprintf("workflow %q version %d is not one of the program's definitions", class.Workflow, class.Version)
		return is
	}
	err := code.Replay(ctx, h)
	if err == nil {
		return is
	}
	b := engine.BlockOf(err)
	is.Check, is.Code, is.Seq, is.Message = Failed, b.Code, b.Seq, strings.TrimPrefix(b.Message, "run "+h.Run+": ")
	if p, ok := errors.AsType[*replay.PanicError](err); ok {
		_, is.Where = replay.AuthorsStack(p.Stack)
		is.Message = strings.Replace(is.Message, " ("+is.Where+")", "", 1) // it is told beside
	}
	if d, ok := errors.AsType[*replay.DivergedError](err); ok {
		is.Check, is.Message = Diverged, d.Error()
		is.Step, is.Expected, is.Actual, is.Where, is.Build = d.Name, d.Log, d.Code, d.Where, d.Build
	}
	return is
}
