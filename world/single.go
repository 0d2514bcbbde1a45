package world

// Singletons: at most one run of a workflow and key is live. What a birth says of it is a [Place] of a limit of the
// workflow's own, of one run until its end: so the next one begins when the one before it is over. Which run it is that
// has the key stands beside it. See docs/design/starts.md.

import (
	"fmt"
	"reflect"
	"strings"
)

// Single says what happens at a start while a run of its workflow and key is live; "": the start
// creates a run.
type Single string

// Values of [Single].
const (
	SingleKeep Single = "keep" // the start returns the live run
	// SingleReplace: the live run is cancelled, and the new one begins when it is over.
	SingleReplace Single = "replace"
)

const singlePrefix = "singleton:"

// SingleName returns the name of the limit behind a workflow's singleton. No other limit can have
// it.
func SingleName(workflow string) string { return singlePrefix + workflow }

// NewSingle returns the limit behind a workflow's singleton.
func NewSingle(workflow string, then Single) SaidLimit {
	return SaidLimit{Name: SingleName(workflow), Number: 1, UntilEnd: true, Single: then}
}

// SingleOf returns the workflow whose singleton a limit is; "": none.
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

// SingleInTx refuses the birth of a singleton in a caller's transaction, because other starts with
// its key would wait for the caller.
func SingleInTx(b *Birth) error {
	for i := range b.Places {
		if b.Places[i].Single != "" {
			return fmt.Errorf("%w: workflow %s is a singleton, so other starts would wait for the transaction: start it outside of the transaction", ErrInvalid, b.Workflow)
		}
	}
	return nil
}

// SingleLive returns the error for a fork, retry, restart or import while a run with its
// singleton's key is live.
func SingleLive(run, live string, p *Place) error {
	return fmt.Errorf("run %s: run %s is live and has %s: wait for its end, or cancel it: %w", run, live, p.SingleText(), ErrRunExists)
}

// SingleText describes the key of a singleton, for people.
func (p *Place) SingleText() string {
	of := "the singleton of workflow " + SingleOf(p.Limit)
	if p.Key == "" {
		return of
	}
	return fmt.Sprintf("key %q of %s", p.Key, of)
}
