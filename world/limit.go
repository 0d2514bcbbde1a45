package world

// Limits: how many runs of what may be at work at once, and how many may begin in a period. See docs/design/limits.md.

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Limiter keeps limits. A limit exists from the first definition or birth that names it.
//
// A run with places is claimed only when it holds all of them. It takes them in order once it is
// due. Without room it waits in line, by priority, then by creation. A cancel that runs no code
// needs no place. A run gives its places back when its owner releases it or it is paused, except
// those held until its end, and all places at its end. If its worker dies it keeps them.
//
// A task with places works the same way. Its place in line is the time of its step's request. It
// gives places back when an attempt ends, when it is dropped, and when its run is over; the next
// attempt takes them again. If its worker dies it keeps them, and its next attempt counts for rates
// again.
//
// A message of a queue with limits is received only when it holds all places that it was sent with.
// Its place in line is the time of its send; in a group, only the first message waits in line. It
// gives places back when its receive is settled. If its visibility ends first it keeps them, and
// the next receive counts for rates again. A receive lets the next messages in; a queue that is
// paused, or has no receivers, keeps the places of messages that were let in, unless it shares a
// limit with others: then they give them back after [NeglectAfter].
//
// Places of a rate come last in order. A key has as many as its rate lets in now. They are never
// given back: a claimed run has used its place, and needs no other, whatever happens to it.
type Limiter interface {
	// ListLimits returns all limits, by name.
	ListLimits(ctx context.Context) ([]Limit, error)

	// SetLimit overrides the number of places of a key that code declares; nil ends the override.
	// Runs that hold a place keep it. The error is [ErrNotFound] for an unknown limit.
	SetLimit(ctx context.Context, name string, number *int) error

	// ListLimitKeys returns at most most keys of a limit, by key, after the given one.
	ListLimitKeys(ctx context.Context, limit, behind string, most int) ([]LimitKey, error)

	// ListHolders returns at most most holders of a key's places: runs, then steps, then messages,
	// the oldest first. It reads everything under limits, and is meant for people. The error is
	// [ErrNotFound] for an unknown limit.
	ListHolders(ctx context.Context, limit, key string, most int) ([]LimitHolder, error)

	// InLine returns the place in line of a run, or of a step's task; nil: it is in none.
	InLine(ctx context.Context, run, step string) (*InLine, error)
}

// Place is a need of a run: one of the places of a limit's key.
type Place struct {
	Limit    string `json:"limit"`
	Key      string `json:"key,omitempty"`      // "": the limit has no key
	Number   int    `json:"number"`             // number of places of a key, if the limit is new
	UntilEnd bool   `json:"untilEnd,omitempty"` // it is held while the run waits, too

	Per    time.Duration `json:"per,omitempty"`    // the period of a rate; 0: not a rate
	Burst  int           `json:"burst,omitempty"`  // of a rate: how many may begin at once; 0: one
	Refuse bool          `json:"refuse,omitempty"` // of a rate: a start beyond it is refused

	Single Single `json:"single,omitempty"` // of a singleton
}

// Limit is the state of a limit.
type Limit struct {
	Name string `json:"name"`
	// places of a key, as code declares
	Said int `json:"said"`
	// an operator's override; nil: none
	Set      *int `json:"set,omitzero"`
	UntilEnd bool `json:"untilEnd,omitzero"`

	// period of a rate, as code declares; 0: not a rate
	Per time.Duration `json:"per,omitzero"`
	// of a rate
	Burst int `json:"burst,omitzero"`
	// of a rate: starts beyond it are refused
	Refuse bool `json:"refuse,omitzero"`

	// of keys, as code declares; see [SaidLimit]
	Weights map[string]int `json:"weights,omitzero"`

	// what it limits; none: unknown
	Runs     bool `json:"runs,omitzero"`
	Steps    bool `json:"steps,omitzero"`
	Messages bool `json:"messages,omitzero"`
}

// NewLimit returns a limit as code declares it, without further state.
func NewLimit(said *SaidLimit) *Limit {
	return &Limit{Name: said.Name, Said: said.Number, UntilEnd: said.UntilEnd, Per: said.Per, Burst: said.Burst, Refuse: said.Refuse, Weights: said.Weights, Runs: said.Runs(), Steps: said.Steps, Messages: said.Messages}
}

// Places returns the number of places of a key.
func (l *Limit) Places(key string) int { return l.Number() * max(l.Weights[key], 1) }

// Number returns the number of places of a key with weight 1.
func (l *Limit) Number() int {
	if l.Set != nil {
		return *l.Set
	}
	return l.Said
}

// LimitKey is the state of a limit's key.
type LimitKey struct {
	Key     string `json:"key"`
	Used    int    `json:"used"`            // held places
	Waiting int    `json:"waiting"`         // runs in line, at most [MostCounted]
	Weight  int    `json:"weight,omitzero"` // its weight; 0: 1

	// Oldest is since when the longest waiting run has waited, in its first line from its start on.
	// Zero: none waits.
	Oldest time.Time `json:"oldest,omitzero"`
	Next   time.Time `json:"next,omitzero"` // of a rate: when it lets in the next; zero: now
}

// LimitHolder is a run, a step's task, or a message that holds a place of a key.
type LimitHolder struct {
	Run     string `json:"run,omitempty"`
	Step    string `json:"step,omitempty"` // ID of the step
	Name    string `json:"name"`           // name of the workflow, the step or the queue
	Message string `json:"message,omitempty"`
}

// InLine is a run's place in the line of a limit.
type InLine struct {
	Place
	Before int `json:"before"` // runs before it, at most [MostCounted]

	// At: of a rate: when it lets the run in at the earliest; zero: never, or not a rate.
	At time.Time `json:"at,omitzero"`
}

// Bounds of limits.
const (
	MaxPlaces   = 8         // of a run
	MaxLimit    = 1_000_000 // places of a key
	MaxLimitKey = 256       // bytes
	MostCounted = 10_000    // runs in a line that are counted
	MaxWeight   = 100       // of a key
	MaxWeights  = 1_000     // keys of a limit that have a weight
)

// ID returns a number that identifies the place's limit and key.
func (p *Place) ID() int64 {
	sum := sha256.Sum256([]byte(p.Limit + "\x00" + p.Key))
	return int64(binary.BigEndian.Uint64(sum[:8]))
}

// compare is the one order in which all runs take places: those that are held until the end first, rates last, and
// narrow lines before wide ones. So no two runs wait for each other, and who has paid a rate begins.
func (p *Place) compare(q *Place) int {
	truth := func(b bool) int {
		if b {
			return 1
		}
		return 0
	}
	return cmp.Or(truth(q.UntilEnd)-truth(p.UntilEnd), truth(p.Per > 0)-truth(q.Per > 0), truth(p.Key == "")-truth(q.Key == ""),
		cmp.Compare(p.Limit, q.Limit), cmp.Compare(p.Key, q.Key))
}

// OrderPlaces sorts places into the order in which runs take them.
func OrderPlaces(all []Place) {
	slices.SortFunc(all, func(a, b Place) int { return a.compare(&b) })
}

// CheckPlaces returns [ErrInvalid] for invalid places.
func CheckPlaces(all []Place) error {
	if len(all) > MaxPlaces {
		return fmt.Errorf("%w: %d limits: the most is %d", ErrInvalid, len(all), MaxPlaces)
	}
	for i := range all {
		p := &all[i]
		said := SaidBy(all[i : i+1])
		if err := said[0].check(0); err != nil {
			return err
		}
		if err := checkLimitKey(p.Limit, p.Key); err != nil {
			return err
		}
		if p.Single != "" && slices.ContainsFunc(all[:i], func(q Place) bool { return q.Single != "" }) {
			return fmt.Errorf("%w: limit %s: it is the second singleton of a run", ErrInvalid, p.Limit)
		}
		if i > 0 && all[i-1].compare(p) >= 0 {
			return fmt.Errorf("%w: limit %s: places are out of order or repeated", ErrInvalid, p.Limit)
		}
	}
	return nil
}

// NoLimit returns the error for an unknown limit.
func NoLimit(name string) error {
	return fmt.Errorf("limit %.140q: %w: it exists after the first definition or start that names it", name, ErrNotFound)
}

// Scope says how long places of a limit are held. It never changes for a limit's name.
type Scope int16

// Scopes of limits.
const (
	WhileRunning    Scope = iota // a place is held while the run works
	UntilEnd                     // a place is held until the run is over
	PerPeriod                    // a rate: the run counts once
	PerPeriodRefuse              // a rate: a start over it is refused
)

// String returns a text for people.
func (s Scope) String() string {
	switch s {
	case UntilEnd:
		return "a limit whose places are held until its runs end"
	case PerPeriod:
		return "a rate whose excess waits"
	case PerPeriodRefuse:
		return "a rate whose excess is refused"
	}
	return "a limit whose places are held while its runs are at work"
}

// Scope returns the limit's scope.
func (l *Limit) Scope() Scope { return scopeOf(l.Per, l.UntilEnd, l.Refuse) }

// Scope returns the scope of the place's limit.
func (p *Place) Scope() Scope { return scopeOf(p.Per, p.UntilEnd, p.Refuse) }

func scopeOf(per time.Duration, untilEnd, refuse bool) Scope {
	switch {
	case per > 0 && refuse:
		return PerPeriodRefuse
	case per > 0:
		return PerPeriod
	case untilEnd:
		return UntilEnd
	}
	return WhileRunning
}

// CheckScope returns [ErrInvalid] if a limit is declared with another scope than the recorded one.
// With two scopes, runs would take its places in different orders, and could wait for each other.
func CheckScope(limit string, said, kept Scope) error {
	if said == kept {
		return nil
	}
	return fmt.Errorf("%w: limit %s is defined as %s, but exists as %s, which cannot change: give it another Name", ErrInvalid, limit, said, kept)
}

// SaidBy returns the limits of places.
func SaidBy(places []Place) []SaidLimit {
	said := make([]SaidLimit, len(places))
	for i := range places {
		p := &places[i]
		said[i] = SaidLimit{Name: p.Limit, Number: p.Number, UntilEnd: p.UntilEnd, Per: p.Per, Burst: p.Burst, Refuse: p.Refuse, Single: p.Single}
	}
	return said
}

// LimitsOf returns the limits that definitions name, by name. Of two with the same name the last
// counts.
func LimitsOf(all []Definition) (said []SaidLimit) {
	for i := range all {
		said = append(said, all[i].Limits...)
	}
	return sortLimits(said)
}

func sortLimits(said []SaidLimit) []SaidLimit {
	slices.SortStableFunc(said, func(a, b SaidLimit) int { return cmp.Compare(a.Name, b.Name) })
	return said
}

// CheckLimit returns [ErrInvalid] for an invalid name or number. A number of 0 holds all runs back.
func CheckLimit(name string, number int) error {
	if workflow, single := strings.CutPrefix(name, singlePrefix); single {
		return fmt.Errorf("%w: limit %.140q is the singleton of workflow %.128s: it allows one live run of a key, and you cannot change that", ErrInvalid, name, workflow)
	}
	if CheckWorkflowName(name) != nil {
		return fmt.Errorf("%w: name of a limit %.140q: want 1 to 128 of A-Z a-z 0-9 _ . -", ErrInvalid, name)
	}
	if number < 0 || number > MaxLimit {
		return fmt.Errorf("%w: limit %s: its number is %d: want 0 to %d; 0 lets in no runs", ErrInvalid, name, number, MaxLimit)
	}
	return nil
}
