package draw

// This file draws the steps and waits of a run, one a line.

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/stepwell/stepwell/internal/human"
	"github.com/stepwell/stepwell/internal/timeline"
	"github.com/stepwell/stepwell/world"
	"github.com/stepwell/stepwell/world/journal"
)

func (p *Run) timeline(to io.Writer) {
	entries := p.Story.Journal.Entries
	skip, from := 0, len(entries)
	if !p.Full && len(entries) > firstEntries+lastEntries+1 {
		skip, from = len(entries)-firstEntries-lastEntries, firstEntries
	}
	t := &Table{Indent: "  ", Gap: "  ", Wrap: true}
	for i, en := range entries {
		switch {
		case i == from:
			t.Add(Cell{Text: "…", Tone: Dim, Right: true}, Cell{}, Cell{Text: fmt.Sprintf("%d more (--full)", skip), Tone: Dim})
			continue
		case i > from && i < from+skip:
			continue
		}
		if en.Segment > 0 && (i == 0 || entries[i-1].Segment != en.Segment) {
			t.Add(Cell{}, Cell{}, Cell{Text: "continued as new", Tone: Dim})
		}
		mark, tone := p.mark(en)
		t.Add(Cell{Text: strconv.Itoa(i + 1), Tone: Dim, Right: true}, Cell{Text: timeline.Kind(en), Tone: Dim}, Cell{Text: entryName(en)},
			Cell{Text: mark, Tone: tone}, Cell{Text: timeline.Took(en, p.now()), Right: false}, Cell{Text: p.note(en), Tone: Dim})
	}
	t.Write(to, p.Style)
}

func entryName(en *journal.Entry) string { return human.Cut(en.Title(), 48) }

func (p *Run) mark(en *journal.Entry) (string, Tone) {
	switch en.Status {
	case journal.EntryCompleted, journal.EntryDisposed:
		return p.Style.Mark("✓", "done"), Good
	case journal.EntryFailed, journal.EntryConflicted:
		return p.Style.Mark("✗", "failed"), Bad
	case journal.EntryDropped:
		return p.Style.Mark("–", "dropped"), Dim
	case journal.EntryRunning:
		return p.Style.Mark("…", "runs"), Busy
	default:
		return p.Style.Mark("…", "waits"), Warm
	}
}

// note is what else there is to say: attempts and their errors, what came, until when.
func (p *Run) note(en *journal.Entry) string {
	var parts []string
	say := func(s string) {
		if s != "" {
			parts = append(parts, s)
		}
	}
	say(p.peer(en))
	switch en.Kind {
	case world.KindHook:
		say("token " + human.Cut(en.Token, NoteWidth))
		if en.Received > 0 {
			say(human.Count(en.Received, "payload"))
		}
	case world.KindSleep, world.KindEvent, world.KindCondition, world.KindReceive:
		say(p.waitNote(en))
	}
	if en.Attempt > 1 {
		say(fmt.Sprintf("attempt %d", en.Attempt))
	}
	say(timeline.Said(en, p.now(), NoteWidth))
	say(timeline.BeginsBy(en, p.now()))
	switch {
	case en.Status == journal.EntryFailed && en.Error != nil:
		say(p.failure(en.Error.Message, en.Error.Where))
	case en.Status == journal.EntryPending && en.RetryAt.After(p.now()):
		say("again " + human.Relative(en.RetryAt, p.now()))
	case en.Status == journal.EntryDropped:
		say(timeline.GivenUp(en, p.Story.Journal.Segment))
	}
	say(p.attempts(en))
	return strings.Join(parts, "   ")
}

// peer is the other run, and how it stands while it is waited for.
func (p *Run) peer(en *journal.Entry) string {
	peer := en.Peer
	if peer == en.Name { // it is named already
		peer = ""
	}
	if is := p.Story.Peers[en.Peer]; is != "" && en.CompletedAt.IsZero() {
		peer += " (" + is + ")"
	}
	return strings.TrimSpace(peer)
}

// waitNote is how a wait stands, but for the one that the head of the picture tells of, or what it took.
func (p *Run) waitNote(en *journal.Entry) string {
	switch {
	case en.Status == journal.EntryWaiting && en.ID == p.Story.Why.ID:
		return ""
	case en.Outcome == world.OutcomeReceived && len(en.Output) > 0:
		return p.payload(en.Output, NoteWidth)
	}
	return timeline.Waited(en, p.now())
}

func (p *Run) failure(message, where string) string {
	width := NoteWidth
	if p.Full {
		width = len(message) * 6
	}
	s := human.Cut(message, width)
	if where != "" {
		s += "  " + where
	}
	return s
}

// attempts tells how earlier attempts ended, the same together: (2 × mail: connection refused  mail.go:41).
func (p *Run) attempts(en *journal.Entry) string {
	var texts []string
	for _, a := range timeline.Earlier(en) {
		text := p.failure(a.Message, a.Where)
		switch {
		case a.Lost:
			text = timeline.Lost
		case a.Past:
			text = timeline.Past
		}
		texts = append(texts, fmt.Sprintf("%d × %s", a.Count, text))
	}
	if len(texts) == 0 {
		return ""
	}
	return "(" + strings.Join(texts, ", ") + ")"
}
