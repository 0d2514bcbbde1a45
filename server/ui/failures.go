package ui

// This file shows what did not end well: runs that failed and were not healed, runs that are blocked, and runs that
// wait for the next attempt of a step, by their cause, each cause with what can be done to all of its runs at once.

import (
	"net/http"
	"slices"

	"github.com/stepwell/stepwell/internal/human"
	"github.com/stepwell/stepwell/internal/operate"
	"github.com/stepwell/stepwell/world"
)

// causeRow is what some runs failed of, or are blocked by.
type causeRow struct {
	*operate.Cause
	Status      status
	Act, Label  string // of many
	Query       string // in which list they are
	Path        string // of the newest
	First, Last *moment
}

// failuresView is the page.
type failuresView struct {
	operate.Failures
	Workflow           string
	Workflows          []string
	Since              string
	FailedSince, Cause string
	Rows               []causeRow
	Most               int
	May                bool
	Query              string // of all failed ones, all blocked ones, and all that are tried again
	Blocks             string
	Retries            string
	Here               string
}

// mostAsked is of how many causes the newest run is asked whether a retry would be right.
const mostAsked = 20

// restarts reports whether a run is refused a retry, and can be restarted in its place.
func restarts(v *visit, u *UI, run string) bool {
	advice, err := u.app.RetryAdvice(v.Context(), run)
	return err == nil && advice.Refused != "" && advice.Restart
}

func failures(u *UI, v *visit) error {
	query, _ := canonical(v.URL.Query())
	f, err := u.host.Filter(query)
	if err != nil {
		return err
	}
	stats, err := u.world.Stats(v.Context())
	if err != nil {
		return err
	}
	v.now = stats.Now.In(v.now.Location())
	p := &failuresView{
		Workflow: query.Get("workflow"), Since: query.Get("since"), FailedSince: query.Get("failedSince"), Cause: query.Get("cause"),
		May: v.may(Admin), Most: operate.MostFailures, Here: Base + "failures?" + query.Encode(),
	}
	for i := range stats.Workflows {
		p.Workflows = append(p.Workflows, stats.Workflows[i].Workflow)
	}
	if p.Workflow != "" && !slices.Contains(p.Workflows, p.Workflow) { // the form says what is asked for
		p.Workflows = append(p.Workflows, p.Workflow)
	}
	of := func(status world.Status) string {
		to := without(query, "")
		to.Set("status", string(status))
		return to.Encode()
	}
	p.Query, p.Blocks, p.Retries = of(world.Failed), of(world.StandsBlocked), of(world.StandsRetrying)
	if p.Failures, err = operate.FailuresOf(v.Context(), u.app, f); err != nil {
		return err
	}
	for i, c := range p.Causes {
		row := causeRow{
			Cause: c, Status: plainStatus(world.Failed), Act: "retry", Label: "Retry", Query: p.Query, Path: runPath(c.Runs[0]),
			First: v.moment(c.First), Last: v.moment(c.Last),
		}
		switch c.Status {
		case world.Failed:
			if i < mostAsked && p.May && restarts(v, u, c.Runs[0]) {
				row.Act, row.Label = "restart", "Restart"
			}
		case world.StandsBlocked:
			row.Status, row.Act, row.Label, row.Query = status{"blocked", bad, "!"}, "retries", "Try now", p.Blocks
		case world.StandsRetrying:
			row.Status, row.Act, row.Label, row.Query = status{"retrying", warm, "↻"}, "retries", "Try now", p.Retries
		}
		row.Query += "&cause=" + c.ID
		c.Message, c.Where, c.Code = human.Cut(visible(c.Message), 300), human.Cut(visible(c.Where), 120), human.Cut(visible(c.Code), 60)
		p.Rows = append(p.Rows, row)
	}
	v.draw(http.StatusOK, "failures", "Failures", p)
	return nil
}
