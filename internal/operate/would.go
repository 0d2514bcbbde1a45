package operate

// What an act would come to: who asks beforehand is told what will be refused, and why, by the checks that the act has.

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/causes"
	"github.com/stepwell/stepwell/world"
)

// over refuses what nobody acts on any more.
func over(r *stepwell.RunInfo) error {
	if r.Status.Terminal() {
		return fmt.Errorf("run %s: %w", r.ID, world.ErrTerminal)
	}
	return nil
}

func wouldCancel(*stepwell.App, Words) stepwell.Act {
	return func(_ context.Context, r stepwell.RunInfo) error {
		if r.Status == world.Cancelled {
			return nil // it is what was asked for
		}
		return over(&r)
	}
}

func wouldPause(paused bool) func(*stepwell.App, Words) stepwell.Act {
	return func(*stepwell.App, Words) stepwell.Act {
		return unless(paused, func(_ context.Context, r stepwell.RunInfo) error { return over(&r) })
	}
}

// wouldWake goes by the row: one that a time wakes may wait for a timeout, which a wake leaves alone.
func wouldWake(*stepwell.App, Words) stepwell.Act {
	return func(_ context.Context, r stepwell.RunInfo) error {
		if q := r.Queue; q != nil && q.WakeAt.IsZero() && q.Owner == "" && q.Blocked == nil && !q.Retries() {
			return ErrAlready
		}
		return over(&r)
	}
}

func wouldRetry(app *stepwell.App, _ Words) stepwell.Act {
	return func(ctx context.Context, r stepwell.RunInfo) error {
		if healed(&r) {
			return ErrAlready
		}
		advice, err := app.RetryAdvice(ctx, r.ID)
		if err == nil && advice.Refused != "" {
			err = &stepwell.RetryRefusedError{Run: r.ID, Advice: advice}
		}
		return err
	}
}

func wouldRestart(app *stepwell.App, _ Words) stepwell.Act {
	return func(ctx context.Context, r stepwell.RunInfo) error {
		if healed(&r) {
			return ErrAlready
		}
		return app.CheckRestart(ctx, r.ID, stepwell.RestartOptions{InPlace: true})
	}
}

// healed reports whether something took the place of a run which need not be retried itself.
func healed(r *stepwell.RunInfo) bool {
	return r.Newest != nil && r.Newest.Status != world.Failed && r.Newest.Status != world.Cancelled
}

func wouldSignal(*stepwell.App, Words) stepwell.Act {
	return func(_ context.Context, r stepwell.RunInfo) error {
		if r.Queue != nil && r.Queue.Full {
			return fmt.Errorf("run %s: too many payloads are unread: %w", r.ID, world.ErrInboxFull)
		}
		return over(&r)
	}
}

// Refusal is why some runs were refused, or would be.
type Refusal struct {
	Count int    `json:"count"`
	Code  string `json:"code"`
	Error string `json:"error"` // of the first of them
	Run   string `json:"run"`   // that one

	alike string
}

// Refusals are refusals by their reason, in the order in which they were met.
type Refusals []*Refusal

// mostReasons is how many reasons are told apart.
const mostReasons = 20

// Add adds the refusal of a run to those that say the same, but for numbers and IDs.
func (rs *Refusals) Add(run, code, text string) {
	like := code + " " + causes.Alike(strings.ReplaceAll(text, run, "#"))
	at := slices.IndexFunc(*rs, func(r *Refusal) bool { return r.alike == like })
	if at < 0 && len(*rs) == mostReasons {
		at = mostReasons - 1
		(*rs)[at].Error = "other reasons"
	}
	if at < 0 {
		at = len(*rs)
		*rs = append(*rs, &Refusal{Code: code, Error: text, Run: run, alike: like})
	}
	(*rs)[at].Count++
}
