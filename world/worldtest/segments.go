// Segments of runs that go on for ever: where the newest begins, and what of those before it is deleted.

package worldtest

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stepwell/stepwell/world"
)

var segments = []check{
	{"a claim tells where the newest segment begins", "whoever claims a run that goes on for ever need not read what was before", func(r *rig) {
		l := r.worker("greet").live("greet")
		l.append(signalEvent("a"))
		l.release(world.Release{WakeAt: world.Now()})
		l.again(0)
		l.proceed(0)
		l.append(signalEvent("b"))
		l.release(world.Release{WakeAt: world.Now()})
		l.again(4)
		l.append(stepCreated("step_1", world.KindClosure))
		c := l.next(signalEvent("c"), l.continued(0), stepCreated("step_2", world.KindClosure))
		c.Release = &world.Release{WakeAt: world.Now()}
		l.write(c)
		l.again(8)
		b := birth("greet")
		at := b.Events[0].Time
		b.Events = append(b.Events, world.Event{Type: world.RunStarted, Time: at},
			world.Event{Type: world.RunContinued, Time: at, Next: &world.Continuation{Base: &world.Base{Segment: 1, Version: 1, StartedAt: at}}})
		r.commit(b)
		_, got := l.get(b.Run)
		r.same(got.Segment, int64(3), "the segment of a run that is created with two")
	}},
	{"what is not wanted any more is deleted", "trimming leaves the birth, what the segment stands on, and all from its start on: and these fold to the same state", func(r *rig) {
		l := r.worker("greet").live("greet")
		l.append(hookCreated("hook_1", "t1"), world.Event{Type: world.SignalReceived, Name: "a", Payload: jsonText(`"first"`), Delivery: "d1"}) // 3, 4
		l.append(stepCreated("step_1", world.KindClosure), world.Event{Type: world.StepStarted, ID: "step_1", Attempt: 1})                      // 5, 6
		l.append(world.Event{Type: world.StepCompleted, ID: "step_1", Payload: jsonText(`1`)})                                                  // 7
		l.append(world.Event{Type: world.SignalReceived, Name: "b", Delivery: "d2"})                                                            // 8
		l.append(l.continued(0, 4, 8), stepCreated("step_2", world.KindClosure))                                                                // 9, 10
		l.append(world.Event{Type: world.StepStarted, ID: "step_2", Attempt: 1})                                                                // 11
		l.append(world.Event{Type: world.SignalReceived, Name: "c", Delivery: "d3"})                                                            // 12
		r.same(r.sweep(10), 0, "runs swept")
		l.holds(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12)
		l.append(stepCreated("step_3", world.KindClosure), l.continued(14, 4, 12), stepCreated("step_4", world.KindClosure)) // 13, 14, 15
		l.append(signalEvent("d"))                                                                                           // 16
		r.same(r.sweep(10), 0, "runs swept")
		l.holds(14, 1, 2, 3, 4, 12, 13, 14, 15, 16)
		r.same(r.trimmed(), int64(5), "commits deleted")
		for cursor, want := range map[string][]int64{
			"": {4, 12, 16}, world.Cursor(4): {12, 16}, world.Cursor(6): {12, 16}, world.Cursor(12): {16}, world.Cursor(16): nil,
		} {
			got, _ := r.pages(l.run, world.EventQuery{Cursor: cursor, Limit: 1, Types: []world.EventType{world.SignalReceived}})
			r.same(numbers(got), want, "signals behind "+cursor)
		}
		got, _ := r.pages(l.run, world.EventQuery{CorrelationID: "step_1"})
		r.same(numbers(got), []int64(nil), "events of a step that is gone")
		r.deliver(&world.Delivery{Token: "t1", Events: []world.Event{{Type: world.HookReceived, Payload: jsonText(`2`)}}})
		l.release(world.Release{WakeAt: world.Now()})
		if m := l.again(14).Mail; len(m) != 1 {
			r.Fatalf("mail for the hook of a segment that is gone: %+v", m)
		}

		l.append(world.Event{Type: world.HookDisposed, ID: "hook_1"}) // 17
		c := l.next(l.continued(18, 12))                              // 18
		l.write(c)
		r.same(r.sweep(10), 0, "runs swept")
		l.holds(18, 1, 2, 12, 18)
		if _, err := r.w.Outcome(r.ctx, c); err != nil {
			r.Fatalf("outcome of the commit that continued: %v", err)
		}
		r.sweep(10)
		r.same(r.trimmed(), int64(9), "commits deleted, once each")
	}},
	{"what was trimmed can be acted on", "an operator's act needs nothing that is gone; a run that is swept leaves nothing to trim", func(r *rig) {
		l := r.worker("greet").live("greet", withRetention(time.Millisecond))
		l.append(world.Event{Type: world.RunPaused, By: "ann"}, signalEvent("a"))
		l.append(world.Event{Type: world.RunResumed, By: "ann"})
		l.append(l.continued(6, 4))
		r.sweep(10)
		l.holds(6, 1, 2, 3, 4, 6)
		l.release(world.Release{})
		r.deliver(act(l.run, "p", world.RunPaused))
		r.deliver(act(l.run, "r", world.RunResumed))
		l.again(6)
		l.append(l.continued(9))
		r.deliver(act(l.run, "c", world.RunCancelled))
		l.holds(9, 1, 2, 3, 4, 6, 7, 8, 9, 10)
		r.until("the run is swept", func() bool { return r.sweep(10) == 1 })
		r.absent(l.run)
		r.same(r.sweep(10), 0, "runs swept")
	}},
	{"many runs are trimmed, and no other", "one sweep deletes all that is not wanted; a run that did not say so keeps its log", func(r *rig) {
		k := r.worker("greet")
		var lives []*life
		for i := range 55 {
			l := k.live("greet")
			l.append(signalEvent("a"))
			trim := int64(4)
			if i == 7 {
				trim = 0
			}
			l.append(l.continued(trim))
			lives = append(lives, l)
		}
		r.sweep(1)
		for i, l := range lives {
			if i == 7 {
				l.holds(0, 1, 2, 3, 4)
			} else {
				l.holds(4, 1, 2, 4)
			}
		}
	}},
	{"readers and sweepers beside a run that goes on", "a reader behind a cursor sees each event once and in order, or not at all; what is left is always a log", func(r *rig) {
		l := r.worker("greet").live("greet")
		const rounds = 25
		var over atomic.Bool
		var wg sync.WaitGroup
		grown := make(chan struct{}, 2*rounds)
		for range 2 {
			wg.Go(func() {
				for range grown {
					if _, err := r.w.Sweep(r.ctx, 1); err != nil {
						r.Errorf("sweep: %v", err)
						return
					}
				}
			})
		}
		wg.Go(func() {
			cursor, last := "", int64(0)
			for done := false; !done; {
				done = over.Load()
				page, err := r.w.Events(r.ctx, l.run, world.EventQuery{Cursor: cursor, Limit: 3})
				if err != nil {
					r.Errorf("events behind %s: %v", cursor, err)
					return
				}
				cursor, done = page.Cursor, done && !page.More
				for _, e := range page.Events {
					if e.Seq <= last || e.Seq > last+1 && last >= page.Trimmed {
						r.Errorf("event %d behind event %d, trimmed to %d", e.Seq, last, page.Trimmed)
					}
					last = e.Seq
				}
			}
			if want := int64(2 + 3*rounds); last != want {
				r.Errorf("the last event is %d, want %d", last, want)
			}
		})
		var carried []int64
		var before int64 // where the segment began that ends
		for i := range rounds {
			l.append(signalEvent(fmt.Sprint("s", i)))
			carried = append(carried, l.seq)
			l.append(stepCreated(fmt.Sprint("step_", i), world.KindClosure), l.continued(before, carried[max(0, i-1):]...))
			if i < rounds-1 {
				before = l.state.SegmentSeq
			}
			grown <- struct{}{}
			grown <- struct{}{}
		}
		close(grown)
		over.Store(true)
		wg.Wait()
		r.sweep(1)
		l.holds(before, 1, 2, carried[rounds-3], carried[rounds-2], before-1, before, carried[rounds-1], l.seq-1, l.seq)
	}},
}

// life is a run that goes on in segments, with the fold of all that was ever in its log.
type life struct {
	*session
	state *world.State
	upTo  string
}

// live begins a run.
func (k *worker) live(workflow string, with ...func(*world.Birth)) *life {
	k.Helper()
	s := k.create(workflow, with...)
	return &life{session: s, state: &world.State{ID: s.run}}
}

// follow folds what was appended since.
func (l *life) follow() {
	l.Helper()
	var events []world.Event
	events, l.upTo = l.pages(l.run, world.EventQuery{Cursor: l.upTo})
	for i := range events {
		if changed, err := l.state.Apply(&events[i], time.Time{}); err != nil || !changed {
			l.Fatalf("event %d, %s: changed %v, %v", events[i].Seq, events[i].Type, changed, err)
		}
	}
}

// append commits events.
func (l *life) append(events ...world.Event) {
	l.Helper()
	l.write(l.next(events...))
}

// write commits what must be accepted, and folds it.
func (l *life) write(c *world.Commit) {
	l.Helper()
	l.session.write(c)
	l.follow()
}

// continued begins a new segment with all hooks that are open. What is before it in the same commit must not matter to it.
func (l *life) continued(trim int64, unread ...int64) world.Event {
	l.Helper()
	l.follow()
	next := &world.Continuation{Unread: unread, Trim: trim}
	for _, h := range sorted(l.state.Hooks(), func(h *world.Hook) string { return h.ID }) {
		next.Hooks = append(next.Hooks, h.ID)
	}
	next.Base = l.state.BaseFor(next)
	return world.Event{Type: world.RunContinued, Payload: jsonText(`2`), Next: next}
}

// proceed begins a new segment, in a commit of its own.
func (l *life) proceed(trim int64, unread ...int64) {
	l.Helper()
	l.append(l.continued(trim, unread...))
}

// again claims the run, which was released, and holds what the claim says.
func (l *life) again(segment int64) world.ClaimedRun {
	l.Helper()
	s, got := l.get(l.run)
	l.session = s
	l.same(got.Segment, segment, "the newest segment of run "+l.run)
	l.follow()
	l.same(got.Seq, l.state.Seq, "the last event")
	return got
}

// holds compares the numbers that are in the log, and folds what is there.
func (l *life) holds(trimmed int64, want ...int64) {
	l.Helper()
	got, _ := l.pages(l.run, world.EventQuery{Limit: 2})
	l.same(numbers(got), want, "events of run "+l.run)
	l.folds(trimmed)
}

// folds holds that the log folds to what the whole log folded to.
func (l *life) folds(trimmed int64) {
	l.Helper()
	page, err := l.w.Events(l.ctx, l.run, world.EventQuery{})
	l.must(err, "events")
	l.same(page.Trimmed, trimmed, "where the log of run "+l.run+" is whole from")
	l.follow()
	s := &world.State{ID: l.run, EnterAt: page.Trimmed}
	for i := range page.Events {
		if changed, err := s.Apply(&page.Events[i], time.Time{}); err != nil || !changed {
			l.Fatalf("run %s: event %d, %s, of the trimmed log: changed %v, %v", l.run, page.Events[i].Seq, page.Events[i].Type, changed, err)
		}
	}
	if d := difference(l.state, s); d != "" {
		l.Fatalf("run %s: the whole log gives -, the trimmed one +:\n%s", l.run, d)
	}
}

func numbers(events []world.Event) (seqs []int64) {
	for i := range events {
		seqs = append(seqs, events[i].Seq)
	}
	return seqs
}

// trimmed is how many commits were deleted by trimming.
func (r *rig) trimmed() int64 {
	r.Helper()
	stats, err := r.w.Stats(r.ctx)
	r.must(err, "stats")
	return stats.Counters.RowsTrimmed
}
