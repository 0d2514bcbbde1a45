package engine

// ContinueAsNew: a run goes on in a new segment of its log. The new machine starts from what the run_continued lists and knows nothing of the
// segments before it, so their code is never evaluated again.
//
//  1. One commit holds the end of the old segment, the run_continued and what the new code asked for first, so that there is no moment at which a
//     payload belongs to neither.
//  2. What was taken by the old code is not listed, though the end of its wait may not be in the log; what came after the code had come to its end
//     is unread, or waits in the mailbox for the new code.
//  3. A turn holds one continuation: code that continues for ever commits each time, sees what came meanwhile, and can be shut down.

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/stepwell/stepwell/internal/replay"
	"github.com/stepwell/stepwell/world"
)

// carried is what a segment starts with.
type carried struct {
	unread []world.Event // signals and payloads that nobody has taken, in order
	hooks  []*world.Hook // that are open
}

// continues reports whether the code came to its end to go on in a new segment.
func (s *session) continues() bool {
	if s.m == nil || s.state.Cancel != nil {
		return false
	}
	out := s.m.Outcome()
	return out != nil && out.Continue != nil
}

// continueRun begins the next segment. It reports whether the turn can go on with its code; if not, the turn is to be committed first.
func (s *session) continueRun(c *replay.Continue) (here bool) {
	class := world.Class{Workflow: s.state.Birth.Workflow, Version: c.Version}
	wf := s.e.workflow(class) // version 0: the highest that is known here
	if wf != nil {
		class.Version = wf.Version
	}
	next := s.carryOn()
	e := world.Event{Type: world.RunContinued, Payload: c.Input, Next: &world.Continuation{Attributes: s.state.Attributes}}
	if class.Version != s.state.Version {
		e.Next.Version = class.Version
	}
	for i := range next.unread {
		e.Next.Unread = append(e.Next.Unread, next.unread[i].Seq)
	}
	for _, h := range next.hooks {
		e.Next.Hooks = append(e.Next.Hooks, h.ID)
	}
	goodbye := s.farewell(s.e.workCtx)
	s.log = nil
	if err := s.put(&e); err != nil {
		s.fail(err, s.state.Seq)
		return true
	}
	s.leaveSegment()
	s.turn.continued, s.turn.goodbye = true, goodbye
	s.carried = next
	if wf == nil { // only others know that version
		s.m = nil
		s.watched.Store(nil)
		s.turn.release = &world.Release{WakeAt: s.now}
		return false
	}
	s.wf = wf
	s.newMachine()
	if err := s.m.Feed(s.turn.events[len(s.turn.events)-1:], false); err != nil {
		s.fail(err, e.Seq)
		return true
	}
	s.create()
	return true
}

// carryOn lists what the next segment starts with: all that is open and unread, but for hooks whose end the code has just asked for.
func (s *session) carryOn() carried {
	gone := map[string]bool{}
	for _, op := range s.m.Asked() {
		if op.Type == world.HookDisposed {
			gone[op.ID] = true
		}
	}
	var c carried
	for h := range s.state.Hooks() {
		if !gone[h.ID] {
			c.hooks = append(c.hooks, h)
		}
	}
	slices.SortFunc(c.hooks, func(a, b *world.Hook) int { return cmp.Compare(a.ID, b.ID) })
	for _, e := range s.m.Unread() {
		if e.Type == world.SignalReceived || s.state.Hook(e.ID) != nil && !gone[e.ID] {
			c.unread = append(c.unread, e)
		}
	}
	return c
}

// leaveSegment drops what belongs to the old segment: its tasks and starts are not written any more, and its machine is unwound as soon as no body
// runs that it asked for. The bodies are told when the continuation is durable.
func (s *session) leaveSegment() {
	s.dropStarts()
	s.turn.tasks, s.turn.losers = nil, nil
	s.ready, s.losers = nil, nil
	s.old = append(s.old, s.m)
	if len(s.bodies) > 0 {
		return
	}
	for _, m := range s.old {
		s.e.unwind(m)
	}
	s.old = nil
}

// newestSegment finds the last run_continued of a log that is read from its start: in its first page, or behind that.
func (s *session) newestSegment(ctx context.Context, first world.EventPage) (seq int64, err error) {
	for i := range first.Events {
		if first.Events[i].Type == world.RunContinued {
			seq = first.Events[i].Seq
		}
	}
	q := world.EventQuery{Cursor: first.Cursor, Types: []world.EventType{world.RunContinued}}
	for more := first.More; more; {
		page, err := s.e.cfg.World.Events(ctx, s.run, q)
		if err != nil {
			return 0, err
		}
		if n := len(page.Events); n > 0 {
			seq = page.Events[n-1].Seq
		}
		q.Cursor, more = page.Cursor, page.More
	}
	return seq, nil
}

// pass takes note of an event up to the start of the newest segment: of what was sent, and of what of that was carried over.
func (s *session) pass(e *world.Event) error {
	switch e.Type {
	case world.SignalReceived, world.HookReceived:
		s.carried.unread = append(s.carried.unread, *e)
	case world.RunContinued:
		kept := s.carried.unread[:0]
		for i := range s.carried.unread {
			if _, ok := slices.BinarySearch(e.Next.Unread, s.carried.unread[i].Seq); ok {
				kept = append(kept, s.carried.unread[i])
			}
		}
		s.carried.unread = kept
		if len(kept) != len(e.Next.Unread) {
			return &world.CorruptError{Run: s.run, Seq: e.Seq, Err: fmt.Errorf("it carries %d payloads over, of which the log has %d", len(e.Next.Unread), len(kept))}
		}
	}
	return nil
}

// enter makes the machine of a segment that was read from the log.
func (s *session) enter() {
	s.carried.hooks = slices.SortedFunc(s.state.Hooks(), func(a, b *world.Hook) int { return cmp.Compare(a.ID, b.ID) })
	s.log = nil
	if s.wf != nil {
		s.newMachine()
		s.m.SetReplaying(true)
	}
}
