package stepwell

// What operators do to runs.

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/stepwell/stepwell/internal/kit"
	"github.com/stepwell/stepwell/world"
)

// Pause stops a run until it is resumed: nobody takes it, nothing is delivered, nothing fires; bodies of steps that run may end.
// Pausing twice is the same pause. A cancel ends it. Errors: [ErrNotFound], [ErrTerminal].
func (a *App) Pause(ctx context.Context, run, reason string) error {
	return a.act(ctx, "pause", run, world.Event{Type: world.RunPaused, By: a.by(ctx), Reason: reason})
}

// Resume lets a paused run go on: what came and fell due meanwhile follows, in the order of its times. A blocked one, paused or not, is tried again at once, as if
// for the first time.
func (a *App) Resume(ctx context.Context, run string) error {
	return a.act(ctx, "resume", run, world.Event{Type: world.RunResumed, By: a.by(ctx)})
}

// ForceCancel ends a run at once, whatever it does: none of its code runs any more, not to clean up either.
func (a *App) ForceCancel(ctx context.Context, run, reason string) error {
	d := &world.Delivery{Run: run, Act: true, Events: []world.Event{{Type: world.RunCancelled, By: a.by(ctx), Reason: reason}}}
	if a.cfg.Observer == nil {
		return a.deliverAct(ctx, "force cancel of", d)
	}
	d.ID = "force:" + world.NewID(world.PrefixEvent, time.Now()) // so that this act is known from others' in the log
	if err := a.deliverAct(ctx, "force cancel of", d); err != nil {
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

// wakeReads are the events that tell which sleeps are open.
var wakeReads = []world.EventType{world.WaitCreated, world.WaitCompleted, world.RunContinued, world.RunCompleted, world.RunFailed, world.RunCancelled}

// Wake ends the sleeps of a run now, and returns how many there were. Waits for events, hooks and other runs are not touched, nor
// are retry delays. A blocked run that is not paused is tried again at once, as if for the first time, also where its log cannot be read: then nobody knows what sleeps
// there are, and none is ended. A run that is over is [ErrTerminal].
func (a *App) Wake(ctx context.Context, run string) (int, error) {
	open := map[string]int64{} // by the event that began each
	for e, err := range a.Events(ctx, run, EventFilter{Types: wakeReads}) {
		switch {
		case errors.Is(err, world.ErrCorrupt), errors.Is(err, world.ErrFormat):
			return 0, a.wakeUnread(ctx, run, err)
		case err != nil:
			return 0, fmt.Errorf("wake run %s: %w", run, err)
		case e.Type.Terminal():
			return 0, fmt.Errorf("wake run %s: %w", run, ErrTerminal)
		case e.Type == world.RunContinued: // open waits are over
			clear(open)
		case e.Type == world.WaitCompleted:
			delete(open, e.ID)
		case e.Kind == world.KindSleep:
			open[e.ID] = e.Seq
		}
	}
	for _, id := range slices.SortedFunc(maps.Keys(open), func(a, b string) int { return cmp.Compare(open[a], open[b]) }) {
		d := &world.Delivery{
			Run: run, ID: "wake:" + id,
			Events: []world.Event{{Type: world.WaitCompleted, ID: id, Outcome: world.OutcomeWoken, OccurredAt: world.Now()}},
		}
		if err := a.deliverAs(ctx, d, nil); err != nil {
			return 0, fmt.Errorf("wake run %s: %w", run, err)
		}
	}
	if _, err := a.wakeBlocked(ctx, run); err != nil && !errors.Is(err, ErrTerminal) { // it ended just now
		return 0, fmt.Errorf("wake run %s: %w", run, err)
	}
	return len(open), nil
}

// wakeUnread wakes a run whose log cannot be read: if that blocks it already, it is tried again, as its rows may be back.
func (a *App) wakeUnread(ctx context.Context, run string, why error) error {
	woken, err := a.wakeBlocked(ctx, run)
	if err == nil && !woken {
		err = why
	}
	if err != nil {
		return fmt.Errorf("wake run %s: %w", run, err)
	}
	return nil
}

// wakeBlocked has a run tried again at once if it is blocked.
func (a *App) wakeBlocked(ctx context.Context, run string) (woken bool, err error) {
	row, err := a.world.Run(ctx, run)
	if err != nil || row.Queue == nil || row.Queue.Blocked == nil {
		return false, err
	}
	return true, a.act(ctx, "wake", run, world.Event{Type: world.RunResumed, By: a.by(ctx), Outcome: world.OutcomeWoken})
}

// deliverAs sends a delivery, under an ID of its own if it has none.
func (a *App) deliverAs(ctx context.Context, d *world.Delivery, opts []SendOption) error {
	s := sending{Delivery: *d}
	if err := kit.Given(opts, func(opt SendOption) { opt.sendOption(&s) }); err != nil {
		return err
	}
	if d = &s.Delivery; d.ID == "" {
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
	_, err := a.world.Deliver(ctx, d)
	for try := 0; errors.Is(err, world.ErrUnknownOutcome) && try < 10; try++ { // its ID makes it safe to send again
		_, again := a.world.Deliver(ctx, d)
		if again != nil && !errors.Is(again, world.ErrUnknownOutcome) {
			return fmt.Errorf("%w; sent again, it was refused: %s", err, again) // that says nothing about the first try
		}
		err = again
	}
	return err
}
