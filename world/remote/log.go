package remote

// This file writes to logs, inboxes and streams.

import (
	"context"
	"errors"
	"fmt"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/remote/wire"
)

// mostDoubts is how many commits may be in doubt at once; the doubt about one that is forgotten is Outcome's to end.
const mostDoubts = 4096

// Commit writes one atomic change; see [world.Log] and [world.Commit].
func (w *World) Commit(ctx context.Context, c *world.Commit) (world.Committed, error) {
	if err := world.CheckCommit(c); err != nil {
		return world.Committed{}, err
	}
	in := wire.CommitIn{Commit: *c, Again: w.inDoubt(c.ID)}
	wk := w.knows(c.Worker)
	had := wk != nil && givesUp(c) && wk.move(c.Run, false) // before: a heartbeat may see it first
	out, err := call(ctx, w, wire.Commit, in)
	doubt := w.settle(c.ID, err)
	if had && err != nil && !doubt || wk != nil && err == nil && c.Birth() && !givesUp(c) && out.Existing == "" {
		wk.move(c.Run, true)
	}
	return out, err
}

// Outcome reports whether a commit was written; see [world.Log].
func (w *World) Outcome(ctx context.Context, c *world.Commit) (world.Committed, error) {
	return call(ctx, w, wire.Outcome, wire.CommitIn{Commit: *c})
}

// inDoubt reports whether a commit was sent before and nobody knows what became of it.
func (w *World) inDoubt(id [16]byte) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, ok := w.doubts[id]
	return ok
}

// settle notes what is known of a commit, and reports whether that is nothing.
func (w *World) settle(id [16]byte, err error) (doubt bool) {
	var unknown *unknownError
	doubt = errors.Is(err, world.ErrUnknownOutcome) || errors.As(err, &unknown)
	w.mu.Lock()
	defer w.mu.Unlock()
	if !doubt {
		delete(w.doubts, id)
		return false
	}
	for other := range w.doubts {
		if len(w.doubts) < mostDoubts {
			break
		}
		delete(w.doubts, other)
	}
	w.doubts[id] = struct{}{}
	return true
}

// Deliver sends to a run's inbox, or ends an attempt of a task; see [world.Log]. If the answer is
// lost, it repeats a delivery that has an ID, and the wake of a task.
func (w *World) Deliver(ctx context.Context, d *world.Delivery) (world.Delivered, error) {
	if err := world.CheckDelivery(d); err != nil {
		return world.Delivered{}, err
	}
	if d.Unbegun {
		return world.Delivered{}, fmt.Errorf("%w: run %s: what ends a run that has not begun is its server's", world.ErrInvalid, d.Run)
	}
	twice := d.ID != "" && d.Task == nil || d.WakesTask() || d.ExpiresTask()
	how := manner{twice: twice, once: d.ID == "" && d.Task == nil} // a task's end holds once
	return callAs(ctx, w, how, wire.Deliver, *d)
}

// Events reads a page of a run's log, in whole commits; see [world.Log].
func (w *World) Events(ctx context.Context, run string, q world.EventQuery) (world.EventPage, error) {
	return call(ctx, w, wire.Events, wire.EventsIn{RunID: wire.RunID{Run: run}, EventQuery: q})
}

// Append adds chunks to a stream; see [world.Streams].
func (w *World) Append(ctx context.Context, a *world.Append) (world.Appended, error) {
	if err := world.CheckAppend(a); err != nil {
		return world.Appended{}, err
	}
	return call(ctx, w, wire.Append, *a)
}

// Chunks reads chunks of a stream; see [world.Streams].
func (w *World) Chunks(ctx context.Context, run, stream string, q world.ChunkQuery) (world.ChunkPage, error) {
	return call(ctx, w, wire.Chunks, wire.ChunksIn{RunID: wire.RunID{Run: run}, Stream: stream, ChunkQuery: q})
}

// StreamsOf lists the streams of a run; see [world.Streams].
func (w *World) StreamsOf(ctx context.Context, run string) ([]world.StreamRow, error) {
	return call(ctx, w, wire.Streams, wire.RunID{Run: run})
}
