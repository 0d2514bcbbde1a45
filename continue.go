package stepwell

// A run that goes on for ever does so in segments.

import (
	"fmt"

	"github.com/stepwell/stepwell/internal/kit"
	"github.com/stepwell/stepwell/internal/replay"
	"github.com/stepwell/stepwell/world"
)

// ContinueOption is an option of [ContinueAsNew]: [Version].
type ContinueOption interface{ continueOption(*continueOptions) }

type continueOptions struct{ version int }

// ContinueAsNew ends the workflow function and restarts it, in the same run, with a new input. The
// run begins a new segment. Use it in workflows that run for ever: replay then reads only the
// newest segment. [KeepSegments] deletes old ones.
//
//	return 0, stepwell.ContinueAsNew(ctx, Poll{Cursor: next})
//
// The run keeps its ID, key, priority, retention, timeout, attributes and parent. Callers that wait
// for its result keep waiting. Hooks stay open: [NewHook] with the same token returns the hook.
// Events and payloads that the code has not taken stay for the new segment. All else ends: contexts
// of running steps end with [ErrRunOver], waits end, children that are not [Detached] are
// cancelled, and [Patched] decides again.
//
// The new segment runs the highest version of the workflow that this worker has, or the given
// [Version], with this worker's [Config].MaxPayload and MaxValue.
//
// ContinueAsNew returns only on an error: encoding errors; [ErrTooLarge]; [ErrInvalid] for an input
// that does not fit the version's type; [ErrCancelled] if the run is cancelled; [ErrInvalid] if
// undo functions are on the stack (see [UndoAll] and [DropUndo]). If a cancelled run must undo what
// it did, check [CancelCause] before DropUndo and after it.
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

// KeepSegments sets how many segments of a run stay in its log, with the newest: 1 to 100. By
// default all stay. Once a run has more, a worker deletes the events of older segments (see
// [Config].SweepInterval), except the run's first event and what was carried over. Deleted segments
// cannot be shown or forked. The run itself is not affected.
//
// Chunks of streams that those segments wrote, and their answers to webhooks, are deleted too.
// Indexes of a stream continue, and a reader that asks for a deleted chunk is told so: see
// [StreamChunk].
//
// The definition of the worker that continues the run counts, also for runs that began before it
// had KeepSegments.
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
