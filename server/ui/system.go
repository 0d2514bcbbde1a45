package ui

// This file shows workflows, workers and hooks, and starts runs.

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/api"
	"github.com/stepwell/stepwell/internal/human"
	"github.com/stepwell/stepwell/internal/operate"
	"github.com/stepwell/stepwell/webhook"
	"github.com/stepwell/stepwell/world"
)

// workflowRow counts the runs of a workflow.
type workflowRow struct {
	Name     string
	Path     string
	By       string // its versions
	Start    string
	Counts   []count
	Versions string // that live workers know
	Idle     bool   // no worker knows it, and none is pushed to
	Stands   int    // runs that nobody can work on, as no worker is there for them
	Held     *hold  // nil: it is not
	Pending  int
}

// hold says that a workflow is held.
type hold struct {
	By, Note string
	Since    *moment
}

func (v *visit) hold(h *stepwell.Held) *hold {
	return &hold{visible(h.By), visible(h.Note), v.moment(h.Since)}
}

// count is a number that leads somewhere.
type count struct {
	Word string
	N    int
	Path string
	Tone tone
}

func (v *visit) workflowRows(stats *world.Stats, held []stepwell.Held) (rows []workflowRow) {
	versions := map[string][]int{}
	for i := range stats.Workers {
		w := &stats.Workers[i]
		if !w.Until.After(stats.Now) {
			continue
		}
		for _, c := range w.Classes {
			if c.Version > 0 && !slices.Contains(versions[c.Workflow], c.Version) {
				versions[c.Workflow] = append(versions[c.Workflow], c.Version)
			}
		}
	}
	known := map[string]bool{}
	add := func(n world.WorkflowStats) {
		known[n.Workflow] = true
		row := workflowRow{Name: n.Workflow, Path: runsPath(n.Workflow, ""), By: Base + "workflows/" + url.PathEscape(n.Workflow)}
		for _, c := range []count{
			{"pending", n.Pending, "pending", warm}, {"running", n.Running, "running", busy}, {"blocked", n.Blocked, "blocked", bad},
			{"paused", n.Paused, "paused", warm}, {"completed", n.Completed, "completed", good}, {"failed", n.Failed, "failed", bad},
			{"cancelled", n.Cancelled, "cancelled", quiet},
		} {
			c.Path = runsPath(n.Workflow, c.Path)
			row.Counts = append(row.Counts, c)
		}
		if v.may(Operator) {
			row.Start = Base + "workflows/" + n.Workflow + "/start"
		}
		slices.Sort(versions[n.Workflow])
		for i, n := range versions[n.Workflow] {
			if i > 0 {
				row.Versions += ", "
			}
			row.Versions += "v" + strconv.Itoa(n)
		}
		if v.u.host.Pushed(n.Workflow) {
			row.Versions = strings.TrimPrefix(row.Versions+", pushed", ", ")
		}
		if row.Idle = row.Versions == ""; row.Idle {
			row.Stands = n.Pending + n.Running + n.Blocked + n.Paused
		}
		row.Pending = n.Pending
		for i := range held {
			if held[i].Workflow == n.Workflow {
				row.Held = v.hold(&held[i])
			}
		}
		rows = append(rows, row)
	}
	for _, n := range stats.Workflows {
		add(n)
	}
	for name := range versions {
		if !known[name] {
			add(world.WorkflowStats{Workflow: name})
		}
	}
	for i := range held {
		if name := held[i].Workflow; !known[name] {
			add(world.WorkflowStats{Workflow: name})
		}
	}
	slices.SortFunc(rows, func(a, b workflowRow) int {
		if a.Name < b.Name {
			return -1
		}
		return 1
	})
	return rows
}

func (u *UI) workflows(v *visit) error {
	stats, err := u.world.Stats(v.Context())
	if err != nil {
		return err
	}
	if stats.Workflows, err = operate.Counts(v.Context(), u.app, &stats); err != nil {
		return err
	}
	held, err := operate.Holds(v.Context(), u.app)
	if err != nil {
		return err
	}
	v.draw(http.StatusOK, "workflows", "Workflows", v.workflowRows(&stats, held))
	return nil
}

// versionRow is a version of a workflow on its page.
type versionRow struct {
	operate.Version
	Name, Path, Blocks string
	Needed             bool // runs need it, and no worker has it
}

// versions shows which versions of a workflow runs still need, and who has them.
func versions(u *UI, v *visit) error {
	stats, err := u.world.Stats(v.Context())
	if err != nil {
		return err
	}
	all, err := operate.VersionsOf(v.Context(), u.app, &stats, v.PathValue("workflow"))
	if err != nil {
		return err
	}
	p := struct {
		operate.Versions
		Rows        []versionRow
		Runs, Start string
		Held        *hold
		Path        string // of what is done to it; "": nothing may be
	}{Versions: all, Runs: runsPath(all.Workflow, "")}
	held, err := operate.Holds(v.Context(), u.app)
	if err != nil {
		return err
	}
	for i := range held {
		if held[i].Workflow == all.Workflow {
			p.Held = v.hold(&held[i])
		}
	}
	if v.may(Operator) {
		p.Path = Base + "workflows/" + url.PathEscape(all.Workflow)
		p.Start = Base + "workflows/" + url.PathEscape(all.Workflow) + "/start"
	}
	for _, is := range all.Versions {
		row := versionRow{Version: is, Name: "open", Needed: is.Version > 0 && is.Runs > 0 && is.Workers == 0}
		if is.Version > 0 {
			row.Name = "v" + strconv.Itoa(is.Version)
			of := "&version=" + strconv.Itoa(is.Version)
			row.Path, row.Blocks = runsPath(all.Workflow, "pending,running")+of, runsPath(all.Workflow, "blocked")+of
		}
		p.Rows = append(p.Rows, row)
	}
	v.draw(http.StatusOK, "versions", all.Workflow, &p)
	return nil
}

// holdAct holds a workflow, or releases it.
func holdAct(u *UI, v *visit) (err error) {
	name, act := v.PathValue("workflow"), v.PathValue("act")
	switch act {
	case "hold":
		_, err = api.Do(v.Context(), u.api, api.HoldWorkflowOp, api.HoldWorkflow{Workflow: name, Note: v.Form.Get("note")})
	case "release":
		_, err = api.Do(v.Context(), u.api, api.ReleaseWorkflowOp, api.ReleaseWorkflow{Workflow: name})
	default:
		return errNoPage
	}
	if err != nil {
		return err
	}
	v.redirect(Base + "workflows/" + url.PathEscape(name) + "?did=workflow-" + act)
	return nil
}

// workerRow is a process that works on runs.
type workerRow struct {
	ID, Name, Path, Build string
	Lost                  bool
	Joined, Until         *moment
	Runs, Tasks           int
	Workflows, Steps      []string
}

func (v *visit) workerRow(w *world.WorkerRow, now time.Time) workerRow {
	row := workerRow{
		ID: w.ID, Name: visible(w.Name), Path: Base + "workers/" + w.ID, Build: visible(w.Build), Lost: !w.Until.After(now), Joined: v.moment(w.JoinedAt),
		Until: v.moment(w.Until), Runs: w.Runs, Tasks: w.Tasks,
	}
	for _, c := range w.Classes {
		if c.Version > 0 {
			row.Workflows = append(row.Workflows, fmt.Sprintf("%s v%d", visible(c.Workflow), c.Version))
		}
	}
	for _, s := range w.Steps {
		row.Steps = append(row.Steps, visible(s))
	}
	return row
}

func (u *UI) workers(v *visit) error {
	stats, err := u.world.Stats(v.Context())
	if err != nil {
		return err
	}
	var rows []workerRow
	for i := range stats.Workers {
		rows = append(rows, v.workerRow(&stats.Workers[i], stats.Now))
	}
	v.draw(http.StatusOK, "workers", "Workers", rows)
	return nil
}

// workerView is the page of a worker.
type workerView struct {
	workerRow
	Held   []runRow
	Looked int // so many live runs were looked at
	More   bool
}

// mostHeldLooks is how many live runs are looked at for those that a worker holds.
const mostHeldLooks = 2000

func (u *UI) worker(v *visit) error {
	stats, err := u.world.Stats(v.Context())
	if err != nil {
		return err
	}
	at := slices.IndexFunc(stats.Workers, func(w world.WorkerRow) bool { return w.ID == v.PathValue("worker") })
	if at < 0 {
		return fmt.Errorf("worker %.60q: %w", v.PathValue("worker"), world.ErrNotFound)
	}
	w := &stats.Workers[at]
	p := &workerView{workerRow: v.workerRow(w, stats.Now)}
	f, cursor := stepwell.ListFilter{Status: notOver}, ""
	for p.Runs > len(p.Held) && p.Looked < mostHeldLooks {
		page, err := u.app.Page(v.Context(), f, cursor, 100)
		if err != nil {
			return err
		}
		p.Looked += len(page.Runs)
		for i := range page.Runs {
			if r := &page.Runs[i]; r.Queue != nil && r.Queue.Owner == w.ID && len(p.Held) < runsPage {
				p.Held = append(p.Held, v.runRow(r, &stats))
			}
		}
		if cursor = page.Cursor; cursor == "" || len(p.Held) == runsPage {
			break
		}
	}
	p.More = p.Runs > len(p.Held)
	v.draw(http.StatusOK, "worker", p.Name, p)
	return nil
}

// hookRow is an active hook.
type hookRow struct {
	ID, Token, Run, Path string // of a webhook its URL in the place of the token
	Hidden               bool
	Created              *moment
	Metadata             *payload
}

// hooksView lists hooks.
type hooksView struct {
	Rows       []hookRow
	Run, Token string
	Full       bool // there may be more
	May        bool // see tokens, and send
}

const mostHooks = 200

func (u *UI) hooks(v *visit) error {
	p := &hooksView{Run: v.URL.Query().Get("run"), Token: v.URL.Query().Get("token"), May: v.may(Operator)}
	if !p.May {
		p.Token = "" // or one could guess
	}
	rows, err := u.app.Hooks(v.Context(), p.Run, p.Token)
	if err != nil {
		return err
	}
	rows = rows[:min(len(rows), mostHooks)]
	for i := range rows {
		h := &rows[i]
		if is, ok := webhook.Of(h); ok {
			h.Token, h.Metadata = is.URL, is.Metadata
		}
		row := hookRow{ID: h.ID, Token: human.Cut(h.Token, 300), Run: h.Run, Path: runPath(h.Run), Created: v.moment(h.CreatedAt), Metadata: payloadOf(h.Metadata, someBytes, "")}
		if h.Encrypted != "" {
			row.Metadata = encryptedPayload(h.Encrypted, h.Metadata)
		}
		if !p.May {
			row.Token, row.Hidden = hiddenToken, true
		}
		p.Rows = append(p.Rows, row)
	}
	p.Full = len(rows) == mostHooks
	v.draw(http.StatusOK, "hooks", "Hooks", p)
	return nil
}
