package ui

// This file shows the entries of a run's journal: a row each, with a bar on the axis of time.

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/human"
	"github.com/stepwell/stepwell/internal/timeline"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/journal"
)

// entryRow is a step, wait or hook of a timeline.
type entryRow struct {
	Number     int
	NewSegment int // the segment that begins here; 0: none
	ID         string
	Seq        int64
	Kind, Name string
	Status     status
	Took       string
	Notes      []note
	Error      *failure
	Earlier    []timeline.Attempts
	Input      *payload
	Output     *payload
	Folded     int    // how many entries a Map has that is folded; 0: it is one entry
	Unfold     string // where these are
	Bars       []bar
	At         *moment
	LogPath    string // the events about it
	ForkPath   string // a fork before it began

	open  bool
	given bool // it may have an input: a step, or a child
}

// note is something else there is to say of an entry.
type note struct {
	Text string
	Path string
}

// bar is a piece of a row's line, in percent of the axis.
type bar struct {
	X, W  string
	Class string
	Title string
}

// leastBar is how wide a bar is at least, in percent, so that it is seen.
const leastBar = 0.6

func (a *axis) bar(from, to time.Time, class, title string) bar {
	x := a.place(from)
	w := max(a.place(to)-x, leastBar)
	x = min(x, 100-w)
	return bar{X: percent(x), W: percent(w), Class: class, Title: title}
}

// bars are the pieces of an entry's line: what it waited, its attempts, its last one.
func (a *axis) bars(en *journal.Entry, st status, v *visit) (list []bar) {
	end := en.CompletedAt
	if end.IsZero() || en.Status == journal.EntryPending {
		end = v.now
	}
	if en.Kind == world.KindPatch {
		return []bar{a.bar(en.CreatedAt, en.CreatedAt, "bar-quiet", "decided")}
	}
	if en.Kind == world.KindMessage {
		return []bar{a.bar(en.CreatedAt, en.CreatedAt, "bar-quiet", "sent")}
	}
	if en.Kind == world.KindPublication {
		return []bar{a.bar(en.CreatedAt, en.CreatedAt, "bar-quiet", "published")}
	}
	if en.StartedAt.IsZero() || en.Class != "run" {
		return []bar{a.bar(en.CreatedAt, end, "bar-"+string(st.Tone)+" bar-wait", st.Word+" for "+human.Span(end.Sub(en.CreatedAt)))}
	}
	if en.StartedAt.After(en.CreatedAt) {
		list = append(list, a.bar(en.CreatedAt, en.StartedAt, "bar-queued", "queued for "+human.Span(en.StartedAt.Sub(en.CreatedAt))))
	}
	last := en.AttemptAt
	if last.IsZero() {
		last = en.StartedAt
	}
	if last.After(en.StartedAt) {
		list = append(list, a.bar(en.StartedAt, last, "bar-before", "earlier attempts"))
		for _, e := range en.Earlier {
			if !e.At.IsZero() {
				list = append(list, a.bar(e.At, e.At, "bar-bad", fmt.Sprintf("attempt %d failed", e.Attempt)))
			}
		}
	}
	if en.Status == journal.EntryPending && en.Error != nil {
		return append(list, a.bar(last, end, "bar-warm bar-wait", "waits to be tried again"))
	}
	return append(list, a.bar(last, end, "bar-"+string(st.Tone), st.Word+", "+human.Span(end.Sub(last))))
}

func (u *UI) entryRow(v *visit, s *stepwell.Story, en *journal.Entry, number int, a *axis) entryRow {
	st := entryStatus(en)
	row := entryRow{
		Number: number, ID: en.ID, Seq: en.Seq, Kind: timeline.Kind(en), Name: human.Cut(en.Title(), 120), Status: st, Took: timeline.Took(en, v.now),
		Earlier: timeline.Earlier(en), Bars: a.bars(en, st, v), At: v.moment(en.CreatedAt), LogPath: eventsPath(s.Run.ID) + "?about=" + en.ID,
		open: en.CompletedAt.IsZero(), given: en.Class == "run",
	}
	if len(row.Earlier) > 10 {
		row.Earlier = row.Earlier[len(row.Earlier)-10:]
	}
	for i := range row.Earlier {
		row.Earlier[i].Message = cut(row.Earlier[i].Message, 600)
	}
	if en.Seq > 2 && v.may(Operator) {
		row.ForkPath = runPath(s.Run.ID) + "/act/fork?at=" + strconv.FormatInt(en.Seq-1, 10)
	}
	if en.Error != nil && en.Status != journal.EntryPending {
		row.Error = failureOf(en.Error)
	}
	if s.Run.Sealed {
		row.Error.encrypt(s.Run.Encryption)
		for i := range row.Earlier {
			row.Earlier[i].Message, row.Earlier[i].Where = encryptedText(s.Run.Encryption), ""
		}
	}
	say := func(text, path string) {
		if text != "" {
			row.Notes = append(row.Notes, note{text, path})
		}
	}
	if en.Peer != "" {
		text := "run " + en.Peer
		if is := s.Peers[en.Peer]; is != "" && row.open {
			text += " (" + is + ")"
		}
		say(text, runPath(en.Peer))
	}
	if en.Kind == world.KindHook {
		say("token "+human.Cut(en.Token, 80), "")
		if en.Received > 0 {
			say(human.Count(en.Received, "payload"), "")
		}
	}
	say(timeline.Waited(en, v.now), "")
	if len(en.Match) > 0 && !s.Run.Sealed {
		say("where "+human.Fold(string(en.Match), lineWidth), "")
	}
	if en.Attempt > 1 {
		say(fmt.Sprintf("attempt %d", en.Attempt), "")
	}
	say(timeline.Said(en, v.now, lineWidth), "")
	say(timeline.BeginsBy(en, v.now), "")
	if en.Status == journal.EntryPending && en.RetryAt.After(v.now) {
		say("again "+human.When(en.RetryAt, v.now), "")
	}
	if en.Status == journal.EntryDropped {
		say(timeline.GivenUp(en, s.Journal.Segment), "")
	}
	return row
}

// Bounds of what is read for the outputs of a page.
const (
	outputEvents = 5000
	outputBytes  = 4 << 20
)

// payloads adds to rows what steps were given and what they came to, folded. It reads the log from the first row on, so
// far as that is not too much; the rest is in the log.
func (u *UI) payloads(v *visit, run string, rows []entryRow) {
	given, ended := map[string]*entryRow{}, map[string]*entryRow{}
	first := int64(math.MaxInt64)
	for i := range rows {
		row := &rows[i]
		if row.Folded > 0 {
			continue
		}
		first = min(first, row.Seq)
		if row.given {
			given[row.ID] = row
		}
		if !row.open {
			ended[row.ID] = row
		}
	}
	if len(given)+len(ended) == 0 {
		return
	}
	q := world.EventQuery{Cursor: world.Cursor(first - 1), Limit: 50, Types: []world.EventType{world.StepCreated, world.StepCompleted, world.WaitCompleted, world.SignalReceived}}
	signals := map[int64][]byte{} // what a wait took may stand before it
	for events, bytes := 0, 0; events < outputEvents && bytes < outputBytes && len(given)+len(ended) > 0; {
		page, err := u.world.Events(v.Context(), run, q)
		if err != nil {
			return // the page tells of a log that cannot be read
		}
		for i := range page.Events {
			e := &page.Events[i]
			events, bytes = events+1, bytes+len(e.Payload)
			switch row := ended[e.ID]; {
			case e.Type == world.SignalReceived:
				signals[e.Seq] = e.Payload
			case e.Type == world.StepCreated:
				if row := given[e.ID]; row != nil {
					row.Input = valueOf(e.Payload, e.Apart, someBytes, eventPath(run, e.Seq)).naming(run, e.Payload)
					delete(given, e.ID)
				}
			case row != nil:
				b := []byte(e.Payload)
				if len(b) == 0 && e.From != 0 {
					b = signals[e.From]
				}
				if string(b) != "null" {
					row.Output = valueOf(b, e.Apart, someBytes, eventPath(run, e.Seq)).naming(run, b)
				}
				delete(ended, e.ID)
			}
		}
		if q.Cursor = page.Cursor; !page.More {
			break
		}
	}
}
