package main

// This file turns errors into what a person reads and what a script branches on.

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/human"
	"github.com/stepwell/stepwell/world"
)

// The exit codes; exitCodes documents them, and is what stepwell help exit-codes prints.
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

// exitHelp is the last line of help texts: most commands end with the codes of exitCodes.
const exitHelp = "Exit codes: see stepwell help exit-codes."

const exitCodes = `Exit codes:
  0    it worked
  1    it failed
  2    the command line is wrong
  3    there is no such run, hook, queue or database
  4    the run is over
  5    not now, try again later: the run's inbox is full, or it is not over yet
  6    a run with that ID or key is there already
  7    some of several runs were refused; the rest is done
  8    a history does not go with the code that it was held against
  9    the run that was waited for failed, or was cancelled
  130  interrupted`

// exitTopic is the help topic about exit codes: it runs nothing.
func exitTopic() *cobra.Command {
	return &cobra.Command{
		Use:   "exit-codes",
		Short: "What exit codes mean",
		Long:  "Where the help of a command says nothing else:\n\n" + exitCodes,
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

// explain says what went wrong with a run, and what next.
func (t *target) explain(err error, run string) error {
	var f *fault
	var refused *stepwell.RetryRefusedError
	switch {
	case err == nil || errors.As(err, &f):
		return err
	case errors.As(err, &refused):
		return &fault{exitUsage, coded{fmt.Errorf("run %s is not retried: %s", run, refused.Advice.Refused), stepwell.ErrInvalid}, t.insteadOf(run, &refused.Advice)}
	case errors.Is(err, stepwell.ErrNotFound):
		return &fault{exitNotFound, fmt.Errorf("there is no run %s in %s", run, t.place()), "list what is there:  " + t.command("runs list")}
	case errors.Is(err, stepwell.ErrTerminal):
		return &fault{exitOver, fmt.Errorf("run %s is over: nothing about it changes any more", run), "see how it ended:  " + t.command("runs show "+run)}
	case errors.Is(err, stepwell.ErrInboxFull):
		return &fault{exitLater, fmt.Errorf("run %s has too many unread payloads", run), "send it again later, with the same --delivery-id; see why it does not read:  " + t.command("runs show "+run)}
	case errors.Is(err, stepwell.ErrDeliveryUsed):
		return &fault{exitUsage, coded{fmt.Errorf("run %s got another payload under this delivery ID", run), err}, "nothing was sent; what is new has an ID of its own"}
	case errors.Is(err, stepwell.ErrRunExists):
		return &fault{exitExists, err, "nothing was changed; see it:  " + t.command("runs show "+run)}
	case errors.Is(err, stepwell.ErrInvalid), errors.Is(err, stepwell.ErrTooLarge):
		return &fault{exitUsage, err, "nothing was changed"}
	case errors.Is(err, world.ErrCorrupt):
		seq := int64(0)
		if bad, ok := errors.AsType[*world.CorruptError](err); ok {
			seq = bad.Seq
		}
		return &fault{exitFailure, err, "nothing was changed, and others go on\n  " + t.aroundDamage(run, seq)}
	}
	return err
}

// aroundDamage says what can be done about a run whose log is damaged at an event.
func (t *target) aroundDamage(run string, seq int64) string {
	text := "heal:    put the rows back from a backup or a replica: it goes on by itself\n" +
		"  look:    " + t.command("events "+run) + "\n"
	if seq > 2 {
		text += "  go on:   " + t.command(fmt.Sprintf("runs fork %s --at %d", run, seq-1)) + "\n"
	}
	return text + "  end it:  " + t.command("runs cancel "+run+" --force")
}

// report prints an error, as JSON if that was asked for, and returns the exit code.
func report(to io.Writer, ctx context.Context, err error, asJSON bool) int {
	if err == nil {
		return exitOK
	}
	var known *fault
	if !errors.As(err, &known) {
		err = refusedKey(err)
	}
	f := &fault{code: exitFailure, err: err}
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		f = &fault{code: exitInterrupted, err: errors.New("interrupted")}
		err = f
	} else {
		errors.As(err, &f)
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

// coded is an error in the words of the command line, with the code that programs know it by.
type coded struct {
	error
	is error
}

func (e coded) Unwrap() error { return e.is }
