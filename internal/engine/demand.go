package engine

// Working on demand: somebody tells the worker which run or task to work on, message by message, as push delivery does. It claims nothing by itself.
//
//  1. Nothing rests on a message: what it names is claimed from the queue as any work is, if it is ready, and what is left is ready again afterwards.
//  2. All messages of a process are one worker. It joins with the first, heartbeats as long as it owns anything, and leaves when it had nothing to do for
//     [Config.Idle].
//  3. A message is worked on for its slice. That is looked at between turns: bodies end, but none begins.
//  4. A run that is started here is created plain: its worker may be gone when its message has its answer.

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stepwell/stepwell/world"
)

// Came says what became of a message.
type Came string

// What can become of a message.
const (
	CameDone    Came = "done"    // there is nothing more to do just now: the run is over, or waits
	CameYielded Came = "yielded" // there is more to do at once: the slice was used up
	CameBusy    Came = "busy"    // nothing was done: it is not ready, or somebody else has it
)

var (
	// ErrNoSlot says that the worker has as much to do as it may have at once.
	ErrNoSlot = errors.New("all slots of this worker are taken")
	// ErrRunning says that the engine claims its work by itself, or on demand, and cannot do the other too.
	ErrRunning = fmt.Errorf("%w: it is already working", world.ErrInvalid)
)

// Message names a run that is to be worked on, or a task of it.
type Message struct {
	Run  string
	Step string // correlation ID of the task; "": the run
}

// demand is what an engine on demand has open.
type demand struct {
	gate chan struct{} // holds a token while the shift begins or ends

	mu     sync.Mutex
	shift  *shift      // nil: none; changed under the gate too
	active int         // messages that are worked on; guarded by mu
	idle   *time.Timer // that ends the shift; guarded by mu
	closed bool        // guarded by mu
}

func (d *demand) init() { d.gate = make(chan struct{}, 1) }

// Invoke works on one run, or runs one task and goes on with its run, if nobody else does. It returns when that is over, waits, or when the slice, or ctx, has ended and
// bodies that ran have returned. What is left is in the queue then.
func (e *Engine) Invoke(ctx context.Context, m Message, slice time.Duration) (Came, error) {
	began := time.Now()
	if err := e.attend(ctx); err != nil {
		return "", err
	}
	defer e.unattend()
	if m.Step == "" {
		return e.workOn(ctx, m.Run, slice)
	}
	came, err := e.workOff(ctx, m, min(slice/2, slotPatience))
	if err != nil || came == CameBusy {
		return came, err
	}
	left := slice - time.Since(began)
	if left <= 0 || ctx.Err() != nil {
		return CameYielded, nil
	}
	if came, err = e.workOn(ctx, m.Run, left); came == CameBusy || errors.Is(err, ErrNoSlot) {
		return CameDone, nil // its run waits for others, or has a message of its own
	}
	return came, err
}

// attend begins the shift with the first message.
func (e *Engine) attend(ctx context.Context) error {
	d := &e.demand
	select {
	case d.gate <- struct{}{}:
		defer func() { <-d.gate }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if d.isClosed() {
		return ErrDraining
	}
	if d.shift == nil {
		if !e.works.CompareAndSwap(false, true) {
			return fmt.Errorf("%w, and takes its work itself: give messages to another App", ErrRunning)
		}
		if err := e.join(ctx); err != nil {
			e.works.Store(false)
			return fmt.Errorf("join: %w", err)
		}
		e.plain.Store(true)
		d.shift = e.begin(context.Background())
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.active++
	if d.idle != nil {
		d.idle.Stop()
	}
	return nil
}

func (d *demand) isClosed() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.closed
}

// unattend ends the shift a while after the last message.
func (e *Engine) unattend() {
	d := &e.demand
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.active--; d.active == 0 && !d.closed {
		d.idle = time.AfterFunc(e.cfg.Idle, e.goIdle)
	}
}

// goIdle ends the shift, unless a message has come.
func (e *Engine) goIdle() {
	d := &e.demand
	d.gate <- struct{}{}
	defer func() { <-d.gate }()
	d.mu.Lock()
	active := d.active
	d.mu.Unlock()
	if active == 0 {
		if err := e.endShift(); err != nil {
			e.cfg.Logger.Warn("the worker could not leave cleanly", "err", err)
		}
	}
}

// endShift is called under the gate.
func (e *Engine) endShift() error {
	d := &e.demand
	if d.shift == nil {
		return nil
	}
	err := d.shift.end()
	flushMetrics(e.metrics) // it may be frozen now
	d.shift = nil
	e.plain.Store(false)
	e.works.Store(false)
	return err
}

// Close ends what [Engine.Invoke] began: no message is accepted any more, bodies have [Config.Drain] to end, and what is not finished is handed back. It returns when all
// of it has ended. Closing twice is legal.
func (e *Engine) Close() error {
	d := &e.demand
	d.mu.Lock()
	d.closed = true
	if d.idle != nil {
		d.idle.Stop()
	}
	d.mu.Unlock()
	d.gate <- struct{}{}
	defer func() { <-d.gate }()
	defer flushMetrics(e.metrics)
	return e.endShift()
}

// workOn claims a run and works on it.
func (e *Engine) workOn(ctx context.Context, run string, slice time.Duration) (Came, error) {
	if e.runs.try(1) == 0 {
		return "", ErrNoSlot
	}
	noted := e.flights.begin()
	defer noted()
	classes, _ := claimable(ctx, e)
	claimed, worker, err := e.claimOne(world.ClaimQuery{Classes: classes, Runs: 1, Run: run})
	if err != nil || len(claimed.Runs) == 0 {
		e.runs.release(1)
		return CameBusy, err
	}
	tk := claimed.Runs[0]
	s := newSession(e, titleOf(&tk, worker))
	s.stay.on(ctx, slice)
	if !e.holdings.adopt(s, e.pulse.begun(), true, func(ctx context.Context) { s.runClaimed(ctx, tk) }) {
		e.runs.release(1) // leaving hands the run back
		return "", ErrDraining
	}
	noted()
	stop := context.AfterFunc(ctx, s.box.endSlice)
	defer stop()
	<-s.stay.finished()
	return s.stay.outcome(), nil
}

// slotPatience is how long a message for a task waits for a slot, at most: who sent it would only send it again.
const slotPatience = 10 * time.Second

// stepSlot waits for a step slot for so long, and reports whether it came.
func (e *Engine) stepSlot(ctx context.Context, patience time.Duration) bool {
	if e.steps.try(1) == 1 {
		return true
	}
	var over atomic.Bool // it came, or nobody waits for it any more
	came := make(chan struct{})
	e.steps.wait(func() {
		if over.CompareAndSwap(false, true) {
			close(came)
		} else {
			e.steps.release(1)
		}
	})
	t := time.NewTimer(patience)
	defer t.Stop()
	select {
	case <-came:
	case <-t.C:
	case <-ctx.Done():
	}
	return !over.CompareAndSwap(false, true)
}

// workOff claims a task and runs it, when there is a slot for it.
func (e *Engine) workOff(ctx context.Context, m Message, patience time.Duration) (Came, error) {
	if !e.code.hasSteps() {
		return CameBusy, nil
	}
	if !e.stepSlot(ctx, patience) {
		return "", ErrNoSlot
	}
	noted := e.flights.begin()
	defer noted()
	claimed, _, err := e.claimOne(world.ClaimQuery{Steps: e.code.stepNames(), Tasks: 1, Run: m.Run, Step: m.Step})
	if err != nil || len(claimed.Tasks) == 0 {
		e.steps.release(1)
		return CameBusy, err
	}
	ended := make(chan struct{})
	e.startTasks(claimed.Tasks, func() { close(ended) }, false)
	noted()
	<-ended
	return CameDone, nil
}

// claimOne is by name. Its context is the worker's: what the world has given is not lost because a caller went away.
func (e *Engine) claimOne(q world.ClaimQuery) (world.Claimed, string, error) {
	ctx := e.workCtx
	for try := 0; ; try++ {
		if !e.lease.runs() {
			e.heartbeatOnce(ctx) // the process may have been frozen: the lease is over, and it joins anew
		}
		q.Worker = e.workerID()
		claimed, err := e.cfg.World.Claim(ctx, q)
		switch {
		case err == nil && e.holds(ctx, q.Worker):
			e.clock.notBefore(claimed.Now)
			return claimed, q.Worker, nil
		case err == nil: // the answer came late: what it gives was handed back, or will be
			return world.Claimed{}, "", nil
		case errors.Is(err, world.ErrUnknownOutcome):
			e.doubt(ctx, q.Worker)
			return world.Claimed{}, "", err
		case errors.Is(err, world.ErrLeaseLost) && try == 0 && ctx.Err() == nil:
			e.distrust()
		default:
			return world.Claimed{}, "", err
		}
	}
}

// endSlice makes the session give its run up as soon as no body runs.
func (b *mailbox) endSlice() { b.post(message{kind: msgSlice}) }

// releases notes what a release leaves to do.
func (t *stay) releases(r *world.Release, mail bool, now time.Time) {
	came := CameDone
	if r != nil && (mail || r.Blocked == nil && !r.WakeAt.IsZero() && !r.WakeAt.After(now)) {
		came = CameYielded
	}
	t.leaves(came)
}
