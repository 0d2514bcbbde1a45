package stepwell

// This file is for programs that work only when they are told to, as functions that a platform starts for a request do. Package server has the HTTP on top of it.

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/stepwell/stepwell/internal/engine"
	"github.com/stepwell/stepwell/world"
)

// Message names work: a run that is to go on, or one of its queued steps. Nothing rests on a message: what it names is taken if it is ready.
type Message struct {
	Run      string `json:"runId"`
	Step     string `json:"stepId,omitempty"`   // correlation ID; "": the run
	StepName string `json:"stepName,omitempty"` // for people
}

// Outcome says what became of a [Message].
type Outcome string

// What can become of a message.
const (
	Done    Outcome = "done"    // there is nothing more to do just now: the run is over, or waits
	Yielded Outcome = "yielded" // there is more to do at once: the slice was used up
	Busy    Outcome = "busy"    // nothing was done: it is not ready, or another worker has it
)

var (
	// ErrFull is returned by [App.Invoke] where this worker has as many runs or steps as [Config] lets it have at once.
	ErrFull = engine.ErrNoSlot
	// ErrClosed is returned by [App.Invoke] after [App.Close].
	ErrClosed = world.ErrClosed
)

// DefaultSlice is how long a message is worked on, where nobody says otherwise: less than the two minutes that platforms give at least.
const DefaultSlice = 110 * time.Second

// leastSlice is the shortest slice that can be set: in a shorter one nothing might come to be done, again and again.
const leastSlice = time.Second

// Invoke works on what a message names, and returns when there is nothing more to do just now, or the slice is used up (0: [Config].Slice). The slice is looked at
// between turns, so that no step's body is cut: bodies that run are waited for, and none begins. The same happens when ctx ends. Whoever runs a
// queued step goes on with its run, if nobody else does. What is left to do is in the queue, for whoever takes it next.
//
// An App on which Invoke is called is a worker on demand: all calls of a process are one worker, which takes nothing by itself, beats while it owns anything, and
// leaves when no message came for [Config].Idle. [App.Close] ends it. Runs that are started with such an App are carried out by whoever gets a message for them.
//
// The error matches [ErrNotFound] for an unknown run, [ErrFull] where all slots are taken, [ErrClosed] after Close, and [ErrInvalid] where the App runs by itself.
func (a *App) Invoke(ctx context.Context, m Message, slice time.Duration) (Outcome, error) {
	if slice == 0 {
		slice = a.cfg.Slice
	}
	if err := m.check(slice); err != nil {
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
	return Outcome(came), nil
}

// refused says why a message was not worked on: a run that is over is done.
func (a *App) refused(ctx context.Context, run string) (Outcome, error) {
	info, err := a.Get(ctx, run)
	switch {
	case err != nil:
		return "", err
	case info.Status.Terminal():
		return Done, nil
	}
	return Busy, nil
}

func (m *Message) check(slice time.Duration) error {
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
// returns when all of that has happened. The world stays open. Closing twice is legal, and an App on which nothing was invoked has nothing to close.
func (a *App) Close() error { return a.engine.Close() }
