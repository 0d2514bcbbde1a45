package engine

// This file replays a log that somebody has kept against the code of today, with no world and no step run.

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/stepwell/stepwell/internal/replay"
	"github.com/stepwell/stepwell/world"
)

// Check evaluates the code of a run against its log, as a worker that claims the run would: the log is folded, and the newest segment is
// replayed. Nothing is written, and no step runs. It returns nil where the code goes on from where the log ends, or ends as the log says;
// else what would block the run: a [*replay.DivergedError], a [*replay.PanicError], a [*world.CorruptError] and so on. A workflow or
// version that was not registered is [world.ErrInvalid]. Code that does not give control back is given up when ctx
// ends.
func (e *Engine) Check(ctx context.Context, run string, events []world.Event) error {
	class, newest := classOf(events)
	wf := e.code.workflow(class)
	if wf == nil {
		return fmt.Errorf("%w: run %s: workflow %s version %d is not registered", world.ErrInvalid, run, class.Workflow, class.Version)
	}
	checked := error(&replay.PanicError{}) // of code that ends its goroutine
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		checked = e.check(wf, run, events, newest)
	}()
	select {
	case <-ended:
	case <-ctx.Done():
		return fmt.Errorf("run %s: its code has not yielded: %w", run, context.Cause(ctx))
	}
	if endedOf(events, checked) {
		return nil
	}
	if blocking, ok := errors.AsType[*blockError](thrown(checked)); ok {
		return fmt.Errorf("run %s: %s: %w", run, blocking.code, blocking)
	}
	if checked != nil {
		return fmt.Errorf("run %s: %w", run, checked)
	}
	return nil
}

// endedOf reports whether a log ends as its code could go on no further, and today's code cannot either, for the same reason.
func endedOf(events []world.Event, err error) bool {
	last := &events[len(events)-1]
	return err != nil && last.Type == world.RunFailed && last.Error != nil && last.Error.Code == BlockOf(err).Code
}

// ClassOf is the workflow and version that a log ends with.
func ClassOf(events []world.Event) world.Class {
	class, _ := classOf(events)
	return class
}

// Knows reports whether a workflow and version was registered.
func (e *Engine) Knows(class world.Class) bool { return e.code.workflow(class) != nil }

// classOf is the workflow and version that a log ends with, and the index of the event that began its newest segment.
func classOf(events []world.Event) (c world.Class, newest int) {
	for i := range events {
		switch e := &events[i]; {
		case e.Birth != nil:
			c = world.Class{Workflow: e.Birth.Workflow, Version: e.Birth.Version}
		case e.Type == world.RunStarted && e.Version != 0:
			c.Version = e.Version
		case e.Type == world.RunContinued && e.Next != nil:
			if newest = i; e.Next.Version != 0 {
				c.Version = e.Next.Version
			} else if e.Next.Base != nil { // what was before may be gone
				c.Version = e.Next.Base.Version
			}
		}
	}
	return c, newest
}

func (e *Engine) check(wf *Workflow, run string, events []world.Event, newest int) error {
	state := &world.State{ID: run, EnterAt: world.EnterAt(events)}
	var m *replay.Machine
	if err := e.readable(run, events); err != nil {
		return err
	}
	for i := range events {
		changed, err := state.Apply(&events[i], zeroTime)
		if err == nil && !changed {
			err = errors.New("it says nothing new")
		}
		if err != nil {
			return &world.CorruptError{Run: run, Seq: events[i].Seq, Err: err}
		}
		if i == newest {
			m = e.machineAt(wf, state, events[:i+1])
		}
	}
	if m == nil {
		return &world.CorruptError{Run: run, Seq: 1, Err: errors.New("the log is empty")}
	}
	defer m.Close() // deferred functions of the workflow's code run
	m.SetReplaying(true)
	if err := m.Feed(events[newest:], false); err != nil {
		return err
	}
	if state.Status.Terminal() {
		return m.CheckEnd(&events[len(events)-1])
	}
	return nil
}

// machineAt makes the machine of a segment that begins with the last of some events.
func (e *Engine) machineAt(wf *Workflow, state *world.State, events []world.Event) *replay.Machine {
	cfg := replay.Config{
		Attributes: maps.Clone(state.Attributes),
		Run:        state.ID, Created: state.CreatedAt, Seed: state.Birth.Seed, Segment: state.Segment, Build: e.cfg.Build, Strict: e.cfg.Strict, Secret: e.cfg.Secret,
		Fails: wf.crashes(),
		Fork:  state.Birth.Origin != nil,
		Hooks: slices.SortedFunc(state.Hooks(), func(a, b *world.Hook) int { return cmp.Compare(a.ID, b.ID) }),
	}
	if next := events[len(events)-1].Next; next != nil {
		for _, seq := range next.Unread {
			if at, ok := slices.BinarySearchFunc(events, seq, func(e world.Event, seq int64) int { return cmp.Compare(e.Seq, seq) }); ok {
				cfg.Unread = append(cfg.Unread, events[at])
			}
		}
	}
	return replay.New(cfg, bodyOf(wf, state))
}
