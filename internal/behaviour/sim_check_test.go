package behaviour_test

// This file holds the laws against the log that one simulated run left behind. Laws: docs/design/README.md#the-laws.

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/stepwell/stepwell/world"
)

// check holds the laws against all that is left, and the results against the oracle.
func (s *simulation) check(seen *simCoverage) {
	reads := map[string]*simRun{}
	runs := s.runs()
	for i := range runs {
		r := &simRun{Run: &runs[i], gather: s.plan.Gather, events: s.events(runs[i].ID)}
		if r.Workflow == simNowhere {
			s.checkNowhere(r, seen)
			continue
		}
		err := json.Unmarshal(r.Input, &r.program)
		if r.merges() {
			r.program, err = r.programOfInputs()
		}
		if err != nil {
			s.problem("input of run %s: %v", r.ID, err)
			return
		}
		if r.log, err = readLog(&r.program, r.events); err != nil {
			s.problem("run %s: %v", r.ID, err)
			return
		}
		reads[r.ID] = r
		checkLog(s.under(r), r.ID, r.events)
		s.checkSteps(r)
		checkPauses(s.under(r), r)
		checkCancel(s.under(r), r)
		if !r.forced() && !s.withoutCode(r) {
			checkCleanUp(s.under(r), r)
			checkUndos(s.under(r), r)
		}
		checkTimeout(s.under(r), r)
		s.checkLapse(r, seen)
		s.checkEnd(r)
		s.checkReplay(r)
	}
	s.checkFamilies(reads)
	s.checkSingles(reads, seen)
	s.checkGathers(reads, seen)
	seen.see(s, reads)
}

// simRun is one run that was simulated.
type simRun struct {
	*world.Run
	gather  *simGather // of the plan
	program simNode
	events  []world.Event
	log     *simRead
}

// under makes problems say which run they are about.
func (s *simulation) under(r *simRun) func(string, ...any) {
	return func(format string, args ...any) { s.problem("run "+r.ID+": "+format, args...) }
}

// checkLog holds a log against the laws that need nothing else: the fold takes it, it has no gap and at most one end, times do not go back,
// no timer is early, a delivery is there once.
func checkLog(tell func(string, ...any), run string, events []world.Event) {
	problem := func(format string, args ...any) { tell(format+" (laws: docs/design/README.md)", args...) }
	state := &world.State{ID: run}
	until := map[string]time.Time{}
	deliveries := map[string]int64{}
	segments := map[string]int{} // of deliveries
	for i := range events {
		e := &events[i]
		if want := int64(i + 1); e.Seq != want {
			problem("law 1: event %d stands at place %d", e.Seq, want)
		}
		if e.Time.Before(state.Time) && (i != 1 || events[0].Birth.Origin == nil) { // a fork is younger than what it took over
			problem("event %d: its time is before that of the one before", e.Seq)
		}
		if changed, err := state.Apply(e, e.Time); err != nil || !changed {
			problem("law 2: the fold refuses event %d %s: changed %v, %v", e.Seq, e.Type, changed, err)
		}
		if e.Type.Terminal() && i != len(events)-1 {
			problem("law 2: event %d %s is not the last", e.Seq, e.Type)
		}
		switch {
		case e.Type == world.WaitCreated:
			until[e.ID] = e.Until
		case e.Type == world.WaitCompleted && e.Outcome == world.OutcomeDue && e.Time.Before(until[e.ID]):
			problem("law 7: event %d: wait %s is over at %s, due at %s", e.Seq, e.ID, e.Time, until[e.ID])
		}
		if e.Delivery != "" {
			if before := deliveries[e.Delivery]; before > 0 && state.Segment-segments[e.Delivery] < 2 {
				problem("law 6: delivery %s is in events %d and %d", e.Delivery, before, e.Seq)
			}
			deliveries[e.Delivery], segments[e.Delivery] = e.Seq, state.Segment
		}
	}
	ends := slices.DeleteFunc(slices.Clone(events), func(e world.Event) bool { return !e.Type.Terminal() })
	if len(ends) > 1 {
		problem("law 2: %d ends", len(ends))
	}
}

// checkSteps holds what is in the log against what the bodies did.
func (s *simulation) checkSteps(r *simRun) {
	problem := s.under(r)
	budgets := map[string]int{}
	r.program.walk(func(n *simNode) { budgets[n.Name], budgets[n.Name+simReads] = n.Attempts, 1 })
	starts, failures := map[string]int{}, map[string]int{}
	for i := range r.events {
		e := &r.events[i]
		kind := r.log.kinds[e.ID]
		switch {
		case kind != world.KindClosure && kind != world.KindTask:
		case e.Type == world.StepStarted:
			starts[e.ID]++
		case e.Type == world.StepRetrying && e.Error.Code != world.CodeAbandoned, e.Type == world.StepFailed && e.Error.Code != world.CodeCancelled && e.Error.Code != world.CodeNotStarted:
			failures[e.ID]++
		}
	}
	for id, n := range failures {
		if most := budgets[r.log.names[id]]; n > most {
			problem("step %s: %d attempts failed, budget %d", r.log.names[id], n, most)
		}
	}
	s.mu.Lock()
	bodies := maps.Clone(s.steps)
	s.mu.Unlock()
	for id, st := range bodies {
		if st.run != r.ID {
			continue
		}
		// A start may be durable and its process die before the body begins; never the other way round.
		if !r.log.queued[id] && st.starts > starts[id] {
			problem("step %s: %d bodies began, %d starts are in the log", st.name, st.starts, starts[id])
		}
		if n := failures[id]; n > st.failures+st.cancelled {
			problem("step %s: %d failures in the log, %d bodies failed, %d saw their context end", st.name, n, st.failures, st.cancelled)
		}
	}
}

// checkPauses: while a run is paused nothing is delivered and nothing fires; bodies in flight end. Starts of queued steps are told with their ends.
// What came and fell due before the cancel that ends a pause stands before it.
func checkPauses(problem func(string, ...any), r *simRun) {
	var pause *world.Event
	var early []*world.Event
	for i := range r.events {
		e := &r.events[i]
		switch e.Type {
		case world.RunPaused:
			pause, early = e, nil
		case world.CancelRequested:
			pause, early = nil, nil
		case world.RunResumed:
			pause = nil
			if e.Commit == 1 { // what a retry took over was paused, and a cancel ended that pause there
				early = nil
			}
		case world.StepCompleted, world.StepFailed, world.StepRetrying, world.RunCancelled, world.InputReceived:
		case world.WaitCompleted, world.SignalReceived, world.HookReceived:
			if pause != nil {
				early = append(early, e)
			}
		case world.RunCompleted, world.RunFailed, world.RunContinued:
			if pause != nil && !cameToItsEnd(r, pause.Seq) {
				problem("event %d %s comes during the pause that began with event %d", e.Seq, e.Type, pause.Seq)
			}
		default:
			if pause != nil && !askedBefore(r, pause, e) && (e.Type != world.StepStarted || r.log.kinds[e.ID] == world.KindClosure) {
				problem("event %d %s comes during the pause that began with event %d", e.Seq, e.Type, pause.Seq)
			}
		}
		if pause == nil && len(early) > 0 {
			problem("event %d %s comes during a pause", early[0].Seq, early[0].Type)
			early = nil
		}
	}
}

// askedBefore reports whether an event, that stands before the cancel that ends a pause, says what the code asked for in time: before the pause, though its
// worker died before that was written, or in the commit of the cancel itself, of what came and fell due before it.
func askedBefore(r *simRun, pause, e *world.Event) bool {
	cancel := r.log.cancel
	if cancel == nil || e.Seq > cancel.Seq {
		return false
	}
	if e.Commit == cancel.Commit {
		return true
	}
	asked := slices.Concat(r.events[:pause.Seq-1], slices.DeleteFunc(slices.Clone(r.events[pause.Seq:e.Seq]), func(e world.Event) bool { return e.Result() }))
	_, err := r.replay(asked)
	return err == nil
}

// cameToItsEnd reports whether the code had come to its end before an event, though its worker died before that was written: whoever claims the run
// to resume it, or to cancel it, finds it over.
func cameToItsEnd(r *simRun, seq int64) bool {
	out, err := r.replay(r.events[:seq-1])
	return err == nil && out != nil
}

// checkCancel: after a cancel nothing new is asked for, but to clean up. Where the cancel ends a pause, what came before it is delivered before it, and the
// code may ask for something in between.
func checkCancel(problem func(string, ...any), r *simRun) {
	cleanUp := func(id string) bool { return strings.HasPrefix(r.log.names[id], "undo-") }
	var paused bool
	var last int64 // commit in which code that is not cancelled may still ask
	for i := range r.events {
		e := &r.events[i]
		switch e.Type {
		case world.RunPaused, world.RunResumed:
			paused = e.Type == world.RunPaused
		case world.CancelRequested:
			if paused {
				last = e.Commit
			}
		case world.StepCreated, world.WaitCreated, world.HookCreated, world.HookConflict, world.AttrSet, world.RunContinued:
			// That a patch was decided is recorded, and asks nothing of anybody.
			if r.log.cancel != nil && e.Seq > r.log.cancel.Seq && e.Commit != last && !cleanUp(e.ID) && e.Kind != world.KindPatch {
				problem("event %d: %s %s is asked for after the cancel", e.Seq, e.Type, r.log.names[e.ID])
			}
		}
	}
}

// checkCleanUp: where a guard was opened it is cleaned up, whether the run was cancelled or not.
func checkCleanUp(problem func(string, ...any), r *simRun) {
	r.program.line(func(n *simNode) {
		if n.Op != "guard" || r.log.ended[n.Kids[0].Name] == nil || r.log.ended[n.Kids[0].Name].Type != world.StepCompleted {
			return
		}
		n.Kids[2].line(func(u *simNode) {
			if u.Op == "seq" {
				return
			}
			want := world.StepCompleted
			switch {
			case u.Op == "sleep":
				want = world.WaitCompleted
			case u.Fails < 0:
				want = world.StepFailed
			}
			if e := r.log.ended[u.Name]; e == nil || e.Type != want {
				problem("clean-up %s came to %+v, want %s", u.Name, e, want)
			}
		})
	})
}

// checkUndos: what was done in the newest segment is undone in reverse, once each, where the run does not complete, or its
// code says so; else nothing is. What was registered with its step goes by when that was asked for, the rest by when its step ended: how
// the two are to each other is not looked at.
func checkUndos(problem func(string, ...any), r *simRun) {
	checkUndone(problem, r, false, func(name string) int64 {
		if !r.log.completed(name) {
			return 0
		}
		return r.log.seen[name]
	})
	checkUndone(problem, r, true, func(name string) int64 {
		if !r.log.begun[name] {
			return 0
		}
		return r.log.made[name].Seq
	})
}

func checkUndone(problem func(string, ...any), r *simRun, early bool, since func(name string) int64) {
	var done []*simNode
	r.program.segment(r.log.segment).walkSegment(func(n *simNode) {
		if n.Op == "comp" && n.Early == early && since(n.Kids[0].Name) > 0 {
			done = append(done, n)
		}
	})
	slices.SortFunc(done, func(a, b *simNode) int { return int(since(b.Kids[0].Name) - since(a.Kids[0].Name)) })
	var want, got []string
	for _, n := range done {
		want = append(want, n.Kids[1].Name)
	}
	if r.log.end.Type == world.RunCompleted && !r.program.segment(r.log.segment).Undoes {
		want = nil
	}
	undo := map[string]bool{}
	r.program.walk(func(n *simNode) {
		if n.Op == "comp" && n.Early == early {
			undo[n.Kids[1].Name] = true
		}
	})
	for i := range r.events {
		if e := &r.events[i]; e.Type == world.StepCompleted && undo[r.log.names[e.ID]] {
			got = append(got, r.log.names[e.ID])
		}
	}
	if !slices.Equal(got, want) {
		problem("it undid %v, want %v", got, want)
	}
}

// checkTimeout: a run is not asked to end before its time has passed, and after that asks for nothing before it is told.
func checkTimeout(problem func(string, ...any), r *simRun) {
	timeout := r.events[0].Birth.Timeout
	if timeout == 0 {
		return
	}
	var deadline time.Time
	for i := range r.events {
		switch e := &r.events[i]; {
		case e.Type == world.RunStarted:
			deadline = e.Time.Add(timeout)
		case e.Type == world.CancelRequested && e.By == "timeout" && e.Time.Before(deadline):
			problem("event %d: it took too long at %s, want at %s", e.Seq, e.Time, deadline)
		case e.Type == world.StepStarted && r.log.kinds[e.ID] == world.KindClosure && e.Time.After(deadline) && (r.log.cancel == nil || r.log.cancel.Seq > e.Seq):
			problem("event %d: a step starts at %s, past the deadline %s", e.Seq, e.Time, deadline)
		}
	}
}

// timedOut reports whether the run was asked to end as it took too long.
func (r *simRun) timedOut() bool { return r.log.cancel != nil && r.log.cancel.By == "timeout" }

// checkEnd: a run that was asked to end is cancelled; any other comes to what the oracle says, unless it was forced.
func (s *simulation) checkEnd(r *simRun) {
	problem := s.under(r)
	end := r.log.end
	if end == nil {
		return // reported
	}
	want := world.RunCompleted
	switch {
	case r.forced():
		want = world.RunCancelled
	case r.timedOut():
		want = world.RunFailed
	case r.log.cancel != nil:
		want = world.RunCancelled
	case r.program.segment(r.log.segment).Fails < 0:
		want = world.RunFailed
	}
	if end.Type != want {
		problem("it ended with %s, %v, want %s", end.Type, end.Error, want)
		return
	}
	switch end.Type {
	case world.RunFailed:
		want := errSimRun.Error()
		if r.program.segment(r.log.segment).Panics {
			want = "workflow code panicked: " + want
		}
		if !r.timedOut() && end.Error.Message != want || r.timedOut() != (end.Error.Code == world.CodeTimeout) {
			problem("it failed with %v, want %v, or that it timed out: %v", end.Error, want, r.timedOut())
		}
	case world.RunCompleted:
		want, err := r.log.result(&r.program)
		if r.Origin != nil && r.log.segment > 0 {
			want, err = r.resultOfRetry()
		}
		var got int
		if bad := json.Unmarshal(end.Payload, &got); bad != nil || err != nil || got != want {
			problem("result: got %d, %v, want %d, %v", got, bad, want, err)
		}
	}
}

// resultOfRetry is what a run comes to that took nothing over of the segments before the newest, but what they came to.
func (r *simRun) resultOfRetry() (int, error) {
	var newest simNode
	for i := range r.events {
		if e := &r.events[i]; e.Type == world.RunContinued {
			newest = simNode{}
			if err := json.Unmarshal(e.Payload, &newest); err != nil {
				return 0, err
			}
		}
	}
	v, err := r.log.value(&newest)
	return mix(*newest.Carry, v), err
}

// checkReplay replays the whole log in strict mode: it comes to the same end. A forced end is not the code's.
func (s *simulation) checkReplay(r *simRun) {
	problem := s.under(r)
	if r.log.end == nil || r.Origin != nil && r.log.segment > 0 { // a retry takes nothing over of the segments before the newest
		return
	}
	out, err := r.replay(r.events)
	if err != nil {
		problem("law 5: replay: %v", err)
		return
	}
	end := r.log.end
	ended := end.Error // by the code
	if r.timedOut() && ended != nil {
		ended = nil
		if len(end.Error.Causes) > 0 {
			ended = end.Error.Causes[0]
		}
	}
	switch {
	case r.forced(), s.withoutCode(r):
	case out == nil:
		problem("law 5: the replay comes to no end, live it was %s", end.Type)
	case (out.Err == nil) != (ended == nil), out.Err != nil && out.Err.Message != ended.Message:
		problem("law 5: replayed it ended with %v, live with %v", out.Err, end.Error)
	case end.Type == world.RunCompleted && !bytes.Equal(out.Output, end.Payload):
		problem("law 5: replayed it came to %s, live to %s", out.Output, end.Payload)
	}
}

// forced reports whether an operator, or that it did not begin in time, or nobody yet, ended the run: not its code.
func (r *simRun) forced() bool {
	return r.log.end == nil || r.log.end.Type == world.RunCancelled && r.log.end.Delivery != "" || r.lapsed()
}

// lapsed reports whether it was ended as it had not begun in time.
func (r *simRun) lapsed() bool {
	ttl := r.events[0].Birth.StartTTL
	return ttl > 0 && r.log.end != nil && r.log.end.By == world.Lapse(ttl).By
}

// withoutCode reports whether the run may have been cancelled without its code: pending, blocked, or struck too often.
func (s *simulation) withoutCode(r *simRun) bool {
	if r.log.end.Type != world.RunCancelled || r.log.end.Error != nil { // what the code returned stands with the end
		return false
	}
	pending := !slices.ContainsFunc(r.events, func(e world.Event) bool { return e.Type == world.RunStarted })
	return pending || s.deaths.Load() >= 3 || strings.Contains(s.logs.text(), "\"run is blocked\" run_id="+r.ID+" ")
}
