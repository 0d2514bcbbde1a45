package stepwell

// Heartbeats of steps: a body says how far it is, and the next attempt goes on from there.

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/stepwell/stepwell/internal/codec"
	"github.com/stepwell/stepwell/internal/engine"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/journal"
)

// ErrHeartbeat is the cause of a step's context when the attempt sent no heartbeat for its
// [HeartbeatTimeout]. The error of [Hook.Wait] matches it if no heartbeat of the hook came in time.
var ErrHeartbeat = engine.ErrHeartbeat

// Heartbeat records how far the attempt of a step is: a page, a cursor, a count, as JSON of at most
// 4 KiB. Call it from the body of the step, with the body's context. The next attempt reads the
// value with [Progress], on any worker, also after a crash. [App.Story] shows it while the step
// runs.
//
// Heartbeat returns at once. The value is written one second after the attempt's first heartbeat,
// then every 10 s, when the attempt's context ends, and with the commit of a failed attempt. So a
// killed process loses at most the last 10 s: see [HeartbeatNow]. An attempt that completes within
// the first second writes nothing.
//
// If the context has ended, the error is its cause, and the body should return. Other errors:
// [ErrTooLarge], encoding errors, and [ErrInvalid] outside a step.
func Heartbeat[T any](ctx context.Context, progress T) error {
	return heartbeat(ctx, &progress, false)
}

// HeartbeatNow is [Heartbeat], but returns once the value is durable. Use it if the body must not
// repeat work that it has done.
func HeartbeatNow[T any](ctx context.Context, progress T) error {
	return heartbeat(ctx, &progress, true)
}

func heartbeat[T any](ctx context.Context, progress *T, now bool) error {
	b, err := sent(progress, world.MaxProgress)
	if err == nil {
		err = engine.Heartbeat(ctx, b, now)
	}
	if err != nil {
		return fmt.Errorf("heartbeat: %w", err)
	}
	return nil
}

// Progress returns the last [Heartbeat] of the step: of this attempt, or of the latest earlier
// attempt that sent one. ok is false if there is none.
//
// Progress returns an error if the value is unreadable or does not fit T. A body that returns this
// error is tried again.
func Progress[T any](ctx context.Context) (progress T, ok bool, err error) {
	b, err := engine.Progress(ctx)
	if err == nil && b != nil {
		ok, err = true, codec.Decode(b, &progress)
	}
	if err != nil {
		var none T
		return none, false, fmt.Errorf("progress: %w", err)
	}
	return progress, ok, nil
}

type heartbeatTimeout time.Duration

// HeartbeatTimeout limits the time between heartbeats to d.
//
// For a step, the context of an attempt that sends no [Heartbeat] for d ends with cause
// [ErrHeartbeat]. An error that the body then returns is a failure with code HEARTBEAT, and [Retry]
// applies. As with [Timeout], a value that the body returns counts. A body that does not return
// keeps its slot, and the next attempt waits for it.
//
// For a hook, [Hook.Wait] fails if no call of [App.HeartbeatHook] comes for d, counted from the
// call of Wait or from the last heartbeat. It notices that at most d/8 later. The error matches
// both [ErrHeartbeat] and [ErrTimeout]. d is then at least one second.
func HeartbeatTimeout(d time.Duration) interface {
	StepOption
	HookOption
} {
	return heartbeatTimeout(d)
}

func (heartbeatTimeout) stepOption() {}

func (h heartbeatTimeout) stepDefinitionOption(p *engine.Policy) {
	if p.Heartbeat = time.Duration(h); h == 0 {
		p.Fault = nothing("heartbeat timeout")
	}
}

type queueTimeout time.Duration

// QueueTimeout fails a step if no worker begins it within d after it was requested: because no
// worker has the registered step, or because none has a free slot. The step fails for good, with
// code NOT_STARTED and an error that matches [ErrNotStarted] and lists the live workers. Only the
// first attempt counts. For a paused run the timeout is checked when it resumes.
func QueueTimeout(d time.Duration) StepOption { return queueTimeout(d) }

func (queueTimeout) stepOption() {}

func (q queueTimeout) stepDefinitionOption(p *engine.Policy) {
	if p.Queue = time.Duration(q); q == 0 {
		p.Fault = nothing("queue timeout")
	}
}

// addProgress adds to a journal what steps that have not completed said of how far they are.
func addProgress(ctx context.Context, a *App, j *journal.Journal) error {
	byStep := map[string]*journal.Entry{}
	for _, en := range j.Entries {
		if (en.Kind == world.KindClosure || en.Kind == world.KindTask) && en.Attempt > 0 && en.Status != journal.EntryCompleted {
			byStep[en.ID] = en
		}
	}
	if len(byStep) == 0 {
		return nil
	}
	rows, err := a.world.StreamsOf(ctx, j.Run)
	if err != nil {
		return fmt.Errorf("progress of run %s: %w", j.Run, err)
	}
	left := mostProgress
	for i := range rows {
		en := byStep[world.ProgressOf(rows[i].Name)]
		if en == nil || left == 0 {
			continue
		}
		left--
		en.Progress, err = world.ReadProgress(ctx, a.world, j.Run, &rows[i])
		if err == nil && en.Progress != nil {
			err = a.readableStream(ctx, j.Run, []world.Chunk{{Value: en.Progress.Value}})
		}
		switch {
		case errors.Is(err, ErrNoKey):
			en.Progress = nil
		case err != nil:
			return fmt.Errorf("progress of step %s: %w", en.ID, err)
		}
	}
	return nil
}

// mostProgress is of how many steps a journal shows their progress.
const mostProgress = 100
