package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/stepwell/stepwell/world"
)

// StepInfo is what a step's body can know of itself: see [Info].
type StepInfo struct {
	Run            string // run ID
	Workflow       string
	Step           string // correlation ID of the step, the same on every attempt
	Name           string
	Attempt        int       // from 1
	IdempotencyKey string    // the same on every attempt, and for no other step: hand it to whatever the step calls
	Undoes         *StepInfo // the step that this one, an option of it, undoes; nil: none
}

type infoKey struct{}

// Info tells a step's body who it is. Outside a step it is zero.
func Info(ctx context.Context) StepInfo {
	if p, ok := ctx.Value(infoKey{}).(*seat); ok {
		return p.info
	}
	return StepInfo{}
}

// AppOf is [Config].App of the engine that runs the body with a context, or nil.
func AppOf(ctx context.Context) any {
	if p, ok := ctx.Value(infoKey{}).(*seat); ok && p.e != nil {
		return p.e.cfg.App
	}
	return nil
}

// body is one attempt of a step that runs.
type body struct {
	call
	step        string // correlation ID
	task        *world.Task
	attempt     int // its number, from 1
	started     time.Time
	quarantined bool   // the worker's only one
	died        bool   // an earlier attempt did, with its process
	grace       bool   // its step was ended without it: cancelled, and it did not return in time
	parked      bool   // one in quarantine that waits for another run: its attempt was given up in the log, and begins anew before it goes on
	after       func() // of a task that was claimed: what it came to is durable; nil: nobody asks
}

// sit gives the body its place and its context, before it starts.
func (b *body) sit(e *Engine, info StepInfo, home *mailbox) {
	b.seat = seat{info: info, e: e, home: home, slot: true, isolated: b.quarantined, quarantined: b.quarantined, task: b.task}
	b.ctx.parent, b.ctx.seat = e.bodyCtx, &b.seat
}

// start makes the call on a goroutine of its own, as the function may leave anything behind there: a locked thread, labels.
func (b *body) start(end ender) {
	b.ends = end
	if b.quarantined {
		b.seat.e.quarantine.begins(quarantinePause)
		b.seat.wearOut()
	}
	b.seat.e.bodies.Add(1)
	b.seat.e.live.Add(1)
	go b.main() //lint:allow a WaitGroup's Go takes two closures for each step
}

func (b *body) main() {
	defer b.seat.e.bodies.Done()
	if !b.begins() {
		b.run, b.watching = unbegun, nil
	}
	b.make()
}

// recordOf is what the log keeps of an attempt's error. One of a body that obeyed a cancel says so, also where it returned no more than its context's error.
func (e *Engine) recordOf(r *result) *world.Error {
	rec := e.record(r.err, r.where)
	told := errors.Is(r.cause, ErrCancelled) || errors.Is(r.cause, ErrScope)
	if told && rec.Code == "" && (r.obeyed || r.told == nil && (errors.Is(r.err, context.Canceled) || errors.Is(r.err, r.cause))) {
		c := *rec
		c.Code = world.CodeCancelled
		rec = &c
	}
	return rec
}

// begins reports whether the worker is still the one that recorded the start. That was looked at when the commit's answer came; but this goroutine may have
// come to run long after that, on a busy machine, or in a process that was stopped.
func (b *body) begins() bool {
	worker := ""
	if b.seat.home != nil {
		worker = b.seat.home.title().worker
	} else if b.task != nil {
		worker = b.task.Worker
	}
	return b.seat.e.holds(&b.ctx, worker)
}

// unbegun stands for the function of a body that must not begin any more. Its worker has lost the lease, and says so: see reportAbandoned and endTask.
func unbegun(context.Context, []byte) ([]byte, error) {
	return nil, fmt.Errorf("the step has not begun: %w", world.ErrLeaseLost)
}

// cancel ends the context of the body.
func (b *body) cancel(cause error) { b.ctx.cancel(cause) }
