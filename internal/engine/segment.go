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
	"encoding/json"
	"fmt"
	"slices"

	"github.com/stepwell/stepwell/internal/replay"
	"github.com/stepwell/stepwell/world"
)

// carried is what a segment starts with.
type carried struct {
	unread []world.Event // signals and payloads that nobody has taken, in order
	hooks  []*world.Hook // that are open

	attributes map[string]json.RawMessage
}

// continues reports whether the code came to its end to go on in a new segment.
func (c *course) continues() bool {
	if c.eval.machine() == nil || c.st.Cancel != nil {
		return false
	}
	out := c.eval.machine().Outcome()
	return out != nil && out.Continue != nil
}

// continueRun begins the next segment. It reports whether the turn can go on with its code; if not, the turn is to be committed first.
func (s *session) continueRun(c *replay.Continue) (here bool) {
	class := world.Class{Workflow: s.course.state().Birth.Workflow, Version: c.Version}
	wf := s.e.code.workflow(class) // version 0: the highest that is known here
	if wf != nil {
		class.Version = wf.Version
	}
	next := carryOn(s.course.state(), s.eval.machine())
	e := s.e.begins(world.RunContinued)
	e.Payload, e.Next = c.Input, &world.Continuation{Attributes: s.course.state().Attributes}
	e.Reason = uncreated(&s.e.says, s.course.name(), s.eval.machine(), "")
	if class.Version != s.course.state().Version {
		e.Next.Version = class.Version
	}
	for i := range next.unread {
		e.Next.Unread = append(e.Next.Unread, next.unread[i].Seq)
	}
	for _, h := range next.hooks {
		e.Next.Hooks = append(e.Next.Hooks, h.ID)
	}
	if e.Next.Base = s.course.state().BaseFor(e.Next); e.Next.Base != nil {
		keepSegments(s.course.state(), cmp.Or(wf, s.eval.workflow()).KeepSegments, e.Next)
	}
	goodbye := farewell(s.e.workCtx, s.e, s.course.state(), s.eval.machine())
	s.eval.strictly().segment()
	if err := s.course.put(&e); err != nil {
		s.course.fail(err, s.course.state().Seq)
		return true
	}
	next.attributes = e.Next.Attributes
	s.steps.leaveSegment() // what belongs to the old segment is not written any more
	s.turn.leaveSegment()
	s.eval.leaveSegment(!s.bodies.some()) // its bodies are told when the continuation is durable
	s.turn.goOn(goodbye)
	s.course.goOn(wf, next)
	if wf == nil { // only others know that version
		s.turn.letGo(&world.Release{WakeAt: s.course.now()})
		return false
	}
	return true
}

// begins is the event that begins a segment. Its code is held to the limits of this worker from then on, whoever
// evaluates it: else a replay elsewhere would refuse what was taken, or take what was refused.
func (e *Engine) begins(t world.EventType) world.Event {
	first := world.Event{Type: t}
	if n := e.cfg.MaxPayload; n != world.DefaultMaxPayload {
		first.MaxPayload = n
	}
	if n := e.cfg.MaxValue; n != world.DefaultMaxValue {
		first.MaxValue = n
	}
	return first
}

// keepSegments says which segments a continuation keeps, the newest included, and which not; 0: all. What the
// definition of today says counts, for runs that began before it too.
func keepSegments(state *world.State, segments int, next *world.Continuation) {
	if segments == 0 {
		return
	}
	var starts []int64 // where folds can enter
	if b := state.Base; b != nil {
		starts = append(slices.Clone(b.Starts), state.SegmentSeq)
	}
	if n := len(starts) - (segments - 1); n > 0 {
		starts = starts[n:]
	}
	if len(starts) > 0 {
		next.Base.Starts = starts
	}
	if seq := state.Seq + 1; len(starts) == segments-1 {
		next.Trim = append(starts[:len(starts):len(starts)], seq)[0]
	}
}

func byHookID(a, b *world.Hook) int { return cmp.Compare(a.ID, b.ID) }

// carryOn lists what the next segment starts with: all that is open and unread, but for hooks whose end the code has just asked for.
func carryOn(state *world.State, m *replay.Machine) carried {
	gone := map[string]bool{}
	for _, op := range m.Asked() {
		if op.Type == world.HookDisposed {
			gone[op.ID] = true
		}
	}
	var c carried
	for h := range state.Hooks() {
		if !gone[h.ID] {
			c.hooks = append(c.hooks, h)
		}
	}
	slices.SortFunc(c.hooks, byHookID)
	for _, e := range m.Unread() {
		if e.Type == world.SignalReceived || state.Hook(e.ID) != nil && !gone[e.ID] {
			c.unread = append(c.unread, e)
		}
	}
	return c
}

// firstPage reads the page that a replay begins with, behind a cursor: of a run that continued, the start of its newest segment, and before that what it
// stands on, whatever else the log has. A segment that does not say what it stands on is found by reading all that was before.
func (r *reading) firstPage(ctx context.Context, cursor string) (page world.EventPage, err error) {
	if r.eval.machine() != nil || r.newest == 0 {
		return r.page(ctx, cursor, 0)
	}
	if page, err = r.page(ctx, world.Cursor(r.newest-1), 0); err != nil {
		return page, err
	}
	begins := len(page.Events) > 0 && page.Events[0].Seq == r.newest && page.Events[0].Type == world.RunContinued && page.Events[0].Next != nil
	switch {
	case !begins:
		return page, r.missing(r.newest, "the start of the newest segment")
	case page.Events[0].Next.Base != nil:
		r.course.state().EnterAt = r.newest
		return page, r.stand(ctx, page.Events[0].Next)
	}
	page, err = r.page(ctx, "", 0)
	r.course.state().EnterAt = page.Trimmed
	return page, err
}

// page reads about so many events behind a cursor, and at least one commit; 0: as many as a page can have.
func (r *reading) page(ctx context.Context, cursor string, limit int) (world.EventPage, error) {
	if limit <= 0 || limit > mostPage {
		limit = mostPage
	}
	return r.e.cfg.World.Events(ctx, r.run, world.EventQuery{Cursor: cursor, Limit: limit})
}

// mostPage is how many events a page has. What a segment stands on is read together where it is no farther apart.
const mostPage = 1000

// stand reads the run's birth and what its newest segment stands on.
func (r *reading) stand(ctx context.Context, next *world.Continuation) error {
	page, err := r.page(ctx, "", 1)
	if err != nil {
		return err
	}
	if len(page.Events) == 0 {
		return r.missing(1, "the run's first event")
	}
	if err := r.standOn(&page.Events[0], next); err != nil {
		return err
	}
	for seqs := next.Stands(); len(seqs) > 0; {
		n := 1 // they are read together
		for n < len(seqs) && seqs[n]-seqs[0] < mostPage {
			n++
		}
		if page, err = r.page(ctx, world.Cursor(seqs[0]-1), int(seqs[n-1]-seqs[0]+1)); err != nil {
			return err
		}
		for i := range page.Events {
			if e := &page.Events[i]; len(seqs) > 0 && e.Seq == seqs[0] {
				if err := r.standOn(e, next); err != nil {
					return err
				}
				seqs, n = seqs[1:], n-1
			}
		}
		if n > 0 {
			return r.missing(seqs[0], "what the newest segment stands on")
		}
	}
	return nil
}

// standOn takes an event that the newest segment stands on.
func (r *reading) standOn(e *world.Event, next *world.Continuation) error {
	if err := r.e.unreadable(r.run, e); err != nil {
		return err
	}
	if _, err := r.course.state().Apply(e, zeroTime); err != nil {
		return &world.CorruptError{Run: r.run, Seq: e.Seq, Err: err}
	}
	if _, ok := slices.BinarySearch(next.Unread, e.Seq); ok {
		r.unread = append(r.unread, *e)
	}
	return nil
}

func (r *reading) missing(seq int64, what string) error {
	return &world.CorruptError{Run: r.run, Seq: seq, Err: fmt.Errorf("%s is not in the log", what)}
}

// pass takes note of an event up to the start of the newest segment: of what was sent, and of what of that was carried over. Where the log was trimmed,
// only what is behind that says it.
func (r *reading) pass(e *world.Event, trimmed bool) error {
	switch {
	case e.Type == world.SignalReceived, e.Type == world.HookReceived:
		r.unread = append(r.unread, *e)
	case e.Type == world.RunContinued && !trimmed:
		kept := r.unread[:0]
		for i := range r.unread {
			if _, ok := slices.BinarySearch(e.Next.Unread, r.unread[i].Seq); ok {
				kept = append(kept, r.unread[i])
			}
		}
		r.unread = kept
		if len(kept) != len(e.Next.Unread) {
			return &world.CorruptError{Run: r.run, Seq: e.Seq, Err: fmt.Errorf("it carries %d payloads over, of which the log has %d", len(e.Next.Unread), len(kept))}
		}
	}
	return nil
}
