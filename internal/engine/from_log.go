package engine

// This file creates runs that begin with more than their birth: forks, and histories from elsewhere.

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/stepwell/stepwell/world"
)

// CreateFromLog begins a run with a log that is given, however long, in one commit: with no worker, it is in the queue as those events leave it, due at once, or over.
// Its open registered steps are queued again, and its open waits for other runs are told to the world. It finds out what became of a
// commit whose answer was lost. existing is the run that has its idempotency key, if there is one; nothing was written then.
func CreateFromLog(ctx context.Context, w world.World, build, run string, events []world.Event) (existing string, err error) {
	state := &world.State{ID: run}
	for i := range events {
		if changed, err := state.Apply(&events[i], time.Time{}); err != nil || !changed {
			return "", &world.CorruptError{Run: run, Seq: int64(i) + 1, Err: orNothingNew(err)}
		}
	}
	c := &world.Commit{ID: commitID(), Run: run, Build: build, First: 1, Events: events}
	for i := range events {
		e := &events[i]
		st := state.Step(e.ID)
		if e.Type != world.StepCreated || st == nil || state.Status.Terminal() {
			continue
		}
		switch {
		case e.Queued:
			t := world.Task{Run: run, Step: e.ID, Name: e.Name, Workflow: state.Birth.Workflow, Input: e.Payload, Priority: state.Birth.Priority, Places: e.Places}
			if e.Apart != "" {
				t.Options = world.ApartOptions(nil, e.Apart)
			}
			c.Tasks = append(c.Tasks, t)
		case e.Kind == world.KindAwait:
			c.Conditions = append(c.Conditions, world.Condition{Event: i})
		}
	}
	done, err := createRun(ctx, w, c)
	if errors.Is(err, world.ErrTooLarge) {
		err = fmt.Errorf("%w (no store keeps an event of that size)", err)
	}
	return done.Existing, err
}

func orNothingNew(err error) error {
	if err == nil {
		return errors.New("it says nothing new")
	}
	return err
}
