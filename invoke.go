package stepwell

// This file is for programs that work only when they are told to, as functions that a platform starts for a request do. Package server has the HTTP on top of it.

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/stepwell/stepwell/internal/engine"
	"github.com/stepwell/stepwell/push"
	"github.com/stepwell/stepwell/world"
)

var (
	// ErrFull is returned by [App.Invoke] where this worker has as many runs or steps as [Config] lets it have at once.
	ErrFull = engine.ErrNoSlot
	// ErrClosed is returned by [App.Invoke] after [App.Close].
	ErrClosed = world.ErrClosed
)

// leastSlice is the shortest slice that can be set: in a shorter one nothing might come to be done, again and again.
const leastSlice = time.Second

// Invoke works on what a message names, and returns when there is nothing more to do just now, or the slice is used up (0: [Config].Slice). The slice is looked at
// between turns, so that no step's body is cut: bodies that run are waited for, and none begins. The same happens when ctx ends. Whoever runs a
// queued step goes on with its run, if nobody else does. What is left to do is in the queue, for whoever claims it
// next.
//
// An App on which Invoke is called is a worker on demand: all calls of a process are one worker, which claims nothing by itself, heartbeats while it owns anything, and
// leaves when no message came for [Config].Idle. [App.Close] ends it. Runs that are started with such an App are carried out by whoever gets a message for them.
//
// The error matches [ErrNotFound] for an unknown run, [ErrFull] where all slots are taken, [ErrClosed] after Close, and [ErrInvalid] where the App runs by itself.
func (a *App) Invoke(ctx context.Context, m push.Message, slice time.Duration) (push.Outcome, error) {
	if slice == 0 {
		slice = a.cfg.Slice
	}
	if err := checkMessage(&m, slice); err != nil {
		return "", fmt.Errorf("invoke: %w", err)
	}
	came, err := a.engine.Invoke(ctx, engine.Message{Run: m.Run, Step: m.Step}, slice)
	switch {
	case errors.Is(err, engine.ErrDraining):
		err = ErrClosed
	case err == nil && came == engine.CameBusy:
		return a.refused(ctx, m.Run)
	}
	if err != nil {
		return "", fmt.Errorf("invoke run %s: %w", m.Run, err)
	}
	return push.Outcome(came), nil
}

// refused says why a message was not worked on: a run that is over is done.
func (a *App) refused(ctx context.Context, run string) (push.Outcome, error) {
	info, err := a.Get(ctx, run)
	switch {
	case err != nil:
		return "", err
	case info.Status.Terminal():
		return push.Done, nil
	}
	return push.Busy, nil
}

func checkMessage(m *push.Message, slice time.Duration) error {
	if slice < 0 {
		return fmt.Errorf("%w: slice %s: must not be negative", ErrInvalid, slice)
	}
	if err := world.CheckRunID(m.Run); err != nil {
		return err
	}
	const longest = 256
	if len(m.Step) > longest || len(m.StepName) > longest {
		return fmt.Errorf("%w: the step's ID or name has more than %d bytes", ErrInvalid, longest)
	}
	return nil
}

// Close ends what [App.Invoke] began: messages are refused from now on, steps have [Config].Drain to end, what is not finished is handed back, and the worker leaves. It
// returns when all of that has happened. The world stays open. Closing twice is legal. An App on which nothing was invoked has nothing to close, but what
// it has counted for the metrics of all processes, as a forced cancel, which else is given to the world 10 s later.
func (a *App) Close() error { return a.engine.Close() }

// Manifest says what this App has registered, in the order of its definitions.
func (a *App) Manifest() push.Manifest {
	m := a.has
	m.Workflows, m.Steps = slices.Clone(m.Workflows), slices.Clone(m.Steps)
	return m
}

func (r *registrar) manifest() push.Manifest {
	m := push.Manifest{Build: r.cfg.Build, Slice: r.cfg.Slice, Workflows: []push.Workflow{}, Steps: []push.Step{}}
	for _, wf := range r.workflows {
		m.Workflows = append(m.Workflows, push.Workflow{Name: wf.Name, Version: wf.Version, Source: wf.Source})
	}
	for _, st := range r.steps {
		m.Steps = append(m.Steps, push.Step{Name: st.Name, Source: st.Source})
	}
	return m
}
