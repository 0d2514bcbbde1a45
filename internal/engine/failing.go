package engine

// What fails a run where its definition says so, instead of blocking it.
//
//  1. A panic is to the run what an error is that its function returns: see [replay.Config].Fails. So undo functions
//     run, and then the run fails.
//  2. Code that diverged, or that ended its goroutine, cannot be trusted to undo anything: the run fails as it stands,
//     and its error names the undo functions that were registered and do not run.
//  3. What comes of a key that is not here, of storage, or of a log that cannot be read, is not the code's, and always
//     blocks.

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/stepwell/stepwell/internal/replay"
	"github.com/stepwell/stepwell/world"
)

// fails reports whether what would block a run of the workflow as err fails it.
func (w *Workflow) fails(err error) bool {
	return w != nil && err != nil && len(w.FailOn) > 0 && slices.Contains(w.FailOn, BlockOf(err).Code)
}

// crashes is what a machine of the workflow is told of its panics; nil: all block.
func (w *Workflow) crashes() func(*replay.PanicError) bool {
	if !slices.Contains(w.FailOn, world.CodePanic) {
		return nil
	}
	return func(err *replay.PanicError) bool { return w.fails(err) }
}

// failing reports whether the run is to fail of what would block it. A run that is paused waits for its end too.
func failing(s *session) bool {
	return s.course.blocked() && s.birth == nil && s.course.state().Paused == nil && s.course.state().Birth.Workflow != "" && s.eval.workflow().fails(s.course.fault().cause())
}

// endFailed ends the run with what would block it.
func endFailed(s *session) {
	rec := s.e.broken(s.course.fault().cause())
	if s.eval.machine() != nil {
		if left := undosOf(s.eval.machine()); len(left) > 0 {
			more := ""
			if n := len(left) - mostUncreated; n > 0 {
				left, more = left[:mostUncreated], fmt.Sprintf(" and %d more", n)
			}
			rec.Message += "; nothing was undone: registered were " + strings.Join(left, ", ") + more
		}
	}
	end := world.Event{Type: world.RunFailed, Error: rec}
	if s.course.state().Cancel != nil {
		end = cancelledEnd(s.course.state().Cancel, rec)
	}
	if err := s.course.put(&end); err != nil {
		s.course.fail(err, s.course.state().Seq)
		s.hibernate()
	}
}

// undosOf are the undo functions that the code of a machine has registered and that did not run, the last one first.
func undosOf(m *replay.Machine) (names []string) {
	if kept, ok := replay.LocalOf(m).(interface{ Undos() []string }); ok {
		for _, name := range slices.Backward(kept.Undos()) {
			names = append(names, strconv.Quote(name))
		}
	}
	return names
}

// broken is what the log keeps of what would block a run.
func (e *Engine) broken(err error) *world.Error {
	if crash, ok := errors.AsType[*replay.PanicError](err); ok {
		return Crashed(crash, e.cfg.Record)
	}
	b := BlockOf(err)
	return &world.Error{Name: fmt.Sprintf("%T", err), Message: b.Message, Code: b.Code, Permanent: true}
}

// Crashed is what the log keeps of a panic of workflow code that fails the run; record makes what it keeps of other
// errors.
func Crashed(err *replay.PanicError, record func(error) *world.Error) *world.Error {
	rec := &world.Error{Message: "workflow code panicked", Code: world.CodePanic, Permanent: true}
	if record != nil {
		of := *record(err)
		rec = &of
	}
	rec.Code, rec.Permanent, rec.Stack = world.CodePanic, true, trimStack(err.Stack)
	if _, at := replay.AuthorsStack(err.Stack); at != "" {
		rec.Where = at
	}
	return rec
}

// foldOn folds all of a log whose replay failed on the way, without its code, so that the end of the run can be
// appended and its children be told.
func (c *course) foldOn(ctx context.Context, tk world.ClaimedRun) error {
	defer c.eval.without()()
	c.st = &world.State{ID: c.own.run}
	return c.reading(&tk).read(ctx, &tk, "", false)
}
