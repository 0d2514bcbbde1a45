package flow

import (
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/kit"
)

// Option fits workflows, starts and children.
type Option interface {
	stepwell.WorkflowOption
	stepwell.StartOption
	stepwell.ChildOption
}

// StartTTL says within which time a run is to begin: one that has not begun then, as no worker has room for it, its
// workflow is held, or it stands in line for a limit, is cancelled, with code NOT_STARTED. The time counts from the
// start, or, of a start that is delayed, from when it was to begin; where it is woken before, that stays so, and it has
// the more time. A fork or a retry begins when a worker takes it for the first time. Who waits for its result gets an
// error that matches [stepwell.ErrCancelled], and says so.
//
// That of a workflow holds for all who start it, by whatever way; that of a start takes its place, and there 0 means as
// the workflow says, and [stepwell.Forever] that it may begin at any time.
func StartTTL(d time.Duration) Option { return kit.NewStartTTL(d).(Option) }
