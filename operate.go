package stepwell

// What operators do to runs.

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/stepwell/stepwell/internal/kit"
	"github.com/stepwell/stepwell/world"
)

// Pause stops a run until [App.Resume]. No worker claims it, no payload is delivered, and no timer
// fires. Running step bodies may end. Pausing twice is the same pause. A cancel ends the pause.
// Errors: [ErrNotFound], [ErrTerminal].
func (a *App) Pause(ctx context.Context, run, reason string) error {
	return a.act(ctx, "pause", run, world.Event{Type: world.RunPaused, By: a.by(ctx), Reason: reason})
}

// Resume continues a paused run. What arrived or fell due meanwhile follows in the order of its
// times. A blocked run, paused or not, is tried again at once, with its backoff reset.
func (a *App) Resume(ctx context.Context, run string) error {
	return a.act(ctx, "resume", run, world.Event{Type: world.RunResumed, By: a.by(ctx)})
}

// ForceCancel ends a run at once. None of its code runs any more, not even to clean up.
func (a *App) ForceCancel(ctx context.Context, run, reason string) error {
	return endByForce(ctx, a, "force cancel of", &world.Delivery{Run: run, Act: true, Events: []world.Event{{Type: world.RunCancelled, By: a.by(ctx), Reason: reason}}})
}

// endByForce ends a run, and tells the Observer of it.
func endByForce(ctx context.Context, a *App, what string, d *world.Delivery) error {
	d.ID = "force:" + world.NewID(world.PrefixEvent, time.Now()) // so that this act is known from others' in the log
	if err := a.deliverAct(ctx, what, d); err != nil {
		return err
	}
	a.observeForced(ctx, d)
	return nil
}

func (a *App) act(ctx context.Context, what, run string, e world.Event) error {
	return a.deliverAct(ctx, what, &world.Delivery{Run: run, Act: true, Events: []world.Event{e}})
}

func (a *App) deliverAct(ctx context.Context, what string, d *world.Delivery) error {
	if err := a.deliverAs(ctx, d, nil); err != nil {
		return fmt.Errorf("%s run %s: %w", what, d.Run, err)
	}
	return nil
}

// deliverAs sends a delivery, under an ID of its own if it has none.
func (a *App) deliverAs(ctx context.Context, d *world.Delivery, opts []SendOption) error {
	s := sending{Delivery: *d}
	if err := kit.Given(opts, func(opt SendOption) { opt.sendOption(&s) }); err != nil {
		return err
	}
	d = &s.Delivery
	if d.Repeat && d.ID == "" {
		return world.NoRepeat(d.Run, d)
	}
	if d.ID == "" {
		d.ID = world.NewID("dlvr", time.Now()) // so that it is appended once, whatever happens to its owner
	} else if err := world.CheckKey("delivery ID", d.ID); err != nil {
		return err
	}
	if info := Info(ctx); info.IdempotencyKey != "" && strings.HasPrefix(d.ID, info.IdempotencyKey) {
		d.Sender = info.Run // the step may come again for as long as its run is not over
	}
	if s.in != nil {
		return a.deliverIn(ctx, s.in, d)
	}
	_, err := a.deliverOnce(ctx, d)
	return err
}

// deliverOnce sends what may be sent again where it is not known what became of it.
func (a *App) deliverOnce(ctx context.Context, d *world.Delivery) (world.Delivered, error) {
	done, err := a.world.Deliver(ctx, d)
	for try := 0; errors.Is(err, world.ErrUnknownOutcome) && try < 10; try++ {
		var again error
		done, again = a.world.Deliver(ctx, d)
		if again != nil && !errors.Is(again, world.ErrUnknownOutcome) {
			return done, fmt.Errorf("%w; when it was sent again, it was refused: %s", err, again) // that says nothing about the first try
		}
		err = again
	}
	return done, err
}
