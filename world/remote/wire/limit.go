package wire

import (
	"time"

	"github.com/stepwell/stepwell/world"
)

// LimitsQuery asks for one of: all limits, keys of one, what holds a key, where a run stands in line.
type LimitsQuery struct {
	Limit  string `json:"limit,omitempty"`
	Behind string `json:"behind,omitempty"`
	Most   int    `json:"most,omitempty"`
	Run    string `json:"run,omitempty"`
	Step   string `json:"step,omitempty"` // with Run: of the task of a step of it

	HoldersOf *string `json:"holdersOf,omitempty"` // with Limit and Most: a key of it
}

// Limits is the answer to a [LimitsQuery].
type Limits struct {
	Answer
	Limits []LimitRow    `json:"limits,omitempty"`
	Keys   []LimitKey    `json:"keys,omitempty"`
	InLine *world.InLine `json:"inLine,omitempty"` // none: the run stands in no line

	Holders []world.LimitHolder `json:"holders,omitempty"`
}

// LimitRow is a [world.Limit].
type LimitRow struct {
	Name     string `json:"name"`
	Said     int    `json:"said"`
	Set      *int   `json:"set,omitempty"`
	UntilEnd bool   `json:"untilEnd,omitempty"`

	Per    time.Duration `json:"per,omitempty"` // ns
	Burst  int           `json:"burst,omitempty"`
	Refuse bool          `json:"refuse,omitempty"`

	Weights map[string]int `json:"weights,omitempty"`

	Runs  bool `json:"runs,omitempty"`
	Steps bool `json:"steps,omitempty"`

	Messages bool `json:"messages,omitempty"`
}

// LimitKey is a [world.LimitKey].
type LimitKey struct {
	Key     string `json:"key"`
	Used    int    `json:"used"`
	Waiting int    `json:"waiting"`
	Weight  int    `json:"weight,omitempty"`

	Oldest time.Time `json:"oldest,omitzero"`
	Next   time.Time `json:"next,omitzero"`
}

// LimitAct changes the number of a limit.
type LimitAct struct {
	Limit  string `json:"limit"`
	Number *int   `json:"number,omitempty"` // none: what code says
}
