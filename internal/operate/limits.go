package operate

// Limits as the API and the command line show them.

import (
	"strings"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
)

// Limit is a limit as it stands.
type Limit struct {
	Name     string `json:"name"`
	Number   int    `json:"number"`        // places of a key; of a rate: how many begin in a period
	Said     int    `json:"said"`          // as code says
	Set      *int   `json:"set,omitempty"` // as an operator says, and then that holds
	UntilEnd bool   `json:"untilEnd,omitempty"`

	Per    stepwell.Span `json:"per,omitempty"`    // of a rate; 0: it is none
	Burst  int           `json:"burst,omitempty"`  // of a rate: how many begin at one moment
	Refuse bool          `json:"refuse,omitempty"` // of a rate: the others are refused

	Weights map[string]int `json:"weights,omitempty"` // of keys, as code says: they have so many times the places

	Runs  bool `json:"runs,omitempty"`  // runs are under it
	Steps bool `json:"steps,omitempty"` // attempts of steps are

	Messages bool `json:"messages,omitempty"` // receives of messages of a queue are
}

// LimitOf is a limit as it is shown.
func LimitOf(l *world.Limit) Limit {
	return Limit{Name: l.Name, Number: l.Number(), Said: l.Said, Set: l.Set, UntilEnd: l.UntilEnd, Per: stepwell.Span(l.Per), Burst: l.Burst, Refuse: l.Refuse, Weights: l.Weights,
		Runs: l.Runs, Steps: l.Steps, Messages: l.Messages}
}

// Counts tells people what is under it.
func (l *Limit) Counts() string {
	var all []string
	if l.Runs || !l.Steps && !l.Messages {
		all = append(all, "runs")
	}
	if l.Steps {
		all = append(all, "steps")
	}
	if l.Messages {
		all = append(all, "messages")
	}
	return strings.Join(all, " and ")
}

// LimitKey is a key of a limit as it stands.
type LimitKey struct {
	Key     string `json:"key"`              // "": the limit has none
	Used    int    `json:"used"`             // of a rate: they are let in, and have not begun
	Waiting int    `json:"waiting"`          // at most 10,000
	Weight  int    `json:"weight,omitempty"` // it has so many times the places; 0: as many as say the limit

	Oldest time.Time `json:"oldest,omitzero"` // since when the one in line has waited that has for longest; zero: nobody is
	Next   time.Time `json:"next,omitzero"`   // of a rate: when it lets in the next; zero: now
}

// LimitHolders is what holds the places of a key.
type LimitHolders struct {
	Holders []world.LimitHolder `json:"holders"`
}

// HeldAs says as what something holds a place, in a few words.
func HeldAs(h *world.LimitHolder) string {
	switch {
	case h.Message != "":
		return "message of queue " + h.Name
	case h.Step != "":
		return "step " + h.Name
	}
	return "run of " + h.Name
}

// LimitPage is a limit with some of its keys.
type LimitPage struct {
	Limit
	Keys   []LimitKey `json:"keys"`
	Cursor string     `json:"cursor,omitempty"` // none: these were the last
}
