package wdk

// Workflows that are held: starts of them are taken, and their messages wait, until they are released.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/stepwell/stepwell/world"
)

// holds are the workflows that are held, as this process saw them last.
type holds struct {
	starter world.Starter

	mu   sync.Mutex
	seen time.Time
	all  map[string]bool
}

// seenFor is for how long what was seen is good enough for messages, which come again anyway.
const seenFor = time.Second

// have reports whether a workflow of ours is held; anew says that it is to be looked at now.
func (k *holds) have(ctx context.Context, workflow string, anew bool) (bool, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if anew || time.Since(k.seen) > seenFor {
		all, err := k.starter.Holds(ctx)
		if err != nil {
			return false, err
		}
		k.all, k.seen = map[string]bool{}, time.Now()
		for i := range all {
			k.all[all[i].Workflow] = true
		}
	}
	return k.all[workflow], nil
}

// isHeld is the refusal of what a run cannot take before its workflow is released.
func isHeld(run, workflow string) error {
	return &Refusal{Name: "TooEarlyError", Status: 425, After: pausedAgain, Err: fmt.Errorf("run %s: workflow %s is held", run, workflow)}
}

// createHeld writes the birth of a run whose workflow is held: it is nobody's until it may begin.
func (h *Host) createHeld(ctx context.Context, in *createIn, birth *world.Commit) (out *createOut, err error) {
	birth.Worker, birth.Claim, birth.Events = "", 0, birth.Events[:1]
	starts := in.Event.Type == world.RunStarted
	if _, err := h.world.Commit(ctx, birth); err != nil && !(starts && errors.Is(err, world.ErrRunExists)) {
		return nil, err
	}
	if starts {
		return nil, isHeld(in.RunID, birth.Events[0].Birth.Workflow)
	}
	err = h.with(ctx, in.RunID, true, func(r *run) error {
		out = r.created(in, 0)
		return nil
	})
	return out, err
}

// cancelHeld cancels a run that is held: nobody owns it.
func (h *Host) cancelHeld(ctx context.Context, r *run, in *createIn) (*createOut, error) {
	d := world.Delivery{Run: r.id, ID: in.commitName(), Act: true, Events: []world.Event{{
		Type: world.RunCancelled, By: name, Reason: in.Event.text("cancelReason"),
	}}}
	if _, err := h.world.Deliver(ctx, &d); err != nil {
		return nil, err
	}
	if err := h.load(ctx, r); err != nil {
		return nil, err
	}
	return r.created(in, r.endedAt()), nil
}

// resting reports whether a message is to wait, as its run is paused, or held and has not begun: its code does not hear
// of it before that ends.
func (h *Host) resting(ctx context.Context, l *letter) (waits bool, err error) {
	var m struct {
		Run string `json:"runId"`
	}
	if json.Unmarshal(l.Message, &m) != nil || m.Run == "" {
		return false, nil
	}
	_, theirs, _ := strings.Cut(l.Queue, "_wkf_workflow_")
	workflow, begun := workflowName(theirs), false
	if err := h.with(ctx, m.Run, true, func(r *run) error {
		waits, workflow = r.state.Paused != nil && !r.state.Status.Terminal(), r.state.Birth.Workflow
		begun = r.state.Status != world.Pending
		return nil
	}); err != nil && !errors.Is(err, world.ErrNotFound) && !errors.Is(err, world.ErrInvalid) { // it may be about to begin
		return false, err
	}
	if waits || begun {
		return waits, nil
	}
	if waits, err = h.holds.have(ctx, workflow, false); !waits || err != nil {
		return waits, err
	}
	// Nobody owns it, and so nobody but who looks here hears that it is to be cancelled.
	if row, err := h.world.Run(ctx, m.Run); err == nil && row.Queue != nil && row.Queue.Mail > 0 {
		if h.with(ctx, m.Run, false, func(r *run) error { return h.own(ctx, r) }) == nil { // it can be claimed for that alone
			h.worker.look()
		}
	}
	return true, nil
}
