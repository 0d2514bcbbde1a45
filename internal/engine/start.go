package engine

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/stepwell/stepwell/world"
)

// eagerLimit is how long the first turn of an eager start may take before the run is created plain.
const eagerLimit = 50 * time.Millisecond

// Birth asks for a run.
type Birth struct {
	ID    string // chosen by the caller; "": a new one
	Birth world.Birth
	Input []byte
	Apart string        // the value that Input refers to, which the run's origin holds; "": it is the input
	Delay time.Duration // the run is not claimed before it has passed, by the world's clock
	Items int           // it may be merged into a run that gathers: see [world.Commit].Items

	Signals []world.Event // signal_received that are in the log from the birth on

	Ack string // the receipt of a message that is acknowledged with the birth; "": none

	Schedule *world.Schedule // that it is started by, as it is from then on; nil: none

	Tx world.Tx // the caller's transaction: the run is created when it commits; nil: none
}

// Started says what became of it.
type Started struct {
	Run     string
	Existed bool // a run with the same idempotency key was there already
	Merged  bool // it gathers, and has taken the input
}

// birth is an eager start: whoever decides first, the session that is about to commit or the caller who has waited too long, has it.
type birth struct {
	decided atomic.Bool
	done    chan bool // gets one value: whether the session settled the start; has room for it
	started Started
	err     error
}

func (b *birth) refuse(error) {
	if b.decided.CompareAndSwap(false, true) {
		b.done <- false
	}
}

// Start begins a run: eagerly in this worker, if it works, knows the workflow and has a free slot; else plain, in the queue. It returns when
// the birth is durable.
func (e *Engine) Start(ctx context.Context, b Birth) (Started, error) {
	if b.ID == "" {
		b.ID = world.NewID(world.PrefixRun, time.Now())
	} else if err := world.CheckRunID(b.ID); err != nil {
		return Started{}, err
	}
	if b.Birth.Seed == 0 {
		b.Birth.Seed = rand.Uint64()
	}
	if b.Delay > 0 {
		now, err := e.worldNow(ctx)
		if err != nil {
			return Started{}, fmt.Errorf("start %s: %w", b.Birth.Workflow, err)
		}
		b.Birth.NotBefore = world.After(now, b.Delay)
	}
	if b.Birth.NotBefore.IsZero() && b.Tx == nil && b.Ack == "" && b.Schedule == nil && b.Apart == "" && len(b.Birth.Places) == 0 && b.Items == 0 { // what is kept apart it can read when it is there
		if started, ok, err := e.startEager(ctx, b); ok {
			return started, err
		}
	}
	return e.createPlain(ctx, b)
}

// createTries is how often a birth whose outcome is unknown is looked after, before the caller hears that it is.
const createTries = 10

// createPlain puts a run into the queue.
func (e *Engine) createPlain(ctx context.Context, b Birth) (Started, error) {
	c := &world.Commit{
		ID: commitID(), Run: b.ID, First: 1, Build: e.cfg.Build, Ack: b.Ack, Schedule: b.Schedule,
		Events: []world.Event{{Seq: 1, Type: world.RunCreated, Time: e.clock.now(), Birth: &b.Birth, Payload: b.Input, Apart: b.Apart}},
	}
	for i, e := range b.Signals {
		e.Seq, e.Time = int64(i)+2, c.Events[0].Time
		c.Events = append(c.Events, e)
	}
	var done world.Committed
	var err error
	switch {
	case b.Items > 0:
		return gather(ctx, e, &b, c)
	case b.Tx == nil:
		done, err = createRun(ctx, e.cfg.World, c)
	case e.able.Transactor == nil:
		err = fmt.Errorf("%w: to start in a transaction you need a store that shares transactions, like PostgreSQL", world.ErrInvalid)
	default:
		done, err = e.able.Transactor.CommitIn(ctx, b.Tx, c)
	}
	if err != nil {
		return Started{}, fmt.Errorf("start %s: %w", b.Birth.Workflow, err)
	}
	if done.Existing != "" {
		return Started{Run: done.Existing, Existed: true}, nil
	}
	if b.Tx == nil {
		e.says.wantsNow(ctx, wanted{class: world.Class{Workflow: b.Birth.Workflow, Version: b.Birth.Version}}, b.ID)
	}
	return Started{Run: b.ID}, nil
}

// createRun writes a birth until its outcome is known.
func createRun(ctx context.Context, w world.World, c *world.Commit) (world.Committed, error) {
	done, err := w.Commit(ctx, c)
	for try := 0; errors.Is(err, world.ErrUnknownOutcome) && try < createTries; try++ {
		known, lookErr := w.Outcome(ctx, c)
		switch {
		case errors.Is(lookErr, world.ErrNotFound): // it was not written
			done, err = w.Commit(ctx, c)
		case lookErr == nil || final(lookErr):
			done, err = known, lookErr
		case !pause(ctx, retryPause(try)):
			return done, err
		}
	}
	return done, err
}

// startEager evaluates the first turn before birth. ok is false where the run is to be created plain.
func (e *Engine) startEager(ctx context.Context, b Birth) (st Started, ok bool, err error) {
	wf := e.code.workflow(world.Class{Workflow: b.Birth.Workflow, Version: b.Birth.Version})
	worker := e.workerID()
	if wf == nil || worker == "" || e.plain.Load() || e.runs.try(1) == 0 { // it may just be joining
		return st, false, nil
	}
	s := newSession(e, title{run: b.ID, claim: 1, worker: worker})
	s.eval.use(wf)
	mine := &birth{done: make(chan bool, 1)}
	s.birth = mine
	b.Birth.Version = wf.Version
	if !e.holdings.adopt(s, e.pulse.begun(), false, func(ctx context.Context) { s.runEager(ctx, b) }) {
		e.runs.release(1)
		return st, false, nil
	}
	timer := time.NewTimer(eagerLimit)
	defer timer.Stop()
	select {
	case ok = <-mine.done:
	case <-timer.C:
		if mine.decided.CompareAndSwap(false, true) {
			return st, false, nil
		}
		ok = <-mine.done
	}
	return mine.started, ok, mine.err
}

// runEager is the goroutine of a session that begins with its run's birth.
func (s *session) runEager(ctx context.Context, b Birth) {
	s.guard(ctx, func() {
		if s.firstTurn(&b) {
			s.loop(ctx)
		}
	})
}

// firstTurn evaluates the turn that is committed with the birth. It is false where the run is to be created plain.
func (s *session) firstTurn(b *Birth) bool {
	s.course.standAt(0, "")
	s.course.look(s.e.clock.now())
	first := world.Event{Type: world.RunCreated, Birth: &b.Birth, Payload: b.Input, Apart: b.Apart}
	if err := s.course.put(&first); err != nil {
		s.birth.refuse(err)
		return false
	}
	s.eval.begin(s.course.state())
	for _, e := range b.Signals {
		s.course.result(e)
	}
	s.course.result(s.e.begins(world.RunStarted))
	s.timers.timeDeadline(s.course.state())
	if !s.course.blocked() {
		s.course.steady()
	}
	if err := s.eval.found(s.course.fault().cause()); err != nil { // it is created plain, and blocked for it when it is claimed
		s.e.cache.put(&cached{run: s.own.run, wf: s.eval.workflow(), state: &world.State{ID: s.own.run}, unsteady: err})
	}
	if s.course.blocked() || !s.birth.decided.CompareAndSwap(false, true) {
		s.birth.refuse(s.course.fault().cause())
		s.e.steps.release(len(s.bodies.drainStarts())) // tasks hold slots already
		s.turn = turn{}
		return false
	}
	return true
}

// created settles the birth with the answer of its commit.
func (s *session) created(done world.Committed, err error) bool {
	b := s.birth
	s.birth = nil
	b.started, b.err = Started{Run: s.own.run}, err
	if errors.Is(err, errWritten) { // it is created, and somebody else's by now
		b.err = nil
	}
	switch {
	case b.err == nil && done.Existing == "":
		b.done <- true
		if err == nil {
			return true
		}
	case b.err == nil:
		b.started = Started{Run: done.Existing, Existed: true}
		b.done <- true
	case errors.Is(err, world.ErrLeaseLost):
		b.err = nil
		b.done <- false // this worker lost its lease: let the run be created plain
	default:
		b.err = fmt.Errorf("start %s: %w", s.course.state().Birth.Workflow, err)
		b.done <- true
	}
	s.stay.end()
	s.bodies.dropStarts()
	return false
}
