package ui

// This file shows schedules, and makes, changes and deletes them.

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/stepwell/stepwell/api"
	"github.com/stepwell/stepwell/internal/human"
	"github.com/stepwell/stepwell/internal/kit"
	"github.com/stepwell/stepwell/internal/ops"
	"github.com/stepwell/stepwell/world"
)

// scheduleRow is a schedule.
type scheduleRow struct {
	api.Schedule
	Path, RunsPath, WorkflowPath, LastPath string
	Status                                 *status // nil: nothing is to be said
	Note                                   string  // by whom it is paused and why, or what else there is to say
	Expressions                            string
	First                                  string   // the next time, in its zone
	Later                                  []string // and those behind it
	Fields                                 *payload // the input; nil: none
}

// schedulesView is all schedules, a page of them.
type schedulesView struct {
	Rows     []scheduleRow
	Next     string // the address of the next page; "": there is none
	May      bool   // act
	Overlaps []world.Overlap
	CatchUp  string // where nobody says it
}

// schedulesPage is how many are on a page.
const schedulesPage = 100

func schedules(u *UI, v *visit) error {
	k := kit.AppOf(u.app).Timetable
	page, err := k.Store.Schedules(v.Context(), world.ScheduleQuery{After: v.URL.Query().Get("cursor"), Limit: schedulesPage + 2})
	if err != nil {
		return err
	}
	page, more := cutPage(page, schedulesPage)
	p := &schedulesView{May: v.may(Operator), Overlaps: world.Overlaps, CatchUp: human.SpanText(world.DefaultCatchUp)}
	for i := range page {
		p.Rows = append(p.Rows, scheduleRowOf(&page[i]))
	}
	if more {
		p.Next = Base + "schedules?" + url.Values{"cursor": {page[len(page)-1].Name}}.Encode()
	}
	v.draw(http.StatusOK, "schedules", "Schedules", p)
	return nil
}

func scheduleRowOf(s *world.Schedule) scheduleRow {
	row := scheduleRow{Schedule: ops.ScheduleOf(s), Path: Base + "schedules/" + url.PathEscape(s.Name)}
	row.WorkflowPath = Base + "workflows/" + url.PathEscape(row.Workflow)
	row.RunsPath = Base + "runs?" + url.Values{"search": {world.AttributeSchedule + "=" + s.Name}}.Encode()
	row.Expressions = visible(strings.Join(row.Times, ", "))
	row.Words = visible(row.Words)
	if row.Last != nil {
		row.LastPath = Base + "runs/" + url.PathEscape(cmp.Or(row.Last.Merged, row.Last.Run))
	}
	for i, at := range row.Next {
		text := at.Format("Mon 2006-01-02 15:04:05 MST")
		if i == 0 {
			row.First = text
		} else {
			row.Later = append(row.Later, text)
		}
	}
	if len(row.Input) > 0 {
		row.Fields = payloadOf(row.Input, someBytes, "")
	}
	if row.Sealed != "" {
		row.Fields = encryptedPayload(row.Sealed, s.Says.Input)
	}
	switch p := row.Paused; {
	case row.Damage != "":
		row.Status, row.Note = &status{"damaged", bad, "✗"}, row.Damage
	case p != nil:
		row.Status, row.Note = &status{"paused", warm, "‖"}, strings.TrimPrefix(strings.TrimSuffix("by "+p.By+": "+p.Reason, ": "), "by : ")
	case row.Error != "":
		row.Status, row.Note = &status{"not started", bad, "!"}, row.Error
	case !row.Waits.IsZero():
		row.Status, row.Note = &status{"waits", busy, "○"}, "for the end of "+row.Last.Run
	}
	if n := row.Skipped + row.Missed; n > 0 && row.Note == "" {
		row.Note = fmt.Sprintf("%d skipped, %d missed, the last %s", row.Skipped, row.Missed, row.Passed.Format(time.RFC3339))
	}
	row.Note = human.Cut(visible(row.Note), 300)
	return row
}

// momentIn reads a time that is in UTC where it says no zone.
func momentIn(text string) (time.Time, error) {
	t, err := human.ParseMoment(text, world.Now().Truncate(time.Second), time.UTC)
	return t.UTC(), err
}

// wholeIn reads a number.
func wholeIn(text string) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0, errors.New("want a whole number")
	}
	return n, nil
}

// valueIn reads what is in a field of a form, which people see under a label, if anything is.
func valueIn[T any](v *visit, name, label string, read func(string) (T, error), into *T) error {
	text := strings.TrimSpace(v.Form.Get(name))
	if text == "" {
		return nil
	}
	is, err := read(text)
	if err != nil {
		return fmt.Errorf("%w: %s %.40q: %w", world.ErrInvalid, label, text, err)
	}
	*into = is
	return nil
}

func putSchedule(u *UI, v *visit) error {
	var version, runs int
	var from, until time.Time
	var jitter, catchUp time.Duration
	if err := errors.Join(
		valueIn(v, "version", "Version", wholeIn, &version), valueIn(v, "runs", "Most runs", wholeIn, &runs),
		valueIn(v, "from", "From", momentIn, &from), valueIn(v, "until", "Until", momentIn, &until),
		valueIn(v, "jitter", "Jitter", human.ParseSpan, &jitter), valueIn(v, "catchup", "Catch-up", human.ParseSpan, &catchUp),
	); err != nil {
		return err
	}
	in := api.PutSchedule{
		Schedule: v.Form.Get("name"), Workflow: v.Form.Get("workflow"), Version: version, Zone: v.Form.Get("zone"), From: from, Until: until, Runs: runs,
		Jitter: api.Span(jitter), CatchUp: api.Span(catchUp), Overlap: world.Overlap(v.Form.Get("overlap")),
		PauseOnFailure: v.Form.Get("pauseonfailure") != "", Input: json.RawMessage(v.Form.Get("input")),
	}
	for text := range strings.SplitSeq(v.Form.Get("times"), ";") { // a comma stands in expressions
		if text = strings.TrimSpace(text); text != "" {
			in.Times = append(in.Times, text)
		}
	}
	if _, err := api.Do(v.Context(), u.api, api.PutScheduleOp, in); err != nil {
		return err
	}
	v.redirect(Base + "schedules?did=schedule-put")
	return nil
}

func scheduleAct(u *UI, v *visit) (err error) {
	name, act := v.PathValue("schedule"), v.PathValue("act")
	switch act {
	case "pause":
		_, err = api.Do(v.Context(), u.api, api.PauseScheduleOp, api.PauseSchedule{Schedule: name, Reason: v.Form.Get("reason")})
	case "resume":
		_, err = api.Do(v.Context(), u.api, api.ResumeScheduleOp, api.ResumeSchedule{Schedule: name})
	case "trigger":
		_, err = api.Do(v.Context(), u.api, api.TriggerScheduleOp, api.TriggerSchedule{Schedule: name})
	case "backfill":
		in := api.BackfillSchedule{Schedule: name}
		if err = errors.Join(valueIn(v, "from", "From", momentIn, &in.From), valueIn(v, "until", "Until", momentIn, &in.Until)); err == nil {
			_, err = api.Do(v.Context(), u.api, api.BackfillScheduleOp, in)
		}
	case "delete":
		_, err = api.Do(v.Context(), u.api, api.DeleteScheduleOp, api.DeleteSchedule{Schedule: name})
	default:
		return errNoPage
	}
	if err != nil {
		return err
	}
	v.redirect(Base + "schedules?did=schedule-" + act)
	return nil
}
