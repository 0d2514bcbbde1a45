package main

// This file holds what --json says: of what was done, and of what went wrong.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/stepwell/stepwell/internal/human"
	"github.com/stepwell/stepwell/internal/operate"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/remote"
)

const jsonHelp = `With --json standard output is JSON and nothing else. A command that shows something writes it as one object, or as one a line where it
lists or follows. A command that does something writes an object a line with action and result, each a word that never changes its meaning,
run where it is about one, and what else there is to say. An error is an object on standard error, {"code","error","next","exit"}: code is a
stable word, the same as in the REST API where that has it; exit is the exit code, which --json does not change.`

// acted is what --json says of one thing that was done. Other commands add members to it.
type acted = operate.Done

// failure is what --json says of an error.
type failure struct {
	Code  string `json:"code"`
	Error string `json:"error"`
	Next  string `json:"next,omitempty"` // what a person would do
	Exit  int    `json:"exit"`
}

// output is where a command writes, and how: for people, or as JSON where its flag asks for that.
type output struct {
	*shell
	json bool
}

func (o *output) jsonFlag(cmd *cobra.Command, what string) {
	cmd.Flags().BoolVar(&o.json, "json", false, what)
}

// actFlag is jsonFlag for commands that do one thing.
func (o *output) actFlag(cmd *cobra.Command) {
	o.jsonFlag(cmd, "write what was done as one JSON object")
}

// tell says what was done: as JSON, or in a sentence.
func (o *output) tell(is any, text string) error {
	if o.json {
		return o.encoder().Encode(is)
	}
	_, err := fmt.Fprintln(o.stdout, human.VisibleLines(text))
	return err
}

// wantsJSON reports whether a command line asks for JSON that could not be read to its end.
func wantsJSON(args []string) bool {
	if i := slices.Index(args, "--"); i >= 0 {
		args = args[:i]
	}
	return slices.Contains(args, "--json") || slices.Contains(args, "--json=true")
}

// writeFailure writes an error as --json does.
func writeFailure(to io.Writer, f failure) {
	enc := json.NewEncoder(visibleJSON{to})
	enc.SetEscapeHTML(false)
	_ = enc.Encode(f) // there is nobody left to tell
}

// codes are the words for exit codes that say what went wrong.
var codes = map[int]string{
	exitNotFound: "NOT_FOUND", exitOver: "RUN_OVER", exitLater: "INBOX_FULL", exitExists: "RUN_EXISTS", exitPartly: "PARTLY",
	exitDiverged: world.CodeDiverged, exitNotCompleted: "NOT_COMPLETED", exitInterrupted: "INTERRUPTED",
}

// codeOf is the word for an error.
func codeOf(err error, exit int) string {
	if exit == exitLater && errors.Is(err, context.DeadlineExceeded) {
		return "TIMEOUT"
	}
	if code := codes[exit]; code != "" {
		return code
	}
	switch known, ok := world.CodeOf(err); {
	case errors.Is(err, remote.ErrUnauthenticated):
		return "UNAUTHENTICATED"
	case errors.Is(err, remote.ErrForbidden):
		return "FORBIDDEN"
	case errors.Is(err, world.ErrReceipt):
		return "RECEIPT_OLD"
	case ok:
		return known.Code
	}
	if exit == exitUsage {
		return "USAGE"
	}
	return "FAILED"
}

// oneLine takes the indentation of later lines off what a person would do.
func oneLine(next string) string {
	lines := strings.Split(next, "\n")
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
	}
	return strings.Join(lines, "\n")
}
