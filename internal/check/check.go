// Package check holds a program's code against histories, and reports: what stepwell check asks of the program that it starts.
package check

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/stepwell/stepwell/internal/engine"
	"github.com/stepwell/stepwell/internal/history"
	"github.com/stepwell/stepwell/internal/kit"
	"github.com/stepwell/stepwell/internal/replay"
	"github.com/stepwell/stepwell/world"
)

// Result says in one word what became of a history: see package check of the module.
type Result string

// What a history can come to.
const (
	Fits     Result = "fits"
	Diverged Result = "diverged"
	Unknown  Result = "unknown"
	Failed   Result = "failed"
)

// Report is what became of one history: a line of JSON.
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

// End is the last line: without it the program ended before it was done.
type End struct {
	Histories int `json:"checked"` // that were read
}

// Main does what stepwell check asks for, and ends the process, if that has started it; else it returns at once. The
// code is asked for only then.
func Main(code func() (kit.Checking, error)) {
	if os.Getenv(world.CheckVariable) == "" {
		return
	}
	report := os.Stdout
	os.Stdout = os.Stderr // what workflow code prints
	wrong, err := checkAll(context.Background(), code, os.Stdin, report)
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
func checkAll(ctx context.Context, load func() (kit.Checking, error), from io.Reader, to io.Writer) (wrong int, err error) {
	code, err := load()
	if err != nil {
		return 0, err
	}
	enc := json.NewEncoder(to)
	enc.SetEscapeHTML(false)
	n := 0
	for h, err := range history.Read(from) {
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
func checked(ctx context.Context, code kit.Checking, h *history.History) Report {
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
