// Package causes says which runs fail of the same: of those that failed, are blocked, or wait for the next attempt of a step.
package causes

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/stepwell/stepwell/world"
)

// Kinds are the statuses that have a cause.
func Kinds() []world.Status {
	return []world.Status{world.StandsBlocked, world.StandsRetrying, world.Failed}
}

// Cause is what some runs failed of, are blocked by, or try again.
type Cause struct {
	ID                   string // the same for the runs of one cause
	Kind                 world.Status
	Code, Message, Where string // the message is one line
}

// idBytes are as many as keep the causes of one database apart.
const idBytes = 6

// IsID reports whether a text could be the ID of a cause.
func IsID(text string) bool {
	b, err := hex.DecodeString(text)
	return err == nil && len(b) == idBytes && text == strings.ToLower(text)
}

// Of is the cause of a run. A run without one has the zero value: it does not fail, or something took its place. Runs
// have one cause where they say the same, but for numbers and IDs, at the same place with the same code; what is tried
// again, where it is the same step of a workflow.
func Of(r *world.Run) (is Cause) {
	is.Kind = KindOf(r)
	if is.Kind == "" || r.Newest != nil {
		return Cause{}
	}
	parts := []string{string(is.Kind), r.Workflow}
	if is.Kind == world.StandsRetrying {
		is.Message = r.Queue.Waiting
		parts = append(parts, is.Message)
	} else {
		is.says(r)
		parts = []string{string(is.Kind), is.Code, is.Where, Alike(is.Message)}
	}
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	is.ID = hex.EncodeToString(sum[:idBytes])
	return is
}

// KindOf is the kind that a run is of; "": it does not fail.
func KindOf(r *world.Run) world.Status {
	switch q := r.Queue; {
	case r.Status == world.Failed:
		return r.Status
	case q == nil || r.Status.Terminal():
		return ""
	case q.Blocked != nil:
		return world.StandsBlocked
	case q.Owner == "" && !q.Paused && q.Retries():
		return world.StandsRetrying
	}
	return ""
}

// says takes what a run that failed or is blocked says.
func (is *Cause) says(r *world.Run) {
	is.Message = r.Damage
	switch {
	case r.Error != nil:
		is.Code, is.Where, is.Message = r.Error.Code, r.Error.Where, r.Error.Message
	case r.Queue != nil && r.Queue.Blocked != nil:
		is.Code, is.Message = r.Queue.Blocked.Code, r.Queue.Blocked.Message
	}
	is.Message, _, _ = strings.Cut(is.Message, "\n")
	if r.Encrypted {
		is.Message, is.Where = "encrypted with key "+r.Encryption+", which is not here", ""
	}
}
