package history

// This file holds logs whose earlier segments were trimmed: a hole in their numbers, and a segment behind it that says what it stands on.

import (
	"fmt"
	"slices"

	"github.com/stepwell/stepwell/world"
)

// Trimmed is the number of the run_continued that the log goes on with where earlier segments were trimmed; what is left of those is only what it stands
// on. 0: the log is whole.
func (h *History) Trimmed() int64 { return world.EnterAt(h.Events) }

// Last is the number of the last event.
func (h *History) Last() int64 {
	if len(h.Events) == 0 {
		return 0
	}
	return h.Events[len(h.Events)-1].Seq
}

// Whole is the same history with numbers that leave none out, as one that was not trimmed: the birth, a start, what the first segment that is there stands on,
// and all from that on. A whole history is its own.
func (h *History) Whole() (*History, error) {
	w, err := h.whole()
	return w.History, err
}

// dense is a history without holes.
type dense struct {
	*History
	numbers  map[int64]int64 // of events, by those that they had; nil: as they were
	segments map[string]int  // where hooks were made, by their IDs
}

func (h *History) whole() (dense, error) {
	from := h.Trimmed()
	if from == 0 {
		return dense{History: h}, nil
	}
	if _, err := h.State(); err != nil {
		return dense{}, err
	}
	w := dense{&History{Run: h.Run, ExportedAt: h.ExportedAt, Values: h.Values}, map[int64]int64{}, map[string]int{}}
	w.add(&h.Events[0])
	i := slices.IndexFunc(h.Events, func(e world.Event) bool { return e.Seq == from })
	w.stand(h.Events[1:i], h.Events[i].Next)
	w.rest(h.Events[i:])
	return w, nil
}

func (w *dense) add(e *world.Event) {
	c := *e
	c.Seq, c.Commit = int64(len(w.Events))+1, 0
	w.numbers[e.Seq] = c.Seq
	w.Events = append(w.Events, c)
}

// stand adds the run's start, and what its first segment that is there stands on.
func (w *dense) stand(before []world.Event, next *world.Continuation) {
	start := world.Event{Type: world.RunStarted, Time: next.Base.StartedAt, Version: next.Base.Version}
	w.add(&start)
	delete(w.numbers, 0)
	for i, id := range next.Hooks {
		w.segments[id] = next.Base.Hooks[i].Segment
	}
	stands := next.Stands()
	for i := range before {
		if _, ok := slices.BinarySearch(stands, before[i].Seq); !ok {
			continue
		}
		w.add(&before[i])
		if last := &w.Events[len(w.Events)-1]; last.Time.Before(start.Time) {
			last.Time = start.Time
		}
	}
}

// rest adds the segments, with what they name by number.
func (w *dense) rest(events []world.Event) {
	for i := range events {
		e := events[i]
		if e.From != 0 {
			e.From = w.numbers[e.From]
		}
		if e.Next != nil {
			next := *e.Next
			next.Unread = nil
			for _, seq := range e.Next.Unread {
				next.Unread = append(next.Unread, w.numbers[seq])
			}
			if i == 0 {
				next.Segment, next.Version = next.Base.Segment, next.Base.Version
			}
			next.Base, next.Trim = nil, 0
			e.Next = &next
		}
		w.add(&e)
	}
}

// gone refuses an event that was trimmed, or never was.
func (h *History) gone(seq int64) error {
	switch from := h.Trimmed(); {
	case seq < 1 || seq > h.Last():
		return fmt.Errorf("%w: run %s has events 1 to %d, not %d", world.ErrInvalid, h.Run, h.Last(), seq)
	case seq < from:
		return fmt.Errorf("%w: run %s: event %d is in a segment that was trimmed; only events from %d on exist", world.ErrInvalid, h.Run, seq, from)
	}
	return nil
}
