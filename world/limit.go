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

// LimitKeeper is a [World] that keeps limits.
type LimitKeeper interface{ Limits() Limiter }

// Limiter tells of limits, and changes their numbers. A limit is there from the first definition or birth on that
// names it.
//
// A run with places is claimed when it holds all of them, and not before. It takes them in order as soon as it is
// due, and stands in line where there is no room: by priority, then who was created first. A cancel for which no
// code runs takes no place. It gives them back when its owner releases it or it is paused, but for those that it
// holds until its end; and all when it is over. A run whose worker died keeps them.
//
// A task with places is the same: it is given when it holds all of them, and stands in line as a run does, by when its
// step was asked for. It gives them back when an attempt ends, and when it is dropped or its run is over; the next
// attempt takes them anew. One whose worker died keeps them, and pays the rates again, as its next attempt begins.
//
// A message of a queue with limits is received when it holds all places that it was sent with, and stands in line as a
// task does, by when it was sent; one with a group when it is the first of that. It gives them back when its receive is
// settled. Where its visibility ends unsettled it keeps them, and pays the rates again with the next receive. Who
// receives from the queue lets in who is next; a queue that is paused, or that nobody receives from, holds what was let
// in.
//
// The places of a rate come last. A key has as many as its rate lets in now, and they are not given back: a run that is
// claimed has paid, and needs them no more, whatever becomes of it.
type Limiter interface {
	// ListLimits tells of all limits, in order of their names.
	ListLimits(ctx context.Context) ([]Limit, error)

	// SetLimit says how many runs of a key there may be, in the place of what code says; nil: what code says holds
	// again. Those that hold a place keep it. The error is [ErrNotFound] where there is no such limit.
	SetLimit(ctx context.Context, name string, number *int) error

	// ListLimitKeys tells of the keys of a limit, in order of their texts, behind one of them; most are told at once.
	ListLimitKeys(ctx context.Context, limit, behind string, most int) ([]LimitKey, error)

	// ListHolders tells what holds the places of a key: runs, then steps, then messages, of each the oldest first; most
	// are told. It reads all that is under limits: it is for people. The error is [ErrNotFound] where there is no such
	// limit.
	ListHolders(ctx context.Context, limit, key string, most int) ([]LimitHolder, error)

	// InLine tells where a run stands in line, or the task of a step of it; nil: in none.
	InLine(ctx context.Context, run, step string) (*InLine, error)
}

// Place is what a run needs to be at work: one of the places of a key.
type Place struct {
	Limit    string `json:"limit"`
	Key      string `json:"key,omitempty"`      // "": the limit has none
	Number   int    `json:"number"`             // how many places a key has, where nobody has said it before
	UntilEnd bool   `json:"untilEnd,omitempty"` // it is held while the run waits, too

	Per    time.Duration `json:"per,omitempty"`    // so many begin in each; 0: so many are at work at once
	Burst  int           `json:"burst,omitempty"`  // of a rate: how many may begin at one moment; 0: one
	Refuse bool          `json:"refuse,omitempty"` // of a rate: what is beyond it is refused at its start

	Single Single `json:"single,omitempty"` // of the one live run of its workflow and key
}

// Limit is a limit as it stands.
type Limit struct {
	Name     string
	Said     int  // places of a key, as code says
	Set      *int // as an operator says, and then that holds; nil: nobody has
	UntilEnd bool

	Per    time.Duration // of a rate, as code says; 0: it is none
	Burst  int           // of a rate
	Refuse bool          // of a rate: what is beyond it is refused

	Weights map[string]int // of keys, as code says; see [SaidLimit]

	Runs, Steps, Messages bool // they are under it; none: nobody has said
}

// NewLimit is a limit of which nothing is known but what code says.
func NewLimit(said *SaidLimit) *Limit {
	return &Limit{Name: said.Name, Said: said.Number, UntilEnd: said.UntilEnd, Per: said.Per, Burst: said.Burst, Refuse: said.Refuse, Weights: said.Weights, Runs: said.Runs(), Steps: said.Steps, Messages: said.Messages}
}

// Places is how many a key has.
func (l *Limit) Places(key string) int { return l.Number() * max(l.Weights[key], 1) }

// Number is how many places a key has whose weight is 1.
func (l *Limit) Number() int {
	if l.Set != nil {
		return *l.Set
	}
	return l.Said
}

// LimitKey is a key of a limit as it stands.
type LimitKey struct {
	Key     string
	Used    int // places that are held
	Waiting int // runs in line; at most [MostCounted]
	Weight  int // it has so many times the places of others; 0: as many

	// Oldest is since when one of them has waited that has for longest, in its first line from its start on. Zero:
	// nobody waits.
	Oldest time.Time
	Next   time.Time // of a rate: when it lets in the next; zero: now
}

// LimitHolder is a run that holds a place of a key; or the task of a step of it; or a message of a queue.
type LimitHolder struct {
	Run     string `json:"run,omitempty"`
	Step    string `json:"step,omitempty"` // the ID of the step
	Name    string `json:"name"`           // of the workflow, of the registered step, or of the queue
	Message string `json:"message,omitempty"`
}

// InLine is where a run stands in line.
type InLine struct {
	Place
	Before int `json:"before"` // runs before it; at most [MostCounted]

	At time.Time `json:"at,omitzero"` // of a rate: when it lets the run in at the soonest; zero: never, or no rate
}

// The limits of limits.
const (
	MaxPlaces   = 8         // of a run
	MaxLimit    = 1_000_000 // places of a key
	MaxLimitKey = 256       // bytes
	MostCounted = 10_000    // runs in a line that are counted for people
	MaxWeight   = 100       // of a key
	MaxWeights  = 1_000     // keys of a limit that have a weight
)

// ID tells the key of a place from others, of all limits.
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

// OrderPlaces puts places into the order in which they are taken.
func OrderPlaces(all []Place) {
	slices.SortFunc(all, func(a, b Place) int { return a.compare(&b) })
}

// CheckPlaces refuses, with [ErrInvalid], places that no run has.
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

// NoLimit is the error for a limit that is not there.
func NoLimit(name string) error {
	return fmt.Errorf("limit %.140q: %w: it exists after the first definition or start that names it", name, ErrNotFound)
}

// Scope is what the places of a limit are. It belongs to the limit's name, for ever.
type Scope int16

// The scopes of limits.
const (
	WhileRunning    Scope = iota // a place is held while the run is at work
	UntilEnd                     // it is held until the run is over
	PerPeriod                    // a rate: the run pays once
	PerPeriodRefuse              // a rate: a start that cannot pay at once is refused
)

// String tells people.
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

// Scope is that of the limit.
func (l *Limit) Scope() Scope { return scopeOf(l.Per, l.UntilEnd, l.Refuse) }

// Scope is that of the limit of a place.
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

// CheckScope refuses, with [ErrInvalid], that a limit be of another scope than what is kept of it: two kinds of runs
// would take its places in different orders, and could wait for each other.
func CheckScope(limit string, said, kept Scope) error {
	if said == kept {
		return nil
	}
	return fmt.Errorf("%w: limit %s is defined as %s, but exists as %s, which cannot change: give it another Name", ErrInvalid, limit, said, kept)
}

// SaidBy are the limits that places are of.
func SaidBy(places []Place) []SaidLimit {
	said := make([]SaidLimit, len(places))
	for i := range places {
		p := &places[i]
		said[i] = SaidLimit{Name: p.Limit, Number: p.Number, UntilEnd: p.UntilEnd, Per: p.Per, Burst: p.Burst, Refuse: p.Refuse, Single: p.Single}
	}
	return said
}

// LimitsOf are the limits that definitions name, in order of their names; of two that say the same name the last.
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

// CheckLimit refuses, with [ErrInvalid], what no limit is. A number of 0 holds all runs back.
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
