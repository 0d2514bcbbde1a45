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

// Errors of [App.Invoke].
var (
	// ErrFull means that this worker has no free slot for runs or steps: see [Config].
	ErrFull = engine.ErrNoSlot
	// ErrClosed means that [App.Close] was called.
	ErrClosed = world.ErrClosed
)

// leastSlice is the shortest slice that can be set: in a shorter one nothing might come to be done, again and again.
const leastSlice = time.Second

// Invoke works on the run or step that a message names. It returns when no work is left for now, or
// when the time slice is over; 0 means [Config].Slice. When the slice is over, or ctx ends, Invoke
// begins no more step bodies, and waits for those that run. Work that is left stays in the queue
// for any worker. After a queued step Invoke continues the step's run, unless another worker has
// it.
//
// An App that uses Invoke is a worker on demand. All calls in a process share one worker. It claims
// only what messages name, sends heartbeats while it owns work, and leaves when no message came for
// [Config].Idle, or at [App.Close]. Invoke is safe for concurrent use.
//
// Errors: [ErrNotFound] for an unknown run; [ErrFull] if all slots are taken; [ErrClosed] after
// Close; [ErrInvalid] if [App.Run] is in use.
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

// Close ends the worker of [App.Invoke]. Further messages are refused. Steps have [Config].Drain to
// end, unfinished work is handed back, and the worker leaves; then Close returns. It does not close
// the store. Calling Close twice is harmless. Without Invoke, Close only flushes metrics.
func (a *App) Close() error { return a.engine.Close() }

// Manifest lists what this App has registered, in the order of its definitions.
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
