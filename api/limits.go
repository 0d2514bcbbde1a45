package api

import (
	"time"

	"github.com/stepwell/stepwell/world"
)

// Limit is a limit as it is now.
type Limit struct {
	Name string `json:"name"`
	// Number is how many runs of a key may be at work at once. For a rate: how many begin in each
	// period.
	Number int `json:"number"`
	// Said is the number in the code.
	Said int `json:"said"`
	// Set is the number that an operator has set; it replaces Said. None: nobody has.
	Set *int `json:"set,omitempty"`
	// UntilEnd means that a run holds its place while it waits, too.
	UntilEnd bool `json:"untilEnd,omitempty"`
	// Per makes it a rate: its period.
	Per Span `json:"per,omitempty"`
	// Burst is how many a rate lets begin at one moment.
	Burst int `json:"burst,omitempty"`
	// Refuse means that a rate refuses what is too much, and nothing waits.
	Refuse bool `json:"refuse,omitempty"`
	// Weights multiply the number for some keys, as the code says. A key without a weight has 1.
	Weights  map[string]int `json:"weights,omitempty"`
	Runs     bool           `json:"runs,omitempty"`     // runs count
	Steps    bool           `json:"steps,omitempty"`    // attempts of registered steps count
	Messages bool           `json:"messages,omitempty"` // receives of messages of queues count
}

// Limits is a list of limits.
type Limits struct {
	Limits []Limit `json:"limits"`
}

// LimitKey is the state of one key of a limit.
type LimitKey struct {
	Key string `json:"key"` // "": the limit has no keys
	// Used is how many places are held. For a rate: what it let in that has not begun.
	Used int `json:"used"`
	// Waiting is how much waits: at most 10,000.
	Waiting int `json:"waiting"`
	// Weight multiplies the number. 0: 1.
	Weight int `json:"weight,omitempty"`
	// Oldest is since when the first has waited. None: nothing waits.
	Oldest time.Time `json:"oldest,omitzero"`
	// Next is when a rate lets in the next. None: now.
	Next time.Time `json:"next,omitzero"`
}

// LimitPage is a limit with some of its keys.
type LimitPage struct {
	Limit
	Keys []LimitKey `json:"keys"`
	// Cursor is where the next page begins. None: this is the end.
	Cursor string `json:"cursor,omitempty"`
}

// LimitHolders are what holds the places of a key.
type LimitHolders struct {
	// Holders are runs, then steps, then messages, each oldest first.
	Holders []world.LimitHolder `json:"holders"`
}

// ListLimits has no settings.
type ListLimits struct{}

// GetLimit names a limit, and selects a page of its keys.
type GetLimit struct {
	Limit string `path:"limit" json:"-"`
	// Cursor continues after the page that had this cursor.
	Cursor string `query:"cursor" json:"-"`
	// Most is the most keys of the page.
	Most int `query:"limit" json:"-" schema:"min=1,max=1000,default=100"`
}

// ListLimitHolders names a key of a limit.
type ListLimitHolders struct {
	Limit string `path:"limit" json:"-"`
	// Key is the key. None: the limit has no keys.
	Key string `query:"key" json:"-"`
	// Most is the most holders.
	Most int `query:"limit" json:"-" schema:"min=1,max=1000,default=100"`
}

// SetLimit changes the number of a limit.
type SetLimit struct {
	Limit string `path:"limit" json:"-"`
	// Number is the new number. 0 holds everything back. null: the number in the code applies
	// again.
	Number *int `json:"number" schema:"min=0,max=1000000"`
}

// Operations on limits.
var (
	ListLimitsOp = op[ListLimits, Limits](Row{
		ID: "listLimits", Method: "GET", Path: "/v1/limits", Scope: Viewer,
		Summary: "List the limits", Answers: "The limits, by name.",
	})
	GetLimitOp = op[GetLimit, LimitPage](Row{
		ID: "getLimit", Method: "GET", Path: "/v1/limits/{limit}", Scope: Viewer,
		Summary: "Show a limit and the state of its keys",
		Answers: "The limit, and a page of its keys that something needs, by their texts.",
	})
	ListLimitHoldersOp = op[ListLimitHolders, LimitHolders](Row{
		ID: "listLimitHolders", Method: "GET", Path: "/v1/limits/{limit}/holders", Scope: Viewer,
		Summary: "List what holds the places of a key of a limit", Answers: "Runs, steps of runs, and messages of queues.",
	})
	SetLimitOp = op[SetLimit, Limit](Row{
		ID: "setLimit", Method: "PUT", Path: "/v1/limits/{limit}", Scope: Operator, Audit: true, Twice: true,
		Summary: "Set how many of a key may be at work at once, or begin in a period, instead of the number in the code",
		Answers: "The limit as it is now.",
	})
)
