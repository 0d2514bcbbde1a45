package cli

// This file holds what --json says: of what was done, and of what went wrong.

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/stepwell/stepwell/internal/human"
	"github.com/stepwell/stepwell/internal/operate"
)

const jsonHelp = `With --json, standard output is JSON only. A command that shows something writes one object; one that lists or follows
writes one object per line. A command that changes something writes an object per line with action and result, two words
whose meaning never changes, with run if it is about a run, and with further members. An error is an object on standard
error, {"code","error","next","exit"}: code is a stable word, the same as in the REST API if that has it; exit is the exit
code, which --json does not change.`

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
	o.jsonFlag(cmd, "write the result as one JSON object")
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

// oneLine takes the indentation of later lines off what a person would do.
func oneLine(next string) string {
	lines := strings.Split(next, "\n")
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
	}
	return strings.Join(lines, "\n")
}
