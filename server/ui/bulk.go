package ui

// This file does the same to many runs: those that were chosen, or all that a filter finds. First it says which these are; then, when that is confirmed, it
// goes through them, a bounded number a request, and says what became of each that refused.

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/operate"
	"github.com/stepwell/stepwell/world"
)

// bulkChoice is something that can be done to many runs.
type bulkChoice struct {
	Name, Label    string
	Danger, Reason bool
	Event          bool           // an event is sent, with a payload
	Wake           []world.Waking // what a wake ends
}

// Short is the label without what explains it.
func (c bulkChoice) Short() string {
	label, _, _ := strings.Cut(c.Label, " (")
	return label
}

// act is what it does, by name.
func (c *bulkChoice) act() string {
	if c.Wake != nil {
		return "wake"
	}
	return c.Name
}

var bulkChoices = []bulkChoice{
	{Name: "cancel", Label: "Cancel", Danger: true, Reason: true}, {Name: "pause", Label: "Pause", Reason: true}, {Name: "resume", Label: "Resume"},
	{Name: "retries", Label: "Retry now (end retry delays)", Wake: []world.Waking{stepwell.WakeRetries}},
	{Name: "starts", Label: "Start now (end start delays)", Wake: []world.Waking{stepwell.WakeStarts}},
	{Name: "wake", Label: "Wake now (end sleeps)", Wake: []world.Waking{stepwell.WakeSleeps}},
	{Name: "retry", Label: "Retry (failed runs, as new runs)"}, {Name: "restart", Label: "Restart (failed runs, in place)"}, {Name: "signal", Label: "Send event to", Event: true},
}

var notOver = []world.Status{world.Pending, world.Running}

// Bounds: how many runs one request acts on, and how many it counts.
const (
	bulkAtOnce  = 100
	mostCounted = 10_000
	mostNamed   = 20
	mostChosen  = 200
	mostLooked  = 50_000          // of whose causes it looks at to count
	bulkFor     = 5 * time.Second // it goes on with runs of a cause for so long
)

// bulkView is the page that asks, and the one that tells.
type bulkView struct {
	Choice   bulkChoice
	Chosen   []string // by their IDs
	Query    string   // or by a filter
	Cause    bool     // those of one cause
	Statuses []string
	Count    int
	Many     bool // there are more than were counted
	Rows     []runRow

	Event, Payload, Delivery string // of an event that is sent; a run gets one ID once, however often the form is sent

	Told    bool // it was done
	Why     string
	Done    int
	Already int              // runs that are so already
	Refused int              // or would be
	Reasons operate.Refusals // of them
	Cursor  string
	Before  int // done by requests before
	Back    string
}

// bulk takes the form of a list, the page that asks, and the one that tells when it goes on.
func (u *UI) bulk(v *visit) error {
	name := v.Form.Get("act")
	at := slices.IndexFunc(bulkChoices, func(c bulkChoice) bool { return c.Name == name })
	if at < 0 {
		return fmt.Errorf("%w: choose an action", world.ErrInvalid)
	}
	act := operate.Find(bulkChoices[at].act())
	v.deed.asked, v.deed.more = v.Form.Get("sure") == "", []any{"act", name}
	p := &bulkView{Choice: bulkChoices[at], Query: v.Form.Get("query"), Back: Base + "runs?" + v.Form.Get("query")}
	if back := v.Form.Get("back"); ours(back) {
		p.Back = back
	}
	if v.Form.Get("all") == "" {
		p.Chosen = v.Form["run"]
		if len(p.Chosen) == 0 || len(p.Chosen) > mostChosen {
			return fmt.Errorf("%w: %d runs are selected: want 1 to %d", world.ErrInvalid, len(p.Chosen), mostChosen)
		}
	}
	q, err := u.bulkQuery(p, act)
	if err != nil {
		return err
	}
	if v.Form.Get("sure") == "" {
		if err := u.bulkCount(v, p, q, act); err != nil {
			return err
		}
		if p.Choice.Event {
			p.Payload, p.Delivery = "{}", world.NewID("dlvr", v.now)
		}
		v.draw(http.StatusOK, "bulk", p.Choice.Short()+" runs", p)
		return nil
	}
	p.Told, p.Why = true, v.Form.Get("reason")
	p.Event, p.Payload, p.Delivery = v.Form.Get("event"), v.Form.Get("payload"), v.Form.Get("delivery")
	err = u.bulkDo(v, p, q, act)
	if p.Chosen != nil {
		v.deed.more = append(v.deed.more, "runs", strings.Join(p.Chosen, ","))
	} else {
		query, _ := url.ParseQuery(p.Query) // it was read before
		v.deed.more = append(v.deed.more, "filter", operate.FilterNoted(query))
	}
	v.deed.more = append(v.deed.more, "runs_done", p.Done, "runs_refused", p.Refused)
	if err != nil {
		return err
	}
	v.draw(http.StatusOK, "bulk", p.Choice.Short()+" runs", p)
	return nil
}

// bulkQuery reads the filter that the list had.
func (u *UI) bulkQuery(p *bulkView, act *operate.Act) (stepwell.ListFilter, error) {
	query, err := url.ParseQuery(p.Query)
	if err != nil {
		return stepwell.ListFilter{}, fmt.Errorf("%w: the filter: %w", world.ErrInvalid, err)
	}
	q, err := u.host.Filter(query)
	if err != nil {
		return q, err
	}
	p.Cause = q.Cause != ""
	if len(q.Status) == 0 {
		q.Status = act.Means(&operate.Words{Wake: p.Choice.Wake})
	}
	for _, s := range q.Status {
		p.Statuses = append(p.Statuses, string(s))
	}
	return q, nil
}

// bulkCount says which runs are meant, and does nothing.
func (u *UI) bulkCount(v *visit, p *bulkView, q stepwell.ListFilter, act *operate.Act) error {
	stats, err := u.world.Stats(v.Context())
	if err != nil {
		return err
	}
	would := act.Would(u.app, operate.Words{Wake: p.Choice.Wake})
	ask := func(info *stepwell.RunInfo) {
		if p.met(u, v, info.ID, would(v.Context(), *info)) {
			if p.Count++; len(p.Rows) < mostNamed {
				p.Rows = append(p.Rows, v.runRow(info, &stats))
			}
		}
	}
	if p.Chosen != nil {
		for _, id := range p.Chosen {
			v.SetPathValue("run", id)
			info, err := u.find(v)
			v.SetPathValue("run", "")
			if err != nil {
				return err
			}
			ask(info)
		}
		return nil
	}
	for cursor, looked, began := "", 0, time.Now(); ; {
		page, err := u.app.Page(v.Context(), q, cursor, bulkAtOnce)
		if err != nil {
			return err
		}
		looked += bulkAtOnce
		for i := range page.Runs {
			ask(&page.Runs[i])
		}
		if err := v.Context().Err(); err != nil {
			return err
		}
		if cursor = page.Cursor; cursor == "" {
			return nil
		}
		if p.Count >= mostCounted || looked >= mostLooked || time.Since(began) > bulkFor {
			p.Many = true
			return nil
		}
	}
}

// met counts what became of a run, or would, and reports whether it is done.
func (p *bulkView) met(u *UI, v *visit, run string, err error) bool {
	switch {
	case errors.Is(err, operate.ErrAlready):
		p.Already++
	case err != nil && v.Context().Err() == nil:
		p.Refused++
		is := u.host.Refused(v.Request, err)
		p.Reasons.Add(run, is.Code, cut(is.Title+": "+is.Detail, 500))
	}
	return err == nil
}

// bulkDo acts on the chosen, or on a page of what the filter finds; of those with a cause on all, as far as it comes in
// its time.
func (u *UI) bulkDo(v *visit, p *bulkView, q stepwell.ListFilter, act *operate.Act) error {
	words := operate.Words{Reason: p.Why, Wake: p.Choice.Wake}
	if p.Choice.Event {
		payload, _, err := v.sending()
		if err == nil {
			err = world.CheckName("event", p.Event)
		}
		if err != nil {
			return err
		}
		words.Event, words.Payload, words.Delivery = p.Event, payload, p.Delivery
	}
	do := act.On(u.app, words)
	p.Before, _ = strconv.Atoi(v.Form.Get("before"))
	try := func(info stepwell.RunInfo) error {
		err := do(v.Context(), info)
		if v.Context().Err() != nil {
			return v.Context().Err()
		}
		if p.met(u, v, info.ID, err) || errors.Is(err, operate.ErrAlready) {
			p.Done++
		}
		return nil
	}
	if p.Chosen != nil {
		for _, id := range p.Chosen {
			if err := try(stepwell.RunInfo{ID: id}); err != nil {
				return err
			}
		}
		return nil
	}
	p.Cursor = v.Form.Get("cursor")
	for began := time.Now(); ; {
		page, err := u.app.Page(v.Context(), q, p.Cursor, bulkAtOnce)
		if err != nil {
			return err
		}
		for _, run := range page.Runs {
			if err := try(run); err != nil {
				return err
			}
		}
		if p.Cursor = page.Cursor; p.Cursor == "" || !p.Cause || time.Since(began) > bulkFor {
			return nil
		}
	}
}
