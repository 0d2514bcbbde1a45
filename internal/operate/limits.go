package operate

// Limits as the API and the command line show them.

import "github.com/stepwell/stepwell/world"

// Limit is a limit as it stands.
type Limit struct {
	Name     string `json:"name"`
	Number   int    `json:"number"`        // places of a key
	Said     int    `json:"said"`          // as code says
	Set      *int   `json:"set,omitempty"` // as an operator says, and then that holds
	UntilEnd bool   `json:"untilEnd,omitempty"`
}

// LimitOf is a limit as it is shown.
func LimitOf(l *world.Limit) Limit {
	return Limit{Name: l.Name, Number: l.Number(), Said: l.Said, Set: l.Set, UntilEnd: l.UntilEnd}
}

// LimitKey is a key of a limit as it stands.
type LimitKey struct {
	Key     string `json:"key"` // "": the limit has none
	Used    int    `json:"used"`
	Waiting int    `json:"waiting"` // at most 10,000
}

// LimitPage is a limit with some of its keys.
type LimitPage struct {
	Limit
	Keys   []LimitKey `json:"keys"`
	Cursor string     `json:"cursor,omitempty"` // none: these were the last
}
