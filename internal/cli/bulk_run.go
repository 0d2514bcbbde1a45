package cli

// This file does one thing to many runs, and tells of it.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/human"
	"github.com/stepwell/stepwell/internal/operate"
)

// tally is what a bulk operation has done so far.
type tally struct {
	*bulkAct
	again                string // the command that goes on
	ok, refused, already int
	last                 string // run that was met
	refusals             operate.Refusals
	restarts             bool   // some can be restarted
	restart              string // the command that restarts what cannot be retried
}

func (t *tally) String() string {
	s := t.done + ": " + human.Count(t.ok, "run")
	if t.already > 0 {
		s += "; " + human.Count(t.already, "run") + " so already"
	}
	if t.refused > 0 {
		s += "; " + human.Count(t.refused, "run") + " refused"
	}
	if t.ok+t.refused == 0 {
		s += "; nothing is left to do"
	}
	return s
}

// meet counts a run.
func (t *tally) meet(r *stepwell.BulkResult) operate.OfRun {
	is := t.Of(&r.Run, t.Result)
	switch {
	case r.Err == nil:
		t.ok++
	case errors.Is(r.Err, operate.ErrAlready):
		t.already++
		is.Result = operate.Unchanged
	default:
		t.refused++
		is.Result, is.Code, is.Error = operate.Refused, codeOf(r.Err, exitFailure), r.Err.Error()
		t.refusals.Add(is.Run, is.Code, is.Error)
		var no *stepwell.RetryRefusedError
		t.restarts = t.restarts || errors.As(r.Err, &no) && no.Advice.Restart
	}
	t.last = is.Run
	return is
}

// errUnexpected says that a run is one more than were expected.
var errUnexpected = errors.New("one more than you expected")

// atMost is an act on no more than so many runs; below 0: on all.
func (t *tally) atMost(act stepwell.Act, most int) stepwell.Act {
	if most < 0 {
		return act
	}
	var begun atomic.Int64
	return func(ctx context.Context, r stepwell.RunInfo) error {
		if begun.Add(1) > int64(most) {
			return errUnexpected
		}
		return act(ctx, r)
	}
}

// reasons writes why runs were refused, and what there is instead.
func (t *tally) reasons(to io.Writer) {
	for _, is := range t.refusals {
		fmt.Fprintf(to, "%s refused: %s\n", human.Count(is.Count, "run"), human.VisibleLines(is.Error))
	}
	if t.restarts {
		fmt.Fprintf(to, "to restart in place what cannot be retried, after the retry: %s\n", t.restart)
	}
}

// stopped says how far it came, and how to go on.
func (t *tally) stopped(code int, why string) error {
	where := "no run matched"
	if t.last != "" {
		where = "newest first, down to run " + t.last
	}
	return &fault{code, fmt.Errorf("%s; %s: %s", why, where, t), "what is done stays done; to continue:  " + t.again}
}

func bulkRun(ctx context.Context, c *cli, db *database, f stepwell.ListFilter, act stepwell.Act, flags *bulkFlags, t *tally) error {
	c.watched = c.watched || flags.watch
	p := c.progress(t.done, "run")
	if !c.json {
		defer t.reasons(c.stderr)
	}
	for r, err := range db.app.Bulk(ctx, f, t.atMost(act, flags.expect), stepwell.Parallel(flags.parallel)) {
		switch {
		case errors.Is(r.Err, errUnexpected): // it began behind the count
			continue
		case err != nil && ctx.Err() != nil:
			return t.stopped(exitInterrupted, "interrupted")
		case err != nil:
			return t.stopped(exitFailure, c.explain(err, "").Error())
		}
		is := t.meet(&r)
		if c.json {
			if err := c.encoder().Encode(is); err != nil {
				return t.stopped(exitFailure, err.Error())
			}
		}
		p.step()
	}
	if !c.json {
		fmt.Fprintln(c.stdout, t)
	}
	if t.refused > 0 {
		return &fault{exitPartly, fmt.Errorf("%s refused; the others are done", human.Count(t.refused, "run")), "you can run it again:  " + t.again}
	}
	return nil
}
