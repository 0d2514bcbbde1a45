package ui

// This file shows one run: how it stands and why, its facts, its timeline, and what one could do.

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/human"
	"github.com/stepwell/stepwell/internal/timeline"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/journal"
)

// runView is the page of a run.
type runView struct {
	ID, Workflow string
	Version      int
	Status       status
	Span         string // how long it took, or has taken
	Why          string
	WhyKind      string
	WhyTone      tone
	Details      []string // of what blocks it
	Facts        []fact
	Input        *payload
	Output       *payload
	Error        *failure
	Unread       []unread
	Aside        []unread
	Rows         []entryRow
	Pages        pages
	Axis         axis
	Zoom         zoom
	In, Whole    string // the Map whose entries alone are shown, and the way to all
	Streams      []streamRow
	Hooks        bool
	Acts         acts
	Damage       string
	Seq          int64 // of the last event that is shown
	Live         bool  // it is not over
	EventsPath   string
	Stable       string // how it stands, in words that change when it does: for screen readers
}

// fact is a line about a run.
type fact struct {
	Name string
	Text string
	Path string // of what it names
	When *moment
	Mono bool
}

// failure is an error as pages show it.
type failure struct {
	Message, Code, Where, Stack string
	Causes                      []string
}

const (
	mostMessage = 4000
	mostStack   = 16000
	mostCauses  = 20
)

func failureOf(e *world.Error) *failure {
	if e == nil {
		return nil
	}
	f := &failure{Message: cut(e.Message, mostMessage), Code: e.Code, Where: e.Where, Stack: cut(e.Stack, mostStack)}
	var walk func(list []*world.Error)
	walk = func(list []*world.Error) {
		for _, c := range list {
			if c == nil || len(f.Causes) == mostCauses {
				return
			}
			if text := cut(c.Message, mostMessage); text != f.Message && !slices.Contains(f.Causes, text) {
				f.Causes = append(f.Causes, text)
			}
			walk(c.Causes)
		}
	}
	walk(e.Causes)
	return f
}

// encrypt leaves out what this server cannot read.
func (f *failure) encrypt(key string) {
	if f != nil {
		f.Message, f.Where, f.Stack, f.Causes = encryptedText(key), "", "", nil
	}
}

// cut is the beginning of a text of many lines.
func cut(s string, most int) string {
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return visible(s)
}

// unread is an event that nobody took.
type unread struct {
	Name    string
	Seq     int64
	At      *moment
	Payload *payload
	Path    string
	Note    string // of what was set aside: what does not fit
}

const mostUnread = 20

func (u *UI) run(v *visit) error {
	id := v.PathValue("run")
	story, err := u.story(v, id)
	if err != nil {
		return err
	}
	page := u.runView(v, story)
	if page.Streams, err = u.streamTails(v, &story.Run); err != nil {
		return err
	}
	if !story.Run.Sealed {
		u.payloads(v, id, page.Rows)
	}
	v.draw(http.StatusOK, "run", page.Workflow+" "+id, page)
	return nil
}

// story reads all there is to tell of a run but payloads, as far as the visitor may see it.
func (u *UI) story(v *visit, id string) (*stepwell.Story, error) {
	if err := world.CheckRunID(id); err != nil {
		return nil, fmt.Errorf("run %.130q: %w", id, world.ErrNotFound)
	}
	s, err := u.app.Story(v.Context(), id, false)
	if err != nil {
		return nil, err
	}
	s.Why.At = s.Why.At.In(v.now.Location())
	v.now = s.Why.At // the world's clock counts
	if !v.may(Operator) {
		s.Why = WithoutTokens(s.Why)
		for _, en := range s.Journal.Entries {
			if en.Token != "" {
				en.Token = hiddenToken
			}
		}
	}
	return &s, nil
}

func (u *UI) runView(v *visit, s *stepwell.Story) *runView {
	r, j := &s.Run, s.Journal
	p := &runView{
		ID: r.ID, Workflow: r.Workflow, Version: r.Version, Status: runStatus(r), Why: s.Why.String(), WhyKind: string(s.Why.Kind), WhyTone: whyTone(&s.Why),
		Error: failureOf(r.Error), Seq: j.Seq, Live: !r.Status.Terminal(), EventsPath: eventsPath(r.ID), Damage: cut(s.Damage, mostMessage),
	}
	p.Stable = fmt.Sprintf("Run is %s: %s", p.Status.Word, strings.ReplaceAll(p.WhyKind, "_", " "))
	began, ends := r.CreatedAt, v.now
	if !j.StartedAt.IsZero() {
		began = j.StartedAt
	}
	if r.Status.Terminal() {
		ends = r.EndedAt
	}
	p.Span = human.Span(ends.Sub(began))
	if s.Why.Block != nil {
		_, details, _ := strings.Cut(s.Why.Block.Message, "\n")
		for line := range strings.Lines(cut(details, mostMessage)) {
			p.Details = append(p.Details, strings.TrimRight(line, "\n"))
		}
	}
	p.Facts = u.facts(v, s)
	p.Input = valueOf(r.Input, r.InputApart, someBytes, eventPath(r.ID, 1)).naming(r.ID, r.Input)
	p.Output = valueOf(r.Output, r.OutputApart, someBytes, eventPath(r.ID, j.Seq)).naming(r.ID, r.Output)
	if r.Sealed {
		p.Input, p.Output = encryptedPayload(r.Encryption, r.Input), encryptedPayload(r.Encryption, r.Output)
		p.Error.encrypt(r.Encryption)
	}
	for _, un := range j.Unread[:min(len(j.Unread), mostUnread)] {
		p.Unread = append(p.Unread, unread{Name: un.Name, Seq: un.Seq, At: v.moment(un.At), Path: eventPath(r.ID, un.Seq)})
	}
	for _, a := range j.Aside[max(len(j.Aside)-mostUnread, 0):] {
		p.Aside = append(p.Aside, unread{Name: a.Name, Seq: a.Seq, At: v.moment(a.At), Path: eventPath(r.ID, a.Seq), Note: human.Cut(a.Reason, 300)})
	}
	p.Acts = u.acts(v, s)
	timelineOf(u, v, s, p)
	return p
}

// timelineOf adds the rows of a page's timeline.
func timelineOf(u *UI, v *visit, s *stepwell.Story, p *runView) {
	in := v.URL.Query().Get("in")
	list := unitsOf(s.Journal.Entries, in)
	if in != "" {
		p.In, p.Whole = human.Cut(visible(in[strings.IndexByte(in, ':')+1:]), 80), v.with("in", "", "page")
	}
	ends := v.now
	if s.Run.Status.Terminal() {
		ends = s.Run.EndedAt
	}
	p.Zoom = v.zoomOf(s.Run.CreatedAt, ends)
	if p.Zoom.On {
		list = within(list, p.Zoom.from, p.Zoom.to, v.now)
	}
	list = v.pageOf(list, &p.Pages)
	p.Axis = axisOf(entriesOf(list), s, v, &p.Zoom)
	p.Zoom.into(v, s.Run.CreatedAt, &p.Axis)
	for i, is := range list {
		en := is.entries[0]
		if is.fold != "" {
			p.Rows = append(p.Rows, v.foldRow(s.Run.ID, is, &p.Axis))
		} else {
			p.Rows = append(p.Rows, u.entryRow(v, s, en, is.number, &p.Axis))
		}
		if i > 0 && en.Segment != list[i-1].entries[0].Segment || i == 0 && en.Segment > 0 {
			p.Rows[i].NewSegment = en.Segment + 1
		}
	}
}

// shownLate is how many of the deliveries are told that came too late.
const shownLate = 5

// facts are what there is to know of a run beside its timeline.
func (u *UI) facts(v *visit, s *stepwell.Story) (list []fact) {
	r, j := &s.Run, s.Journal
	add := func(f fact) { list = append(list, f) }
	add(fact{Name: "created", When: v.moment(r.CreatedAt)})
	if !j.StartedAt.IsZero() {
		add(fact{Name: "started", When: v.moment(j.StartedAt)})
	}
	if !r.EndedAt.IsZero() {
		add(fact{Name: "ended", When: v.moment(r.EndedAt)})
	}
	for i := range r.Late[:min(len(r.Late), shownLate)] {
		name, means := timeline.LateFor(r.Status, &r.Late[i])
		add(fact{Name: name, Text: human.Cut(visible(timeline.Late(&r.Late[i])), lineWidth) + "; " + means})
	}
	add(fact{Name: "cost", Text: human.Count(j.Commits, "commit") + ", " + human.Count(int(r.Claims), "claim")})
	if key := timeline.Key(r.Key, r.FirstKey); key != "" {
		add(fact{Name: "key", Text: visible(key), Mono: true})
	}
	if r.Parent != nil {
		add(fact{Name: "parent", Text: r.Parent.Run, Path: runPath(r.Parent.Run), Mono: true})
	}
	if j.Origin != nil {
		add(fact{Name: "from", Text: fmt.Sprintf("event %d of run %s", j.Origin.Seq, j.Origin.Run), Path: eventPath(j.Origin.Run, j.Origin.Seq)})
	}
	switch retry := s.Retry; {
	case retry == nil:
	case retry.Newest != "" && retry.Newest != r.ID:
		add(fact{Name: "retried as", Text: retry.Newest, Path: runPath(retry.Newest), Mono: true})
	case retry.Refused != "" && r.Status == world.Failed:
		f := fact{Name: "no retry", Text: cut(visible(strings.Join([]string{retry.Refused, retry.Instead()}, "; instead: ")), mostMessage)}
		if run := cmp.Or(retry.Peer, retry.Child, retry.Awaited); run != "" {
			f.Path = runPath(run)
		}
		add(f)
	}
	if len(s.Made) > 0 {
		text := human.Count(len(s.Made), "run") + " forked, restarted or retried from it"
		if s.MadeMore {
			text = "more than " + text
		}
		add(fact{Name: "forks", Text: text, Path: Base + "runs?origin=" + url.QueryEscape(r.ID)})
	}
	if slices.ContainsFunc(j.Entries, func(en *journal.Entry) bool { return en.Kind == world.KindChild }) {
		add(fact{Name: "children", Text: "list them", Path: Base + "runs?parent=" + url.QueryEscape(r.ID)})
	}
	if r.Parent != nil || r.Origin != nil || len(s.Made) > 0 || slices.ContainsFunc(j.Entries, func(en *journal.Entry) bool { return en.Kind == world.KindChild }) {
		add(fact{Name: "family", Text: "as a tree", Path: runPath(r.ID) + "/family"})
	}
	if j.Segment > 0 {
		text := fmt.Sprintf("%d, continued as new %s", j.Segment+1, times(j.Segment))
		if j.Trimmed > 0 {
			text += fmt.Sprintf("; the log before event %d was trimmed", j.Trimmed)
		}
		add(fact{Name: "segment", Text: text})
	}
	if undo := timeline.Undone(j); undo != "" {
		add(fact{Name: "undo", Text: undo})
	}
	for _, what := range j.NotCreated {
		add(fact{Name: "not created", Text: cut(visible(what), mostMessage) + ": not awaited when the code ended"})
	}
	if q := r.Queue; q != nil && q.Owner != "" {
		add(fact{Name: "worker", Text: visible(r.Owner()), Path: Base + "workers/" + q.Owner})
	}
	if len(j.Builds) > 0 {
		add(fact{Name: "builds", Text: visible(strings.Join(j.Builds[max(0, len(j.Builds)-3):], ", ")), Mono: true})
	}
	if r.Encryption != "" {
		text := "with key " + visible(r.Encryption)
		if r.Sealed {
			text += ", which this server does not have"
		}
		add(fact{Name: "encrypted", Text: text})
	}
	if r.StartTTL > 0 {
		add(fact{Name: "start TTL", Text: human.Span(time.Duration(r.StartTTL))})
	}
	if n := j.Gathered(); n > 0 {
		text := human.Count(n, "start")
		if r.Gather != nil && r.Gather.Key != "" {
			text += ", of key " + visible(r.Gather.Key)
		}
		add(fact{Name: "gathered", Text: text})
	}
	switch {
	case r.Timeout <= 0:
	case r.Status.Terminal() || j.StartedAt.IsZero():
		add(fact{Name: "timeout", Text: human.Span(time.Duration(r.Timeout))})
	default:
		add(fact{Name: "times out", When: v.moment(world.After(j.StartedAt, time.Duration(r.Timeout)))})
	}
	switch {
	case r.Retention <= 0:
		add(fact{Name: "kept", Text: "forever"})
	case !r.EndedAt.IsZero():
		add(fact{Name: "kept until", When: v.moment(world.After(r.EndedAt, time.Duration(r.Retention)))})
	}
	for _, name := range slices.Sorted(maps.Keys(r.Attributes)) {
		add(fact{Name: "attribute", Text: visible(name) + " = " + human.Fold(string(r.Attributes[name]), lineWidth), Mono: true})
	}
	return list
}

// times says how often.
func times(n int) string {
	switch n {
	case 1:
		return "once"
	case 2:
		return "twice"
	}
	return strconv.Itoa(n) + " times"
}

// pages says which part of a long list is shown.
type pages struct {
	Number, Count        int    // from 1
	First, Last, All     int    // numbers of entries, from 1
	Start, Back, On, End string // addresses; "" where there is none
}

// entriesPage is how many rows of a timeline stand on a page. The last page has what is left, too, where that is less
// than leastPage.
const (
	entriesPage = 100
	leastPage   = entriesPage / 4
)

// pageOf is the part of a timeline that the visitor asks for: the last, unless told.
func (v *visit) pageOf(all []*unit, p *pages) []*unit {
	p.All = len(all)
	p.Count = max(1, (len(all)+entriesPage-leastPage)/entriesPage)
	n, err := strconv.Atoi(v.URL.Query().Get("page"))
	if err != nil || n < 1 || n > p.Count {
		n = p.Count
	}
	p.Number = n
	from := (n - 1) * entriesPage
	to := from + entriesPage
	if n == p.Count {
		to = len(all)
	}
	p.First, p.Last = from+1, to
	at := func(n int) string {
		if n == p.Count {
			return v.with("page", "") // the last one goes on
		}
		return v.with("page", strconv.Itoa(n))
	}
	if n > 1 {
		p.Start, p.Back = at(1), at(n-1)
	}
	if n < p.Count {
		p.On, p.End = at(n+1), at(p.Count)
	}
	return all[from:to]
}
