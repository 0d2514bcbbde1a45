package world

// This file has what keeps runs from beginning.

import (
	"context"
	"fmt"
	"time"
)

// Starter keeps held workflows. Starts of a held workflow are accepted, but no run of it begins. A
// pending run that nobody owns is claimed only to be cancelled. A run that is born running, as a
// fork or a retry, is not claimed for the first time. Runs that have begun go on. A birth by a
// worker is [ErrLeaseLost].
type Starter interface {
	// Hold holds a workflow, or replaces the holder and the note. Runs that a worker has claimed
	// already may begin.
	Hold(ctx context.Context, h Hold) error
	// Release lets the runs of a workflow begin again. Releasing a workflow that is not held does
	// nothing.
	Release(ctx context.Context, workflow string) error
	// Holds returns the held workflows, by name.
	Holds(ctx context.Context) ([]Hold, error)
	// Settle completes holds and releases that a process left incomplete. It also takes places of
	// limits from tasks whose step, and runs whose class, no live worker has had for
	// [NeglectAfter]. It returns when to call it again because such work is in progress; 0: none
	// known. A remote store does nothing.
	Settle(ctx context.Context) (next time.Duration, err error)
	// Lapsing returns runs that have not begun in time (see [Birth.StartBy]) by the store's clock:
	// at most [MaxLapsing], the oldest first. The store gives them to no other caller for
	// [LapsePatience]. The caller ends them, by a [Delivery] that is Unbegun. A remote store
	// returns none.
	Lapsing(ctx context.Context) (Lapsing, error)
}

// Hold is a held workflow.
type Hold struct {
	Workflow string    `json:"workflow"`
	By       string    `json:"by,omitempty"`
	Note     string    `json:"note,omitempty"` // the reason
	Since    time.Time `json:"since"`
}

// SettleAfter is how long a hold or release is left to the process that began it.
const SettleAfter = 10 * time.Second

// HoldPage is how many runs a store examines in one transaction for a hold or release.
const HoldPage = 10_000

// CheckHold returns [ErrInvalid] or [ErrTooLarge] for an invalid hold.
func CheckHold(h *Hold) error {
	if err := CheckWorkflowName(h.Workflow); err != nil {
		return err
	}
	if err := CheckBy(h.By); err != nil {
		return err
	}
	return CheckReason("the note of a hold", h.Note)
}

// HeldBirth returns the error for a birth by a worker whose workflow is held. The caller then
// creates the run without a worker.
func HeldBirth(c *Commit) error {
	return fmt.Errorf("run %s: workflow %s is held, so it must not begin: %w", c.Run, c.Events[0].Birth.Workflow, ErrLeaseLost)
}
