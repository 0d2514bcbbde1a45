package operate

// What does not go well, by its cause: runs that failed and were not healed, runs that are blocked, and runs that wait
// for the next attempt of a step.

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/causes"
	"github.com/stepwell/stepwell/world"
)

// Cause is what some runs failed of, are blocked by, or try again.
type Cause struct {
	ID        string       `json:"id"`     // a list is filtered by it
	Status    world.Status `json:"status"` // failed, blocked or retrying
	Code      string       `json:"code,omitempty"`
	Message   string       `json:"message"` // of the newest, its first line
	Where     string       `json:"where,omitempty"`
	Workflows []string     `json:"workflows"`
	Count     int          `json:"count"`
	Runs      []string     `json:"runs"`  // by ID, the newest first; at most 200
	First     time.Time    `json:"first"` // when the oldest was created, and the newest
	Last      time.Time    `json:"last"`
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
// Of what is tried again, the newest of a cause says of what; see [causes.Of].
func FailuresOf(ctx context.Context, app *stepwell.App, f stepwell.ListFilter) (Failures, error) {
	return failuresOf(ctx, app, f, MostFailures)
}

func failuresOf(ctx context.Context, app *stepwell.App, f stepwell.ListFilter, most int) (Failures, error) {
	out := Failures{Causes: []*Cause{}}
	known := map[string]*Cause{}
	for _, kind := range causes.Kinds() {
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
	out.count(causeOf(r), r, known)
}

// causeOf is the cause of a run.
func causeOf(r *stepwell.RunInfo) Cause {
	is := causes.Of(&world.Run{
		Workflow: r.Workflow, Status: r.Status, Error: r.Error, Queue: r.Queue, Newest: r.Newest, Damage: r.Damage, Encrypted: r.Sealed, Encryption: r.Encryption,
	})
	return Cause{ID: is.ID, Status: is.Kind, Code: is.Code, Message: is.Message, Where: is.Where}
}

// addRetrying adds a run that waits for the next attempt of a step. Only its log says of what: the newest of those that
// wait for the same is asked.
func (out *Failures) addRetrying(ctx context.Context, app *stepwell.App, r *stepwell.RunInfo, known map[string]*Cause) error {
	out.Retrying++
	is := causeOf(r)
	if known[is.ID] == nil && len(out.Causes) < mostWaits {
		why, err := app.Why(ctx, r.ID)
		if err != nil && !errors.Is(err, stepwell.ErrNotFound) && !errors.Is(err, world.ErrCorrupt) {
			return err
		}
		if why.Kind == stepwell.WhyRetry && why.Error != nil {
			text, _, _ := strings.Cut(why.Error.Message, "\n")
			is.Code, is.Where, is.Message = why.Error.Code, why.Error.Where, "step "+strconv.Quote(why.Step)+": "+text
		}
	}
	out.count(is, r, known)
	return nil
}

// count counts a run among those of its cause, the first of which says what that is.
func (out *Failures) count(is Cause, r *stepwell.RunInfo, known map[string]*Cause) {
	c := known[is.ID]
	if c == nil {
		c, is.Last = &is, r.CreatedAt
		known[is.ID] = c
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
