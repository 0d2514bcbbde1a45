package engine

// This file keeps this worker's hands off what it cannot read: runs that are encrypted with a key that it does not have. They are blocked, or left to others; nothing of
// them is lost, and they go on where the key is there.

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/stepwell/stepwell/world"
)

// readable refuses events of a run of which one is still encrypted.
func (e *Engine) readable(run string, events []world.Event) error {
	for i := range events {
		if err := e.unreadable(run, &events[i]); err != nil {
			return err
		}
	}
	return nil
}

// unreadable says why an event cannot be read; nil: it can.
func (e *Engine) unreadable(run string, ev *world.Event) error {
	if ev.Encrypted == "" {
		return nil
	}
	if e.able.Decrypter != nil {
		return e.able.Decrypter.Explain(run, ev)
	}
	return &world.KeyError{Run: run, Key: ev.Encrypted}
}

// mostEncryptedPause is how long a task rests, at most, that a worker without its key has handed back.
const mostEncryptedPause = 30 * time.Second

// unfit says why this worker cannot run a task, which another one may; "": it can, or the task is damaged.
func (e *Engine) unfit(t *world.Task) string {
	if key := world.TaskKeyID(t.Options); key != "" {
		return fmt.Sprintf("its worker cannot decrypt the input, which is encrypted with the key %q", key)
	}
	if check := e.code.step(t.Name).Check; check != nil {
		input, err := e.cfg.Whole(e.workCtx, t.Run, t.Input, world.TaskApart(t.Options))
		switch {
		case errors.Is(err, world.ErrCorrupt): // nobody can
			t.Damage = err.Error()
			return ""
		case errors.Is(err, world.ErrForbidden): // the attempt ends with that
			return ""
		case err != nil:
			return "its worker cannot read the input: " + err.Error()
		}
		if err := check(input); err != nil {
			return fmt.Sprintf("its worker has code that does not fit the recorded input (%s): %v", world.CodeDecode, err)
		}
	}
	return ""
}

// changed says that a task was changed where it is stored, so that nobody will ever run it; nil: it was not, as far as is known.
func (e *Engine) changed(ctx context.Context, t *world.Task) *world.Error {
	d := e.able.Decrypter
	if d == nil || world.TaskKeyID(t.Options) == "" || !d.Changed(ctx, t) {
		return nil
	}
	return &world.Error{
		Message: "the queued input of the step cannot be decrypted, but the run's log can: the queued input was changed in the database", Code: world.CodeCorrupt, Permanent: true,
	}
}

// returnUnfit hands back a task that this worker cannot run.
func (e *Engine) returnUnfit(t *world.Task, why string) {
	defer e.steps.release(1)
	pause := PauseOf(t, false)
	if world.TaskKeyID(t.Options) != "" && e.shun(shunned{step: t.Name}) {
		pause = 0
	}
	e.says.Warn("a task was handed back", slog.String("step.name", t.Name), "run_id", t.Run, "step.id", t.Step, "workflow.name", t.Workflow, "err", why)
	_ = e.deliverTask(e.abandonment(t, e.clock.now().Add(pause), why))
}
