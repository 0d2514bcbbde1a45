package world

// Limits: how many runs of what may be at work at once. See docs/limits-design.md.

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
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
type Limiter interface {
	// ListLimits tells of all limits, in order of their names.
	ListLimits(ctx context.Context) ([]Limit, error)

	// SetLimit says how many runs of a key there may be, in the place of what code says; nil: what code says holds
	// again. Those that hold a place keep it. The error is [ErrNotFound] where there is no such limit.
	SetLimit(ctx context.Context, name string, number *int) error

	// ListLimitKeys tells of the keys of a limit, in order of their texts, behind one of them; most are told at once.
	ListLimitKeys(ctx context.Context, limit, behind string, most int) ([]LimitKey, error)

	// InLine tells where a run stands in line; nil: in none.
	InLine(ctx context.Context, run string) (*InLine, error)
}

// Place is what a run needs to be at work: one of the places of a key.
type Place struct {
	Limit    string `json:"limit"`
	Key      string `json:"key,omitempty"`      // "": the limit has none
	Number   int    `json:"number"`             // how many places a key has, where nobody has said it before
	UntilEnd bool   `json:"untilEnd,omitempty"` // it is held while the run waits, too
}

// Limit is a limit as it stands.
type Limit struct {
	Name     string
	Said     int  // places of a key, as code says
	Set      *int // as an operator says, and then that holds; nil: nobody has
	UntilEnd bool
}

// Number is how many places a key has.
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
}

// InLine is where a run stands in line.
type InLine struct {
	Place
	Before int `json:"before"` // runs before it; at most [MostCounted]
}

// The limits of limits.
const (
	MaxPlaces   = 8         // of a run
	MaxLimit    = 1_000_000 // places of a key
	MaxLimitKey = 256       // bytes
	MostCounted = 10_000    // runs in a line that are counted for people
)

// ID tells the key of a place from others, of all limits.
func (p *Place) ID() int64 {
	sum := sha256.Sum256([]byte(p.Limit + "\x00" + p.Key))
	return int64(binary.BigEndian.Uint64(sum[:8]))
}

// compare is the one order in which all runs take places: those that are held until the end first, and narrow lines
// before wide ones. So no two runs wait for each other.
func (p *Place) compare(q *Place) int {
	truth := func(b bool) int {
		if b {
			return 1
		}
		return 0
	}
	return cmp.Or(truth(q.UntilEnd)-truth(p.UntilEnd), truth(p.Key == "")-truth(q.Key == ""),
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
		if err := CheckLimit(p.Limit, p.Number); err != nil {
			return err
		}
		if len(p.Key) > MaxLimitKey {
			return fmt.Errorf("%w: limit %s: a key of %d bytes: the most is %d", ErrInvalid, p.Limit, len(p.Key), MaxLimitKey)
		}
		if p.Key != "" {
			if err := CheckName("key of a limit", p.Key); err != nil {
				return fmt.Errorf("limit %s: %w", p.Limit, err)
			}
		}
		if i > 0 && all[i-1].compare(p) >= 0 {
			return fmt.Errorf("%w: limit %s: places are not in order, or one is there twice", ErrInvalid, p.Limit)
		}
	}
	return nil
}

// NoLimit is the error for a limit that is not there.
func NoLimit(name string) error {
	return fmt.Errorf("limit %.140q: %w: the first definition that names it makes it, or the first start of a run under it", name, ErrNotFound)
}

// CheckScope refuses, with [ErrInvalid], that a limit be of another scope than what is kept of it: two kinds of runs
// would take its places in different orders, and could wait for each other.
func CheckScope(limit string, untilEnd, kept bool) error {
	if untilEnd == kept {
		return nil
	}
	scope := map[bool]string{false: "while its runs are at work", true: "until its runs end"}
	return fmt.Errorf("%w: limit %s holds places %s, and is known as one that holds them %s: give it another name", ErrInvalid, limit, scope[untilEnd], scope[kept])
}

// SaidBy are the limits that places are of.
func SaidBy(places []Place) []SaidLimit {
	said := make([]SaidLimit, len(places))
	for i := range places {
		said[i] = SaidLimit{Name: places[i].Limit, Number: places[i].Number, UntilEnd: places[i].UntilEnd}
	}
	return said
}

// LimitsOf are the limits that definitions name, in order of their names; of two that say the same name the last.
func LimitsOf(all []Definition) (said []SaidLimit) {
	for i := range all {
		said = append(said, all[i].Limits...)
	}
	slices.SortStableFunc(said, func(a, b SaidLimit) int { return cmp.Compare(a.Name, b.Name) })
	return said
}

// CheckLimit refuses, with [ErrInvalid], what no limit is. A number of 0 holds all runs back.
func CheckLimit(name string, number int) error {
	if CheckWorkflowName(name) != nil {
		return fmt.Errorf("%w: name of a limit %.140q: want 1 to 128 of A-Z a-z 0-9 _ . -", ErrInvalid, name)
	}
	if number < 0 || number > MaxLimit {
		return fmt.Errorf("%w: limit %s: %d at once: want 0 to %d", ErrInvalid, name, number, MaxLimit)
	}
	return nil
}
