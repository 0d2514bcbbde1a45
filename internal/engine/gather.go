package engine

// Starts that are gathered into one run. The store keeps what is open: no process holds anything.
//
//  1. A start asks for a birth, and is told which run gathers, if one does. It delivers its input to that one. Where
//     that has begun meanwhile, it asks again.
//  2. The input has one ID, and the start one idempotency key, if any: so it is in one run, once, whatever is asked
//     again.
//  3. What is acknowledged with a start is so when its input is in a log: by the birth, which is asked for once more
//     and finds the key.

import (
	"context"
	"errors"
	"fmt"

	"github.com/stepwell/stepwell/internal/replay"
	"github.com/stepwell/stepwell/world"
)

// gatherTries is how often a start asks which run gathers: each time another has begun before the input was there.
const gatherTries = 20

// bodyOf is the code of a run's present segment. One that gathers is not known whole before it begins.
func bodyOf(wf *Workflow, state *world.State) replay.Body {
	if state.Birth.Gather == nil || state.Segment > 0 {
		return wf.Body(state.Input, state.InputApart)
	}
	return func(x *replay.Ctx) replay.Outcome { return wf.Body(state.Input, state.InputApart)(x) }
}

// otherGather blocks a run whose input does not fit a definition that merges, and was started by one that does not, or
// the other way round: the inputs of several starts may be in it, and a worker of that code can take them.
func otherGather(wf *Workflow, err error) error {
	here, there := "merges no starts", "does"
	if wf.Gather != nil {
		here, there = "merges starts", "does not"
	}
	return Block(world.CodeDecode, fmt.Errorf("workflow %s: the input does not fit: %w: the definition here %s, and that of whoever started the run %s: "+
		"a worker with the same definition continues it; if you change the definition, give it another version", wf.Name, err, here, there))
}

// gather begins a run, or gives its input to one that gathers.
func gather(ctx context.Context, e *Engine, b *Birth, c *world.Commit) (Started, error) {
	c.Items = b.Items
	merged := ""
	for try := 0; ; try++ {
		c.Events[0].Time = e.clock.now() // what was asked before came to nothing
		done, err := createRun(ctx, e.cfg.World, c)
		switch {
		case err != nil:
			return Started{}, fmt.Errorf("start %s: %w", b.Birth.Workflow, err)
		case done.Existing == "":
			e.says.wantsNow(ctx, wanted{class: world.Class{Workflow: b.Birth.Workflow, Version: b.Birth.Version}}, b.ID)
			return Started{Run: b.ID}, nil
		case !done.Gathering:
			return Started{Run: done.Existing, Existed: true, Merged: merged == done.Existing}, nil
		}
		got, err := giveInput(ctx, e, done.Existing, b)
		closed := errors.Is(err, world.ErrConflict) || errors.Is(err, world.ErrTerminal) || errors.Is(err, world.ErrNotFound)
		switch {
		case err == nil && b.Ack != "" && b.Birth.Key != "":
			merged = got.Run
		case err == nil:
			return Started{Run: got.Run, Existed: true, Merged: !got.Duplicate || b.Birth.Key == ""}, nil
		case !closed || try == gatherTries:
			return Started{}, fmt.Errorf("start %s: give the input to run %s: %w", b.Birth.Workflow, done.Existing, err)
		}
	}
}

// giveInput gives an input to a run that gathers, until what became of it is known.
func giveInput(ctx context.Context, e *Engine, run string, b *Birth) (done world.Delivered, err error) {
	d := &world.Delivery{Run: run, ID: b.Birth.Key, Act: true, Items: b.Items, Events: []world.Event{{
		Type: world.InputReceived, Name: b.Birth.Key, Payload: b.Input,
	}}}
	if d.ID == "" {
		d.ID = b.ID
	}
	for try := 0; ; try++ {
		done, err = e.cfg.World.Deliver(ctx, d)
		if !errors.Is(err, world.ErrUnknownOutcome) || try == createTries || !pause(ctx, retryPause(try)) {
			return done, err
		}
	}
}
