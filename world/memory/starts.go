// What keeps runs from beginning.

package memory

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/rules"
)

// starts are what keeps the runs of a World from beginning, under its lock.
type starts struct {
	w     *World
	holds map[string]world.Hold // by workflow

	lapses []lapse // in order
	news   rules.LapseNews
}

// lapse is a run that is to begin by a time.
type lapse struct {
	at  time.Time
	run *run
}

func (l lapse) compare(o lapse) int {
	return cmp.Or(l.at.Compare(o.at), cmp.Compare(l.run.key, o.run.key))
}

// created notes by when a new run is to begin.
func (s *starts) created(r *run, events []world.Event, n *notices) {
	at := world.Lapses(r.created, events)
	if at.IsZero() || !r.unbegun() {
		return
	}
	s.keepLapse(lapse{at, r})
	if s.news.Tells(at, s.w.now()) {
		n.add(world.NoticeSchedule, "")
	}
}

func (s *starts) keepLapse(l lapse) {
	i, _ := slices.BinarySearchFunc(s.lapses, l, lapse.compare)
	s.lapses = slices.Insert(s.lapses, i, l)
}

// Lapsing are runs that have not begun in time; see [world.Starter].
func (s *starts) Lapsing(ctx context.Context) (out world.Lapsing, err error) {
	if err := s.w.enter(ctx); err != nil {
		return out, err
	}
	defer s.w.mu.Unlock()
	now, over := s.w.now(), 0
	var again []lapse
	for ; over < len(s.lapses) && !s.lapses[over].at.After(now); over++ {
		r := s.lapses[over].run
		if !r.unbegun() || s.w.runs[r.id] != r {
			continue
		}
		if out.More = len(out.Runs) == world.MaxLapsing; out.More {
			break
		}
		out.Runs = append(out.Runs, world.LapsingRun{Run: r.id, Within: r.birth.StartTTL})
		again = append(again, lapse{now.Add(world.LapsePatience), r})
	}
	s.lapses = slices.Delete(s.lapses, 0, over)
	for _, l := range again {
		s.keepLapse(l)
	}
	if len(s.lapses) > 0 && !out.More {
		out.Next = s.lapses[0].at.Sub(now)
	}
	return out, nil
}

var _ world.Starter = (*starts)(nil)

// Starts returns the store of holds and starts; see [world.World].
func (w *World) Starts() world.Starter { return &w.said.starts }

// held reports whether the runs of a workflow are not to begin.
func (s *starts) held(workflow string) bool {
	_, held := s.holds[workflow]
	return held
}

// unbegun reports whether the own beginning of a run is still to come: it is pending, or is a fork or a retry, whose
// history has that of its origin, and nobody has claimed it since its birth.
func (r *run) unbegun() bool { return r.status == world.Pending || r.end == nil && r.claim == 0 }

// keep reports whether a run has not begun, and is not to. One that is to be cancelled, and whose code has to clean up,
// is not kept from that.
func (s *starts) keep(r *run) bool {
	return r.unbegun() && s.held(r.birth.Workflow) && (r.status == world.Pending || r.cancels == 0)
}

// Hold holds a workflow; see [world.Starter].
func (s *starts) Hold(ctx context.Context, h world.Hold) error {
	if err := world.CheckHold(&h); err != nil {
		return err
	}
	return s.change(ctx, h.Workflow, func() {
		if s.holds == nil {
			s.holds = make(map[string]world.Hold)
		}
		h.Since = s.w.now()
		s.holds[h.Workflow] = h
	})
}

// Release has the runs of a workflow begin again; see [world.Starter].
func (s *starts) Release(ctx context.Context, workflow string) error {
	return s.change(ctx, workflow, func() { delete(s.holds, workflow) })
}

// change changes whether a workflow is held, and places its runs anew.
func (s *starts) change(ctx context.Context, workflow string, f func()) error {
	if err := s.w.enter(ctx); err != nil {
		return err
	}
	var n notices
	was := s.held(workflow)
	f()
	if s.held(workflow) != was {
		for _, b := range s.w.created { // in their order
			if r := b.run; r != nil && r.birth.Workflow == workflow && r.unbegun() {
				s.w.place(r, &n)
			}
		}
	}
	s.w.mu.Unlock()
	s.w.tell(&n)
	return nil
}

// Holds are the workflows that are held; see [world.Starter].
func (s *starts) Holds(ctx context.Context) ([]world.Hold, error) {
	if err := s.w.enter(ctx); err != nil {
		return nil, err
	}
	defer s.w.mu.Unlock()
	return slices.SortedFunc(maps.Values(s.holds), func(a, b world.Hold) int { return strings.Compare(a.Workflow, b.Workflow) }), nil
}

// Settle has nothing to go on with but what is neglected; see [world.Starter].
func (s *starts) Settle(ctx context.Context) (time.Duration, error) {
	if err := s.w.enter(ctx); err != nil {
		return 0, err
	}
	var n notices
	next := s.w.limits.neglected(&n)
	if again := s.w.limits.neglectedRuns(&n); next == 0 || again > 0 && again < next {
		next = again
	}
	s.w.mu.Unlock()
	s.w.tell(&n)
	return next, nil
}
