package world

import (
	"encoding/json"
	"iter"
	"maps"
	"time"
)

// Status is the status of a run.
type Status string

// Statuses of a run.
const (
	Pending   Status = "pending"
	Running   Status = "running"
	Completed Status = "completed"
	Failed    Status = "failed"
	Cancelled Status = "cancelled"
)

// Terminal reports whether the run is over.
func (s Status) Terminal() bool { return s == Completed || s == Failed || s == Cancelled }

// StepStatus is the status of a step.
type StepStatus string

// Statuses of a step.
const (
	StepPending  StepStatus = "pending"
	StepRunning  StepStatus = "running"
	StepDone     StepStatus = "completed"
	StepHasError StepStatus = "failed"
)

// Step is the folded state of an open step.
type Step struct {
	ID       string
	Kind     Kind
	Key      Key
	Queued   bool       // it has, or had, a task
	Peer     string     // child, await: ID of the other run
	Created  int64      // number of its step_created
	Status   StepStatus // pending or running
	Attempts int        // starts so far
	// Failures: attempts that ended with an error of their own: the retry limit counts them.
	Failures  int
	Abandoned int       // attempts that their workers gave up: neither failures nor deaths
	RetryAt   time.Time // not before this time
	Until     time.Time // it fails if it has not begun by then; zero: no limit
	Started   time.Time // first start
	Error     *Error    // of the last attempt
}

// Deaths counts the attempts that started and never reported an end, without a running one.
func (st *Step) Deaths() int {
	n := st.Attempts - st.Failures - st.Abandoned
	if st.Status == StepRunning {
		n--
	}
	return max(n, 0)
}

// Wait is the folded state of an open wait.
type Wait struct {
	ID      string
	Kind    Kind
	Key     Key
	Seq     int64 // number of its wait_created
	Created time.Time
	Until   time.Time       // zero: no deadline
	Match   json.RawMessage // of an event wait; empty: any payload
	Listens bool            // it also receives publications
	Aside   bool            // a payload was set aside, and the wait goes on
}

// Hook is the folded state of an active hook.
type Hook struct {
	ID       string
	Key      Key
	Created  int64 // number of its hook_created
	Token    string
	Chosen   bool
	Metadata json.RawMessage
	// Peer is the run from which a fork has the hook, if its token is not the requested one: see
	// [AskedToken].
	Peer  string
	Aside bool // the last payload was set aside
}

// State is one run, folded from its events. The zero State is a run that does not exist yet. Only
// Apply changes a State. It is not safe for concurrent use.
type State struct {
	ID string // ID of the run; set it before the first event

	// EnterAt is set before the first event if parts of the log are missing: the number of a
	// run_continued that has a Base. Of the events between the first and that one, Apply needs and
	// records only those of [Continuation.Stands]. Afterwards it is 0.
	EnterAt int64

	Birth      Birth
	Status     Status // "" before run_created
	Version    int
	Seq        int64     // number of the last event
	Time       time.Time // and its time
	CreatedAt  time.Time
	StartedAt  time.Time
	EndedAt    time.Time
	Segment    int             // number of run_continued events
	SegmentSeq int64           // number of the event that began the segment
	Base       *Base           // the Base of that event; nil in the first segment
	Input      json.RawMessage // of the segment
	Output     json.RawMessage

	InputApart, OutputApart string // IDs of values stored apart; "": the fields have the values

	Error      *Error
	Cancel     *Event // the cancel_requested; nil: none
	Paused     *Event // the run_paused of a pause; nil: not paused
	Attributes map[string]json.RawMessage

	steps      map[string]*Step
	waits      map[string]*Wait
	hooks      map[string]*Hook
	tokens     map[string]string        // of the active hooks: token to ID
	over       map[string]struct{}      // IDs of steps, waits, hooks that ended, and of attributes
	deliveries [2]map[[16]byte]struct{} // of this segment and of the last
	passed     map[int64]*Hook          // made before EnterAt, by number
}

// Step returns an open step of the run, or nil.
func (s *State) Step(id string) *Step { return s.steps[id] }

// Wait returns an open wait of the run, or nil.
func (s *State) Wait(id string) *Wait { return s.waits[id] }

// Hook returns an active hook of the run, or nil.
func (s *State) Hook(id string) *Hook { return s.hooks[id] }

// EndsListening reports whether an event, before it is applied, ends a wait that receives
// publications: see [Event.Listened].
func (s *State) EndsListening(e *Event) bool {
	switch {
	case e.Type == WaitCompleted:
		w := s.waits[e.ID]
		return w != nil && w.Listens
	case e.Type == RunContinued || e.Type.Terminal():
		for _, w := range s.waits {
			if w.Listens {
				return true
			}
		}
	}
	return false
}

// Over reports whether the step, wait or hook existed and has ended.
func (s *State) Over(id string) bool {
	_, ok := s.over[id]
	return ok
}

// Steps yields the open steps, in no order.
func (s *State) Steps() iter.Seq[*Step] { return maps.Values(s.steps) }

// Waits yields the open waits, in no order.
func (s *State) Waits() iter.Seq[*Wait] { return maps.Values(s.waits) }

// Hooks yields the active hooks, in no order.
func (s *State) Hooks() iter.Seq[*Hook] { return maps.Values(s.hooks) }

// Open counts the open steps and waits.
func (s *State) Open() (steps, waits int) { return len(s.steps), len(s.waits) }

// HookByToken returns the active hook with the token, or nil.
func (s *State) HookByToken(token string) *Hook {
	return s.hooks[s.tokens[token]]
}

// Delivered reports whether an event with the same delivery ID, for the same event or hook, was
// appended in this segment or the previous one. Stores know more: see [Delivery.Key].
func (s *State) Delivered(e *Event) bool {
	if e.Delivery == "" {
		return false
	}
	key := DeliveryKey(e.Delivery, e)
	for _, m := range s.deliveries {
		if _, ok := m[key]; ok {
			return true
		}
	}
	return false
}
