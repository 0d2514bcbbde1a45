package stepwell_test

// This file holds the laws against what a simulated run left behind.

import (
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
)

// check holds the laws of DESIGN §11 against the final log, and the result against the oracle.
func (s *simulation) check(p *simNode, info stepwell.RunInfo) {
	events := s.events()
	oracle := &simOracle{ended: map[string]int64{}, waits: map[string]world.Outcome{}}
	checkLog(s.problem, s.run, events)
	budgets := map[string]int{}
	p.walk(func(n *simNode) { budgets[n.Name] = n.Attempts })
	names := map[string]string{}
	starts := map[string]int{}
	failures := map[string]int{}
	queued := map[string]bool{}
	for _, e := range events {
		switch e.Type {
		case world.StepCreated, world.WaitCreated:
			names[e.ID], queued[e.ID] = e.Name, e.Queued
			if e.Kind == world.KindTask {
				var n simNode
				if err := json.Unmarshal(e.Payload, &n); err != nil {
					s.problem("input of task: %v", err)
				}
				names[e.ID] = n.Name
			}
		case world.StepStarted:
			starts[e.ID]++
		case world.StepRetrying:
			if e.Error.Code != world.CodeAbandoned {
				failures[e.ID]++
			}
		case world.StepFailed:
			failures[e.ID]++
			oracle.ended[names[e.ID]] = e.Seq
		case world.StepCompleted:
			oracle.ended[names[e.ID]] = e.Seq
		case world.WaitCompleted:
			oracle.waits[names[e.ID]] = e.Outcome
		}
	}
	for id, n := range failures {
		if most := budgets[names[id]]; n > most {
			s.problem("step %s: %d attempts failed, budget %d", names[id], n, most)
		}
	}
	s.mu.Lock()
	bodies := maps.Clone(s.steps)
	s.mu.Unlock()
	for id, st := range bodies {
		// A start may be durable and its process die before the body begins; never the other way round.
		if !queued[id] && st.starts > starts[id] {
			s.problem("step %s: %d bodies began, %d starts are in the log", names[id], st.starts, starts[id])
		}
		if n := failures[id]; n > st.failures {
			s.problem("step %s: %d failures in the log, %d bodies failed", names[id], n, st.failures)
		}
	}
	if !info.Status.Terminal() {
		return
	}
	var got int
	if err := json.Unmarshal(info.Output, &got); err != nil || info.Status != world.Completed {
		s.problem("the run is %s: output %s, %v %v", info.Status, info.Output, info.Error, err)
		return
	}
	if want := oracle.eval(p); got != want {
		s.problem("result: got %d, want %d", got, want)
	}
}

// checkLog holds a log against the laws that need nothing else: the fold takes it, it has no gap and at most one end, times do not go back,
// no timer is early, a delivery is there once.
func checkLog(problem func(string, ...any), run string, events []world.Event) {
	state := &world.State{ID: run}
	until := map[string]time.Time{}
	deliveries := map[string]int64{}
	for i := range events {
		e := &events[i]
		if want := int64(i + 1); e.Seq != want {
			problem("law 1: event %d stands at place %d", e.Seq, want)
		}
		if e.Time.Before(state.Time) {
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
			if before := deliveries[e.Delivery]; before > 0 {
				problem("law 6: delivery %s is in events %d and %d", e.Delivery, before, e.Seq)
			}
			deliveries[e.Delivery] = e.Seq
		}
	}
	ends := slices.DeleteFunc(slices.Clone(events), func(e world.Event) bool { return !e.Type.Terminal() })
	if len(ends) > 1 {
		problem("law 2: %d ends", len(ends))
	}
}
