package engine

import (
	"context"
	"errors"
	"time"

	"github.com/stepwell/stepwell/world"
)

// claimLoop claims runs and tasks whenever there is room and a reason to look: a notice, a due time, a slot that became free, or the poll.
func (e *Engine) claimLoop(ctx context.Context) {
	next := e.poll()
	for {
		t := time.NewTimer(next)
		select {
		case <-ctx.Done():
			t.Stop()
			return
		case <-e.wake:
		case <-t.C:
		}
		t.Stop()
		next = e.claimOnce(ctx)
	}
}

// claimOnce claims what there is room for and returns when to look again.
func (e *Engine) claimOnce(ctx context.Context) time.Duration {
	classes, soon := claimable(ctx, e)
	runs := e.runs.reserve()
	tasks := 0
	hushed := e.quarantine.hushed()
	if e.code.hasSteps() && !hushed {
		tasks = e.steps.reserve()
	}
	if runs == 0 && tasks == 0 {
		return e.untilUnhushed(hushed, e.poll()) // a slot that becomes free kicks
	}
	place := tasks > 0 && e.quarantine.try() // so that none in quarantine begins before those among the tasks were handed back
	q := world.ClaimQuery{Worker: e.workerID(), Runs: runs, Tasks: tasks}
	if runs > 0 {
		q.Classes = classes // what there is no room for is not asked for: it may be due long since
	}
	if tasks > 0 {
		q.Steps = e.code.stepNames()
	}
	defer e.flights.begin()()
	var again time.Time
	q.Classes, q.Steps, again = e.shuns.willing(q.Classes, q.Steps)
	claimed, err := e.cfg.World.Claim(ctx, q)
	if err != nil {
		e.runs.release(runs)
		e.steps.release(tasks)
		e.giveBack(place)
		return e.claimFailed(ctx, q.Worker, err)
	}
	e.says.back("take")
	e.clock.notBefore(claimed.Now)
	if !e.holds(ctx, q.Worker) { // the answer came late: what it gives was handed back, or will be
		e.runs.release(runs)
		e.steps.release(tasks)
		e.giveBack(place)
		return overdue
	}
	e.startTasks(claimed.Tasks, nil, place)
	for _, tk := range claimed.Runs {
		s := newSession(e, titleOf(&tk, q.Worker))
		if !e.holdings.adopt(s, e.pulse.begun(), true, func(ctx context.Context) { s.runClaimed(ctx, tk) }) {
			e.runs.release(1) // shutting down: leaving hands the run back
		}
	}
	if claimed.More && len(claimed.Runs)+len(claimed.Tasks) > 0 {
		e.kick()
	}
	e.runs.release(runs - len(claimed.Runs))
	e.steps.release(tasks - len(claimed.Tasks))
	next := e.untilUnhushed(hushed, e.nextLook(&claimed))
	if !again.IsZero() {
		next = min(next, max(time.Until(again), 0))
	}
	if soon > 0 {
		next = min(next, soon)
	}
	return next
}

func (e *Engine) giveBack(place bool) {
	if place {
		e.quarantine.end(1)
	}
}

// untilUnhushed is when to look again where tasks may not have been asked for.
func (e *Engine) untilUnhushed(hushed bool, next time.Duration) time.Duration {
	if hushed && e.code.hasSteps() {
		return min(next, overdue)
	}
	return next
}

// overdue is when to look again for what is due and was not given, as for a run that is to be cancelled while no slot is free.
const overdue = 50 * time.Millisecond

func (e *Engine) nextLook(claimed *world.Claimed) time.Duration {
	poll := e.poll()
	if claimed.Next.IsZero() {
		return poll
	}
	if d := claimed.Next.Sub(claimed.Now); d > 0 {
		return min(d, poll)
	}
	return min(overdue, poll)
}

// defaultPoll is how long it takes at most to see work that no notice told of, where nobody says otherwise.
const defaultPoll = 5 * time.Second

// poll is the time between looks for work, where nothing else is a reason for one.
func (e *Engine) poll() time.Duration {
	if e.cfg.Poll > 0 {
		return e.cfg.Poll
	}
	if e.able.Poller != nil {
		if d := e.able.Poller.Poll(); d > 0 {
			return d
		}
	}
	return defaultPoll
}

func (e *Engine) claimFailed(ctx context.Context, worker string, err error) time.Duration {
	switch {
	case ctx.Err() != nil:
	case errors.Is(err, world.ErrLeaseLost):
		e.distrust() // and the heartbeat joins anew
	case errors.Is(err, world.ErrUnknownOutcome):
		if e.doubt(ctx, worker) {
			return 0
		}
	case errors.Is(err, world.ErrReplaced):
		e.lostWorld(err)
	default:
		e.says.away("take", err)
	}
	return time.Second
}

// doubt is what becomes of a claim whose answer was lost. Where the world's accounts come with heartbeats they show what it gave. Else, unless it is known that it gave
// nothing, the worker gives up all that it holds. It reports whether nothing is lost by claiming again at once.
func (e *Engine) doubt(ctx context.Context, worker string) bool {
	if e.gotNothing(ctx, worker) {
		return true
	}
	if !e.awaitAccount(ctx) {
		e.resign(ctx)
	}
	return false
}

// heldTries is how often a worker compares what it holds with what the world says: a run that begins or ends meanwhile may be in one of the two alone.
const heldTries = 3

// gotNothing reports whether it is known that a claim whose answer was lost gave nothing: the world says what the worker holds, and all of that is here.
func (e *Engine) gotNothing(ctx context.Context, worker string) bool {
	for try := range heldTries {
		held, err := e.cfg.World.Held(ctx, worker)
		if err != nil {
			return false
		}
		if e.workerID() == worker && e.holdings.hasAll(worker, &held) {
			return true
		}
		if !pause(ctx, retryPause(try)) {
			return false
		}
	}
	return false
}
