package behaviour_test

// This file holds what the bodies of steps do, and the laws that they hold themselves. Laws: docs/design/README.md#the-laws.

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
)

// simStep is what the bodies of one step did.
type simStep struct {
	run       string
	name      string
	starts    int
	failures  int // that were returned
	cancelled int // that returned as their context had ended
	running   map[*simAttempt]bool
	said      int // heartbeats that were begun: the n-th says n
	durable   int // the last one that was durable
}

// simAttempt is a body that runs.
type simAttempt struct {
	wk     *simWorker
	worker string // its lease, when the body began
	began  time.Time
}

// work is the body of every step.
func (s *simulation) work(ctx context.Context, wk *simWorker, n simNode) (int, error) {
	s.bodies.Add(1)
	defer s.bodies.Done()
	info := stepwell.Info(ctx)
	me := &simAttempt{wk: wk, worker: wk.w.Worker(), began: s.now()}
	if s.holds(me) {
		s.law3(info, n.Op == "step")
		s.law4(info, me)
	}
	s.mu.Lock()
	st := s.steps[info.Step]
	if st == nil {
		st = &simStep{run: info.Run, name: n.Name, running: map[*simAttempt]bool{}}
		s.steps[info.Step] = st
	}
	st.starts++
	st.running[me] = true
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(st.running, me)
	}()
	if n.Says {
		s.say(ctx, st)
	}
	if n.Lasts > 0 && !s.toil(ctx, &n) {
		s.mu.Lock()
		defer s.mu.Unlock()
		st.cancelled++
		return 0, context.Cause(ctx)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if n.Fails < 0 || st.failures < n.Fails {
		st.failures++
		return 0, errors.New("fails")
	}
	return n.Value, nil
}

// say reads what attempts before have said, and says more. What was durable when this attempt began is not lost, and
// nothing is read that nobody said.
func (s *simulation) say(ctx context.Context, st *simStep) {
	s.mu.Lock()
	durable := st.durable
	s.mu.Unlock()
	read, ok, err := stepwell.Progress[int](ctx)
	s.mu.Lock()
	if err == nil && (read < durable || read > st.said || ok != (read > 0)) {
		s.problems = append(s.problems, fmt.Sprintf("step %s of run %s read that it is at %d, %v: attempts said up to %d, of which %d was durable", st.name, st.run, read, ok, st.said, durable))
	}
	st.said++
	say := st.said
	s.mu.Unlock()
	if stepwell.HeartbeatNow(ctx, say) != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	st.durable = max(st.durable, say)
}

// toil lets the time of an attempt pass. It is false where its context ends before that, and the body cares.
func (s *simulation) toil(ctx context.Context, n *simNode) bool {
	ended := ctx.Done()
	if n.Stubborn {
		ended = nil
	}
	t := time.NewTimer(n.Lasts)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ended:
		return false
	}
}

// law3: no body starts before its start is durable, and none of a completed step. Starts of queued steps are not in the log yet. What happens in the
// very moment in which a body starts may have happened behind it; a forced end is heard of at the next heartbeat.
func (s *simulation) law3(info stepwell.StepInfo, closure bool) {
	started, now := !closure, s.now().Add(-s.late)
	for _, e := range s.events(info.Run) {
		switch {
		case e.ID == info.Step && e.Type == world.StepStarted:
			started = started || e.Attempt == info.Attempt
		case e.ID == info.Step && e.Type == world.StepCompleted && e.Time.Before(now),
			closure && e.ID == info.Step && e.Type == world.StepFailed && e.Time.Before(now),
			closure && e.Type.Terminal() && e.Delivery == "" && e.Time.Before(now):
			s.problem("law 3: run %s: step %s, attempt %d starts after event %d %s", info.Run, info.Name, info.Attempt, e.Seq, e.Type)
		}
	}
	if !started {
		s.problem("law 3: run %s: step %s, attempt %d starts before its start is in the log", info.Run, info.Name, info.Attempt)
	}
}

// law4: while leases are honoured, a body runs in one place.
func (s *simulation) law4(info stepwell.StepInfo, me *simAttempt) {
	s.mu.Lock()
	var others []*simAttempt
	if st := s.steps[info.Step]; st != nil {
		for a := range st.running {
			others = append(others, a)
		}
	}
	s.mu.Unlock()
	for _, a := range others {
		if s.holds(a) && (s.late == 0 || s.holds(me)) { // its own may have ended meanwhile
			s.problem("law 4: run %s: step %s, attempt %d runs beside another attempt", info.Run, info.Name, info.Attempt)
		}
	}
}
