package ui

// This file draws the first page: how many runs there are of what, what happened lately, what stands still, and who works.

import (
	"fmt"
	"net/http"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/human"
	"github.com/stepwell/stepwell/internal/operate"
	"github.com/stepwell/stepwell/world"
)

// overview is the first page.
type overview struct {
	Totals    []count
	Blocked   []runRow
	Missing   int    // blocked runs that are not shown
	Retrying  string // how many wait for the next attempt of a step; "": none
	Workflows []workflowRow
	Stands    []workflowRow // those with runs that no worker is there for
	Held      []workflowRow // those that are held
	Workers   []workerRow
	Chart     *chart
	Windows   []windowChoice
	Begin     *begin // no run is kept
}

// Bounds of what is looked at for blocked runs.
const (
	mostBlocked  = 10
	mostRetrying = 100
)

func (u *UI) overview(v *visit) error {
	stats, err := u.world.Stats(v.Context())
	if err != nil {
		return err
	}
	v.now = stats.Now.In(v.now.Location())
	if stats.Workflows, err = operate.Counts(v.Context(), u.app, &stats); err != nil {
		return err
	}
	held, err := operate.Holds(v.Context(), u.app)
	if err != nil {
		return err
	}
	p := &overview{Workflows: v.workflowRows(&stats, held)}
	for _, row := range p.Workflows {
		if row.Held != nil {
			p.Held = append(p.Held, row)
		}
		if row.Stands > 0 {
			p.Stands = append(p.Stands, row)
		}
	}
	var all world.WorkflowStats
	for _, n := range stats.Workflows {
		all.Pending += n.Pending
		all.Running += n.Running
		all.Completed += n.Completed
		all.Failed += n.Failed
		all.Cancelled += n.Cancelled
		all.Blocked += n.Blocked
		all.Paused += n.Paused
	}
	if all.Pending+all.Running+all.Completed+all.Failed+all.Cancelled+all.Blocked+all.Paused == 0 {
		p.Begin = v.beginOf(&stats)
	}
	p.Totals = []count{
		{"running", all.Running, runsPath("", "running"), busy}, {"pending", all.Pending, runsPath("", "pending"), warm},
		{"blocked", all.Blocked, runsPath("", "blocked"), bad}, {"paused", all.Paused, runsPath("", "paused"), warm},
		{"completed", all.Completed, runsPath("", "completed"), good}, {"failed", all.Failed, runsPath("", "failed"), bad},
		{"cancelled", all.Cancelled, runsPath("", "cancelled"), quiet},
	}
	for i := range stats.Workers {
		p.Workers = append(p.Workers, v.workerRow(&stats.Workers[i], stats.Now))
	}
	if err := u.blocked(v, p, &stats, all.Blocked); err != nil {
		return err
	}
	p.Chart, p.Windows, err = u.chart(v)
	if err != nil {
		return err
	}
	v.draw(http.StatusOK, "overview", "Overview", p)
	return nil
}

// blocked finds runs that are blocked, and counts those that wait for the next attempt of a step.
func (u *UI) blocked(v *visit, p *overview, stats *world.Stats, all int) error {
	page, err := u.app.Page(v.Context(), stepwell.ListFilter{Status: []world.Status{world.StandsBlocked}}, "", mostBlocked)
	if err != nil {
		return err
	}
	for i := range page.Runs {
		p.Blocked = append(p.Blocked, v.runRow(&page.Runs[i], stats))
	}
	p.Missing = max(all-len(p.Blocked), 0)
	page, err = u.app.Page(v.Context(), stepwell.ListFilter{Status: []world.Status{world.StandsRetrying}}, "", mostRetrying)
	if err != nil {
		return err
	}
	if n := len(page.Runs); n > 0 {
		if p.Retrying = human.Count(n, "run"); page.Cursor != "" {
			p.Retrying = fmt.Sprintf("%d runs or more", n)
		}
	}
	return nil
}
