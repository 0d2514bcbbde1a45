package engine

// The timeout of a whole run. It counts from run_started, over all segments. When it has passed, the owner appends a cancel_requested that says so: the
// code sees a cancel, cleans up, and the run fails with code TIMEOUT.

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/stepwell/stepwell/world"
)

// deadlineID stands for the run in its timers: no wait has such an ID.
const deadlineID = "deadline"

// ErrRunTimeout is the cause of a step's cancelled context when its run has taken too long.
var ErrRunTimeout error = runTimeout{}

type runTimeout struct{}

func (runTimeout) Error() string { return "the run took longer than its timeout" }

// Is matches ErrTimeout, and ErrCancelled, as the run is cancelled for it.
func (runTimeout) Is(target error) bool {
	return errors.Is(target, ErrTimeout) || target == ErrCancelled
}

// timeDeadline sets the timer of a run that has a timeout.
func (t *timers) timeDeadline(state *world.State) {
	if d := state.Birth.Timeout; d > 0 && state.Cancel == nil && state.Status == world.Running {
		t.add(world.After(state.StartedAt, d), deadlineID, false, math.MaxInt64) // what is due at that very moment is in time
	}
}

// late reports whether the run's time is over, and its code has not been told yet, as what came before that is written first: no body starts then.
func late(state *world.State, now time.Time) bool {
	d := state.Birth.Timeout
	return d > 0 && state.Cancel == nil && !now.Before(state.StartedAt.Add(d))
}

// passDeadline asks the code to end, unless it was asked before.
func (c *course) passDeadline(at time.Time) {
	if c.st.Cancel != nil || c.blocked() {
		return
	}
	why := fmt.Sprintf("the run took longer than %s", c.st.Birth.Timeout)
	c.result(world.Event{
		Type: world.CancelRequested, By: "timeout", Reason: why, OccurredAt: at,
		Error: &world.Error{Message: why, Code: world.CodeTimeout, Permanent: true},
	})
}

// cancelledEnd is the terminal event of a run that was asked to end; err is what its code returned. A cancel that has an error, as that of a timeout, fails the run.
func cancelledEnd(c *world.Event, err *world.Error) world.Event {
	if c.Error == nil {
		return world.Event{Type: world.RunCancelled, Error: err, By: c.By, Reason: c.Reason}
	}
	e := *c.Error
	if err != nil {
		e.Causes = []*world.Error{err}
	}
	return world.Event{Type: world.RunFailed, Error: &e}
}

func timedOut(cancel *world.Event) bool {
	return cancel != nil && cancel.Error != nil && cancel.Error.Code == world.CodeTimeout
}
