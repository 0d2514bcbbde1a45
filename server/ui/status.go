package ui

// This file says how runs and entries stand: a word, and a colour that goes with it.

import (
	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/timeline"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/journal"
)

// tone is a colour by its meaning; words say the same.
type tone = timeline.Tone

const (
	good  = timeline.Good
	bad   = timeline.Bad
	busy  = timeline.Busy
	warm  = timeline.Warm
	quiet = timeline.Quiet
)

// status is how something stands.
type status struct {
	Word string
	Tone tone
	Mark string // a sign beside the word
}

func runStatus(r *stepwell.RunInfo) status {
	if r.Damage != "" {
		return status{"damaged", bad, "!"}
	}
	if q := r.Queue; q != nil && !r.Status.Terminal() {
		switch {
		case q.Blocked != nil:
			return status{"blocked", bad, "!"}
		case q.Paused:
			return status{"paused", warm, "‖"}
		case q.Held:
			return status{"held", warm, "‖"}
		}
	}
	return plainStatus(r.Status)
}

func plainStatus(s world.Status) status {
	switch s {
	case world.Completed:
		return status{"completed", good, "✓"}
	case world.Failed:
		return status{"failed", bad, "✗"}
	case world.Cancelled:
		return status{"cancelled", quiet, "–"}
	case world.Running:
		return status{"running", busy, "●"}
	default:
		return status{string(s), warm, "○"}
	}
}

func entryStatus(en *journal.Entry) status {
	switch en.Status {
	case journal.EntryCompleted, journal.EntryDisposed:
		return status{string(en.Status), good, "✓"}
	case journal.EntryFailed, journal.EntryConflicted:
		return status{string(en.Status), bad, "✗"}
	case journal.EntryDropped:
		return status{"given up", quiet, "–"}
	case journal.EntryRunning:
		return status{"running", busy, "●"}
	case journal.EntryPending:
		if en.Error != nil {
			return status{"to be tried again", warm, "↻"}
		}
		return status{"pending", warm, "○"}
	case journal.EntryActive:
		return status{"open", warm, "○"}
	default:
		return status{"waiting", warm, "○"}
	}
}

// whyTone is the colour of an answer to why a run does not move.
func whyTone(w *stepwell.Why) tone {
	switch w.Kind {
	case stepwell.WhyBlocked, stepwell.WhyNoWorker, stepwell.WhyWorkerLost, stepwell.WhyStalled:
		return bad
	case stepwell.WhyOver:
		switch {
		case w.Block != nil:
			return bad
		case w.Status == world.Completed:
			return good
		case w.Status == world.Failed:
			return bad
		}
		return quiet
	case stepwell.WhyWorking:
		return busy
	}
	return warm
}

// hiddenToken stands where a visitor may not see a token.
const hiddenToken = "hidden"

// WithoutTokens removes from an answer what permits sending, for visitors who may not: the token,
// and the list of other open operations, which has tokens of hooks.
func WithoutTokens(w stepwell.Why) stepwell.Why {
	if w.Token != "" {
		w.Token = hiddenToken
	}
	w.Also = nil
	return w
}
