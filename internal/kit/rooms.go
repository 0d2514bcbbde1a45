package kit

// What the rooms beside the root package reach of it. The root package
// sets all of it.

import (
	"context"

	"github.com/stepwell/stepwell/internal/history"
	"github.com/stepwell/stepwell/world"
)

// Checking holds code against histories.
type Checking struct {
	Knows  func(class world.Class) bool
	Replay func(ctx context.Context, h *history.History) error
}

// Checker is that of the definitions of a *stepwell.Config.
var Checker func(config any) (Checking, error)
