package cli

// This file has what commands end with: exit codes, and the words for them that --json has.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/stepwell/stepwell/internal/human"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/remote"
	"github.com/stepwell/stepwell/world/remote/wire"
)

// The exit codes. Those of errors of a database are in [world.Codes], which has what they are over REST, too.
const (
	exitOK           = 0
	exitFailure      = 1
	exitUsage        = 2
	exitNotFound     = 3
	exitOver         = 4
	exitLater        = 5
	exitExists       = 6
	exitPartly       = 7
	exitDiverged     = 8
	exitNotCompleted = 9
	exitInterrupted  = 130
)

// exits say what each exit code means, in their order.
var exits = []struct {
	exit int
	says string
}{
	{exitOK, "it worked"},
	{exitFailure, "it failed"},
	{exitUsage, "the command line is wrong, or the request can never be accepted"},
	{exitNotFound, "there is no such run, hook or database"},
	{exitOver, "the run is over"},
	{exitLater, "not now, try again later: the run's inbox is full, or it is not over yet"},
	{exitExists, "a run with that ID or key already exists"},
	{exitPartly, "some of several runs were refused; the others are done"},
	{exitDiverged, "a history does not match the code that it was checked against"},
	{exitNotCompleted, "the run that you waited for failed or was cancelled"},
	{exitInterrupted, "interrupted"},
}

// outcomes are the errors that commands know, each with its code in --json and its exit code: first what commands have
// of
// their own, where an exit code without a known error gets its word, then those of databases.
var outcomes = slices.Concat([]world.Coded{
	{Code: "FAILED", Exit: exitFailure},
	{Code: "USAGE", Exit: exitUsage},
	{Code: "PARTLY", Exit: exitPartly},
	{Code: world.CodeDiverged, Exit: exitDiverged},
	{Code: "NOT_COMPLETED", Exit: exitNotCompleted},
	{Code: "INTERRUPTED", Exit: exitInterrupted},
	{Err: context.DeadlineExceeded, Code: "TIMEOUT", Exit: exitLater},
	{Err: remote.ErrUnauthenticated, Code: wire.CodeNoKey, Exit: exitFailure},
	{Err: remote.ErrForbidden, Code: wire.CodeForbidden, Exit: exitFailure},
}, world.Codes())

// codeOf is the word for an error that a command ends with: that of the error, where it has this exit code, else that
// of the exit code.
func codeOf(err error, exit int) string {
	word := ""
	for _, c := range outcomes {
		switch {
		case c.Exit != exit:
		case c.Err != nil && errors.Is(err, c.Err):
			return c.Code
		case word == "" && !errors.Is(c.Err, context.DeadlineExceeded):
			word = c.Code
		}
	}
	return word
}

// exitHelp is the last line of help texts: most commands end with the codes of exitCodes.
const exitHelp = "Exit codes: see stepwell help exit-codes."

// exitCodes is what stepwell help exit-codes prints: exit codes with the codes that --json has beside them.
func exitCodes() string {
	text := "Exit codes, with the codes that --json has:"
	for _, e := range exits {
		text += fmt.Sprintf("\n  %-4d %s", e.exit, e.says)
		var words []string
		for _, c := range outcomes {
			if c.Exit == e.exit {
				words = append(words, c.Code)
			}
		}
		for line := range slices.Chunk(words, 5) {
			text += "\n         " + strings.Join(line, " ")
		}
	}
	return text
}

// exitTopic is the help topic about exit codes: it runs nothing.
func exitTopic() *cobra.Command {
	return &cobra.Command{
		Use:   "exit-codes",
		Short: "What the exit codes mean",
		Long:  "Unless the help of a command says otherwise:\n\n" + exitCodes(),
	}
}

// fault is an error with its exit code and what to do next.
type fault struct {
	code int
	err  error
	next string // one line, or more
}

func (f *fault) Error() string { return f.err.Error() }

// Unwrap returns what went wrong.
func (f *fault) Unwrap() error { return f.err }

func usagef(next, format string, args ...any) error {
	return &fault{code: exitUsage, err: fmt.Errorf(format, args...), next: next}
}

// exitOf is the exit code of an error that no command said more of.
func exitOf(err error) int {
	if known, ok := world.CodeOf(err); ok {
		return known.Exit
	}
	return exitFailure
}

// errSaid is the error of a program that has said itself what went wrong.
var errSaid = errors.New("another program failed")

// report prints an error, as JSON if that was asked for, and returns the exit code.
func report(to io.Writer, ctx context.Context, err error, asJSON bool) int {
	if err == nil {
		return exitOK
	}
	var known *fault
	if !errors.As(err, &known) {
		err = refusedKey(err)
	}
	f := &fault{code: exitOf(err), err: err}
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		f = &fault{code: exitInterrupted, err: errors.New("interrupted")}
		err = f
	} else {
		errors.As(err, &f)
	}
	if errors.Is(err, errSaid) {
		return f.code
	}
	if asJSON {
		writeFailure(to, failure{Code: codeOf(err, f.code), Error: err.Error(), Next: oneLine(f.next), Exit: f.code})
		return f.code
	}
	fmt.Fprintf(to, "stepwell: %s\n", human.VisibleLines(err.Error())) // a server may have said it
	if f.next != "" {
		fmt.Fprintf(to, "  %s\n", human.VisibleLines(f.next))
	}
	return f.code
}
