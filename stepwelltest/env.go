package stepwelltest

// This file holds the environment of a test: what the test does goes through it, is remembered, and can so be done
// again.

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/kit"
	"github.com/stepwell/stepwell/world/memory"
)

// Env is where the workflows of one test run. It has a database, a worker, and a clock that stands still until the
// test lets time pass. It ends with the test. Its methods, and those of its runs, belong to the test's own goroutine.
type Env struct {
	t       testing.TB
	options Options
	life    *life
	script  []act // what was done to life so far

	mu      sync.Mutex
	fakes   map[string]fake  // by step; guarded by mu
	asked   map[string]bool  // steps whose bodies were to run; guarded by mu
	lacking map[string]error // steps that had no fake, and needed one; guarded by mu
	untold  []error          // those of lacking that the test does not know yet; guarded by mu

	expected map[string]bool // runs that the test wants to be blocked
}

// Options says where and how the workflows of a test run. The zero value is that of [New] without definitions.
type Options struct {
	// Config is the worker's: definitions, slots, limits, a logger. Strict and what concerns time are the
	// environment's own.
	stepwell.Config

	// Store is where the runs are kept. Nil: in memory.
	Store Store

	// Start is the time at which the database is opened, and the test begins. Zero: midnight UTC, 2000-01-01; it
	// cannot be earlier. A schedule has nothing to make good for from before.
	Start time.Time

	// RealSteps lets each step that has no fake run its own body. Then a fake that no step has used fails the test.
	RealSteps bool
}

// act is something that the test does, from within a bubble.
type act struct {
	what string
	do   func(l *life) error
}

// New makes an environment whose worker has the definitions: workflows, and registered steps.
func New(t testing.TB, definitions ...stepwell.Definition) *Env {
	t.Helper()
	return NewWith(t, Options{Config: stepwell.Config{Definitions: definitions}})
}

// NewWith is [New] with options:
//
//	env := stepwelltest.NewWith(t, stepwelltest.Options{
//		Config: stepwell.Config{Definitions: definitions, MaxRuns: 1},
//		Store:  sqlitetest.Store(),
//		Start:  time.Date(2026, 3, 29, 0, 0, 0, 0, time.UTC),
//	})
func NewWith(t testing.TB, o Options) *Env {
	t.Helper()
	if o.Store == nil {
		o.Store = inMemory
	}
	if begin := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC); !o.Start.IsZero() && o.Start.Before(begin) {
		t.Fatalf("a test cannot start at %s: its clock begins at %s", o.Start, begin)
	}
	if _, err := stepwell.New(memory.New(), o.Config); err != nil {
		t.Fatal(err)
	}
	e := &Env{
		t: t, options: o, expected: map[string]bool{},
		fakes: map[string]fake{}, asked: map[string]bool{}, lacking: map[string]error{},
	}
	e.life = e.begin(nil)
	t.Cleanup(e.end)
	return e
}

// end looks for what a test must not miss, and ends the bubble.
func (e *Env) end() {
	e.t.Helper()
	blocked := e.life.blocked()
	for run, b := range blocked {
		if !e.expected[run] {
			e.t.Errorf("run %s is blocked, %s: %s", run, b.Code, b.Message)
		}
	}
	for run, b := range e.life.world.broken() {
		if !e.expected[run] && blocked[run] == nil {
			e.t.Errorf("run %s was blocked, %s: %s", run, b.Code, b.Message)
		}
	}
	e.life.close()
	e.report()
	e.unused()
}

// Now is the time in the environment. It begins at midnight UTC, 2000-01-01, or at [Options].Start.
func (e *Env) Now() time.Time {
	var now time.Time
	e.life.call(func() { now = time.Now().UTC() })
	return now
}

// Advance lets time pass: sleeps end, deadlines pass, steps are tried again, each at its time.
func (e *Env) Advance(d time.Duration) {
	e.t.Helper()
	e.must(act{"advance " + d.String(), func(l *life) error {
		l.pass(d)
		return nil
	}})
}

// Do calls fn beside the workflows: for what the test's own code does with an App, like a handler that starts runs.
// The App is a client; no time passes but by fn's own waiting, as in run.Result. fn is called again by
// [Env.CrashEverywhere]. It may fail the test, and so does an error that it returns.
func (e *Env) Do(fn func(ctx context.Context, app *stepwell.App) error) {
	e.t.Helper()
	e.must(act{"do", func(l *life) error { return fn(l.ctx, l.client) }})
}

// SendHook sends a payload to the hook with a token.
func (e *Env) SendHook(token string, payload any) {
	e.t.Helper()
	e.must(act{"send to hook " + token, func(l *life) error { return l.sendHook(token, payload) }})
}

// must does something, and remembers it.
func (e *Env) must(a act) {
	e.t.Helper()
	e.script = append(e.script, a)
	if err := e.life.perform(a); err != nil {
		e.t.Fatalf("%s: %v", a.what, err)
	}
}

// Start starts a run. It goes as far as it can before time has to pass. Unless the options say otherwise its ID is
// run-1, that of the next run-2, and so on.
func Start[In, Out any](e *Env, workflow *stepwell.Workflow[In, Out], in In, opts ...stepwell.StartOption) *Run[Out] {
	e.t.Helper()
	run := &Run[Out]{env: e, get: workflow.Get, n: len(e.life.started)}
	name := fmt.Sprintf("run-%d", run.n+1)
	all := append([]stepwell.StartOption{stepwell.RunID(name)}, opts...)
	if kit.Gathers(workflow) { // its starts have no IDs of their own
		all = all[1:]
	}
	e.must(act{"start " + workflow.Name(), func(l *life) error {
		started, err := workflow.Start(l.ctx, l.client, in, all...)
		if err == nil {
			l.started = append(l.started, started.ID())
		}
		return err
	}})
	return run
}
