package world

// Singletons: at most one run of a workflow and key is live. What a birth says of it is a [Place] of a limit of the
// workflow's own, of one run until its end: so the next one begins when the one before it is over. Which run it is that
// has the key stands beside it. See docs/design/starts.md.

import (
	"fmt"
	"reflect"
	"strings"
)

// Single says what becomes of a start where a run of its workflow and key is live; "": any number may be.
type Single string

// What becomes of it.
const (
	SingleKeep    Single = "keep"    // there is no new run: the start is answered with the one that is live
	SingleReplace Single = "replace" // that one is cancelled, and the new one begins when it is over
)

const singlePrefix = "singleton:"

// SingleName is the name of the limit that a workflow's singleton is. No other limit can have it.
func SingleName(workflow string) string { return singlePrefix + workflow }

// NewSingle is the limit that a workflow's singleton is.
func NewSingle(workflow string, then Single) SaidLimit {
	return SaidLimit{Name: SingleName(workflow), Number: 1, UntilEnd: true, Single: then}
}

// SingleOf is the workflow of whose singleton a limit is; "": it is none.
func SingleOf(limit string) string {
	workflow, is := strings.CutPrefix(limit, singlePrefix)
	if !is {
		return ""
	}
	return workflow
}

func (l *SaidLimit) checkSingle() error {
	workflow := SingleOf(l.Name)
	if err := CheckWorkflowName(workflow); err != nil {
		return fmt.Errorf("%w: singleton %.140q: want the name %s and that of its workflow", ErrInvalid, l.Name, singlePrefix)
	}
	want := NewSingle(workflow, l.Single)
	want.Path, want.Computed = l.Path, l.Computed
	if l.Single != SingleKeep && l.Single != SingleReplace || !reflect.DeepEqual(*l, want) {
		return fmt.Errorf("%w: singleton of workflow %s: want one run until its end, and %s or %s", ErrInvalid, workflow, SingleKeep, SingleReplace)
	}
	return nil
}

// checkSingle refuses the singleton of another workflow.
func (b *Birth) checkSingle() error {
	for i := range b.Places {
		if p := &b.Places[i]; p.Single != "" && p.Limit != SingleName(b.Workflow) {
			return fmt.Errorf("%w: limit %s is not the singleton of workflow %s", ErrInvalid, p.Limit, b.Workflow)
		}
	}
	return nil
}

// SingleInTx refuses the birth of a singleton in a caller's transaction: who starts another one of its key, and the run
// whose place it takes, would wait for the caller.
func SingleInTx(b *Birth) error {
	for i := range b.Places {
		if b.Places[i].Single != "" {
			return fmt.Errorf("%w: workflow %s is a singleton, so other starts would wait for the transaction: start it outside of the transaction", ErrInvalid, b.Workflow)
		}
	}
	return nil
}

// SingleLive is the error for a run that is made of another, or of a log, while a run is live that has its singleton's
// key.
func SingleLive(run, live string, p *Place) error {
	return fmt.Errorf("run %s: run %s is live and has %s: wait for its end, or cancel it: %w", run, live, p.SingleText(), ErrRunExists)
}

// SingleText tells people of the key of a singleton.
func (p *Place) SingleText() string {
	of := "the singleton of workflow " + SingleOf(p.Limit)
	if p.Key == "" {
		return of
	}
	return fmt.Sprintf("key %q of %s", p.Key, of)
}
