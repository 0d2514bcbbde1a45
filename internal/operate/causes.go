package operate

// What does not go well, by its cause: runs that failed and were not healed, runs that are blocked, and runs that wait
// for the next attempt of a step.

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
)

// Cause is what some runs failed of, are blocked by, or try again.
type Cause struct {
	Status    world.Status `json:"status"` // failed, blocked or retrying
	Code      string       `json:"code,omitempty"`
	Message   string       `json:"message"` // of the newest, its first line
	Where     string       `json:"where,omitempty"`
	Workflows []string     `json:"workflows"`
	Count     int          `json:"count"`
	Runs      []string     `json:"runs"`  // by ID, the newest first; at most 200
	First     time.Time    `json:"first"` // when the oldest was created, and the newest
	Last      time.Time    `json:"last"`
	Key       string       `json:"-"` // of its runs: see [CauseOf]
}

// Failures are the causes, those of most runs first.
type Failures struct {
	Causes   []*Cause `json:"causes"`
	Failed   int      `json:"failed"`
	Blocked  int      `json:"blocked"`
	Retrying int      `json:"retrying"` // they wait for the next attempt of a step
	Healed   int      `json:"healed"`   // failed runs that something took the place of: they are not among the others
	More     bool     `json:"more"`     // there are more than were looked at
}

// Bounds of what is looked at for causes: runs of each kind, and pages, as what was healed is on them too; and of how
// many runs of a cause are named.
const (
	MostFailures     = 10_000
	failuresPage     = 1_000
	mostFailurePages = 50
	mostOfCause      = 200
	mostWaits        = 20 // workflows and steps that are tried again whose newest run is asked why
)

// FailuresOf looks at the newest 10,000 runs that failed and were not healed, among the newest 50,000, at 10,000 that
// are blocked, and at 10,000 that wait for the next attempt of a step, of those that fit a filter, but for its status.
// Runs have one cause where they say the same, but for numbers and IDs, see alike, at the same place with the same
// code; what is tried again, where it is the same step of a workflow: the newest says of what.
func FailuresOf(ctx context.Context, app *stepwell.App, f stepwell.ListFilter) (Failures, error) {
	return failuresOf(ctx, app, f, MostFailures)
}

func failuresOf(ctx context.Context, app *stepwell.App, f stepwell.ListFilter, most int) (Failures, error) {
	out := Failures{Causes: []*Cause{}}
	known := map[string]*Cause{}
	for _, kind := range []world.Status{world.StandsBlocked, world.StandsRetrying, world.Failed} {
		f.Status = []world.Status{kind}
		looked, cursor := 0, ""
		for range mostFailurePages {
			page, err := app.Page(ctx, f, cursor, min(most-looked, failuresPage))
			if err != nil {
				return out, err
			}
			for i := range page.Runs {
				if page.Runs[i].Newest != nil {
					out.Healed++
					continue
				}
				looked++
				if kind != world.StandsRetrying {
					out.add(kind, &page.Runs[i], known)
				} else if err := out.addRetrying(ctx, app, &page.Runs[i], known); err != nil {
					return out, err
				}
			}
			if cursor = page.Cursor; cursor == "" || looked >= most {
				break
			}
		}
		out.More = out.More || cursor != ""
	}
	slices.SortStableFunc(out.Causes, func(a, b *Cause) int {
		if a.Count != b.Count {
			return b.Count - a.Count
		}
		return b.Last.Compare(a.Last)
	})
	return out, nil
}

// add adds a run to those of its cause.
func (out *Failures) add(kind world.Status, r *stepwell.RunInfo, known map[string]*Cause) {
	if kind == world.Failed {
		out.Failed++
	} else {
		out.Blocked++
	}
	out.count(causeOf(kind, r), r, CauseOf(kind, r), known)
}

// causeOf is what a run failed of, or is blocked by.
func causeOf(kind world.Status, r *stepwell.RunInfo) Cause {
	is := Cause{Status: kind, Message: r.Damage}
	switch {
	case r.Error != nil:
		is.Code, is.Where, is.Message = r.Error.Code, r.Error.Where, r.Error.Message
	case r.Queue != nil && r.Queue.Blocked != nil:
		is.Code, is.Message = r.Queue.Blocked.Code, r.Queue.Blocked.Message
	}
	is.Message, _, _ = strings.Cut(is.Message, "\n")
	if r.Sealed {
		is.Message, is.Where = "encrypted with key "+r.Encryption+", which is not here", ""
	}
	return is
}

// CauseOf is the key of the cause of a run that is in the list of those that failed, are blocked or are retrying; "" of
// one that something took the place of.
func CauseOf(kind world.Status, r *stepwell.RunInfo) string {
	if r.Newest != nil {
		return ""
	}
	parts := []string{string(kind), r.Workflow}
	if kind != world.StandsRetrying {
		is := causeOf(kind, r)
		parts = []string{string(kind), is.Code, is.Where, alike(is.Message)}
	} else if r.Queue != nil {
		parts = append(parts, r.Queue.Waiting)
	}
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:16])
}

// addRetrying adds a run that waits for the next attempt of a step. Only its log says of what: the newest of those that
// wait for the same is asked.
func (out *Failures) addRetrying(ctx context.Context, app *stepwell.App, r *stepwell.RunInfo, known map[string]*Cause) error {
	out.Retrying++
	is := Cause{Status: world.StandsRetrying}
	if r.Queue != nil {
		is.Message = r.Queue.Waiting
	}
	key := CauseOf(is.Status, r)
	if known[key] == nil && len(out.Causes) < mostWaits {
		why, err := app.Why(ctx, r.ID)
		if err != nil && !errors.Is(err, stepwell.ErrNotFound) && !errors.Is(err, world.ErrCorrupt) {
			return err
		}
		if why.Kind == stepwell.WhyRetry && why.Error != nil {
			text, _, _ := strings.Cut(why.Error.Message, "\n")
			is.Code, is.Where, is.Message = why.Error.Code, why.Error.Where, "step "+strconv.Quote(why.Step)+": "+text
		}
	}
	out.count(is, r, key, known)
	return nil
}

// count counts a run among those of its cause, the first of which says what that is.
func (out *Failures) count(is Cause, r *stepwell.RunInfo, key string, known map[string]*Cause) {
	c := known[key]
	if c == nil {
		c, is.Last, is.Key = &is, r.CreatedAt, key
		known[key] = c
		out.Causes = append(out.Causes, c)
	}
	c.Count++
	if c.First = r.CreatedAt; len(c.Runs) < mostOfCause {
		c.Runs = append(c.Runs, r.ID)
	}
	if !slices.Contains(c.Workflows, r.Workflow) {
		c.Workflows = append(c.Workflows, r.Workflow)
	}
}
