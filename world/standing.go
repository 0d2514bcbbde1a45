package world

// How runs that are not over stand, in the words that people see: a list is filtered by them, as by a status.

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Status words beside the statuses, for runs that are pending or running, or damaged. [Run.Stands]
// returns them, and a [RunQuery] takes them as statuses.
const (
	StandsBlocked  Status = "blocked"  // it cannot continue
	StandsPaused   Status = "paused"   // an operator paused it
	StandsHeld     Status = "held"     // its workflow is held, and it has not begun
	StandsDelayed  Status = "delayed"  // its start has a delay
	StandsLimited  Status = "limited"  // it waits in the line of a limit
	StandsQueued   Status = "queued"   // it is ready, and no worker has it
	StandsWorking  Status = "working"  // a worker has it
	StandsRetrying Status = "retrying" // a step failed, and is tried again later
	StandsSleeping Status = "sleeping" // until a time
	StandsWaiting  Status = "waiting"  // for an event, a hook, another run, a task or a condition
	StandsDamaged  Status = "damaged"  // what is stored of it is damaged
)

// statuses and standings are the words of both kinds, in the order in which people see them.
var (
	statuses  = []Status{Pending, Running, Completed, Failed, Cancelled}
	standings = []Status{StandsBlocked, StandsPaused, StandsHeld, StandsDelayed, StandsLimited, StandsQueued, StandsWorking, StandsRetrying, StandsSleeping, StandsWaiting, StandsDamaged}
)

// StatusWords returns all words by which a list of runs can be filtered: the statuses, and the
// words beside them.
func StatusWords() []Status { return slices.Concat(statuses, standings) }

// CheckStatus returns [ErrInvalid] for a word that is not one of [StatusWords].
func CheckStatus(what string, s Status) error {
	if slices.Contains(statuses, s) || slices.Contains(standings, s) {
		return nil
	}
	var words []string
	for _, w := range StatusWords() {
		words = append(words, string(w))
	}
	return fmt.Errorf("%w: %s: %.40q is not a status: want %s", ErrInvalid, what, s, strings.Join(words, ", "))
}

// Stands returns the status word of a run; of a run that is over, its status.
func (r *Run) Stands(now time.Time) Status {
	q := r.Queue
	switch {
	case r.Damage != "":
		return StandsDamaged
	case q == nil || r.Status.Terminal():
		return r.Status
	case q.Blocked != nil:
		return StandsBlocked
	case q.Paused:
		return StandsPaused
	case q.Owner != "":
		return StandsWorking
	case q.Held:
		return StandsHeld
	case q.WakeAt.After(now) && r.Status == Pending:
		return StandsDelayed
	case q.Limit != "":
		return StandsLimited
	case r.Status == Pending, q.Mail > 0, !q.WakeAt.IsZero() && !q.WakeAt.After(now):
		return StandsQueued
	case strings.HasPrefix(q.Waiting, "sleep "):
		return StandsSleeping
	case q.Retries():
		return StandsRetrying
	}
	return StandsWaiting
}

const retryOf = "retry of "

// WaitingFor returns the Waiting of a [QueueRow]. kept is what the last release says. retrying
// means that a task of the run has failed and nobody holds it, which the run does not know yet.
func WaitingFor(kept string, retrying bool) string {
	if step, ok := strings.CutPrefix(kept, "step "); ok && retrying {
		return retryOf + step
	}
	return kept
}

// Retries reports whether a run waits for the next attempt of a step.
func (q *QueueRow) Retries() bool { return strings.HasPrefix(q.Waiting, retryOf) }

// stands reports whether a run is one of those that a query asks for by words.
func (q *RunQuery) stands(r *Run) bool {
	return len(q.Status) == 0 || slices.Contains(q.Status, r.Status) || q.words() && slices.Contains(q.Status, r.Stands(Now()))
}

// words reports whether a query asks for how runs stand.
func (q *RunQuery) words() bool {
	return slices.ContainsFunc(q.Status, func(s Status) bool { return slices.Contains(standings, s) })
}

// Stored returns the statuses of runs that can match the query's status words. Empty: all.
func (q *RunQuery) Stored() []Status {
	if !q.words() {
		return q.Status
	}
	if slices.Contains(q.Status, StandsDamaged) {
		return nil
	}
	out := []Status{Pending, Running}
	for _, s := range q.Status {
		if s.Terminal() {
			out = append(out, s)
		}
	}
	return out
}

// Stopped reports whether the query asks only for blocked or paused runs, which are few, and which
// a store finds quickly.
func (q *RunQuery) Stopped() bool {
	return len(q.Status) > 0 && !slices.ContainsFunc(q.Status, func(s Status) bool { return s != StandsBlocked && s != StandsPaused })
}
