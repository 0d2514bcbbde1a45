package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/stepwell/stepwell/internal/replay"
	"github.com/stepwell/stepwell/world"
)

// Workflow is a registered workflow function.
type Workflow struct {
	Name      string
	Version   int                                          // from 1
	Body      func(input []byte, apart string) replay.Body // apart: the value that the input refers to; "": it is the input
	Check     func(input []byte) error                     // whether the input can be what the function takes
	Retention time.Duration                                // after the end; below 0: for ever
	Timeout   time.Duration                                // of a whole run; 0: none
	StartTTL  time.Duration                                // within which a run is to begin; 0: none

	Attributes map[string]json.RawMessage // what its runs start with, unless a start says otherwise

	KeepSegments int      // how many segments of a run are kept, the newest included; 0: all
	FailOn       []string // codes of what fails a run instead of blocking it: see failing.go
	Source       string   // file:line of the function

	Gather    *world.SaidGather                  // its starts are gathered into one run; nil: each has its own
	GatherKey func(input []byte) (string, error) // of an input; nil: no code computes it

	Limits []world.SaidLimit                         // what its runs need places of
	Places func(input []byte) ([]world.Place, error) // which those of a run with an input are

	Schemas func() json.RawMessage // what JSON it takes and makes, as [world.Definer] keeps it
}

// Step is a registered step, which any worker that registered it can run by name.
type Step struct {
	Name   string
	Remote bool // another program runs it: this worker takes none of its tasks
	Run    func(ctx context.Context, input []byte) ([]byte, error)
	Check  func(input []byte) error // whether the input can be what the function takes
	Policy Policy
	Limits []world.SaidLimit // what its attempts need places of
	Source string            // file:line of the function
}

// StepSpec is what workflow code hands over with a step: how to run it. It is the Spec of a replay.Op.
type StepSpec struct {
	Run      func(ctx context.Context, input []byte) ([]byte, error) // a closure, or the registered function, with the recorded input
	Task     bool                                                    // a registered step: others may run it
	Remote   bool                                                    // only others may: it is always queued
	Check    func(input []byte) error                                // of a registered step: whether its recorded input can be what the function takes
	Source   any                                                     // of a registered step: its function; nil: it has none here
	Asked    uintptr                                                 // where the call was that did not wait for the step, for [Place]; 0: unknown
	Undoes   *StepInfo                                               // of an undo that is an option of a step: that step
	Policy   Policy
	Override json.RawMessage                           // registered steps: what the call asks for instead of the definition's policy; travels with the task
	Places   func(input []byte) ([]world.Place, error) // of a registered step under limits: what each attempt needs; nil: nothing
}

// Contents is what the call asks for beside the input: how the step is tried, but for which errors end it.
func (s *StepSpec) Contents() []byte {
	if s.Task {
		return s.Override
	}
	if b, err := json.Marshal(s.Policy); err == nil && len(b) > len("{}") {
		return b
	}
	return nil
}

// options are what travels with the task: what the call asks for, or, where nobody else has the definition, all of the
// policy.
func (s *StepSpec) options() []byte {
	if !s.Remote {
		return s.Override
	}
	b, _ := json.Marshal(s.Policy) // of numbers and words
	return b
}

// Backoff says how the delays between attempts grow.
type Backoff string

// The ways in which delays grow: base; n × base; base doubled each time.
const (
	Fixed       Backoff = "fixed"
	Linear      Backoff = "linear"
	Exponential Backoff = "exponential"
)

// Policy says how often and when a failing step is tried again. Use [Policy.WithDefaults].
type Policy struct {
	Attempts  int              `json:"attempts,omitempty"` // 0: 3; below 0: no limit
	Backoff   Backoff          `json:"backoff,omitempty"`
	Base      time.Duration    `json:"base,omitempty"`      // first delay
	Cap       time.Duration    `json:"cap,omitempty"`       // longest delay
	Jitter    float64          `json:"jitter,omitempty"`    // share of a delay that is random; below 0: none
	Total     time.Duration    `json:"total,omitempty"`     // no attempt starts later than this after the first; 0: no limit
	Timeout   time.Duration    `json:"timeout,omitempty"`   // of one attempt; 0: none
	Heartbeat time.Duration    `json:"heartbeat,omitempty"` // how long a body may send none; 0: for ever
	Queue     time.Duration    `json:"queue,omitempty"`     // how long the step may wait for a worker to begin it; 0: for ever
	Tx        bool             `json:"tx,omitempty"`        // the body runs in a transaction that commits with its result
	Final     func(error) bool `json:"-"`                   // whether an error is not worth another attempt; does not travel with a task
	Fault     error            `json:"-"`                   // of an option that is none of this call
	Undo      *Undo            `json:"-"`                   // what takes back what the step may have done; nil: nothing. It does not travel either
}

// Undo takes back what a step may have done, also where it failed: see the root package's option of that name.
type Undo struct {
	Name   string
	Run    func(ctx context.Context) error
	Policy Policy
	At     uintptr // where it was asked for: see [Caller]
	Next   *Undo   // another one of the same step; nil: there is none
	Fault  error   // of its options; nil: none
}

// WithDefaults fills in what is not said: 3 attempts, exponential from 1 s to 60 s, 20 % jitter.
func (p Policy) WithDefaults() Policy {
	if p.Attempts == 0 {
		p.Attempts = 3
	}
	if p.Backoff == "" {
		p.Backoff = Exponential
	}
	if p.Base == 0 {
		p.Base = time.Second
	}
	if p.Cap == 0 {
		p.Cap = max(time.Minute, p.Base)
	}
	if p.Jitter == 0 {
		p.Jitter = 0.2
	}
	return p
}

// Validate refuses what makes no sense.
func (p Policy) Validate() error {
	switch {
	case p.Fault != nil:
		return p.Fault
	case p.Attempts < -1:
		return fmt.Errorf("%w: retry attempts %d: want -1 (no limit), 0 (the default, 3) or more", world.ErrInvalid, p.Attempts)
	case p.Backoff != "" && p.Backoff != Fixed && p.Backoff != Linear && p.Backoff != Exponential:
		return fmt.Errorf("%w: retry backoff %q: want fixed, linear or exponential", world.ErrInvalid, p.Backoff)
	case p.Base < 0 || p.Cap < 0 || p.Total < 0 || p.Timeout < 0 || p.Heartbeat < 0 || p.Queue < 0:
		return fmt.Errorf("%w: a negative duration in a retry policy or timeout", world.ErrInvalid)
	case p.Jitter > 1:
		return fmt.Errorf("%w: retry jitter %g: want at most 1", world.ErrInvalid, p.Jitter)
	}
	return p.Undo.validate()
}

// validate refuses what makes no sense.
func (u *Undo) validate() error {
	for ; u != nil; u = u.Next {
		if err := u.fault(); err != nil {
			return fmt.Errorf("undo %q: %w", u.Name, err)
		}
	}
	return nil
}

func (u *Undo) fault() error {
	if err := world.CheckName("undo name", u.Name); err != nil {
		return err
	}
	if u.Run == nil {
		return fmt.Errorf("%w: no function", world.ErrInvalid)
	}
	return u.Fault
}

// delay is how long to wait after the n-th failure, n from 1.
func (p Policy) delay(n int) time.Duration {
	d := p.Base
	switch p.Backoff {
	case Linear:
		if d = p.Base * time.Duration(n); d/time.Duration(n) != p.Base {
			d = p.Cap
		}
	case Exponential:
		for i := 1; i < n && d < p.Cap; i++ {
			d += min(d, p.Cap-d) // which does not overflow
		}
	}
	d = min(d, p.Cap)
	if p.Jitter > 0 {
		d -= time.Duration(rand.Float64() * p.Jitter * float64(d))
	}
	return d
}

// Verdict says what follows a failed attempt: a retry after a delay, or the end.
func (p Policy) Verdict(told *Told, failures int, first, now time.Time) (delay time.Duration, again bool) {
	if told.Final || p.Attempts >= 0 && failures >= p.Attempts {
		return 0, false
	}
	delay = p.delay(failures)
	if told.After >= 0 {
		delay = told.After
	}
	if p.Total > 0 && !first.IsZero() && now.Add(delay).Sub(first) > p.Total {
		return 0, false
	}
	return delay, true
}
