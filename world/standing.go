package world

// How runs that are not over stand, in the words that people see: a list is filtered by them, as by a status.

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// How a run stands, in a word that is no status of its own: of one that is damaged, or that is pending or running. [Run.Stands] says which; a
// [RunQuery] takes them where it takes a status.
const (
	StandsBlocked  Status = "blocked"  // it cannot go on
	StandsPaused   Status = "paused"   // somebody paused it
	StandsHeld     Status = "held"     // its workflow is held, and it does not begin before that is over
	StandsDelayed  Status = "delayed"  // it starts later
	StandsLimited  Status = "limited"  // it stands in line for a place of a limit
	StandsQueued   Status = "queued"   // it is ready, and no worker has it yet
	StandsWorking  Status = "working"  // a worker has it
	StandsRetrying Status = "retrying" // a step failed, and is tried again later
	StandsSleeping Status = "sleeping" // until a time
	StandsWaiting  Status = "waiting"  // for an event, a hook, another run, a task or a condition
	StandsDamaged  Status = "damaged"  // what is kept of it is not what was written
)

// statuses and standings are the words of both kinds, in the order in which people see them.
var (
	statuses  = []Status{Pending, Running, Completed, Failed, Cancelled}
	standings = []Status{StandsBlocked, StandsPaused, StandsHeld, StandsDelayed, StandsLimited, StandsQueued, StandsWorking, StandsRetrying, StandsSleeping, StandsWaiting, StandsDamaged}
)

// StatusWords are all words that a list of runs is filtered by: each status, and how a run stands.
func StatusWords() []Status { return slices.Concat(statuses, standings) }

// CheckStatus refuses, with [ErrInvalid], what is none of [StatusWords], and names them.
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

// Stands is the word for how a run stands: its status where it is over.
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

// WaitingFor is what a [QueueRow] says that a run waits for. kept is what its last release says of it. retrying: a task of the run has failed, and
// nobody holds it. The run does not hear of that before the task is over.
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

// Stored are the statuses of the runs that a query asks for by words: who stands so is pending or running, but for one that is damaged. Empty: all.
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

// Stopped reports whether a query asks for nothing but runs that are blocked or paused: few are, and a world knows which.
func (q *RunQuery) Stopped() bool {
	return len(q.Status) > 0 && !slices.ContainsFunc(q.Status, func(s Status) bool { return s != StandsBlocked && s != StandsPaused })
}
