package world

// This file has what keeps runs from beginning.

import (
	"context"
	"fmt"
	"time"
)

// StartKeeper is a [World] that can keep runs from beginning.
type StartKeeper interface{ Starts() Starter }

// Starter knows which workflows are held. Of one that is, starts are accepted, and no run begins: a pending run that
// nobody owns is not claimed, but to be cancelled; nor is one that is born running, as a fork or a retry, and that
// nobody has claimed since its birth. What has begun goes on. A birth by a worker is [ErrLeaseLost].
type Starter interface {
	// Hold holds a workflow, or says anew who does and why. Of what a worker has claimed meanwhile a run may begin.
	Hold(ctx context.Context, h Hold) error
	// Release has the runs of a workflow begin again. One that is not held stays so.
	Release(ctx context.Context, workflow string) error
	// Holds are the workflows that are held, by name.
	Holds(ctx context.Context) ([]Hold, error)
	// Settle goes on with what was held or released, but for some of its runs, by a process that died. And it has tasks
	// give back their places of limits whose steps no live worker has had for [NeglectAfter], and so runs of a class. It
	// tells when it is to be called again, as somebody is still at something of that kind; 0: nothing is known. A world
	// that is far away leaves all that to others.
	Settle(ctx context.Context) (next time.Duration, err error)
	// Lapsing are runs that have not begun in time, see [Birth.StartBy], by the world's clock: up to [MaxLapsing], the
	// oldest first, which nobody else is told of for [LapsePatience]. Who is told ends them, by a [Delivery] that is
	// Unbegun. A world that is far away leaves it to others, and tells of none.
	Lapsing(ctx context.Context) (Lapsing, error)
}

// Hold says that a workflow is held, and by whom.
type Hold struct {
	Workflow string    `json:"workflow"`
	By       string    `json:"by,omitempty"`
	Note     string    `json:"note,omitempty"` // why
	Since    time.Time `json:"since"`
}

// SettleAfter is for how long others leave a hold or a release to who began it.
const SettleAfter = 10 * time.Second

// HoldPage is how many keys of runs a world looks at in one transaction, where it holds or releases a workflow.
const HoldPage = 10_000

// CheckHold refuses, with [ErrInvalid] or [ErrTooLarge], what no world keeps.
func CheckHold(h *Hold) error {
	if err := CheckWorkflowName(h.Workflow); err != nil {
		return err
	}
	if err := CheckBy(h.By); err != nil {
		return err
	}
	return CheckReason("the note of a hold", h.Note)
}

// HeldBirth is the error for a birth by a worker whose workflow is held: it is to be created without one.
func HeldBirth(c *Commit) error {
	return fmt.Errorf("run %s: workflow %s is held, so it must not begin: %w", c.Run, c.Events[0].Birth.Workflow, ErrLeaseLost)
}
