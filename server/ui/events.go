package ui

// This file shows a run's event log: a page of it, and each event on a page of its own with its payload as a whole.

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/stepwell/stepwell/internal/human"
	"github.com/stepwell/stepwell/internal/timeline"
	"github.com/stepwell/stepwell/world"
)

// eventRow is an event of a log.
type eventRow struct {
	Seq     int64
	Type    string
	Tone    tone
	Name    string
	Of      string // the name of what it is about, where that began on the same page
	At      *moment
	Notes   []note
	Error   *failure
	Payload *payload
	Path    string
	About   string // its entity's ID
	AboutIn string // the log of that
	Fork    string
	New     bool // a commit begins with it
}

// eventsView is a page of a log.
type eventsView struct {
	ID, Workflow string
	Status       status
	Rows         []eventRow
	Types        []typeChoice
	About        string
	From         int64
	First        string
	Next         string
	End          string
	More         bool
	Looked       int64 // up to which event it was looked, where few were found
	Trimmed      int64
}

// typeChoice is a type of event in the filter.
type typeChoice struct {
	Name string
	On   bool
}

const (
	eventsPage  = 100
	eventsTries = 50        // pages of the world a page of ours may look through
	eventsBytes = 512 << 10 // of what is shown of payloads
)

func (u *UI) events(v *visit) error {
	info, err := u.find(v)
	if err != nil {
		return err
	}
	q := v.URL.Query()
	p := &eventsView{ID: info.ID, Workflow: info.Workflow, Status: runStatus(info), About: q.Get("about")}
	ask := world.EventQuery{CorrelationID: p.About, Limit: eventsPage}
	for _, t := range world.EventTypes {
		on := slices.Contains(q["type"], string(t))
		p.Types = append(p.Types, typeChoice{string(t), on})
		if on {
			ask.Types = append(ask.Types, t)
		}
	}
	if p.From, err = strconv.ParseInt(q.Get("from"), 10, 64); err != nil || p.From < 1 {
		p.From = 1
	}
	if q.Get("end") != "" {
		if p.From, err = u.lastEvents(v, info.ID); err != nil {
			return err
		}
	}
	events, err := u.readEvents(v, info.ID, ask, p)
	if err != nil {
		return err
	}
	names := map[string]string{} // of what began on this page
	shown := 0
	var commit int64
	for i := range events {
		row := u.eventRow(v, info.ID, &events[i], shown < eventsBytes)
		if row.Payload != nil {
			shown += len(row.Payload.Text)
		}
		if row.About != "" && row.Name != "" {
			names[row.About] = row.Name
		} else if row.Name == "" {
			row.Of = names[row.About]
		}
		row.New = events[i].Commit != commit
		commit = events[i].Commit
		p.Rows = append(p.Rows, row)
	}
	at := func(set ...string) string {
		to := url.Values{}
		for k, vs := range q {
			if k != "from" && k != "end" && k != "did" && k != "refresh" {
				to[k] = vs
			}
		}
		for i := 0; i+1 < len(set); i += 2 {
			to.Set(set[i], set[i+1])
		}
		return eventsPath(info.ID) + "?" + to.Encode()
	}
	if p.From > 1 {
		p.First = at()
	}
	if p.More {
		p.Next, p.End = at("from", strconv.FormatInt(p.Looked+1, 10)), at("end", "1")
	}
	v.draw(http.StatusOK, "events", "Events of "+info.ID, p)
	return nil
}

// lastEvents is the number from which on a log has about a page.
func (u *UI) lastEvents(v *visit, run string) (int64, error) {
	var last int64
	q := world.EventQuery{Limit: 1000, Types: []world.EventType{world.RunCreated}} // others are passed over without being kept
	for {
		page, err := u.world.Events(v.Context(), run, q)
		if err != nil {
			return 0, err
		}
		if last, err = world.ParseCursor(page.Cursor); err != nil {
			return 0, err
		}
		if q.Cursor = page.Cursor; !page.More {
			return max(last-eventsPage+1, 1), nil
		}
	}
}

// readEvents reads a page of events, and says how far it looked.
func (u *UI) readEvents(v *visit, run string, ask world.EventQuery, p *eventsView) ([]world.Event, error) {
	var list []world.Event
	ask.Cursor = world.Cursor(p.From - 1)
	for range eventsTries {
		page, err := u.world.Events(v.Context(), run, ask)
		if err != nil {
			return nil, err
		}
		p.Trimmed = max(p.Trimmed, page.Trimmed)
		list = append(list, page.Events...)
		if p.Looked, err = world.ParseCursor(page.Cursor); err != nil {
			return nil, err
		}
		p.More = page.More
		if len(list) > eventsPage { // a commit is not cut by the world, but may be by us
			list, p.More = list[:eventsPage], true
			p.Looked = list[eventsPage-1].Seq
		}
		if !p.More || len(list) == eventsPage {
			break
		}
		ask.Cursor = page.Cursor
	}
	if p.More && len(list) == eventsPage { // no page holds one event alone but the first
		ask.Cursor, ask.Limit = world.Cursor(p.Looked), 2
		rest, err := u.world.Events(v.Context(), run, ask)
		if err != nil {
			return nil, err
		}
		if !rest.More && len(rest.Events) < 2 {
			list, p.More = append(list, rest.Events...), false
		}
	}
	return list, nil
}

// eventRow shows an event; where there is no room for it, without its payload.
func (u *UI) eventRow(v *visit, run string, e *world.Event, room bool) eventRow {
	row := eventRow{
		Seq: e.Seq, Type: string(e.Type), Tone: timeline.EventTone(e.Type), Name: human.Cut(e.Name, 120), At: v.moment(e.Time), Error: failureOf(e.Error),
		Path: eventPath(run, e.Seq), About: e.ID,
	}
	if e.Occurrence > 0 {
		row.Name += fmt.Sprintf("[%d]", e.Occurrence)
	}
	if e.ID != "" {
		row.AboutIn = eventsPath(run) + "?about=" + url.QueryEscape(e.ID)
	}
	if v.may(Operator) && !e.Type.Terminal() {
		row.Fork = runPath(run) + "/act/fork?at=" + strconv.FormatInt(e.Seq, 10)
	}
	most := someBytes
	if !room {
		most = 0
	}
	if row.Payload = valueOf(e.Payload, e.Apart, most, row.Path); row.Payload != nil && !room {
		row.Payload.Text = ""
	}
	row.Notes = eventNotes(v, e)
	if e.Encrypted != "" {
		row.Payload = encryptedPayload(e.Encrypted, e.Payload)
		row.Error.encrypt(e.Encrypted)
	}
	return row
}

func eventNotes(v *visit, e *world.Event) (list []note) {
	told := *e
	if told.Token != "" && !v.may(Operator) {
		told.Token = hiddenToken
	}
	for _, d := range timeline.Details(&told, lineWidth, func(t time.Time) string { return human.When(t, v.now) }) {
		is := note{Text: d.Text}
		if d.Run != "" {
			is.Path = runPath(d.Run)
		}
		list = append(list, is)
	}
	return list
}

// eventView is the page of one event.
type eventView struct {
	ID, Workflow string
	EventID      string
	Row          eventRow
	Whole        *payload // the event as the API has it, without its payload
	Raw          string   // where its payload is as it is
	Back         string
	Before, Next string
}

func (u *UI) eventOf(v *visit, run string) (*world.Event, bool, error) {
	seq, err := world.ParseEvent(run, v.PathValue("seq"))
	if err != nil || seq < 1 {
		return nil, false, errNoPage
	}
	page, err := u.world.Events(v.Context(), run, world.EventQuery{Cursor: world.Cursor(seq - 1), Limit: 1})
	if err != nil {
		return nil, false, err
	}
	for i := range page.Events {
		if page.Events[i].Seq == seq {
			return &page.Events[i], page.More || i+1 < len(page.Events), nil
		}
	}
	return nil, false, fmt.Errorf("event %d of run %s: %w", seq, run, world.ErrNotFound)
}

func (u *UI) event(v *visit) error {
	info, err := u.find(v)
	if err != nil {
		return err
	}
	e, more, err := u.eventOf(v, info.ID)
	if err != nil {
		return err
	}
	p := &eventView{ID: info.ID, EventID: world.EventID(info.ID, e.Seq, e.Time), Workflow: info.Workflow, Row: u.eventRow(v, info.ID, e, true), Back: eventsPath(info.ID) + "?from=" + strconv.FormatInt(max(e.Seq-10, 1), 10)}
	if e.Encrypted == "" {
		p.Row.Payload = valueOf(e.Payload, e.Apart, 256<<10, "").naming(info.ID, e.Payload)
	}
	if len(e.Payload) > 0 && e.Encrypted == "" {
		p.Raw = eventPath(info.ID, e.Seq) + "/payload"
	}
	if e.Seq > 1 {
		p.Before = eventPath(info.ID, e.Seq-1)
	}
	if more {
		p.Next = eventPath(info.ID, e.Seq+1)
	}
	bare := *e
	if !v.may(Operator) {
		bare = world.HideSecrets([]world.Event{*e})[0]
	}
	bare.Payload = nil
	if bare.Encrypted != "" {
		bare.Error, bare.Match = nil, nil
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	named := world.NameEvents(info.ID, []world.Event{bare})[0]
	if err := enc.Encode(&named); err != nil {
		return fmt.Errorf("event %d of run %s: %w", e.Seq, info.ID, err)
	}
	p.Whole = payloadOf(b.Bytes(), 64<<10, "")
	v.draw(http.StatusOK, "event", fmt.Sprintf("Event %d of %s", e.Seq, info.ID), p)
	return nil
}

// eventPayload answers with a payload as it is, to be saved: never as something that a browser would show.
func (u *UI) eventPayload(v *visit) error {
	info, err := u.find(v)
	if err != nil {
		return err
	}
	e, _, err := u.eventOf(v, info.ID)
	if err != nil {
		return err
	}
	if e.Encrypted != "" {
		return &world.KeyError{Run: info.ID, Key: e.Encrypted}
	}
	var from io.Reader = bytes.NewReader(e.Payload)
	size := int64(len(e.Payload))
	if whole := world.WholeApart(e.Apart); whole != "" {
		if from, size, err = u.app.OpenValue(v.Context(), info.ID, whole); err != nil {
			return err
		}
	}
	return v.save(from, size, fmt.Sprintf("event-%d.json", e.Seq), "application/json")
}

// value answers with a value that a run holds, such as a blob, to be saved.
func value(u *UI, v *visit) error {
	info, err := u.find(v)
	if err != nil {
		return err
	}
	from, size, err := u.app.OpenValue(v.Context(), info.ID, v.PathValue("value"))
	if err != nil {
		return err
	}
	return v.save(from, size, v.PathValue("value"), "application/octet-stream")
}

// save answers with bytes as they are, to be saved: never as something that a browser would show.
func (v *visit) save(from io.Reader, size int64, name, media string) error {
	h := v.w.Header()
	h.Set("Content-Type", media)
	h.Set("Content-Disposition", fmt.Sprintf("attachment; filename=%q", name))
	h.Set("Content-Length", strconv.FormatInt(size, 10))
	v.begun = true
	v.w.WriteHeader(http.StatusOK)
	read, _ := v.u.host.Patience()
	rc := http.NewResponseController(v.w)
	for { // a client that is gone is not told; one whose value is damaged sees an answer that is cut short
		_ = rc.SetWriteDeadline(time.Now().Add(read)) // not every ResponseWriter has deadlines
		n, err := io.CopyN(v.w, from, world.ApartPiece)
		if err != nil || n == 0 {
			return nil
		}
	}
}
