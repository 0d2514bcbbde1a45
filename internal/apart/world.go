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
// has references; see [Read]. Beside each payload it says which values that names: see [world.SplitApart].
//
// The value is durable before the commit that names it. So it may be kept without any: what is left by a crash goes
// with the run. A commit has its references from then on: one that is tried again has no second copy.
//
// What is written in a transaction goes past this world: it keeps nothing apart, as the transaction may hold what that
// needs.
type World struct {
	world.World
	most int // bytes of a payload within the log
}

// Wrap makes a world that keeps values of more than most bytes apart. 0 is [Most].
func Wrap(w world.World, most int) *World {
	return &World{World: w, most: cmp.Or(most, Most)}
}

// Commit keeps large values of a commit apart, and writes it. Of a start that was made before nothing is kept.
func (w *World) Commit(ctx context.Context, c *world.Commit) (world.Committed, error) {
	if c.Birth() && slices.ContainsFunc(c.Events, w.large) {
		if done, known, err := w.before(ctx, c); known {
			return done, err
		}
	}
	if err := w.commit(ctx, c); err != nil {
		return world.Committed{}, err
	}
	done, err := w.World.Commit(ctx, c)
	switch {
	case c.Birth() && (err == nil && done.Existing != "" || errors.Is(err, world.ErrRunExists)):
		w.drop(ctx, c)
	case err == nil && done.Events != nil: // children may be left out
		for _, child := range c.Births {
			w.drop(ctx, child)
		}
	}
	return done, err
}

// before is what a start comes to whose run, or whose idempotency key, is there already. Where nothing is found, or
// that cannot be told, the world below decides.
func (w *World) before(ctx context.Context, c *world.Commit) (done world.Committed, known bool, err error) {
	holder := ""
	if b := c.Events[0].Birth; b != nil && b.Key != "" {
		page, err := w.World.Runs(ctx, world.RunQuery{Workflow: b.Workflow, Key: b.Key, Limit: 1})
		if err != nil {
			return done, false, nil
		}
		if len(page.Runs) > 0 {
			holder = page.Runs[0].ID
		}
	}
	switch _, err = w.World.Run(ctx, c.Run); {
	case err == nil:
		done, err = world.CreatedBefore(c, holder)
		return done, true, err
	case errors.Is(err, world.ErrNotFound) && holder != "":
		return world.Committed{Existing: holder}, true, nil
	}
	return done, false, nil
}

// drop deletes what was kept for a birth that is not made. What an event names stays. What stays of it by a fault goes
// with the run, or a day later.
func (w *World) drop(ctx context.Context, c *world.Commit) {
	for i := range c.Events {
		if value := world.WholeApart(c.Events[i].Apart); value != "" {
			_ = w.World.Values().DropValue(ctx, c.Run, value)
		}
	}
}

// Deliver keeps the large result of a task apart, and sends it.
func (w *World) Deliver(ctx context.Context, d *world.Delivery) (world.Delivered, error) {
	if d.Task != nil {
		var err error
		if d.Events, err = w.events(ctx, d.Task.Run, false, d.Events); err != nil {
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
		input, err := Read(ctx, w.World.Values(), r.ID, r.Input, r.InputApart, world.MaxApart)
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
	if c.Events, err = w.events(ctx, c.Run, c.Birth(), c.Events); err != nil {
		return err
	}
	for _, child := range c.Births {
		if err := w.commit(ctx, child); err != nil {
			return err
		}
	}
	if !slices.ContainsFunc(c.Events, func(e world.Event) bool { return e.Apart != "" }) {
		return nil
	}
	for i := range c.Tasks { // its step's event has the same input
		t := &c.Tasks[i]
		if world.TaskApart(t.Options) != "" {
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

// events are those of a run with what is too large kept apart, and with what their payloads name said beside them. The
// list that is given stays as it is. With an error come those with the references so far: who tries again has no second
// copy of a value.
func (w *World) events(ctx context.Context, run string, birth bool, events []world.Event) ([]world.Event, error) {
	own := false
	for i := range events {
		names, large := names(events[i].Payload), w.large(events[i])
		if !large && len(names) == 0 || events[i].Apart != "" || !slices.Contains(world.ApartTypes(), events[i].Type) {
			continue
		}
		whole, payload := "", events[i].Payload
		if large {
			a, err := keepFor(ctx, w.World.Values(), run, birth, bytes.NewReader(payload), world.MaxApart)
			if err != nil {
				return events, err
			}
			whole, payload = a.ID, a.JSON()
		}
		if !own {
			events, own = slices.Clone(events), true
		}
		events[i].Payload, events[i].Apart = payload, world.JoinApart(whole, names)
	}
	return events, nil
}

// names are the values that a payload names.
func names(payload []byte) (ids []string) {
	for _, a := range world.Named(payload) {
		ids = append(ids, a.ID)
	}
	return ids
}

// large reports whether the payload of an event is kept apart, and is not yet.
func (w *World) large(e world.Event) bool {
	return len(e.Payload) > w.most && e.Apart == "" && slices.Contains(world.ApartTypes(), e.Type)
}
