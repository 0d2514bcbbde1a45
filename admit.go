package stepwell

// What others write to this App's world through a server is held against the same rules as what goes through the App.

import (
	"context"
	"fmt"
	"time"

	"github.com/stepwell/stepwell/internal/codec"
	"github.com/stepwell/stepwell/internal/human"
	"github.com/stepwell/stepwell/internal/kit"
	"github.com/stepwell/stepwell/world"
)

// AdmitCommit checks a commit that came over a network against this App's settings, as [App.Start] checks a start. Only
// servers call it. A new run keeps to MaxRetention, or to the database's lower limit, and to the bounds of attributes:
// if it asks for more, the commit is changed in place. The input of a plain start (by no worker, and of no child or
// fork) is JSON of at most MaxValue bytes. It fits its type, if the App or a live worker has the workflow.
//
// Errors: [ErrInvalid], [ErrTooLarge].
func (a *App) AdmitCommit(c *world.Commit) error {
	if c == nil {
		return kit.Missing("the commit")
	}
	if c.Build != "" {
		if err := world.CheckName("build", c.Build); err != nil {
			return err
		}
	}
	if c.Items > 0 && c.Birth() && c.Events[0].Encrypted == "" && c.Events[0].Birth != nil {
		if err := admitItems(c.Events[0].Birth.Gather, c.Items, c.Events[0].Payload); err != nil {
			return err
		}
	}
	for i := range c.Events {
		if c.Events[i].Birth != nil {
			if err := a.admitBirth(c.Run, &c.Events[i], len(c.Events) == 1 && c.Worker == ""); err != nil {
				return fmt.Errorf("start %.100q: %w", c.Events[i].Birth.Workflow, err)
			}
		}
	}
	for _, b := range c.Births {
		if b == nil {
			continue // the world refuses it
		}
		if err := a.AdmitCommit(b); err != nil {
			return err
		}
	}
	return nil
}

func (a *App) admitBirth(run string, e *world.Event, alone bool) error {
	b := *e.Birth
	limit := limitSoon(a)
	a.tellLowered(human.Cut(run, 128), human.Cut(b.Workflow, 128), fromLog(b.Retention))
	b.Retention = clampRetention(b.Retention, limit)
	e.Birth = &b
	if b.StartTTL < 0 {
		return fmt.Errorf("%w: start TTL %s: must not be negative", ErrInvalid, b.StartTTL)
	}
	if b.Timeout < 0 {
		return fmt.Errorf("%w: timeout %s: must not be negative", ErrInvalid, b.Timeout)
	}
	for name, value := range b.Attributes {
		if _, err := encodeAttribute(name, value); err != nil {
			return err
		}
	}
	if !alone || b.Parent != nil || b.Origin != nil {
		return nil // what the log of another run has
	}
	if e.Encrypted != "" {
		return codec.CheckSize(e.Payload, world.EncryptedSize(a.cfg.MaxPayload))
	}
	return admitInput(a, run, &b, e)
}

// admitInput holds an input against what is known after a moment, or, of a large one, in the time that it takes to read
// it: where the database is away, what is written next fails.
func admitInput(a *App, run string, b *world.Birth, e *world.Event) error {
	most := time.Second
	if e.Apart != "" || len(e.Payload) > codec.DefaultLimit {
		most = 30 * time.Second
	}
	ctx, cancel := context.WithTimeout(context.Background(), most)
	defer cancel()
	err := withInput(ctx, a, run, e.Payload, e.Apart, func(whole []byte) error {
		return checkInput(ctx, a, b.Workflow, b.Version, whole, true)
	})
	return unlessStarted(ctx, a, err, b.Workflow, b.Key, run)
}

// AdmitDelivery holds what is sent over a network against this App's settings, as [App.Signal] and [App.SendHook] hold what is sent through them: payloads
// have at most MaxPayload bytes, and are JSON. Servers call it, and nobody else needs to.
//
// Errors: [ErrInvalid], [ErrTooLarge].
func (a *App) AdmitDelivery(d *world.Delivery) error {
	if d == nil {
		return kit.Missing("the delivery")
	}
	for i := range d.Events {
		e := &d.Events[i]
		if e.Type != world.SignalReceived && e.Type != world.HookReceived && e.Type != world.InputReceived {
			continue
		}
		if e.Type == world.InputReceived {
			if err := admitGathered(a, d); err != nil {
				return fmt.Errorf("%s: %w", e.Type, err)
			}
		}
		limit := a.cfg.MaxPayload
		if e.Encrypted != "" {
			limit = world.EncryptedSize(limit)
		}
		if err := codec.CheckSize(e.Payload, limit); err != nil {
			return fmt.Errorf("%s: %w", e.Type, err)
		}
		if e.Encrypted == "" && e.Payload != nil {
			if err := world.CheckJSON("the payload", e.Payload); err != nil {
				return fmt.Errorf("%s: %w", e.Type, err)
			}
		}
	}
	return nil
}

// admitGathered holds the input of a start that is merged against the type of its workflow, and its count against
// what it has.
func admitGathered(a *App, d *world.Delivery) error {
	e := &d.Events[0]
	if e.Name != "" {
		if err := world.CheckKey("idempotency key", e.Name); err != nil {
			return err
		}
	}
	if e.Encrypted != "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	run, err := a.row(ctx, d.Run)
	if err != nil {
		return nil // what is written next fails
	}
	if err := admitItems(run.Gather, d.Items, e.Payload); err != nil {
		return err
	}
	return unlessStarted(ctx, a, checkInput(ctx, a, run.Workflow, run.Version, e.Payload, true), run.Workflow, e.Name, "")
}

// admitItems refuses what has not as many inputs as it says.
func admitItems(g *world.Gather, n int, input []byte) error {
	if g == nil {
		return nil // the world refuses it
	}
	if g.Quiet > 0 {
		if n != 1 {
			return fmt.Errorf("%w: a debounce takes one input, and this start has %d", ErrInvalid, n)
		}
		return nil
	}
	if items, err := world.Items(input); err != nil || len(items) != n {
		return fmt.Errorf("%w: want a JSON list with as many items as it declares, %d", ErrInvalid, n)
	}
	return nil
}
