package world

import (
	"encoding/json"
	"fmt"
	"maps"
	"time"
)

// Apply folds one event into the state, in place. All rules about a run are in it:
//
//   - changed: the event is legal and had its effect;
//   - not changed, no error: the event is legal and says nothing new; it is not appended;
//   - an error: the event is not legal, and nothing changed.
//
// An event with a number must have the next one, except those before EnterAt. An event without a
// number gets it from whoever appends it. A zero now skips the rules about time and about attempt
// numbers; only runs that are driven from outside need that. Apply keeps the event's slices.
func (s *State) Apply(e *Event, now time.Time) (changed bool, err error) {
	if s.Seq > 0 && s.Seq < s.EnterAt {
		return s.pass(e)
	}
	if e.Seq != 0 && e.Seq != s.Seq+1 {
		return false, &CorruptError{Run: s.ID, Seq: e.Seq, Err: fmt.Errorf("%s cannot follow event %d", e.Type, s.Seq)}
	}
	if s.Delivered(e) {
		return false, nil
	}
	changed, err = s.apply(e, now)
	if err != nil {
		return false, fmt.Errorf("%s: %w", e.Type, err)
	}
	if changed {
		s.Seq++
		s.Time = e.Time
		if e.Delivery != "" {
			put(&s.deliveries[0], DeliveryKey(e.Delivery, e), struct{}{})
		}
	}
	return changed, nil
}

func (s *State) apply(e *Event, now time.Time) (bool, error) {
	switch {
	case e.Type == RunCreated:
		return s.create(e)
	case s.Status == "":
		return false, fmt.Errorf("run %s: %w", s.ID, ErrNotFound)
	case s.Status == Cancelled && e.Type == RunCancelled:
		return false, nil
	case s.Status.Terminal() && (e.Type == StepCompleted || e.Type == StepFailed):
		return s.endStepLate(e)
	case s.Status.Terminal():
		return false, fmt.Errorf("run %s is %s: %w", s.ID, s.Status, ErrTerminal)
	}
	switch e.Type {
	case RunStarted, RunContinued, RunCompleted, RunFailed, RunCancelled, CancelRequested, RunPaused, RunResumed:
		return s.applyRun(e)
	case StepCreated, StepStarted, StepRetrying, StepWoken, StepCompleted, StepFailed:
		return s.applyStep(e, now)
	case WaitCreated, WaitCompleted:
		return s.applyWait(e, now)
	case HookCreated, HookConflict, HookReceived, HookDisposed:
		return s.applyHook(e)
	case SignalReceived:
		if e.ID != "" && s.waits[e.ID] == nil { // what it was for is over
			return false, nil
		}
		return true, CheckName("signal", e.Name)
	case AttrSet:
		return s.setAttr(e)
	case InputReceived:
		return s.gather(e)
	}
	return false, fmt.Errorf("%w: unknown event type", ErrInvalid)
}

func (s *State) create(e *Event) (bool, error) {
	switch {
	case s.Status != "":
		return false, fmt.Errorf("run %s: %w", s.ID, ErrRunExists)
	case e.Birth == nil:
		return false, fmt.Errorf("%w: the first event does not say how the run starts", ErrInvalid)
	}
	if err := CheckWorkflowName(e.Birth.Workflow); err != nil {
		return false, err
	}
	s.Birth, s.Status, s.Version = *e.Birth, Pending, e.Birth.Version
	s.CreatedAt, s.Input, s.InputApart, s.SegmentSeq = e.Time, e.Payload, e.Apart, 1
	s.Attributes = maps.Clone(e.Birth.Attributes)
	return true, nil
}

// gather takes the input of a further start.
func (s *State) gather(e *Event) (bool, error) {
	switch {
	case s.Birth.Gather == nil:
		return false, fmt.Errorf("%w: run %s does not gather inputs", ErrInvalid, s.ID)
	case s.Status != Pending:
		return false, fmt.Errorf("run %s has begun: %w", s.ID, ErrConflict)
	}
	s.Input, s.InputApart = s.Birth.Gather.JoinInput(s.Input, e.Payload), ""
	return true, nil
}

func (s *State) applyRun(e *Event) (bool, error) {
	switch e.Type {
	case RunStarted:
		if s.Status == Running {
			return false, nil
		}
		s.Status, s.StartedAt = Running, e.Time
		if e.Version != 0 {
			s.Version = e.Version
		}
	case RunContinued:
		return s.continueRun(e)
	case RunCompleted:
		s.end(Completed, e)
	case RunFailed:
		s.end(Failed, e)
	case RunCancelled:
		s.end(Cancelled, e)
	case CancelRequested:
		if s.Cancel != nil {
			return false, nil
		}
		s.Cancel = s.keep(e)
	case RunPaused:
		if s.Paused != nil {
			return false, nil
		}
	case RunResumed:
		if s.Paused == nil {
			return false, nil
		}
	}
	if paused, says := e.Pauses(); paused {
		s.Paused = s.keep(e)
	} else if says {
		s.Paused = nil
	}
	return true, nil
}

// keep copies an event that the state holds on to, as it is in the log: whoever reads it back has the same state, and the
// caller may use its variable again.
func (s *State) keep(e *Event) *Event {
	c := *e
	c.Seq, c.Commit, c.Build = s.Seq+1, 0, ""
	return &c
}

// end makes the run terminal. Open steps stay, as one that runs outside may still end; waits and hooks are over.
func (s *State) end(to Status, e *Event) {
	s.Status, s.EndedAt, s.Error = to, e.Time, e.Error
	if to == Completed {
		s.Output, s.OutputApart = e.Payload, e.Apart
	}
	s.Paused = nil
	for id := range s.waits {
		put(&s.over, id, struct{}{})
	}
	for id := range s.hooks {
		put(&s.over, id, struct{}{})
	}
	s.waits, s.hooks, s.tokens = nil, nil, nil
}

func (s *State) continueRun(e *Event) (bool, error) {
	switch {
	case s.Status != Running:
		return false, fmt.Errorf("run %s is %s: %w", s.ID, s.Status, ErrConflict)
	case e.Next == nil:
		return false, fmt.Errorf("%w: no continuation", ErrInvalid)
	}
	var hooks map[string]*Hook
	var tokens map[string]string
	for _, id := range e.Next.Hooks {
		h := s.hooks[id]
		if h == nil {
			return false, fmt.Errorf("hook %s: %w", id, ErrNotFound)
		}
		put(&hooks, id, h)
		put(&tokens, h.Token, id)
	}
	segment := s.Segment + 1
	if e.Next.Segment != 0 {
		segment = e.Next.Segment
	}
	if segment <= s.Segment || e.Next.Base != nil && e.Next.Base.Segment != segment {
		return false, fmt.Errorf("%w: segment %d does not follow segment %d", ErrInvalid, segment, s.Segment)
	}
	s.Segment = segment
	if e.Next.Version != 0 {
		s.Version = e.Next.Version
	}
	s.begin(e, s.Seq+1, hooks, tokens, s.deliveries[0])
	return true, nil
}

func (s *State) applyStep(e *Event, now time.Time) (bool, error) {
	if e.Type == StepCreated {
		return s.createStep(e)
	}
	if e.Type == StepCompleted || e.Type == StepFailed {
		return s.endStep(e)
	}
	st, err := s.step(e)
	if err != nil {
		return false, err
	}
	switch e.Type {
	case StepStarted:
		if !now.IsZero() && st.RetryAt.After(now) {
			return false, &TooEarlyError{Step: e.ID, RetryAfter: st.RetryAt.Sub(now)}
		}
		if !now.IsZero() && e.Attempt > 0 && e.Attempt <= st.Attempts {
			return false, fmt.Errorf("step %s: attempt %d has begun before: %w", e.ID, e.Attempt, ErrConflict)
		}
		st.Status, st.RetryAt = StepRunning, time.Time{}
		st.Attempts = max(st.Attempts+1, e.Attempt) // of a task's many attempts only the last are told
		if st.Started.IsZero() {
			st.Started = e.Time
		}
	case StepRetrying:
		return st.retry(e)
	case StepWoken:
		return st.wake(e), nil
	}
	return true, nil
}

// wake ends the delay before the step's next attempt, which may begin from now on; nothing else changes. It says nothing
// new where that has begun, or waits for nothing.
func (st *Step) wake(e *Event) bool {
	if st.Status != StepPending || st.RetryAt.IsZero() || e.Attempt > 0 && e.Attempt != st.Attempts {
		return false
	}
	st.RetryAt = time.Time{}
	return true
}

// retry ends an attempt of the step. An attempt before the last was taken for dead; its worker may still say that it only gave
// it up, which lowers the count of deaths and nothing else. An older attempt's own error comes too late.
func (st *Step) retry(e *Event) (bool, error) {
	abandoned := e.Error != nil && e.Error.Code == CodeAbandoned
	misused := e.Error != nil && e.Error.Code == CodeForeign // no failure of the step's
	if abandoned && e.Attempt > 0 && e.Attempt < st.Attempts {
		if st.Deaths() == 0 {
			return false, fmt.Errorf("step %s: the end of attempt %d is known: %w", e.ID, e.Attempt, ErrConflict)
		}
		st.Abandoned++
		return true, nil
	}
	if st.Status != StepRunning {
		return false, fmt.Errorf("step %s is %s: %w", e.ID, st.Status, ErrConflict)
	}
	if e.Attempt > 0 && e.Attempt < st.Attempts {
		return false, fmt.Errorf("step %s: attempt %d is over, attempt %d runs: %w", e.ID, e.Attempt, st.Attempts, ErrConflict)
	}
	st.Status, st.RetryAt, st.Error = StepPending, e.RetryAt, e.Error
	if abandoned || misused {
		st.Abandoned++
	} else {
		st.Failures++
	}
	return true, nil
}

func (s *State) createStep(e *Event) (bool, error) {
	if err := s.fresh(e); err != nil {
		return false, err
	}
	switch e.Kind {
	case KindPatch, KindStream, KindMessage, KindPublication, KindAside, KindAccepted: // complete at birth
		if e.Kind == KindAside && e.Outcome != OutcomeTold {
			s.noteAside(e)
		}
		put(&s.over, e.ID, struct{}{})
	case KindClosure, KindTask, KindChild, KindAwait, KindSend:
		put(&s.steps, e.ID, &Step{
			ID: e.ID, Kind: e.Kind, Key: e.Key(s.Segment), Queued: e.Queued, Peer: e.Peer, Until: e.Until,
			Created: s.Seq + 1, Status: StepPending,
		})
	default:
		return false, fmt.Errorf("%w: step kind %q", ErrInvalid, e.Kind)
	}
	return true, nil
}

// noteAside notes that what waits had a payload set aside, and goes on.
func (s *State) noteAside(e *Event) {
	if h := s.hooks[e.Peer]; h != nil {
		h.Aside = true
	}
	for _, w := range s.waits {
		if e.Peer == "" && w.Kind == KindEvent && w.Key.Name == e.Name {
			w.Aside = true
		}
	}
}

func (s *State) endStep(e *Event) (bool, error) {
	st, err := s.step(e)
	if err != nil {
		return false, err
	}
	if e.Peer != "" && e.Peer != st.Peer {
		return false, fmt.Errorf("%w: step %s: the result of run %s, where %q was asked", ErrInvalid, e.ID, e.Peer, st.Peer)
	}
	delete(s.steps, e.ID)
	put(&s.over, e.ID, struct{}{})
	return true, nil
}

// endStepLate ends a step after its run, which only a step that runs may do, and only in runs that are driven from outside.
func (s *State) endStepLate(e *Event) (bool, error) {
	if st := s.steps[e.ID]; st != nil && st.Status != StepRunning {
		return false, fmt.Errorf("run %s is %s, step %s is %s: %w", s.ID, s.Status, e.ID, st.Status, ErrTerminal)
	}
	return s.endStep(e)
}

// Awaits corrects the run that a step waits for if the store has replaced the run of its
// step_created: see [RetryKey].
func (s *State) Awaits(e *Event) {
	if st := s.steps[e.ID]; st != nil && e.Kind == KindAwait {
		st.Peer = e.Peer
	}
}

func (s *State) step(e *Event) (*Step, error) {
	if st := s.steps[e.ID]; st != nil {
		return st, nil
	}
	return nil, s.gone("step", e.ID)
}

func (s *State) applyWait(e *Event, now time.Time) (bool, error) {
	if e.Type == WaitCreated {
		if err := s.fresh(e); err != nil {
			return false, err
		}
		if e.Kind.prefix() != PrefixWait {
			return false, fmt.Errorf("%w: wait kind %q", ErrInvalid, e.Kind)
		}
		put(&s.waits, e.ID, &Wait{ID: e.ID, Kind: e.Kind, Key: e.Key(s.Segment), Seq: s.Seq + 1, Created: e.Time, Until: e.Until, Match: e.Match, Listens: e.Listen != nil})
		return true, nil
	}
	w := s.waits[e.ID]
	if w == nil {
		return false, s.gone("wait", e.ID)
	}
	if !now.IsZero() && e.Outcome == OutcomeDue && w.Until.After(now) {
		return false, &TooEarlyError{Step: e.ID, RetryAfter: w.Until.Sub(now)}
	}
	switch e.Outcome {
	case OutcomeDue, OutcomeWoken, OutcomeReceived:
	default:
		return false, fmt.Errorf("%w: wait %s: outcome %q", ErrInvalid, e.ID, e.Outcome)
	}
	delete(s.waits, e.ID)
	put(&s.over, e.ID, struct{}{})
	return true, nil
}

func (s *State) applyHook(e *Event) (bool, error) {
	switch e.Type {
	case HookCreated, HookConflict:
		if err := s.fresh(e); err != nil {
			return false, err
		}
		if err := CheckToken(e.Token); err != nil {
			return false, err
		}
		if e.Type == HookConflict {
			put(&s.over, e.ID, struct{}{})
			return true, nil
		}
		if h := s.HookByToken(e.Token); h != nil {
			return false, fmt.Errorf("token is held by hook %s: %w", h.ID, ErrConflict)
		}
		put(&s.tokens, e.Token, e.ID)
		put(&s.hooks, e.ID, newHook(e, s.Segment, s.Seq+1))
	case HookReceived:
		h := s.hooks[e.ID]
		if h == nil {
			return false, fmt.Errorf("hook %s: %w", e.ID, ErrNotFound)
		}
		h.Aside = false
	case HookDisposed:
		h := s.hooks[e.ID]
		switch {
		case h == nil && s.Over(e.ID):
			return false, nil
		case h == nil:
			return false, fmt.Errorf("hook %s: %w", e.ID, ErrNotFound)
		}
		delete(s.tokens, h.Token)
		delete(s.hooks, e.ID)
		put(&s.over, e.ID, struct{}{})
	}
	return true, nil
}

func (s *State) setAttr(e *Event) (bool, error) {
	if err := s.fresh(e); err != nil {
		return false, err
	}
	put(&s.over, e.ID, struct{}{})
	put(&s.Attributes, e.Name, json.RawMessage(e.Payload))
	return true, nil
}

// fresh refuses a creation whose name is bad or whose ID the run knows already: exactly one writer owns a creation.
func (s *State) fresh(e *Event) error {
	if err := CheckName("name", e.Name); err != nil {
		return err
	}
	if e.ID == "" {
		return fmt.Errorf("%w: no correlation ID", ErrInvalid)
	}
	if s.steps[e.ID] != nil || s.waits[e.ID] != nil || s.hooks[e.ID] != nil || s.Over(e.ID) {
		return fmt.Errorf("%s exists: %w", e.ID, ErrConflict)
	}
	return nil
}

func (s *State) gone(what, id string) error {
	if s.Over(id) {
		return fmt.Errorf("%s %s is over: %w", what, id, ErrConflict)
	}
	return fmt.Errorf("%s %s: %w", what, id, ErrNotFound)
}

// put writes into a map that may still be nil.
func put[K comparable, V any](m *map[K]V, k K, v V) {
	if *m == nil {
		*m = make(map[K]V)
	}
	(*m)[k] = v
}
