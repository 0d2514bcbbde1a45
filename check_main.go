package stepwell

// This file lets a program answer to stepwell check: does its code go with what production has recorded?

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/stepwell/stepwell/internal/engine"
	"github.com/stepwell/stepwell/internal/replay"
	"github.com/stepwell/stepwell/keyring"
	"github.com/stepwell/stepwell/world"
)

// CheckResult says in one word what became of a history that was held against a program's code. The values are stable.
type CheckResult string

// What a history can come to.
const (
	CheckFits     CheckResult = "fits"     // the code goes on from the history's end, or ends as it says
	CheckDiverged CheckResult = "diverged" // the code asks for something else than the history has
	CheckUnknown  CheckResult = "unknown"  // the program does not have the workflow in that version
	CheckFailed   CheckResult = "failed"   // the code, or the history, is not fit: it panics, cannot read a value, is damaged
)

// Checked is what became of one history: a line of JSON that [CheckMain] prints.
type Checked struct {
	Check    CheckResult `json:"check"`
	Run      string      `json:"run"`
	Workflow string      `json:"workflow"`
	Version  int         `json:"version"`
	Events   int         `json:"events"` // that the history has

	Code     string `json:"code,omitempty"`     // what a worker would block the run as: DIVERGED, PANIC, DECODE…
	Seq      int64  `json:"seq,omitempty"`      // number of the event where it was found
	Step     string `json:"step,omitempty"`     // name of what the history has there
	Expected string `json:"expected,omitempty"` // what the history has
	Actual   string `json:"actual,omitempty"`   // what the code asks for instead
	Where    string `json:"where,omitempty"`    // and where: file:line
	Build    string `json:"build,omitempty"`    // of the program that wrote the event
	Message  string `json:"message,omitempty"`  // all of it, for people
}

// CheckEnd is the last line that [CheckMain] prints: without it the program ended before it was done.
type CheckEnd struct {
	Histories int `json:"checked"` // that were read
}

// CheckMain makes the program that calls it answer to stepwell check. Call it first in main, with the Config that [New] gets, before anything is
// opened or started:
//
//	func main() {
//		stepwell.CheckMain(config)
//		…
//
// It returns at once unless the environment variable STEPWELL_CHECK is set, as stepwell check does in the program that it starts. Then it reads
// histories from standard input, as stepwell export writes them, holds the definitions of cfg against each as [App.Check] does, and ends the
// process: no step runs, and no database is touched. Standard output gets a [Checked] a line, as JSON, and a [CheckEnd]; what workflow code prints goes
// to standard error. The exit code is 0 where all fit, 1 where one does not, 2 where they could not be checked.
//
// A program with STEPWELL_CHECK that does not call CheckMain opens no database: [New], sqlite.Open and postgres.Open refuse.
func CheckMain(cfg Config) {
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
func checkAll(ctx context.Context, cfg Config, from io.Reader, to io.Writer) (wrong int, err error) {
	if cfg.Encryption == nil {
		if cfg.Encryption, err = keyring.FromEnv(os.Getenv); err != nil {
			return 0, err
		}
	}
	app, err := newApp(nil, cfg, nil)
	if err != nil {
		return 0, err
	}
	enc := json.NewEncoder(to)
	enc.SetEscapeHTML(false)
	n := 0
	for h, err := range ReadHistories(from) {
		if err != nil {
			return wrong, fmt.Errorf("check: %w", err)
		}
		is := app.checked(ctx, h)
		if n++; is.Check != CheckFits {
			wrong++
		}
		if err := enc.Encode(&is); err != nil {
			return wrong, fmt.Errorf("check: %w", err)
		}
	}
	return wrong, enc.Encode(CheckEnd{Histories: n})
}

// checked holds the code against one history.
func (a *App) checked(ctx context.Context, h *History) Checked {
	class := engine.ClassOf(h.Events)
	is := Checked{Check: CheckFits, Run: h.Run, Workflow: class.Workflow, Version: class.Version, Events: len(h.Events)}
	if !a.engine.Knows(class) {
		is.Check, is.Code = CheckUnknown, world.CodeNoWorker
		is.Message = fmt.Sprintf("workflow %q version %d is not among the program's definitions", class.Workflow, class.Version)
		return is
	}
	ctx, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	readable, err := a.opened(h)
	if err == nil {
		err = a.engine.Check(ctx, h.Run, readable.Events)
	}
	if err == nil {
		return is
	}
	b := engine.BlockOf(err)
	is.Check, is.Code, is.Seq, is.Message = CheckFailed, b.Code, b.Seq, strings.TrimPrefix(b.Message, "run "+h.Run+": ")
	if p, ok := errors.AsType[*replay.PanicError](err); ok {
		is.Where = panicPlace(string(p.Stack))
	}
	if d, ok := errors.AsType[*replay.DivergedError](err); ok {
		is.Check, is.Message = CheckDiverged, d.Error()
		is.Step, is.Expected, is.Actual, is.Where, is.Build = d.Name, d.Log, d.Code, d.Where, d.Build
	}
	return is
}

// panicPlace finds in a stack where workflow code panicked, as file:line: behind the call of panic, the first line that is none of the runtime's. It
// is "" where there is none.
func panicPlace(stack string) string {
	_, below, _ := strings.Cut(stack, "\npanic(")
	for line := range strings.Lines(below) {
		file, ok := strings.CutPrefix(line, "\t")
		file, _, _ = strings.Cut(strings.TrimSpace(file), " ")
		if ok && file != "" && !strings.Contains(filepath.ToSlash(file), "/src/runtime/") {
			return filepath.Base(file)
		}
	}
	return ""
}
