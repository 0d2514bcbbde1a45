package stepwell

// The timeout of a whole run.

import (
	"fmt"
	"time"

	"github.com/stepwell/stepwell/internal/engine"
)

func (t timeoutOption) workflowOption(o *workflowOptions) {
	if t <= 0 {
		o.faults = append(o.faults, fmt.Errorf("%w: timeout %s: must be above zero", ErrInvalid, time.Duration(t)))
	}
	o.timeout = time.Duration(t)
}

func (t timeoutOption) startOption(o *startOptions) {
	if o.Timeout = time.Duration(t); t == 0 {
		o.Timeout = -2 // refused: a timeout of nothing is a mistake
	}
}

func (t timeoutOption) childOption(o *childOptions) {
	if o.Timeout = time.Duration(t); t == 0 {
		o.Timeout = -2 // the same
	}
}

// CancelCause says why the Context is cancelled. It returns nil if it is not cancelled. It returns
// an error that matches both [ErrTimeout] and [ErrCancelled] after a [Timeout] of the run or of
// [WithTimeout], and [ErrCancelled] otherwise. The result is the same on replay.
func CancelCause(ctx Context) error {
	switch {
	case ctx.x.Late():
		return engine.ErrScopeTimeout
	case ctx.x.TimedOut():
		return engine.ErrRunTimeout
	case ctx.x.Cancelled():
		return ErrCancelled
	}
	return nil
}
