package cli

// This file says in words what went wrong with a run, and what next. What it comes to (exit code, and code in --json)
// is in
// exit.go and package world.

import (
	"errors"
	"fmt"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
)

// explain says what went wrong with a run, and what next.
func (t *target) explain(err error, run string) error {
	var said *fault
	known, ok := world.CodeOf(err)
	if !ok || errors.As(err, &said) {
		return err
	}
	f := &fault{code: known.Exit, err: err}
	if f.code == exitUsage {
		f.next = "nothing was changed"
	}
	says := func(format string, args ...any) { f.err = coded{fmt.Errorf(format, args...), err} }
	switch known.Err {
	case world.ErrNotFound:
		says("there is no run %s in %s", run, t.place())
		f.next = "list the runs:  " + t.command("runs list")
	case world.ErrTerminal:
		says("run %s is over and can no longer change", run)
		f.next = "see how it ended:  " + t.command("runs show "+run)
	case world.ErrInboxFull:
		says("run %s has too many unread payloads", run)
		f.next = "send it again later, with the same --delivery-id; to see why the run does not read its payloads:  " + t.command("runs show "+run)
	case world.ErrRateLimited:
		f.next = "nothing was started; see the rate:  " + t.command("limits list")
		if rate, ok := errors.AsType[*world.RateError](err); ok {
			f.next = "nothing was started; start it again in " + rate.After.String() + "; see the rate:  " + t.command("limits show "+rate.Limit)
		}
	case world.ErrDeliveryUsed:
		says("run %s has already received a different payload with this delivery ID", run)
		f.next = "nothing was sent; use a new delivery ID for a new payload"
	case world.ErrRunExists:
		f.next = "nothing was changed; see it:  " + t.command("runs show "+run)
	case world.ErrInvalid:
		if refused, ok := errors.AsType[*stepwell.RetryRefusedError](err); ok {
			says("run %s is not retried: %s", run, refused.Advice.Refused)
			f.next = t.insteadOf(run, &refused.Advice)
		}
	case world.ErrCorrupt:
		seq := int64(0)
		if bad, ok := errors.AsType[*world.CorruptError](err); ok {
			seq = bad.Seq
		}
		f.next = "nothing was changed, and other runs continue\n  " + t.aroundDamage(run, seq)
	}
	return f
}

// aroundDamage says what can be done about a run whose log is damaged at an event.
func (t *target) aroundDamage(run string, seq int64) string {
	text := "repair:  restore the rows from a backup or a replica: the run continues by itself\n" +
		"  look:    " + t.command("events "+run) + "\n"
	if seq > 2 {
		text += "  go on:   " + t.command(fmt.Sprintf("runs fork %s --at %d", run, seq-1)) + "\n"
	}
	return text + "  end it:  " + t.command("runs cancel "+run+" --force")
}

// coded is an error in the words of the command line, with the code that programs know it by.
type coded struct {
	error
	is error
}

func (e coded) Unwrap() error { return e.is }
