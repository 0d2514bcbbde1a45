package ui

// This file shows what did not end well: runs that failed and were not healed, and runs that are blocked, by their cause, each cause with what can be done to all
// of its runs at once.

import (
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/human"
	"github.com/stepwell/stepwell/world"
)

// causeRow is what some runs failed of, or are blocked by.
type causeRow struct {
	Status     status
	Act, Label string // of many
	Message    string
	Code       string
	Where      string
	Workflows  []string
	Runs       []string // by ID, the newest first
	Count      int
	Few        bool // not all of them are sent with the form
	Path       string
	First      *moment // when the oldest was created, and the newest
	Last       *moment

	first, last time.Time
}

// failuresView is the page.
type failuresView struct {
	Workflow  string
	Workflows []string
	Since     string
	Causes    []*causeRow
	Failed    int
	Blocked   int
	Healed    int  // failed runs that something took the place of
	More      bool // there are more than were looked at
	Most      int
	May       bool
	Query     string // of all failed ones, and of all blocked ones
	Blocks    string
	Here      string
}

// Bounds of what is looked at for causes: runs of each kind, and pages, as one of a filter may be short.
const (
	mostLooked      = 500
	mostLookedPages = 10
)

func failures(u *UI, v *visit) error {
	query := url.Values{}
	for _, name := range []string{"workflow", "since"} {
		if text := strings.TrimSpace(v.URL.Query().Get(name)); text != "" {
			query.Set(name, text)
		}
	}
	f, err := u.host.Filter(query)
	if err != nil {
		return err
	}
	stats, err := u.world.Stats(v.Context())
	if err != nil {
		return err
	}
	v.now = stats.Now.In(v.now.Location())
	p := &failuresView{Workflow: query.Get("workflow"), Since: query.Get("since"), May: v.may(Admin), Most: mostLooked, Here: Base + "failures?" + query.Encode()}
	for i := range stats.Workflows {
		p.Workflows = append(p.Workflows, stats.Workflows[i].Workflow)
	}
	of := func(status world.Status) string {
		to := without(query, "")
		to.Set("status", string(status))
		return to.Encode()
	}
	p.Query, p.Blocks = of(world.Failed), of(world.StandsBlocked)
	causes := map[string]*causeRow{}
	for _, kind := range []world.Status{world.StandsBlocked, world.Failed} {
		f.Status = []world.Status{kind}
		if err := u.causes(v, f, kind, p, causes); err != nil {
			return err
		}
	}
	for _, c := range causes {
		c.First, c.Last = v.moment(c.first), v.moment(c.last)
		c.Count = len(c.Runs)
		if c.Few = c.Count > mostChosen; c.Few {
			c.Runs = c.Runs[:mostChosen]
		}
		p.Causes = append(p.Causes, c)
	}
	slices.SortFunc(p.Causes, func(a, b *causeRow) int {
		if a.Count != b.Count {
			return b.Count - a.Count
		}
		return b.last.Compare(a.last)
	})
	v.draw(http.StatusOK, "failures", "Failures", p)
	return nil
}

// causes sorts the newest runs of a kind by their causes.
func (u *UI) causes(v *visit, f stepwell.ListFilter, kind world.Status, p *failuresView, causes map[string]*causeRow) error {
	looked, cursor := 0, ""
	for range mostLookedPages {
		page, err := u.app.Page(v.Context(), f, cursor, min(mostLooked-looked, 100))
		if err != nil {
			return err
		}
		looked += len(page.Runs)
		for i := range page.Runs {
			r := &page.Runs[i]
			if kind == world.Failed {
				next, err := u.world.Runs(v.Context(), world.RunQuery{Workflow: r.Workflow, Key: world.RetryKey(r.ID), Limit: 1})
				if err != nil {
					return err
				}
				if len(next.Runs) > 0 {
					p.Healed++
					continue
				}
				p.Failed++
			} else {
				p.Blocked++
			}
			v.cause(r, causes)
		}
		if cursor = page.Cursor; cursor == "" || looked >= mostLooked {
			break
		}
	}
	p.More = p.More || cursor != ""
	return nil
}

// varies is what differs between runs of one cause: numbers and IDs.
var varies = regexp.MustCompile(`\b(?:(?:[a-z]{4}_)?[0-9A-HJKMNP-TV-Z]{26}|[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}|\d+)\b`)

// cause adds a run to those of its cause.
func (v *visit) cause(r *stepwell.RunInfo, causes map[string]*causeRow) {
	c := &causeRow{Status: runStatus(r), Act: "retry", Label: "Retry"}
	switch {
	case r.Status == world.Failed && r.Error != nil:
		c.Code, c.Where, c.Message = r.Error.Code, r.Error.Where, r.Error.Message
	case r.Queue != nil && r.Queue.Blocked != nil:
		c.Act, c.Label = "retries", "Try now"
		c.Code, c.Message = r.Queue.Blocked.Code, r.Queue.Blocked.Message
	default:
		c.Message = r.Damage
	}
	c.Message, _, _ = strings.Cut(c.Message, "\n")
	if r.Sealed {
		c.Message, c.Where = sealedText(r.Encryption), ""
	}
	key := strings.Join([]string{c.Act, c.Status.Word, c.Code, c.Where, varies.ReplaceAllString(c.Message, "#")}, "\x00")
	if causes[key] == nil {
		c.Message, c.Where, c.Path, c.last = human.Cut(visible(c.Message), 300), human.Cut(visible(c.Where), 120), runPath(r.ID), r.CreatedAt
		causes[key] = c
	}
	c = causes[key]
	c.Runs, c.first = append(c.Runs, r.ID), r.CreatedAt
	if !slices.Contains(c.Workflows, r.Workflow) {
		c.Workflows = append(c.Workflows, r.Workflow)
	}
}
