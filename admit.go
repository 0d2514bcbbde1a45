package stepwell

// What others write to this App's world through a server is held against the same rules as what goes through the App.

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/stepwell/stepwell/internal/codec"
	"github.com/stepwell/stepwell/internal/human"
	"github.com/stepwell/stepwell/internal/kit"
	"github.com/stepwell/stepwell/world"
)

// AdmitCommit checks a commit that came over a network against this App's settings, as [App.Start]
// checks a start. Only servers call it. It lowers the retention of a new run to MaxRetention, or to
// the database's lower limit: it changes c. The input of a plain start (not by a worker, not of a
// child, not of a fork) must be JSON of at most MaxValue bytes. It must fit its type if the App or
// a live worker has the workflow.
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

// admitTime is how long what comes over a network waits for what the database knows of its workflow. A busy database
// may need seconds; where it is away, what is written next fails.
const admitTime = 10 * time.Second

// admitInput holds an input against what is known, or, of a large one, in the time that it takes to read it.
func admitInput(a *App, run string, b *world.Birth, e *world.Event) error {
	most := admitTime
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

// AdmitDelivery checks a delivery that came over a network against this App's settings, as
// [App.Signal] and [App.SendHook] check theirs. Only servers call it. Payloads must be JSON of at
// most MaxPayload bytes.
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
	ctx, cancel := context.WithTimeout(context.Background(), admitTime)
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

// AdmitPlaces sets the limits, and the [Debounce] or [Batch], of each run that a commit creates to
// those of its definition. It overwrites what the commit says. A key that this App cannot compute
// is taken from the commit: a key that code elsewhere computes, or the key of an encrypted input.
// Only servers call it, for clients that they do not trust with limits.
//
// Errors: [ErrInvalid]; [world.ErrForbidden] if the commit asks for limits and no worker has
// declared those of the workflow.
func (a *App) AdmitPlaces(ctx context.Context, c *world.Commit) error {
	if c == nil {
		return kit.Missing("the commit")
	}
	for i := range c.Events {
		if e := &c.Events[i]; e.Birth != nil {
			if err := a.admitPlaces(ctx, c, e); err != nil {
				return fmt.Errorf("start %.100q: %w", e.Birth.Workflow, err)
			}
		}
	}
	for _, b := range c.Births {
		if b == nil {
			continue // the world refuses it
		}
		if err := a.AdmitPlaces(ctx, b); err != nil {
			return err
		}
	}
	return nil
}

func (a *App) admitPlaces(ctx context.Context, c *world.Commit, e *world.Event) error {
	b := *e.Birth
	asks := len(b.Places) > 0 || b.Gather != nil
	own := a.known[world.Class{Workflow: b.Workflow, Version: b.Version}]
	var said world.Said
	if own != nil {
		said.Limits, said.Gather = own.Limits, own.Gather
	} else {
		known, ok, err := a.saidBy(ctx, b.Workflow, b.Version, asks)
		switch {
		case err != nil:
			return err
		case !ok && asks:
			return fmt.Errorf("%w: no worker has said yet which limits its version %d is under: start a worker first", world.ErrForbidden, b.Version)
		}
		said = known.Said
	}
	plain := e.Encrypted == "" && (e.Apart == "" || len(c.Events) == 1 && c.Worker == "" && b.Parent == nil && b.Origin == nil)
	fill := func(whole []byte) (err error) {
		if own != nil && plain {
			b.Places, err = own.Places(whole)
			return err
		}
		b.Places, err = placesSaid(said.Limits, e.Birth.Places, whole, plain)
		return err
	}
	var err error
	if plain {
		err = withInput(ctx, a, c.Run, e.Payload, e.Apart, fill)
	} else {
		err = fill(nil)
	}
	if err == nil && b.Gather != nil {
		b.Gather, err = gatherSaid(said.Gather, b.Gather.Key, e.Payload, plain)
	}
	e.Birth = &b
	return err
}

// saidBy is what a version of a workflow says. Where that matters and is not known, the database is asked anew.
func (a *App) saidBy(ctx context.Context, workflow string, version int, matters bool) (world.Definition, bool, error) {
	known, err := a.book.Workflow(ctx, workflow)
	said, ok := known.Version(version)
	if err == nil && !ok && matters {
		a.book.Forget()
		known, err = a.book.Workflow(ctx, workflow)
		said, ok = known.Version(version)
	}
	return said, ok, err
}

// placesSaid are the places that limits say, with the keys that a plain input has, and else those of the places that
// were asked for.
func placesSaid(limits []world.SaidLimit, asked []world.Place, input []byte, plain bool) (places []world.Place, err error) {
	for i := range limits {
		l := &limits[i]
		p := l.Place()
		switch j := slices.IndexFunc(asked, func(q world.Place) bool { return q.Limit == l.Name }); {
		case l.Path == "" && !l.Computed:
		case l.Path != "" && plain:
			p.Key, err = world.KeyAt(input, l.Path)
		case j < 0:
			err = fmt.Errorf("%w: code computes it: start the run in a program that has the workflow's definition", ErrInvalid)
		default:
			p.Key = asked[j].Key
		}
		if err != nil {
			return nil, fmt.Errorf("limit %s: key: %w", l.Name, err)
		}
		places = append(places, p)
	}
	world.OrderPlaces(places)
	return places, world.CheckPlaces(places)
}

// gatherSaid is what gathers starts as their definition says, with the key of a plain input, and else the one that was
// asked for.
func gatherSaid(said *world.SaidGather, key string, input []byte, plain bool) (*world.Gather, error) {
	if said == nil {
		return nil, fmt.Errorf("%w: its definition gathers no starts", ErrInvalid)
	}
	if said.Path != "" && plain {
		if said.Quiet == 0 {
			if items, err := world.Items(input); err == nil && len(items) > 0 {
				input = items[0]
			}
		}
		var err error
		if key, err = said.Key(input); err != nil {
			return nil, err
		}
	}
	g := said.Gather(key)
	return &g, nil
}
