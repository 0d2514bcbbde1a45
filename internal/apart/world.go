package apart

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
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

// Abilities are those of the world below, but that commits of tasks' ends go through here.
func (w *World) Abilities() world.Abilities {
	a := w.able
	if a.Transactor != nil {
		a.Transactor = w
	}
	return a
}

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
	refer(d.Events)
	return w.World.Deliver(ctx, d)
}

// Begin begins a transaction, in a world below that shares them: see Abilities.
func (w *World) Begin(ctx context.Context) (world.Tx, error) { return w.able.Transactor.Begin(ctx) }

// CommitIn writes a commit within a transaction: it keeps nothing apart, as the transaction may hold what that needs.
// References are told.
func (w *World) CommitIn(ctx context.Context, tx world.Tx, c *world.Commit) (world.Committed, error) {
	referCommit(c)
	return w.able.Transactor.CommitIn(ctx, tx, c)
}

// DeliverIn sends within a transaction.
func (w *World) DeliverIn(ctx context.Context, tx world.Tx, d *world.Delivery) (world.Delivered, error) {
	refer(d.Events)
	return w.able.Transactor.DeliverIn(ctx, tx, d)
}

// KeyIn tells how a run is encrypted, as a transaction sees it.
func (w *World) KeyIn(ctx context.Context, tx world.Tx, run string) (string, error) {
	return w.able.Transactor.KeyIn(ctx, tx, run)
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
		if len(t.Input) <= w.most || world.IsApart(t.Input) {
			continue
		}
		for j := range c.Events {
			if e := &c.Events[j]; e.Type == world.StepCreated && e.ID == t.Step {
				t.Input = e.Payload
			}
		}
	}
	referCommit(c)
	return nil
}

// referCommit names, in the events of a commit, what their payloads refer to.
func referCommit(c *world.Commit) {
	refer(c.Events)
	for _, child := range c.Births {
		refer(child.Events)
	}
	for i := range c.Send {
		refer(c.Send[i].Events)
	}
}

// events are those of a run with what is too large kept apart. The list that is given stays as it is. With an error
// come
// those with the references so far: who tries again has no second copy of a value.
func (w *World) events(ctx context.Context, run string, events []world.Event) ([]world.Event, error) {
	own := false
	for i := range events {
		if e := &events[i]; len(e.Payload) <= w.most || !slices.Contains(Types, e.Type) || world.IsApart(e.Payload) {
			continue
		}
		a, err := Keep(ctx, w.able.ApartKeeper, run, bytes.NewReader(events[i].Payload), world.MaxApart)
		if err != nil {
			return events, err
		}
		if !own {
			events, own = slices.Clone(events), true
		}
		events[i].Payload, events[i].Apart = a.JSON(), []string{a.ID}
	}
	return events, nil
}

// Types are those of the events whose payloads may be kept apart: what the run's own code takes and makes.
var Types = []world.EventType{world.RunCreated, world.RunContinued, world.RunCompleted, world.StepCreated, world.StepCompleted}

// refer names in events, in place, the values that their payloads refer to.
func refer(events []world.Event) {
	for i := range events {
		if e := &events[i]; e.Apart == nil && bytes.Contains(e.Payload, mark) {
			e.Apart = found(e.Payload)
		}
	}
}

var mark = []byte(`"stepwell:apart":{"id":"valu_`)

// Find finds the reference to a value in a payload, however deep.
func Find(payload []byte, id string) (a world.Apart, ok bool) {
	i := bytes.Index(payload, []byte(`"stepwell:apart":{"id":"`+id+`"`))
	if i < 0 {
		return a, false
	}
	d := json.NewDecoder(bytes.NewReader(payload[i+len(`"stepwell:apart":`):]))
	return a, d.Decode(&a) == nil && a.ID == id
}

// found are the values that a payload refers to, however deep.
func found(payload []byte) (ids []string) {
	for {
		i := bytes.Index(payload, mark)
		if i < 0 {
			return ids
		}
		payload = payload[i+len(mark)-len("valu_"):]
		if n := bytes.IndexByte(payload, '"'); n > 0 && world.CheckApart(string(payload[:n])) == nil && !slices.Contains(ids, string(payload[:n])) {
			ids = append(ids, string(payload[:n]))
		}
	}
}
