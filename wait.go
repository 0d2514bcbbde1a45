package stepwell

import (
	"errors"
	"fmt"
	"time"

	"github.com/stepwell/stepwell/internal/kit"
	"github.com/stepwell/stepwell/internal/replay"
	"github.com/stepwell/stepwell/world"
)

// Sleep pauses the workflow for at least d: durably, for months if need be, and holding nothing meanwhile. Zero and less is over
// at once. The error is [ErrCancelled] when the run is cancelled, or [ErrInvalid] for a bad name.
func Sleep(ctx Context, name string, d time.Duration) error {
	return waitFor(ctx, ctx.x.Sleep(name, d))
}

// SleepUntil pauses the workflow until t. A time in the past is due at once. Errors as in [Sleep], and [ErrInvalid] for a time that is not in the years 1 to
// 9999 (UTC).
func SleepUntil(ctx Context, name string, t time.Time) error {
	if now := ctx.Now(); t.Before(now) && world.CheckTime("until", t) == nil {
		t = now // the zero time in a log means "never"
	}
	return waitFor(ctx, ctx.x.SleepUntil(name, t))
}

func waitFor(ctx Context, f *replay.Future) error {
	if !ctx.x.Wait(f) {
		return ctx.x.Refusal()
	}
	if errors.Is(f.Err(), replay.ErrCancelled) {
		return ErrCancelled
	}
	return f.Err()
}

// Await waits until cond, a condition of the workflow's own variables, holds. A condition that holds already writes nothing. It
// is looked at after each event of the run: it must be quick, and ask for nothing. The error is [ErrCancelled] when the run is
// cancelled.
func Await(ctx Context, cond func() bool) error {
	if cond == nil {
		return kit.Missing("await: the condition")
	}
	_, err := ctx.x.Await("await", cond, 0)
	if errors.Is(err, replay.ErrCancelled) {
		return ErrCancelled
	}
	if err != nil {
		return fmt.Errorf("await: %w", err)
	}
	return nil
}
