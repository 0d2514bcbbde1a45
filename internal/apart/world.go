package apart

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/stepwell/stepwell/world"
)

// Most is how many bytes a payload may have within a log, where it can be kept apart.
const Most = 1 << 20

// World keeps the large payloads of what goes into a world apart: inputs, outputs and results of steps. What comes out
// has references; see [Read].
//
// The value is durable before the commit that names it. So it may be kept without any: what is left by a crash goes
// with
// the run. A commit has its references from then on: one that is tried again has no second copy.
type World struct {
	world.World
	able world.Abilities // of the world below
	most int             // bytes of a payload within the log
}

// Wrap makes a world that keeps values of more than most bytes apart, of one that can. 0 is [Most].
func Wrap(w world.World, most int) *World {
	return &World{World: w, able: world.AbilitiesOf(w), most: cmp.Or(most, Most)}
}

// Abilities are those of the world below. What is written in a transaction goes past this world: it keeps nothing
// apart, as the transaction may hold what that needs.
func (w *World) Abilities() world.Abilities { return w.able }

// Commit keeps large values of a commit apart, and writes it.
func (w *World) Commit(ctx context.Context, c *world.Commit) (world.Committed, error) {
	if err := w.commit(ctx, c); err != nil {
		return world.Committed{}, err
	}
	return w.World.Commit(ctx, c)
}

// Deliver keeps the large result of a task apart, and sends it.
func (w *World) Deliver(ctx context.Context, d *world.Delivery) (world.Delivered, error) {
	if d.Task != nil {
		var err error
		if d.Events, err = w.events(ctx, d.Task.Run, d.Events); err != nil {
			return world.Delivered{}, err
		}
	}
	return w.World.Deliver(ctx, d)
}

// Runs lists runs. What a list is filtered by may be in an input that is kept apart: worlds leave it to who reads them.
func (w *World) Runs(ctx context.Context, q world.RunQuery) (world.RunPage, error) {
	page, err := w.World.Runs(ctx, q)
	if err != nil || len(q.Input) == 0 {
		return page, err
	}
	kept := page.Runs[:0]
	for i := range page.Runs {
		r := &page.Runs[i]
		input, err := Read(ctx, w.able.ApartKeeper, r.ID, r.Input, r.InputApart, world.MaxApart)
		if errors.Is(err, world.ErrCorrupt) {
			continue // nobody knows
		}
		if err != nil {
			return world.RunPage{}, err
		}
		if !slices.ContainsFunc(q.Input, func(pattern json.RawMessage) bool { return !world.Contains(input, pattern) }) {
			kept = append(kept, *r)
		}
	}
	page.Runs = kept
	return page, nil
}

// commit keeps what is too large of a commit apart, and puts references in its place.
func (w *World) commit(ctx context.Context, c *world.Commit) (err error) {
	if c.Events, err = w.events(ctx, c.Run, c.Events); err != nil {
		return err
	}
	for _, child := range c.Births {
		if err := w.commit(ctx, child); err != nil {
			return err
		}
	}
	for i := range c.Tasks { // its step's event has the same input
		t := &c.Tasks[i]
		if len(t.Input) <= w.most || world.TaskApart(t.Options) != "" {
			continue
		}
		for j := range c.Events {
			if e := &c.Events[j]; e.Type == world.StepCreated && e.ID == t.Step && e.Apart != "" {
				t.Input, t.Options = e.Payload, world.ApartOptions(t.Options, e.Apart)
			}
		}
	}
	return nil
}

// events are those of a run with what is too large kept apart. The list that is given stays as it is. With an error
// come
// those with the references so far: who tries again has no second copy of a value.
func (w *World) events(ctx context.Context, run string, events []world.Event) ([]world.Event, error) {
	own, types := false, world.ApartTypes()
	for i := range events {
		if e := &events[i]; len(e.Payload) <= w.most || e.Apart != "" || !slices.Contains(types, e.Type) {
			continue
		}
		a, err := Keep(ctx, w.able.ApartKeeper, run, bytes.NewReader(events[i].Payload), world.MaxApart)
		if err != nil {
			return events, err
		}
		if !own {
			events, own = slices.Clone(events), true
		}
		events[i].Payload, events[i].Apart = a.JSON(), a.ID
	}
	return events, nil
}
