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

// ErrHeartbeat: the cause of a step's context when the attempt sent no heartbeat for longer than its [HeartbeatTimeout].
var ErrHeartbeat = engine.ErrHeartbeat

// Heartbeat says, from the body of a step and with its context, how far the attempt is: a page, a cursor, a count, as JSON of 4 KiB at most. The next attempt
// reads it with [Progress], on whatever worker, after a crash too; people see it in the journal while the step runs.
//
// It returns at once. What was said is written a second after the first heartbeat of an attempt, and every 10 s at most behind that; when the attempt's
// context ends; and with the commit of an attempt that fails. So a process that is killed loses the last 10 s of it at most: see [HeartbeatNow]. Nothing
// else is written for it, and nothing at all by an attempt that completes within that second.
//
// The error is the cause of the context, where that has ended: then the body is to return. Others are [ErrTooLarge], encoding errors, and [ErrInvalid]
// outside of a step.
func Heartbeat[T any](ctx context.Context, progress T) error {
	return heartbeat(ctx, &progress, false)
}

// HeartbeatNow is [Heartbeat], and returns when what it says is durable: for a body that must not do again what it has done, as far as it can tell.
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

// Progress returns what the body of the step said last with [Heartbeat]: this attempt, or where that has said nothing, the one before that did; ok is false where
// none did. The first attempt reads nothing for it.
//
// The error is that it could not be read, or does not fit T; a body that returns it is tried again.
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

// HeartbeatTimeout gives an attempt of a step up that sends no [Heartbeat] for d: its context ends, with cause [ErrHeartbeat], and an error that the body
// returns then is a failure with code HEARTBEAT, tried again as [Retry] says. As with [Timeout] a value that it returns all the same counts, and a body that
// does not return keeps its slot: it is not overlapped by the next attempt.
//
// Given to [NewHook] it ends a wait for a payload when whoever holds the token has not said for d that they are still
// at it: see [App.HeartbeatHook]. [Hook.Wait] returns [ErrHeartbeat] then, an eighth of d later at most; the time begins
// with Receive. d is a second at least.
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

// QueueTimeout fails a step that no worker has begun d after it was asked for: a registered step that is queued and that nobody has or has room for, or any step
// that waits for a slot. It fails at once, with code NOT_STARTED and an error that is [ErrNotStarted] and says which workers there are; no attempt was made. It is
// about the first attempt alone. A run that is paused meanwhile looks when it goes on.
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
