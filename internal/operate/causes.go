package operate

// What did not end well, by its cause: runs that failed and were not healed, and runs that are blocked.

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/world"
)

// Cause is what some runs failed of, or are blocked by.
type Cause struct {
	Status    world.Status `json:"status"` // failed or blocked
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
	Causes  []*Cause `json:"causes"`
	Failed  int      `json:"failed"`
	Blocked int      `json:"blocked"`
	Healed  int      `json:"healed"` // failed runs that something took the place of: they are not among the others
	More    bool     `json:"more"`   // there are more than were looked at
}

// Bounds of what is looked at for causes: runs of each kind, pages, as one of a filter may be short, and how many runs of a cause are named.
const (
	MostFailures     = 500
	mostFailurePages = 10
	mostOfCause      = 200
)

// FailuresOf looks at the newest 500 runs that failed and 500 that are blocked, of those that fit a filter, but for its status. Runs have one cause where
// they say the same, but for numbers and IDs, see alike, at the same place with the same code.
func FailuresOf(ctx context.Context, app *stepwell.App, f stepwell.ListFilter) (Failures, error) {
	out := Failures{Causes: []*Cause{}}
	known := map[string]*Cause{}
	for _, kind := range []world.Status{world.StandsBlocked, world.Failed} {
		f.Status = []world.Status{kind}
		looked, cursor := 0, ""
		for range mostFailurePages {
			page, err := app.Page(ctx, f, cursor, min(MostFailures-looked, 100))
			if err != nil {
				return out, err
			}
			looked += len(page.Runs)
			healed := make([]bool, len(page.Runs))
			if kind == world.Failed {
				if healed, err = replaced(ctx, app, page.Runs); err != nil {
					return out, err
				}
			}
			for i := range page.Runs {
				if healed[i] {
					out.Healed++
					continue
				}
				out.add(kind, &page.Runs[i], known)
			}
			if cursor = page.Cursor; cursor == "" || looked >= MostFailures {
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

// replaced tells of which runs something took the place.
func replaced(ctx context.Context, app *stepwell.App, runs []stepwell.RunInfo) ([]bool, error) {
	out, errs := make([]bool, len(runs)), make([]error, len(runs))
	var all sync.WaitGroup
	room := make(chan struct{}, parallel) // how many ask at once: the world may be a server far away
	for i := range runs {
		all.Go(func() {
			room <- struct{}{}
			defer func() { <-room }()
			next, err := app.World().Runs(ctx, world.RunQuery{Workflow: runs[i].Workflow, Key: world.RetryKey(runs[i].ID), Limit: 1})
			out[i], errs[i] = len(next.Runs) > 0, err
		})
	}
	all.Wait()
	return out, errors.Join(errs...)
}

// add adds a run to those of its cause.
func (out *Failures) add(kind world.Status, r *stepwell.RunInfo, known map[string]*Cause) {
	if kind == world.Failed {
		out.Failed++
	} else {
		out.Blocked++
	}
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
	key := strings.Join([]string{string(kind), is.Code, is.Where, alike(is.Message)}, "\x00")
	c := known[key]
	if c == nil {
		c, is.Last = &is, r.CreatedAt
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
