package stepwell

// A run that goes on for ever does so in segments.

import (
	"fmt"

	"github.com/stepwell/stepwell/internal/kit"
	"github.com/stepwell/stepwell/internal/replay"
	"github.com/stepwell/stepwell/world"
)

// ContinueOption changes how a run continues: [Version].
type ContinueOption interface{ continueOption(*continueOptions) }

type continueOptions struct{ version int }

// ContinueAsNew ends the workflow function here and lets the same run go on with it from its beginning, with a new input: a new
// segment of the run. Use it in workflows that go on for ever, so that what has to be read and replayed stays short; with [KeepSegments], what
// has to be kept does too.
//
//	return 0, stepwell.ContinueAsNew(ctx, Poll{Cursor: next})
//
// The run keeps its ID, key, priority, retention, timeout, attributes, parent, and those who wait for its result. Open hooks stay
// open ([NewHook] with the token of one binds to it), and events and payloads that nobody has taken wait for the new segment.
// Everything else is over: steps that run get a context that ends with [ErrRunOver], waits end, and children that are not
// [Detached] are cancelled. Decisions of [Patched] are made again.
//
// The new segment runs the highest version of the workflow that this worker has registered, unless a [Version] is given, and is
// held to this worker's [Config].MaxPayload and MaxValue. ContinueAsNew does
// not return, but for an error: [ErrCancelled] in a cancelled run, an input that does not encode, is too large, or does not fit
// that version's type, or undo functions on the stack (see [Undo], [UndoAll], [DropUndo]): [ErrInvalid]. The cancel
// is looked at first: where a cancelled run is to undo what it did, ask before you drop, and again behind that.
func ContinueAsNew[In any](ctx Context, in In, opts ...ContinueOption) error {
	var o continueOptions
	if err := kit.Given(opts, func(opt ContinueOption) { opt.continueOption(&o) }); err != nil {
		return fmt.Errorf("continue as new: %w", err)
	}
	if err := world.CheckVersion(o.version); err != nil {
		return fmt.Errorf("continue as new: %w", err)
	}
	input, err := sent(&in, ctx.x.MaxValue())
	if err == nil {
		err = ctx.env.fits(ctx.env.workflow, o.version, input)
	}
	if err != nil {
		return fmt.Errorf("continue as new: input: %w", err)
	}
	if ctx.x.Cancelled() {
		return ErrCancelled
	}
	if all := localOf(ctx); all != nil && len(all.undos) > 0 {
		return fmt.Errorf("continue as new: %w: undo %q would be lost: call UndoAll or DropUndo first", ErrInvalid, all.undos[len(all.undos)-1].name)
	}
	ctx.x.Continue(replay.Continue{Input: input, Version: o.version})
	return ctx.x.Refusal()
}

// keepSegmentsOption fits workflows.
type keepSegmentsOption int

// KeepSegments says how many segments of a run stay in its log, the newest included; by default all do. When a run continues as new and has more, the
// events of those before are not wanted any more: the next sweep deletes them, but for the run's birth and what was carried over. They cannot be
// shown or forked from then, and nothing else changes: the run goes on as it would have.
//
// What steps and code wrote to streams in those segments is deleted with them, and so are answers to webhooks. A stream's chunks are numbered on; who
// reads it from an older one on gets what is left, and is told: see [StreamChunk].
//
// What the definition says when a run continues counts, for runs that began before it said so too. It is 1 to 100.
func KeepSegments(n int) WorkflowOption { return keepSegmentsOption(n) }

const mostKeptSegments = 100

func (n keepSegmentsOption) workflowOption(o *workflowOptions) {
	if n < 1 || n > mostKeptSegments {
		o.faults = append(o.faults, fmt.Errorf("%w: keep %d segments: must be 1 to %d", ErrInvalid, int(n), mostKeptSegments))
	}
	o.keep = int(n)
}

// fits reports whether a version of a workflow can take an input; version 0 is the highest. What is not known here may.
func (r *registrar) fits(workflow string, version int, input []byte) error {
	check, highest := func([]byte) error { return nil }, 0
	for _, wf := range r.workflows {
		if wf.Name == workflow && wf.Version > highest && (version == 0 || wf.Version == version) {
			check, highest = wf.Check, wf.Version
		}
	}
	if err := check(input); err != nil {
		return fmt.Errorf("%w: version %d: %w", ErrInvalid, highest, err)
	}
	return nil
}
