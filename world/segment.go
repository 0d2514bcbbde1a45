package world

// This file lets a fold begin at a segment: with the first event of a log and a run_continued, and nothing of what is between them but what that
// names. So a run that goes on for ever costs its takers no more than its newest segment, and what lies before can be deleted.

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"
)

// Base is what a fold that begins at a run_continued needs from all earlier events except the
// first.
type Base struct {
	Segment   int       `json:"segment"`            // number of the segment; the run's first is 0
	Version   int       `json:"version,omitempty"`  // of the workflow, from here on
	StartedAt time.Time `json:"startedAt,omitzero"` // start of the run
	// Hooks: origins of [Continuation].Hooks, in their order.
	Hooks []BaseHook `json:"hooks,omitempty"`
	// Deliveries: keys of the previous segment's deliveries, 16 bytes each: see [DeliveryKey].
	Deliveries []byte `json:"deliveries,omitempty"`
	// Starts: numbers of the events that began the earlier segments to keep, in order.
	Starts []int64 `json:"starts,omitempty"`
}

// BaseHook says where an open hook was created.
type BaseHook struct {
	Seq     int64 `json:"seq"` // number of its hook_created
	Segment int   `json:"segment,omitempty"`
}

// maxBaseDeliveries is how many deliveries of a segment the next one can name: 1 MiB of hashes.
const maxBaseDeliveries = 1 << 16

// Stands returns the numbers of earlier events that the segment needs, in order: unread payloads
// and the creations of open hooks. Trimming keeps them, and the first event.
func (c *Continuation) Stands() []int64 {
	seqs := slices.Clone(c.Unread)
	if c.Base != nil {
		for _, h := range c.Base.Hooks {
			seqs = append(seqs, h.Seq)
		}
	}
	slices.Sort(seqs)
	return slices.Compact(seqs)
}

// StandsOf finds the run_continued with a number in the events of a commit, and returns its
// [Continuation.Stands]. Stores trim with it; if ok is false they do not trim.
func StandsOf(events []Event, seq int64) (stands []int64, ok bool) {
	for i := range events {
		if e := &events[i]; e.Seq == seq && e.Type == RunContinued && e.Next != nil && e.Next.Base != nil {
			return e.Next.Stands(), true
		}
	}
	return nil, false
}

// EnterAt returns where the fold of a trimmed log begins (see [State].EnterAt): at the first
// run_continued after the last gap whose needed events all exist. It is 0 if no number is missing,
// and if no fold is possible.
func EnterAt(events []Event) int64 {
	gap := 0
	for i := 1; i < len(events); i++ {
		if events[i].Seq != events[i-1].Seq+1 {
			gap = i
		}
	}
	if gap == 0 {
		return 0
	}
	gone := func(seq int64) bool {
		_, ok := slices.BinarySearchFunc(events, seq, func(e Event, seq int64) int { return cmp.Compare(e.Seq, seq) })
		return !ok
	}
	for i := range events[gap:] {
		e := &events[gap+i]
		if e.Type == RunContinued && e.Next != nil && e.Next.Base != nil && !slices.ContainsFunc(e.Next.Stands(), gone) {
			return e.Seq
		}
	}
	return 0
}

// BaseFor returns the Base of a run_continued that would be the next event. It is nil if the
// segment needs the whole log: a pause or a cancel continues into it, or there were too many
// deliveries.
func (s *State) BaseFor(next *Continuation) *Base {
	if s.Cancel != nil || s.Paused != nil || len(s.deliveries[0]) > maxBaseDeliveries {
		return nil
	}
	b := &Base{Segment: s.Segment + 1, Version: s.Version, StartedAt: s.StartedAt}
	if next.Version != 0 {
		b.Version = next.Version
	}
	for _, id := range next.Hooks {
		h := s.hooks[id]
		if h == nil {
			return nil // nor will Apply have it
		}
		b.Hooks = append(b.Hooks, BaseHook{Seq: h.Created, Segment: h.Key.Segment})
	}
	hashes := slices.SortedFunc(maps.Keys(s.deliveries[0]), func(x, y [16]byte) int { return bytes.Compare(x[:], y[:]) })
	for i := range hashes {
		b.Deliveries = append(b.Deliveries, hashes[i][:]...)
	}
	return b
}

// bytes is about how many bytes the base adds to a commit.
func (b *Base) bytes() int {
	if b == nil {
		return 0
	}
	return len(b.Deliveries)/3*4 + 40*len(b.Hooks) + 10*len(b.Starts) + 100
}

// pass takes note of an event before the one that EnterAt names, and enters the segment there.
func (s *State) pass(e *Event) (bool, error) {
	corrupt := func(err error) (bool, error) { return false, &CorruptError{Run: s.ID, Seq: e.Seq, Err: err} }
	switch {
	case e.Seq <= s.Seq:
		return corrupt(fmt.Errorf("%s cannot follow event %d", e.Type, s.Seq))
	case e.Seq > s.EnterAt:
		return corrupt(fmt.Errorf("the start of the segment, event %d, is missing", s.EnterAt))
	case e.Seq < s.EnterAt:
		if e.Type == HookCreated {
			put(&s.passed, e.Seq, newHook(e, 0, e.Seq))
		}
		s.Seq, s.Time = e.Seq, e.Time
		return true, nil
	case e.Type != RunContinued || e.Next == nil || e.Next.Base == nil:
		return corrupt(fmt.Errorf("no segment can be entered at a %s that does not say what it stands on", e.Type))
	}
	if err := s.enter(e); err != nil {
		return corrupt(err)
	}
	s.Seq, s.Time = e.Seq, e.Time
	return true, nil
}

// enter makes the state what it is behind a run_continued, from its base.
func (s *State) enter(e *Event) error {
	base := e.Next.Base
	if len(base.Hooks) != len(e.Next.Hooks) || len(base.Deliveries)%16 != 0 {
		return errors.New("its base does not fit it")
	}
	hooks, tokens := map[string]*Hook(nil), map[string]string(nil)
	for i, id := range e.Next.Hooks {
		h := s.passed[base.Hooks[i].Seq]
		if h == nil || h.ID != id {
			return fmt.Errorf("hook %s, of event %d, is missing", id, base.Hooks[i].Seq)
		}
		h.Key.Segment = base.Hooks[i].Segment
		put(&hooks, id, h)
		put(&tokens, h.Token, id)
	}
	var before map[[16]byte]struct{}
	for d := base.Deliveries; len(d) > 0; d = d[16:] {
		put(&before, [16]byte(d), struct{}{})
	}
	s.Status, s.StartedAt, s.Version, s.Segment = Running, base.StartedAt, base.Version, base.Segment
	s.begin(e, e.Seq, hooks, tokens, before)
	s.passed, s.EnterAt = nil, 0
	return nil
}

// begin makes what is open that of a new segment, which the event with a number begins.
func (s *State) begin(e *Event, seq int64, hooks map[string]*Hook, tokens map[string]string, before map[[16]byte]struct{}) {
	s.SegmentSeq, s.Input, s.InputApart, s.Base = seq, e.Payload, e.Apart, e.Next.Base
	s.Attributes = maps.Clone(e.Next.Attributes)
	s.steps, s.waits, s.hooks, s.tokens, s.over = nil, nil, hooks, tokens, nil
	s.deliveries = [2]map[[16]byte]struct{}{nil, before}
}

// newHook is what the fold keeps of a hook_created.
func newHook(e *Event, segment int, seq int64) *Hook {
	return &Hook{ID: e.ID, Key: e.Key(segment), Created: seq, Token: e.Token, Chosen: e.Chosen, Metadata: e.Payload, Peer: e.Peer}
}
